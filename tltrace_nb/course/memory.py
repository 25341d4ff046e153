"""What the exercises of lesson 4 answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.kernels import Case, Ran, tried
from tltrace_nb.course.numbers import number

WARP = 32
"""Threads of a warp, and banks of shared memory."""
SECTOR = 32
"""Bytes of a sector of global memory."""
SIDES = (64, 80)
"""Of the matrices that the kernel of exercise 3 is tried on; the second is no multiple of a tile."""
SLOW = 1.5
"""How much longer than without conflicts a range takes that has some."""


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


def ways_of_the_conflict(answer: Any, width: int) -> Verdict:
    """How many ways the bank conflict has when a warp reads a column of rows of so many words."""
    if answer is None:
        return unanswered()
    given = number(answer)
    asked = np.bincount(np.arange(WARP) * width % WARP)
    truth, banks = int(asked.max()), int(np.count_nonzero(asked))
    if given == truth:
        return right(f"the column is spread over {banks} banks, which give {truth} words each: a {truth}-way conflict.")
    if given == banks:
        return wrong("that is how many banks are asked. How many words does each of them give?")
    if given == 1:
        return wrong("so it is with rows of 33 words. In which banks are the words 0, 34, 68, …?")
    if given == WARP:
        return wrong("so it is without padding, when the whole column is in one bank.")
    return wrong("thread t reads word width·t, in bank width·t modulo 32: which threads meet in one bank?")


def swizzle(build: Any, given: Any) -> Verdict:
    """Whether a transpose without padding reads its columns without bank conflicts.

    ``build``, ``given``: take the side of the matrix; the student's kernel, and that of the lesson, which takes a
    padding as well.
    """
    if build is None:
        return unanswered("rotate the rows of S in the kernel above and run it, then run this cell again.")
    conflicts, padded = (_lesson(given, pad) for pad in (0, 1))
    ran = tried(build, _transposes(), lambda case, ran: _not_transposed(case, ran, conflicts))
    if isinstance(ran, Verdict):
        return ran
    mine = ran[0]
    if (why := _bypassed(mine)) is not None:
        return partly(why)
    reads, writes = ([_duration(each, name) for each in (mine, conflicts, padded)] for name in ("read", "write"))
    if reads[0] > SLOW * reads[2]:
        return partly('now "read" has the conflicts: rotate the columns of each row, not its rows.')
    if writes[0] > (writes[1] + writes[2]) / 2:
        changed = _changed(mine, conflicts)
        if not changed:
            return unanswered(f'"write" still takes {writes[0]:.0f} cycles, as before; rotate the rows of S.')
        if changed <= {("store", 0), ("load", 0)}:
            return partly(
                "that rotates the first index of S, which row it is. Rotate the second, the place in the row."
            )
        return partly(f'"write" takes {writes[0]:.0f} cycles: threads still meet in banks.')
    return right(f'"write" takes {writes[0]:.0f} cycles, with padding {writes[2]:.0f}, with conflicts {writes[1]:.0f}.')


def _transposes() -> list[Case]:
    matrices = (torch.randn(n, n, generator=torch.Generator().manual_seed(n)) for n in SIDES)
    return [Case((len(m),), (m,), m.T.contiguous()) for m in matrices]


def _lesson(given: Any, pad: int) -> Ran:
    """The lesson's own kernel with this padding."""
    ran = tried(lambda n: given(n, pad), _transposes()[:1])
    if isinstance(ran, Verdict):
        raise ValueError(f"the kernel that the lesson gives is not right: {ran.why}")
    return ran[0]


def _bypassed(ran: Ran) -> str | None:
    """What of the way through shared memory is missing, or is not in the ranges that are measured."""
    shared = [each for each in ran.accesses if each.shared]
    if not any(each.written for each in shared) or not all(each.written or "write" in each.ranges for each in shared):
        return 'B must come from S, in the range "write": the shared memory is bypassed, or is read elsewhere.'
    if all(each.written for each in shared):
        return "B must come from S: the shared memory is bypassed."
    for name, tensor, written, what in (("read", 0, False, "reads A"), ("write", 1, True, "writes B")):
        if ran.outside(name, tensor, written):
            return f'keep the range "{name}" around the loop that {what}, by which this is measured.'
    if any("write" in each.ranges for each in ran.uses(0, False)):
        return "B must come from S: the shared memory is bypassed."
    row = max(int(each.shape[-1]) for each in shared)
    if row > WARP:
        return f"the rows of S have {row} words: that is padding. Keep them at {WARP}."
    return None


def _not_transposed(case: Case, ran: Ran, before: Ran) -> str | None:
    if torch.equal(ran.result, case.inputs[0]):
        return "B is A itself and not its transpose."
    changed = {access for access, _ in _changed(ran, before)}
    if len(changed) == 1:
        where, other = ("write", "read") if changed == {"load"} else ("read", "write")
        return f'B is not the transpose: S is rotated in "{where}" alone. Read each element where "{other}" put it.'
    if changed:
        return "B is not the transpose: read each element of S where it was written."
    return None


def _changed(ran: Ran, before: Ran) -> set[tuple[str, int]]:
    """Which indices of S are not as they were: of the ``store`` into S or the ``load`` from it, and the dimension."""
    found = set()
    for access, written in (("store", True), ("load", False)):
        now, then = ({a.indices for a in each.accesses if a.shared and a.written == written} for each in (ran, before))
        for dimension in range(2):
            if {each[dimension : dimension + 1] for each in now} != {each[dimension : dimension + 1] for each in then}:
                found.add((access, dimension))
    return found


def _duration(ran: Ran, name: str) -> float:
    events = ran.trace.events
    return float(events.loc[events["name"] == name, "duration"].median())
