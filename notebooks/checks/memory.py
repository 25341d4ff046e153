"""What the exercises of lesson 4 answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from checks import Verdict, right, unanswered, wrong
from checks.numbers import number

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

WARP = 32
"""Threads of a warp, and banks of shared memory."""
SECTOR = 32
"""Bytes of a sector of global memory."""


def sectors_of_a_warp(answer: Any, stride: int, item_bytes: int) -> Verdict:
    """How many sectors a warp touches whose threads read elements so far apart."""
    if answer is None:
        return unanswered()
    given = number(answer)

    def touched(size: int, step: int) -> int:
        return len(np.unique(np.arange(WARP) * step * size // SECTOR))

    truth = touched(item_bytes, stride)
    if given == truth:
        return right(f"{SECTOR // (stride * item_bytes)} of the elements lie in one sector, {truth} hold all {WARP}.")
    if given == touched(4, stride):
        return wrong("so it would be with elements of 4 bytes; these are smaller.")
    if given == touched(item_bytes, 1):
        return wrong("that is for neighbours. How far apart, in bytes, are the elements that two threads next read?")
    if given == WARP:
        return wrong("that would be a sector for every thread: do two of their elements lie within 32 bytes?")
    if given == truth * SECTOR:
        return wrong("those are bytes. How many sectors are they?")
    return wrong("how many bytes is one element from the next, and how many of them fit 32 bytes?")


def turns_of_the_busiest_bank(answer: Any, width: int) -> Verdict:
    """How many different words the busiest bank gives to a warp that reads a column of rows of so many words."""
    if answer is None:
        return unanswered()
    given = number(answer)
    asked = np.bincount(np.arange(WARP) * width % WARP)
    truth, banks = int(asked.max()), int(np.count_nonzero(asked))
    if given == truth:
        return right(f"the column is spread over {banks} banks, each of which gives {truth} words.")
    if given == banks:
        return wrong("that is how many banks are asked. How many words does each of them give?")
    if given == 1:
        return wrong("so it is with rows of 33 words. In which banks are the words 0, 34, 68, …?")
    if given == WARP:
        return wrong("so it is without padding, when the whole column is in one bank.")
    return wrong("thread t reads word width·t, in bank width·t modulo 32: which threads meet in one bank?")


def swizzle(trace: Trace | None, correct: Any, conflicts: Trace, padded: Trace) -> Verdict:
    """Whether a transpose without padding reads its columns without conflicts.

    ``correct``: whether its result is the transpose; ``conflicts``, ``padded``: traces of the two other kernels.
    """
    if trace is None:
        return unanswered()
    if not hasattr(trace, "events"):
        return wrong("that is no trace: leave answer = trace.last at the end of the cell.")
    mine, slow, fast = (_write(t) for t in (trace, conflicts, padded))
    if not bool(correct):
        return wrong("the result is no longer the transpose: read each element where it was written.")
    for name in ("read", "write"):
        if not (trace.events["name"] == name).any():
            return wrong(f'keep the range "{name}", by which this is measured.')
    reads = [float(t.events.loc[t.events["name"] == "read", "duration"].median()) for t in (trace, padded)]
    taken, allowed = _shared(trace), _shared(conflicts)
    if taken is not None and allowed is not None and taken > allowed:
        return wrong(f"S takes {taken - allowed:,} bytes more than before: padding. Keep its rows at 32 words.")
    halfway = (slow + fast) / 2
    if mine > halfway and reads[0] <= 1.5 * reads[1]:
        if abs(mine - slow) <= 0.05 * slow:
            return unanswered(f'"write" still takes {mine:.0f} cycles, as before; rotate the rows of S.')
        return wrong(f'"write" takes {mine:.0f} cycles: threads still meet in banks.')
    if reads[0] > 1.5 * reads[1]:
        return wrong('now "read" has the conflicts: rotate by the row, not by the column.')
    return right(f'"write" takes {mine:.0f} cycles, with padding {fast:.0f}, with conflicts {slow:.0f}.')


def _shared(trace: Trace) -> int | None:
    """Bytes of shared memory of a CTA, where the trace says so."""
    return trace.meta.resources[0][1] if trace.meta.resources else None


def _write(trace: Trace) -> float:
    return float(trace.events.loc[trace.events["name"] == "write", "duration"].median())
