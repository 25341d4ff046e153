"""The notes on a trace as slices and instants of a file.

In: a trace's notes and its clocks. Out: :class:`Noted`. A track of a file has no slices that cross, so notes that
overlap are on rows of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tltrace_nb.base.words import utf8

if TYPE_CHECKING:
    from tltrace_nb.data.trace_data import TraceData
    from tltrace_nb.export.times import Times

TRACK = "notes"
"""What the track of the notes is called."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A note in times of the file, an instant where ``end`` is ``start``; ``about`` is what it is a note on."""

    row: int
    start: int
    end: int
    text: str
    about: dict[str, int]

    @property
    def track(self) -> str:
        """The name of its row."""
        return f"{TRACK} · row {self.row + 1}" if self.row else TRACK


def noted(trace: TraceData, times: Times) -> tuple[Noted, ...]:
    """The notes by their start; those on a CTA whose time is not known are left out."""
    known = [note for note in trace.meta.notes if times.has(note.cta)]
    ctas = np.array([note.cta for note in known], np.int64)
    begun, ended = (
        np.maximum(times.at(ctas, np.array(cycles, np.int64)), 0).tolist()
        for cycles in ([note.start for note in known], [note.end for note in known])
    )
    free: list[int] = []  # per row, when its last note has ended
    found = []
    for start, end, note in sorted(zip(begun, ended, known, strict=True), key=lambda each: each[:2]):
        row = next((row for row, since in enumerate(free) if since < start or since == start < end), len(free))
        free[row : row + 1] = [max(start, end)]
        about = {"cta": note.cta, "start_cycles": note.start, "duration_cycles": note.end - note.start}
        about |= {"thread": note.thread} if note.thread >= 0 else {}
        found.append(Noted(row, start, max(start, end), utf8(note.text), about))
    return tuple(found)
