"""One captured launch: its slots, what is needed to read them, and everything a reader asks of them.

In: slots (wherever they lie), the :class:`SiteTable` and a :class:`TraceMeta`. Out: :class:`Trace`. The raw slots are
the truth and are copied to the host, and decoded, when first looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import numpy as np
import numpy.typing as npt

from tltrace_nb.base.errors import TraceError
from tltrace_nb.data.rows import Instant, Slice, rows
from tltrace_nb.data.sites import SiteTable, rows_at
from tltrace_nb.data.tracefile import SLOTS_LIMIT, TraceFileError, TraceMeta, read_trace, write_trace

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from tltrace_nb.analysis.table import Table
    from tltrace_nb.base.gpus import Gpu
    from tltrace_nb.core.compile.options import Ctas
    from tltrace_nb.core.large import LargeTrace
    from tltrace_nb.data.decode import Frames
    from tltrace_nb.export.parquet import Frame
    from tltrace_nb.render.lanes import Time
    from tltrace_nb.render.views import Color, View
    from tltrace_nb.widget.display import Renderer
    from tltrace_nb.widget.pair import Pair
    from tltrace_nb.widget.timeline import Timeline

__all__ = ["Trace", "TraceFileError", "TraceMeta", "load"]

PAGE_EVENTS = 500_000
"""Default of the most events in a page: it is some 1 MB, and shows its first picture within half a second."""
LIMIT = 2000
"""Default of the most events that a figure draws one by one: about 5 s to the first paint."""


KEPT_ROWS = 100_000
"""Events up to which iterating a trace makes the list of all: some 300 bytes each."""

VIEWS = "_timelines"
"""Attribute in which its views keep what they share; a copy of a trace has views of its own."""


class DeviceArray(Protocol):
    """A tensor of any device, as torch has it."""

    def cpu(self) -> Any:
        """The same tensor on the host."""


Slots = npt.NDArray[np.int64] | DeviceArray


class Trace:
    """The events of one launch.

    ``slots`` is ``int64[num_cta, num_writers, words]``: a NumPy array, a tensor of any device, or a function that
    returns one; it is fetched when first looked at. The frames' columns are those of ``data.columns``. Frames are made
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
        if not getattr(source, "live", False):
            self._source = None  # a device buffer is not kept once it has been copied, unless it fills again
        if hasattr(source, "cpu"):
            source = source.cpu().numpy()
        return np.asarray(source)

    def refresh(self) -> Trace:
        """Read the slots of a CUDA graph anew: the events of its last replay. Returns the trace.

        Frames and figures made before stay as they were; ``copy.copy(trace)`` keeps a replay's events. Raises
        ``TraceError`` for the trace of one launch, which never changes.

        >>> graph.replay()
        >>> trace.refresh().events
        """
        if not getattr(self._source, "live", False):
            raise TraceError(
                f"kernel {self.table.kernel}: this is the trace of one launch, which does not change; only the trace "
                "of a launch that a CUDA graph captured has later replays to read"
            )
        for read in ("slots", "_frames", "rows"):
            vars(self).pop(read, None)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: the raw record on the host, and the frames where they have been made."""
        _ = self.slots
        return {name: value for name, value in vars(self).items() if name != VIEWS} | {"_source": None}

    @property
    def device_bytes(self) -> int:
        """Bytes of device memory that the trace holds until it is first looked at."""
        return int(self._source.nbytes) if getattr(self._source, "is_cuda", False) else 0  # type: ignore[union-attr]

    @property
    def nbytes(self) -> int:
        """Bytes of the slots, wherever they lie; 0 for those that a function fetches, while it has not."""
        slots: Any = self.__dict__.get("slots", self._source)
        return int(getattr(slots, "nbytes", 0))

    @property
    def whole(self) -> bool:
        """Whether every CTA was to record: neither did the author choose some, nor had some no room."""
        if self.table.ctas is None:
            return True
        grids = self.meta.grids
        return grids is not None and rows_at(self.table, grids) == sum(x * y * z for x, y, z in grids)

    @cached_property
    def _frames(self) -> Frames:
        from tltrace_nb.data.decode import decode

        return decode(self.slots, self.table, self.meta.grids, self.meta.clock_ghz)

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
        return iter(self.rows) if self._few else rows(self.events)

    @property
    def _few(self) -> bool:
        """Whether its rows are made once and kept; of more than that each is made when it is asked for."""
        return len(self) <= KEPT_ROWS or "rows" in vars(self)

    @overload
    def __getitem__(self, index: int) -> Slice | Instant: ...
    @overload
    def __getitem__(self, index: slice) -> list[Slice | Instant]: ...
    def __getitem__(self, index: int | slice) -> Slice | Instant | list[Slice | Instant]:
        if self._few:
            return self.rows[index]
        if isinstance(index, slice):
            return list(rows(self.events, range(len(self))[index]))
        at = range(len(self))[index]
        return next(rows(self.events, range(at, at + 1)))

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
        view: View = "thread",
        color: Color = "name",
    ) -> Any:
        """The timeline as a Plotly figure.

        ``ctas``: only these CTAs: ids, a range, a slice with an end, or a count (the first so many of the trace); ids
        that the trace does not have are passed over. ``events``: only these rows of ``events``, with their index.
        ``limit``: the most events drawn one by one; above it the first CTAs that fit are drawn whole and the other
        events are merged into at most a quarter as many bars, a row per name; title and legend say so.
        ``time``: the unit of the axis, ``"cycles"`` of the SM since each CTA's entry, ``"ns"`` since the first CTA's
        entry, or ``"auto"``: cycles for one CTA, ns for several where they are known. ``height``: pixels (default: by
        the number of rows, 240 to 1200). ``title``: stands over it (default: the kernel's name; ``""`` for none).
        ``view``: what a lane is, a ``"thread"`` (and lane name), a ``"cta"``, a ``"name"``, or an ``"sm"``, which draws
        the CTAs as they came and went. ``color``: what a colour is, the ``"name"``, or on a scale the ``"payload"``,
        the ``"duration"`` or the CTA's ``"wave"``.

        Raises ``ValueError`` for another ``time``, ``view`` or ``color``, for ``"ns"`` and ``view="sm"`` where no clock
        rate is known, for a ``limit`` below 1, for ``ctas`` of which the trace has none, and for ``events`` that are
        not rows of this trace; ``TypeError`` for values of another type; ``ModuleNotFoundError`` where Plotly is not
        installed.

        >>> trace.figure(ctas=range(4, 8), time="cycles").update_layout(width=1200)
        """
        from tltrace_nb.widget.figure import figure

        return figure(
            self,
            ctas=ctas,
            events=events,
            limit=limit,
            time=time,
            height=height,
            title=title,
            view=view,
            color=color,
        )

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
        renderer: Renderer | None = None,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        height: int | None = None,
        title: str | None = None,
        view: View = "thread",
        color: Color = "name",
    ) -> None:
        """Show the timeline under the cell; outside a notebook print a summary and how to get a file.

        ``renderer``: ``"timeline"`` (default), the widget, or ``"plotly"``, the figure, which alone has ``limit``,
        ``view`` and ``color`` and is taken for the last two. The other options and the errors are those of ``figure``.

        >>> trace.show(ctas=[0, 5])
        >>> trace.show(view="sm", color="wave")
        >>> trace.show(events=trace.events.query("name == 'mma'"))
        """
        from tltrace_nb.widget.display import show

        show(
            self,
            renderer=renderer,
            ctas=ctas,
            events=events,
            limit=limit,
            time=time,
            height=height,
            title=title,
            view=view,
            color=color,
        )

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
        most: int | None = PAGE_EVENTS,
    ) -> Path:
        """Write the timeline as one HTML file that needs no network, over what is there, and return its path.

        ``title``: heads the page (default: the kernel's name). ``most``: events in the page; of more it has whole CTAs
        from the beginning, the end and between, and says so (``None``: all). The other options and the errors are those
        of ``figure``, and ``OSError`` where the file cannot be written. Without Plotly there is a still picture.

        >>> trace.to_html("gemm.html", ctas=8)
        """
        from tltrace_nb.widget.html import write_html

        return write_html(
            self, path, title=title, ctas=ctas, events=events, limit=limit, time=time, height=height, most=most
        )

    def to_svg(
        self,
        path: str | os.PathLike[str],
        title: str | None = None,
        *,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        width: int = 1200,
    ) -> Path:
        """Write the timeline as a still picture, ``width`` pixels wide and as high as its rows; returns the path.

        The other options and the errors are those of ``figure``, and ``OSError`` where the file cannot be written.

        >>> trace.to_svg("gemm.svg", ctas=2)
        """
        from tltrace_nb.export.picture import write_svg

        return write_svg(self, path, title=title, ctas=ctas, events=events, limit=limit, time=time, width=width)

    def to_png(
        self,
        path: str | os.PathLike[str],
        title: str | None = None,
        *,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        width: int = 1200,
    ) -> Path:
        """The picture of ``to_svg`` as pixels, two to each of the SVG's where that gives no more than 40 million.

        Raises what ``to_svg`` raises, ``ModuleNotFoundError`` where resvg_py is not installed, and ``TraceError`` where
        there are no fonts to write text with.

        >>> trace.to_png("gemm.png", ctas=2)
        """
        from tltrace_nb.export.picture import write_png

        return write_png(self, path, title=title, ctas=ctas, events=events, limit=limit, time=time, width=width)

    def to_perfetto(self, path: str | os.PathLike[str]) -> Path:
        """Write Perfetto's format (for ui.perfetto.dev), gzipped where ``path`` ends in ``.gz``; returns the path.

        SM, CTA, track and sub-track nest; ranges that cross are on sub-tracks. Times are whole ns, the exact cycles and
        the payloads are arguments. Raises ``OSError`` where the file cannot be written.

        >>> trace.to_perfetto("gemm.pftrace")
        """
        from tltrace_nb.export.perfetto import write_perfetto

        return write_perfetto(self, path)

    def to_chrome(self, path: str | os.PathLike[str]) -> Path:
        """Write Chrome's JSON trace events, gzipped where ``path`` ends in ``.gz``; returns the path.

        An SM is a process, a sub-track a thread; times are µs with three decimals. Raises ``OSError`` where the file
        cannot be written.

        >>> trace.to_chrome("gemm.json.gz")
        """
        from tltrace_nb.export.chrome import write_chrome

        return write_chrome(self, path)

    def to_parquet(self, path: str | os.PathLike[str], frame: Frame = "events") -> Path:
        """Write one frame, ``"events"``, ``"ctas"``, ``"flows"``, ``"sites"`` or ``"losses"``, as Parquet.

        Units are in the columns' metadata, ``meta`` in the schema's. Raises ``ValueError`` for another ``frame``,
        ``ModuleNotFoundError`` where pyarrow is not installed, ``OSError`` where the file cannot be written.

        >>> trace.to_parquet("gemm.parquet")
        """
        from tltrace_nb.export.parquet import write_parquet

        return write_parquet(self, path, frame)

    # ---- what the events say: frames with the columns of analysis.columns, with notes and a figure

    def summary(self) -> Table:
        """Per name count, durations in cycles, share of the CTAs' time, overlap; ``analysis.columns.SUMMARY``."""
        from tltrace_nb.analysis.summary import summary

        return summary(self)

    def occupancy(
        self, *, registers: int | None = None, shared: int | None = None, gpu: str | Gpu | None = None
    ) -> Table:
        """CTAs and warps resident per SM over time, and what it could hold; as ``analysis.occupancy.occupancy``."""
        from tltrace_nb.analysis.occupancy import occupancy

        return occupancy(self, registers=registers, shared=shared, gpu=gpu)

    def waves(
        self,
        by: Literal["wave", "sm", "launch"] = "wave",
        *,
        registers: int | None = None,
        shared: int | None = None,
        gpu: str | Gpu | None = None,
    ) -> Table:
        """Waves, tail, imbalance and quantisation loss; as ``analysis.waves.waves``."""
        from tltrace_nb.analysis.waves import waves

        return waves(self, by, registers=registers, shared=shared, gpu=gpu)

    def waits(self, names: str | Iterable[str] = (), *, each: bool = False) -> Table:
        """Blocked cycles by what waited, barrier and producer; as ``analysis.waits.waits``.

        >>> trace.waits("wait *").figure()
        """
        from tltrace_nb.analysis.waits import waits

        return waits(self, names, each=each)

    def critical_path(self, *, barriers: str | Iterable[str] = ()) -> Table:
        """The chain of ranges that bounds each CTA, and the slack of the others; as ``analysis.critical_path``."""
        from tltrace_nb.analysis.critical_path import critical_path

        return critical_path(self, barriers=barriers)

    def pipeline(
        self,
        producer: str | None = None,
        consumer: str | None = None,
        *,
        wait: str | Iterable[str] = (),
        flight: float | None = None,
        passing: float | None = None,
    ) -> Table:
        """Per iteration issue, readiness, use and bubble, in cycles; as ``analysis.pipeline.pipeline``."""
        from tltrace_nb.analysis.pipeline import pipeline

        return pipeline(self, producer, consumer, wait=wait, flight=flight, passing=passing)

    def roofline(
        self,
        *,
        flop: float | Mapping[str, float] | None = None,
        bytes: float | Mapping[str, float] | None = None,
        dtype: str = "fp16",
        gpu: str | Gpu | None = None,
    ) -> Table:
        """Achieved and attainable flop per second, of the launch and of names; as ``analysis.roofline.roofline``.

        >>> trace.roofline(flop={"mma": 2 * 128 * 128 * 32}, bytes=a.nbytes + b.nbytes + c.nbytes)
        """
        from tltrace_nb.analysis.roofline import roofline

        return roofline(self, flop=flop, bytes=bytes, dtype=dtype, gpu=gpu)

    def overhead(self, cost: float | None = None) -> Table:
        """Per name what its own records take, at ``cost`` cycles each; as ``analysis.corrected.overhead``."""
        from tltrace_nb.analysis.corrected import overhead

        return overhead(self, cost)

    def corrected(self, cost: float | None = None) -> Trace:
        """This trace with ``cost`` cycles taken out for every record, as its ``meta.note`` then says.

        By default the cost is that of the GPU's model. As ``analysis.corrected.corrected``, errors included.
        """
        from tltrace_nb.analysis.corrected import corrected

        return corrected(self, cost)

    def beside(self, other: Trace, **options: Any) -> Pair:
        """Two linked timelines over each other on one time axis, this one above, to be shown under the cell.

        ``options`` as ``timeline``, for both; ``.figure(**view)`` is both as a Plotly figure. Raises ``TypeError``
        where ``other`` is no trace, and where they are drawn what ``Timeline`` raises.

        >>> before.beside(after, ctas=1)
        """
        from tltrace_nb.widget.pair import Pair

        if not isinstance(other, Trace):
            raise TypeError(f"beside takes a Trace, not {type(other).__name__}")
        return Pair(self, other, options)

    def __repr__(self) -> str:
        from tltrace_nb.data import headline as summary

        return summary.text(self)

    def _repr_html_(self) -> str:
        from tltrace_nb.data import headline as summary

        return summary.html(self)


@overload
def load(path: str | os.PathLike[str], limit: int = ..., *, lazily: Literal[False] = ...) -> Trace: ...
@overload
def load(path: str | os.PathLike[str], limit: int = ..., *, lazily: Literal[True]) -> LargeTrace: ...
def load(path: str | os.PathLike[str], limit: int = SLOTS_LIMIT, *, lazily: bool = False) -> Trace | LargeTrace:
    """Open a ``.tltrace`` file.

    ``limit`` bounds the bytes of the slots read into memory. ``lazily``: read only what is asked for, of a trace too
    large for memory; see ``tltrace_nb.core.large.LargeTrace``. Raises ``TraceFileError`` (a ``ValueError``), which
    names the file, what is wrong and what to do, and ``OSError`` where there is no file.
    """
    if lazily:
        from tltrace_nb.core.large import LargeTrace

        return LargeTrace(path)
    return Trace(*read_trace(path, limit))
