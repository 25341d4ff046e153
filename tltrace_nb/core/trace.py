"""One captured launch: its slots, what is needed to read them, and everything a reader asks of them.

In: slots (wherever they lie), the :class:`SiteTable` and a :class:`TraceMeta`. Out: :class:`Trace`. The raw slots are
the truth and are copied to the host, and decoded, when first looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from tltrace_nb.core.rows import Instant, Slice, rows
from tltrace_nb.core.sites import SiteTable
from tltrace_nb.core.tracefile import SLOTS_LIMIT, TraceFileError, TraceMeta, read_trace, write_trace

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from tltrace_nb.core.decode import Frames
    from tltrace_nb.core.options import Ctas
    from tltrace_nb.widget.display import Renderer
    from tltrace_nb.widget.lanes import Time
    from tltrace_nb.widget.timeline import Timeline

__all__ = ["Trace", "TraceFileError", "TraceMeta", "load"]

LIMIT = 2000
"""Default of the most events that a timeline draws: about 5 s to the first paint."""


class DeviceArray(Protocol):
    """A tensor of any device, as torch has it."""

    def cpu(self) -> Any:
        """The same tensor on the host."""


Slots = npt.NDArray[np.int64] | DeviceArray


class Trace:
    """The events of one launch.

    ``slots`` is ``int64[num_cta, num_writers, words]``: a NumPy array, a tensor of any device, or a function that
    returns one; it is fetched when first looked at. The frames' columns are those of ``core.columns``. Frames are made
    once and are the caller's to extend; a write to one changes neither the slots nor another column.

    Example::

        trace = load("gemm.tltrace")
        trace.events.query("name == 'mma'").duration.describe()
        trace.show()
    """

    def __init__(self, slots: Slots | Callable[[], Slots], table: SiteTable, meta: TraceMeta | None = None) -> None:
        self._source: Slots | Callable[[], Slots] | None = slots
        self.table = table
        self.meta = (
            TraceMeta(table.kernel, source=table.source, source_hash=table.source_hash) if meta is None else meta
        )

    @cached_property
    def slots(self) -> npt.NDArray[np.int64]:
        """The raw record, on the host."""
        source: Any = self._source
        if callable(source):
            source = source()
        if hasattr(source, "cpu"):
            source = source.cpu().numpy()
        self._source = None  # a device buffer is not kept once it has been copied
        return np.asarray(source)

    @property
    def device_bytes(self) -> int:
        """Bytes of device memory that the trace holds until it is first looked at."""
        return int(self._source.nbytes) if getattr(self._source, "is_cuda", False) else 0  # type: ignore[union-attr]

    @cached_property
    def _frames(self) -> Frames:
        from tltrace_nb.core.decode import decode

        return decode(self.slots, self.table, self.meta.grids)

    @property
    def events(self) -> pd.DataFrame:
        """One row per range or instant, sorted by track (cta, thread, lane) then start; see ``columns.EVENTS``."""
        return self._frames.events

    @property
    def ctas(self) -> pd.DataFrame:
        """One row per CTA that ran: where, when, and its measured clock; see ``columns.CTAS``."""
        return self._frames.ctas

    @property
    def flows(self) -> pd.DataFrame:
        """One row per arrow between ranges, as row numbers of ``events``; see ``columns.FLOWS``."""
        return self._frames.flows

    @property
    def sites(self) -> pd.DataFrame:
        """One row per marker of the kernel, with how often it recorded; see ``columns.SITES``."""
        return self._frames.sites

    @property
    def losses(self) -> pd.DataFrame:
        """One row per writer with something lost or wrong, or which never recorded; see ``columns.LOSSES``."""
        return self._frames.losses

    @cached_property
    def rows(self) -> list[Slice | Instant]:
        """The events as a list of the rows that iterating the trace yields."""
        return list(rows(self.events))

    def __iter__(self) -> Iterator[Slice | Instant]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> Slice | Instant: ...
    @overload
    def __getitem__(self, index: slice) -> list[Slice | Instant]: ...
    def __getitem__(self, index: int | slice) -> Slice | Instant | list[Slice | Instant]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self._frames.origin)

    def __bool__(self) -> bool:
        """Always true: a trace without events is still a trace."""
        return True

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.tltrace`` file, which ``load`` reads."""
        write_trace(path, self.slots, self.table, self.meta)

    def figure(
        self,
        *,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        height: int | None = None,
        title: str | None = None,
    ) -> Any:
        """The timeline as a Plotly figure.

        ``ctas``: only these CTAs: ids, a range, a slice with an end, or a count (the first so many of the trace); ids
        that the trace does not have are passed over. ``events``: only these rows of ``events``, with their index.
        ``limit``: the most events drawn; above it the first CTAs that fit are drawn whole, and the title says so.
        ``time``: the unit of the axis, ``"cycles"`` of the SM since each CTA's entry, ``"ns"`` since the first CTA's
        entry, or ``"auto"``: cycles for one CTA, ns for several where they are known. ``height``: pixels (default: by
        the number of rows, 240 to 1200). ``title``: stands over it (default: the kernel's name; ``""`` for none).

        Raises ``ValueError`` for another ``time``, for ``"ns"`` where no clock rate is known, for a ``limit`` below 1,
        for ``ctas`` of which the trace has none, and for ``events`` that are not rows of this trace; ``TypeError`` for
        values of another type; ``ModuleNotFoundError`` where Plotly is not installed.

        >>> trace.figure(ctas=range(4, 8), time="cycles").update_layout(width=1200)
        """
        from tltrace_nb.widget.figure import figure

        return figure(self, ctas=ctas, events=events, limit=limit, time=time, height=height, title=title)

    def timeline(self, **options: Any) -> Timeline:
        """The timeline as a widget, with Python on the other end of it; see ``tltrace_nb.Timeline`` for the options.

        What is selected in one of a trace's timelines is selected in all, those that ``show`` made included.

        >>> timeline = trace.timeline(ctas=8)
        >>> timeline.selection.groupby("name").duration.describe()
        """
        from tltrace_nb.widget.timeline import Timeline

        return Timeline(self, **options)

    def show(
        self,
        *,
        renderer: Renderer = "timeline",
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        height: int | None = None,
        title: str | None = None,
    ) -> None:
        """Show the timeline under the cell; outside a notebook print a summary and how to get a file.

        The options and the errors are those of ``figure``. Without Plotly there is a still picture.

        >>> trace.show(ctas=[0, 5])
        >>> trace.show(events=trace.events.query("name == 'mma'"))
        """
        from tltrace_nb.widget.display import show

        show(self, renderer=renderer, ctas=ctas, events=events, limit=limit, time=time, height=height, title=title)

    def to_html(
        self,
        path: str | os.PathLike[str],
        title: str = "",
        *,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        height: int | None = None,
    ) -> Path:
        """Write the timeline as one HTML file that needs no network, over what is there, and return its path.

        ``title``: heads the page (default: the kernel's name). The other options and the errors are those of
        ``figure``, and ``OSError`` where the file cannot be written. Without Plotly there is a still picture.

        >>> trace.to_html("gemm.html", ctas=8)
        """
        from tltrace_nb.widget.html import write_html

        return write_html(self, path, title=title, ctas=ctas, events=events, limit=limit, time=time, height=height)

    def __repr__(self) -> str:
        from tltrace_nb.core import summary

        return summary.text(self)

    def _repr_html_(self) -> str:
        from tltrace_nb.core import summary

        return summary.html(self)


def load(path: str | os.PathLike[str], limit: int = SLOTS_LIMIT) -> Trace:
    """Open a ``.tltrace`` file.

    ``limit`` bounds the bytes of the slots read into memory. Raises ``TraceFileError`` (a
    ``ValueError``), which names the file, what is wrong and what to do, and ``OSError`` where there is no file.
    """
    return Trace(*read_trace(path, limit))
