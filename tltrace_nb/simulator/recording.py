"""What the device helper does on a GPU, done here: records of the virtual GPU, in the very layout of ``data.slots``.

In: the calls ``__tlt_enter``, ``__tlt_record*`` and ``__tlt_leave`` of every thread group. Out: filled slots.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tltrace_nb.data.slots import HEADER_RECORDS, RECORD_WORDS, STATE_DONE, STATE_OPEN, STATE_STUCK
from tltrace_nb.simulator.memory import Mask, converted

ENTRY_CYCLES = 46
"""From reading the clock at the entry to the first marker (measured: 24 to 29 ns in 8 kernels without mbarriers)."""


class Clocked(Protocol):
    """A thread group, as far as recording goes."""

    t: float
    n: int
    ids: npt.NDArray[Any]
    marker: float
    stored: float
    pens: list[Pen]
    last_clock: int

    def clock(self) -> int:
        """``clock64``."""

    def global_ns(self) -> int:
        """``%globaltimer``."""

    @property
    def sm(self) -> int:
        """``%smid``."""


@dataclass(slots=True)
class Pen:
    """One writer in one CTA. ``position`` is that of its thread in the thread group."""

    row: int
    writer: int
    position: int
    capacity: int
    ring: bool
    executed: int = 0
    left: bool = False
    head: tuple[int, ...] = ()
    tail: tuple[int, int] = (0, 0)
    records: list[tuple[int, int]] = field(default_factory=list)


class Recorder:
    """The slots of one run, ``int64[rows, writers, words]``. ``chosen``: the traced CTAs of the launch, ascending."""

    def __init__(self, slots: npt.NDArray[np.int64], tag: int):
        self.slots = slots
        self.chosen: npt.NDArray[np.int64] | None = None
        self._tag = tag
        self._open: dict[tuple[int, int], Pen] = {}

    def row(self, cta: int) -> int:
        """What ``__tlt_row`` gives on a GPU: the row of a CTA, -1 where it is not traced."""
        assert self.chosen is not None
        row = int(np.searchsorted(self.chosen, cta))
        return row if row < len(self.chosen) and self.chosen[row] == cta else -1

    def enter(self, c: Clocked, row: Any, writer: Any, capacity: int, ring: bool) -> None:
        """Start the records of the thread group's writers."""
        if row < 0:
            return
        entered = c.t
        positions = np.flatnonzero(np.asarray(writer) >= 0) if np.ndim(writer) else range(c.n if writer >= 0 else 0)
        for position in map(int, positions):
            thread = int(c.ids[position])
            pen = Pen(int(row), int(_at(writer, position)), int(position), capacity, ring)
            pen.head = (thread << 32 | self._tag << 16 | c.sm, c.clock(), c.global_ns())
            c.pens.append(pen)
            self._open[pen.row, pen.writer] = pen
        c.t = entered + ENTRY_CYCLES

    def record(
        self, c: Clocked, site: int, payload: Any, dtype: np.dtype[Any], mine: Any, mask: Mask, beside: bool
    ) -> None:
        """One marker; ``beside``: with the clock of the one directly before it."""
        if not beside:
            c.last_clock = c.clock()
            c.t += c.marker
        for pen in c.pens:
            if not (_at(mine, pen.position) and _at(mask, pen.position)) or pen.left:
                continue
            if pen.ring or pen.executed < pen.capacity:
                bits = _bits(_at(payload, pen.position), dtype)
                pen.records.append((c.last_clock, bits << 32 | site))
                if len(pen.records) > 2 * pen.capacity:
                    del pen.records[: pen.capacity]
            pen.executed += 1

    def leave(self, c: Clocked, mask: Mask) -> None:
        """End the records of the writers among these lanes."""
        c.t = max(c.t, c.stored)
        for pen in c.pens:
            if _at(mask, pen.position) and not pen.left:
                # Markers side by side share a reading of the clock, but a marker takes a cycle at least.
                c.t += max(0, pen.head[1] + pen.executed - c.clock())
                pen.tail = (c.clock(), c.global_ns())
                pen.left = True  # after the tail: an interrupted writer counts as open
                self._write(pen)
                del self._open[pen.row, pen.writer]

    def stuck(self, c: Clocked) -> None:
        """Note for the writers of a thread group when it was known that it cannot go on."""
        for pen in c.pens:
            if not pen.left:
                pen.tail = (c.clock(), c.global_ns())

    def flush(self) -> None:
        """Write what writers have recorded that never left."""
        for pen in self._open.values():
            self._write(pen)

    def _write(self, pen: Pen) -> None:
        never = STATE_STUCK if any(pen.tail) else STATE_OPEN
        first = STATE_DONE << 32 | pen.executed if pen.left else never << 32
        kept = pen.records[-pen.capacity :]
        if pen.ring and pen.executed > pen.capacity:
            turn = pen.executed % pen.capacity
            kept = kept[-turn:] + kept[:-turn] if turn else kept
        words = [first, *pen.head, *pen.tail, *(word for record in kept for word in record)]
        signed = np.array(words, dtype=np.uint64).view(np.int64)
        self.slots[pen.row, pen.writer, : len(words)] = signed
        assert len(words) == RECORD_WORDS * (HEADER_RECORDS + len(kept))


def _at(value: Any, position: int) -> Any:
    return value[position] if isinstance(value, np.ndarray) and value.ndim else value


def _bits(value: Any, dtype: np.dtype[Any]) -> int:
    """The 32 bits of a payload."""
    if isinstance(value, int):
        return value & 0xFFFFFFFF
    if dtype.kind == "f":
        return int(np.float32(value).view(np.uint32))
    return int(converted(value, dtype)) & 0xFFFFFFFF
