"""A ``.tltrace`` file that is too large to be read as a whole.

In: its path. Out: :class:`LargeTrace`: what all of its CTAs tell, worked out part by part, and any of them as a
:class:`~tltrace_nb.core.trace.Trace`. Slots lie in the order of CTAs, so some CTAs are read without the others.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
import zipfile
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tltrace_nb.base.checks import checked, file, listed, number, optional, wrong
from tltrace_nb.base.checks import whole as whole_number
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.trace import Trace
from tltrace_nb.data import tracefile
from tltrace_nb.data.chosen import evenly
from tltrace_nb.data.clock import Clocks
from tltrace_nb.data.decode import Decoded, clocks_of, ctas_of, decode_rows
from tltrace_nb.data.reading import Blocks, Writers, place_blocks, read_records, read_writers
from tltrace_nb.data.sites import SiteTable, is_whole
from tltrace_nb.data.tracefile import TraceFileError, TraceMeta
from tltrace_nb.render.options import PAGE_EVENTS

if TYPE_CHECKING:
    from tltrace_nb.analysis.table import Table
    from tltrace_nb.core.compile.options import Ctas

PART_BYTES = 8 << 20
"""Of slots, in a part: some 250,000 ranges."""

Slots = npt.NDArray[np.int64]


def _span(name: str, value: Any) -> tuple[float, ...]:
    """Two times."""
    may = "two times in ns, such as (2_000_000, 2_100_000)"
    times: tuple[float, ...] = listed(number(may=may), may)(name, value)
    if len(times) != 2 or times[0] > times[1]:
        wrong(name, value, may)
    return times


class LargeTrace:
    """A saved trace of which only what is asked for is read; ``tltrace_nb.load(path, lazily=True)`` gives it.

    Opening unpacks the slots to a temporary file, which goes with the object, where they are packed. ``path`` must stay
    as it is.

    Example::

        large = tltrace_nb.load("day.tltrace", lazily=True)
        large.summary()
        large.trace(between=(2_000_000, 2_100_000)).show()
    """

    @checked(path=file)
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._slots = _SlotsFile(self.path)
        self.table: SiteTable = self._slots.table
        self.meta: TraceMeta = self._slots.meta

    @property
    def nbytes(self) -> int:
        """Bytes of the slots."""
        return self._slots.nbytes

    @property
    def whole(self) -> bool:
        """Whether every CTA was to record; as ``Trace.whole``."""
        return is_whole(self.table, self.meta.grids)

    @cached_property
    def ctas(self) -> pd.DataFrame:
        """One row per CTA that ran, as ``Trace.ctas``; all slots are read once for it, in parts."""
        frames = [
            ctas_of(self.table, _blocks_at(self._blocks, rows), writers, stay, _clocks_at(self._clocks, rows))
            for rows, writers, stay in self._heads
        ]
        return pd.concat(frames, ignore_index=True)

    def summary(self) -> Table:
        """Per name count, durations, share of the CTAs' time and overlap, of all events; as ``Trace.summary``."""
        from tltrace_nb.analysis.launch import lacks
        from tltrace_nb.analysis.parts import each
        from tltrace_nb.analysis.summary import Sums, summed, sums_of

        def of_rows(rows: slice) -> tuple[Sums, pd.DataFrame]:
            ids = np.arange(rows.start, rows.stop)
            frames = self._frames(ids, self._slots.rows(ids))
            return sums_of(frames), frames.losses

        time = int(self.ctas["duration"].sum())
        done = each(of_rows, self._parts)
        losses = pd.concat([losses for _, losses in done], ignore_index=True)
        cut = sum(part.truncated for part, _ in done)
        return summed([part for part, _ in done], time, lacks(self, losses, cut, self._slots.shape[0]))

    @checked(between=optional(_span), most=optional(whole_number(1, "a number of events, at least 1, or None")))
    def trace(
        self, *, ctas: Ctas | None = None, between: tuple[float, float] | None = None, most: int | None = PAGE_EVENTS
    ) -> Trace:
        """Some CTAs as a trace in memory, with the times that they have in the whole.

        ``ctas``: as ``Trace.figure`` takes them. ``between``: those that ran at some time between these two, in ns as
        ``ctas`` has them. ``most``: of more events, CTAs at the beginning, at the end and between are taken, as
        ``meta.note`` then says (``None``: all). Raises ``ValueError`` where there are none such.
        """
        known = self.ctas
        chosen = known
        if ctas is not None:
            ids = TraceOptions.of(ctas=ctas).ctas or ()
            chosen = known.iloc[: len(ids)] if isinstance(ctas, int) else known[known["cta"].isin(list(ids))]
        if between is not None:
            first, last = between
            chosen = chosen[(chosen["end_ns"] >= first) & (chosen["start_ns"] <= last)]
        if chosen.empty:
            raise ValueError(
                f"ctas={ctas!r}, between={between!r}: none of the {len(known):,} CTAs of the trace is such"
            )
        rows = np.flatnonzero(np.isin(self._blocks.cta, chosen["cta"].to_numpy()))
        note = f"{len(rows):,} of {len(known):,} CTAs of {self.path.name}"
        if most is not None:
            # Of a range there are two records; a part of the CTAs has the share of all that it is.
            held = np.concatenate(
                [writers.held.reshape(rows_.stop - rows_.start, -1).sum(axis=1) for rows_, writers, _ in self._heads]
            )
            fitting = len(rows) * most * 2 // max(int(held[rows].sum()), 1)
            if fitting < len(rows):
                rows = rows[list(evenly(len(rows), max(fitting, 1)))]
                note = f"{len(rows):,} of {len(known):,} CTAs of {self.path.name}: the first, the last and some between"
        said = f"{self.meta.note}; {note}" if self.meta.note else note
        slots, meta = self._slots.rows(rows), replace(self.meta, note=said)
        return _Excerpt(slots, self.table, meta, self._frames(rows, slots), self.whole and len(rows) == len(known))

    def __repr__(self) -> str:
        rows, writers, _ = self._slots.shape
        return f"LargeTrace of {self.table.kernel}: {rows:,} CTAs, {writers} writers each, {self.nbytes / 1e9:,.1f} GB"

    @property
    def _parts(self) -> list[slice]:
        """Rows of the slots, part by part."""
        rows = self._slots.shape[0]
        step = max(PART_BYTES // max(self.nbytes // max(rows, 1), 1), 1)
        return [slice(first, min(first + step, rows)) for first in range(0, rows, step)]

    @cached_property
    def _blocks(self) -> Blocks:
        """Where each row ran."""
        return place_blocks(np.broadcast_to(np.int64(0), self._slots.shape), self.table, self.meta.grids)[1]

    @cached_property
    def _heads(self) -> list[tuple[slice, Writers, npt.NDArray[np.int64]]]:
        """Per part its rows, and of each slot what its header says and how long its writer stayed."""
        from tltrace_nb.analysis.parts import each

        blocks = self._blocks

        def of_rows(rows: slice) -> tuple[slice, Writers, npt.NDArray[np.int64]]:
            slots = self._slots.rows(np.arange(rows.start, rows.stop))
            writers = read_writers(slots, self.table)
            unfinished = (writers.held > 0) & ~writers.done
            stay = np.where(writers.done, writers.span, 0)
            if unfinished.any():  # then its last record tells
                stay = read_records(slots, self.table, _blocks_at(blocks, rows), writers).stay
            return rows, replace(writers, head=writers.head.copy()), stay

        return each(of_rows, self._parts)

    @cached_property
    def _clocks(self) -> Clocks:
        """The clock of each row, from the readings of all."""
        every = [writers for _, writers, _ in self._heads]
        count = len(self.table.writers)
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(writers, name) for writers in every])
            for name in Writers.__dataclass_fields__
            if name != "row"
        }
        row = np.repeat(np.arange(self._slots.shape[0], dtype=np.int32), count)
        stay = np.concatenate([stay for _, _, stay in self._heads])
        return clocks_of(self._blocks, Writers(row=row, **columns), stay, self.meta.clock_ghz)

    def _frames(self, rows: npt.NDArray[np.int64], slots: Slots) -> Decoded:
        """The frames of some rows, ascending, whose slots these are."""
        blocks, clocks = _blocks_at(self._blocks, rows), _clocks_at(self._clocks, rows)
        return decode_rows(slots, self.table, blocks, self.meta.grids, self.meta.clock_ghz, clocks)


class _Excerpt(Trace):
    """Some CTAs of a large trace. It is not saved: its times are those of the whole."""

    def __init__(self, slots: Slots, table: SiteTable, meta: TraceMeta, frames: Decoded, whole: bool) -> None:
        super().__init__(slots, table, meta)
        vars(self)["_frames"] = frames
        self._whole = whole

    @property
    def whole(self) -> bool:
        return self._whole

    def save(self, path: str | os.PathLike[str]) -> None:
        """Refuse: without the other CTAs the clocks of these are not what they are with them."""
        raise ValueError(f"{path}: this is a part of a large trace; copy the file that it is read from")


def _blocks_at(blocks: Blocks, rows: Any) -> Blocks:
    return Blocks(blocks.launch[rows], blocks.cta[rows], blocks.xyz[:, rows])


def _clocks_at(clocks: Clocks, rows: Any) -> Clocks:
    return Clocks(clocks.ghz[rows], clocks.start_ns[rows], clocks.end_ns[rows], clocks.backwards[rows])


class _SlotsFile:
    """Rows of ``slots.npy``, read as they are asked for, by any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file, tracefile.naming(path), zipfile.ZipFile(file) as archive:
            self.table, self.meta, self.shape = tracefile.described(archive, os.fstat(file.fileno()).st_size)
            self.nbytes = tracefile.nbytes(self.shape)
            free = shutil.disk_usage(tempfile.gettempdir()).free
            if self.nbytes > free:
                raise TraceFileError(
                    f"its slots take {self.nbytes:,} bytes, for which there is no room in {tempfile.gettempdir()}, "
                    f"which has {free:,}: set TMPDIR to another folder"
                )
            with archive.open(tracefile.SLOTS) as packed:
                tracefile.check_header(packed, self.shape)
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it goes with this object)
                weakref.finalize(self, self._file.close)
                shutil.copyfileobj(packed, self._file, 1 << 20)
            if self._file.tell() != self.nbytes:
                raise TraceFileError(f"{tracefile.SLOTS} ends early; copy the file again")
            self._file.flush()

    def rows(self, rows: npt.NDArray[np.int64]) -> Slots:
        """The slots of some rows, ascending."""
        slots = np.empty((len(rows), *self.shape[1:]), "<i8")
        size, into = (
            self.nbytes // max(self.shape[0], 1),
            slots.reshape(-1).view(np.uint8).data,
        )
        breaks = np.flatnonzero(np.diff(rows) != 1) + 1
        with tracefile.naming(self._path):
            for first, last in itertools.pairwise([0, *breaks.tolist(), len(rows)]):
                at, end = first * size, last * size
                while at < end:  # the system reads 2 GB at a time at most
                    at += os.preadv(self._file.fileno(), [into[at:end]], int(rows[first]) * size + at - first * size)
        return slots
