"""One captured launch: its slots, what is needed to read them, and the frames that they are read into.

In: slots (wherever they lie), the :class:`SiteTable` and a :class:`TraceMeta`. Out: :class:`TraceData`, which knows no
view and no analysis. The raw slots are the truth and are copied to the host, and decoded, when first looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, overload

import numpy as np
import numpy.typing as npt

from tltrace_nb.base.attached import without_attached
from tltrace_nb.base.checks import a, checked, file, optional, wrong
from tltrace_nb.base.errors import TraceError
from tltrace_nb.data.rows import Instant, Slice, rows
from tltrace_nb.data.sites import SiteTable, is_whole
from tltrace_nb.data.tracefile import TraceMeta, write_trace

if TYPE_CHECKING:
    import os

    import pandas as pd

    from tltrace_nb.data.decode import Decoded

KEPT_ROWS = 100_000
"""Events up to which iterating a trace makes the list of all: some 300 bytes each."""


class DeviceArray(Protocol):
    """A tensor of any device, as torch has it."""

    def cpu(self) -> Any:
        """The same tensor on the host."""


Slots = npt.NDArray[np.int64] | DeviceArray


class TraceData:
    """The events of one launch.

    ``slots`` is ``int64[num_cta, num_writers, words]``: a NumPy array, a tensor of any device, or a function that
    returns one; it is fetched when first looked at. The frames' columns are those of ``data.columns``. Frames are made
    once and are the caller's to extend; a write to one changes neither the slots nor another column.
    """

    @checked(
        table=a(SiteTable, "the SiteTable of the kernel"), meta=optional(a(TraceMeta, "a TraceMeta, which says whence"))
    )
    def __init__(self, slots: Slots | Callable[[], Slots], table: SiteTable, meta: TraceMeta | None = None) -> None:
        if not (callable(slots) or hasattr(slots, "cpu") or isinstance(slots, np.ndarray)):
            wrong("slots", slots, "an array, a tensor, or a function that returns one", TypeError)
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

    def refresh(self) -> Self:
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
        return without_attached(vars(self)) | {"_source": None}  # a copy has views of its own

    @property
    def device_bytes(self) -> int:
        """Bytes of device memory that the trace holds until it is first looked at."""
        return int(self._source.nbytes) if getattr(self._source, "is_cuda", False) else 0  # type: ignore[union-attr]

    @property
    def host_bytes(self) -> int:
        """Bytes of the host's memory that the trace holds: its slots once they are there, its frames once made."""
        frames: Decoded | None = vars(self).get("_frames")
        made = () if frames is None else (frames.events, frames.ctas, frames.flows, frames.sites, frames.losses)
        slots = 0 if self.device_bytes and "slots" not in vars(self) else self.nbytes
        return slots + sum(int(frame.memory_usage(index=False).sum()) for frame in made)

    @property
    def nbytes(self) -> int:
        """Bytes of the slots, wherever they lie; 0 for those that a function fetches, while it has not."""
        slots: Any = self.__dict__.get("slots", self._source)
        return int(getattr(slots, "nbytes", 0))

    @property
    def whole(self) -> bool:
        """Whether every CTA was to record: neither did the author choose some, nor had some no room."""
        return is_whole(self.table, self.meta.grids)

    @cached_property
    def _frames(self) -> Decoded:
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

    @property
    def notes(self) -> pd.DataFrame:
        """What readers have written on the trace, in a timeline or here; see ``data.notes.COLUMNS``. It is saved.

        Assign a frame with these columns (``thread`` may be missing) to replace it; ``ValueError`` for another frame.
        """
        from tltrace_nb.data.notes import frame_of

        return frame_of(self.meta.notes)

    @notes.setter
    def notes(self, frame: pd.DataFrame) -> None:
        from tltrace_nb.data.notes import from_frame

        self.meta = replace(self.meta, notes=from_frame(frame))

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

    @checked(path=file)
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.tltrace`` file, which ``load`` reads."""
        write_trace(path, self.slots, self.table, self.meta)


a_trace = a(TraceData, "a Trace, such as trace.last or tltrace_nb.load(path)")
"""The check of an argument that is a trace."""
