"""What a trace out of a file takes in memory, known before it is taken.

In: the site table and the shape of the slots, as the file states them, then the slots. Out: a :class:`CostError` where
they take more than they may. A file may come from anywhere, and zeros pack a thousandfold: what counts is not how large
the slots are, most of which may be room that nothing filled, but what is in them and what frames are made of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt

from tltrace_nb.data import slots as layout
from tltrace_nb.data.sites import SiteTable

SMALL, FACTOR = 64 << 20, 128
"""Bytes that any file may take, and how often its own size above that; a recorded one takes up to 40 times."""
ROOM = 256 << 20
"""Bytes of slots, filled or not, that any file may have: what one kernel takes by default."""

SLOT_BYTES, RECORD_BYTES, ARROW_BYTES, LANE_BYTES = 400, 160, 16, 16
"""What decoding takes at most per slot, per record, per record and kind of arrow, and per slot and lane."""
PAGE, BLOCK = 4096, 1 << 20
"""Bytes that memory is given out in, and that are read at once."""


class CostError(Exception):
    """A trace takes more memory than it may; ``enough`` is a limit that would do."""

    def __init__(self, most: int, enough: int) -> None:
        super().__init__(f"opening it takes more memory than {most:,} bytes, up to {enough:,}")
        self.enough = enough


def most(size: int) -> int:
    """Bytes of memory that a file of ``size`` bytes may take unless told otherwise."""
    return max(SMALL, FACTOR * size)


@dataclass(frozen=True, slots=True)
class Cost:
    """What slots of a ``shape`` take at least, ``fixed``, and per record, of which ``most`` bytes are allowed.

    ``promised``: bytes of the slots, filled or not.
    """

    promised: int
    capacity: int
    fixed: int
    per_record: int
    most: int

    @classmethod
    def of(cls, table: SiteTable, shape: tuple[int, int, int], most: int) -> Cost:
        """The cost of slots with this table. Raises ``CostError`` where it is too much whatever they hold."""
        rows, writers, _ = shape
        lanes = len({site.lane for site in table.sites})
        fixed = rows * max(writers, 1) * (SLOT_BYTES + LANE_BYTES * lanes)
        promised = math.prod(shape) * np.dtype(np.int64).itemsize
        cost = cls(promised, table.capacity, fixed, RECORD_BYTES + ARROW_BYTES * len(table.flows), most)
        cost.check(0)
        if promised > max(most, ROOM):
            raise CostError(most, cost._enough)
        return cost

    @property
    def _enough(self) -> int:
        """Bytes that do whatever the slots hold."""
        return self.fixed + self.promised + self.promised // layout.RECORD_BYTES * self.per_record

    def check(self, filled: int, records: int | None = None) -> None:
        """Raise ``CostError`` where so many bytes that are not zero, and so many records, are too many."""
        needed = self.fixed + filled + (records or 0) * self.per_record
        if needed > self.most:
            raise CostError(self.most, self._enough if records is None else needed)

    def read(self, member: IO[bytes]) -> npt.NDArray[np.int64]:
        """The slots' words that ``member`` holds from here on, read-only. Room that nothing filled takes no memory.

        Raises ``CostError`` where they are too many, and ``EOFError`` where they are not as many as promised.
        """
        words = np.zeros(self.promised // 8, "<i8")
        at = filled = 0
        while part := member.read(BLOCK):
            found = np.frombuffer(part[: len(part) // 8 * 8], "<i8")
            if len(part) % 8 or at + len(found) > len(words):
                raise EOFError("its slots are longer than promised")
            if found.any():
                pages = np.logical_or.reduceat(found != 0, np.arange(0, len(found), PAGE // 8))
                filled += int(pages.sum()) * PAGE
                self.check(filled)
                kept = slice(None) if pages.all() else np.repeat(pages, PAGE // 8)[: len(found)]
                words[at : at + len(found)][kept] = found[kept]
            at += len(found)
        if at < len(words):
            raise EOFError("its slots are shorter than promised")
        self.check(filled, self._claimed(words, filled))
        words.flags.writeable = False
        return words

    def _claimed(self, words: npt.NDArray[np.int64], filled: int) -> int:
        """Records that the headers claim; a writer that never left claims none, and has what is filled."""
        if not len(words):
            return 0
        head = layout.headers(words.reshape(-1, layout.slot_words(self.capacity)))
        done = np.where(head["state"] == layout.STATE_DONE, np.minimum(head["executed"], self.capacity), 0)
        never = np.isin(head["state"], (layout.STATE_OPEN, layout.STATE_STUCK))
        unfinished = int(np.count_nonzero(never)) * self.capacity
        return int(done.sum(dtype=np.int64)) + min(unfinished, filled // layout.RECORD_BYTES)
