"""The lab on attention: the given kernel, which multiplies Q and K three times, and what one is judged by."""

from __future__ import annotations

import torch

from tltrace_nb.course import Verdict
from tltrace_nb.course.given import three_times
from tltrace_nb.course.kernels import Case
from tltrace_nb.course.labs import (
    Attempt,
    Criterion,
    Lab,
    Results,
    ahead,
    around,
    bubbles,
    counted,
    faster,
    judged,
    normal,
    operators,
    ranges,
)

DIM = 64
"""Elements of a query, a key and a value."""
MOST_CYCLES = 200
"""Between the second MMA of a block of keys and the first of the next."""
CLOSE = 5e-3
"""How far a result may be off, relative and absolute: probabilities may be rounded to float16."""


def attention(build: object) -> Verdict:
    """The points of attention for one head: ``build`` takes the numbers of queries and keys.

    Its kernel takes Q, K and V in float16, with ``DIM`` columns, and gives the output in float32.
    """
    return judged(build, LAB)


def _case(queries: int, keys: int, times: float = 1.0) -> Case:
    q, k, v = (normal(n, DIM, dtype="float16", times=f) for n, f in ((queries, times), (keys, 1.0), (keys, 1.0)))
    expected = torch.softmax(q.float() @ k.float().T / DIM**0.5, -1) @ v.float()
    return Case((queries, keys), (q, k, v), expected, CLOSE)


def _marked(attempt: Attempt) -> str | None:
    mine = attempt.mine
    if (why := around(mine, "load K", 1) or around(mine, "load V", 2)) is not None:
        return why
    multiplied = operators(mine, "gemm")
    if not multiplied or any(len(each.ranges & {"QK", "PV"}) != 1 for each in multiplied):
        return 'each T.gemm lies in one range, "QK" or "PV"'
    if ranges(mine, "softmax").empty:
        return 'there is no range "softmax"'
    if any("softmax" in each.ranges for each in multiplied):
        return '"softmax" is around a T.gemm'
    if not any("softmax" in each.ranges and each.written for each in mine.accesses):
        return '"softmax" is around nothing'
    return None


def _once(attempt: Attempt) -> str | None:
    mine = attempt.mine
    if (why := _marked(attempt) or counted(mine, "load K", "QK", "softmax", "load V", "PV")) is not None:
        return why
    places = [len(mine.uses(position, False)) for position in (1, 2)]
    return None if places == [1, 1] else f"the kernel reads K in {places[0]} places, V in {places[1]}"


def _overlaps(attempt: Attempt) -> str | None:
    return _once(attempt) or ahead(attempt.mine, "load K", "softmax")


def _steady(attempt: Attempt) -> str | None:
    return _once(attempt) or bubbles(attempt.mine, "PV", "QK", MOST_CYCLES)


LAB = Lab(
    results=(
        Results(2, "right for 128 queries and 512 keys", lambda: [_case(128, 512)]),
        Results(1, "right for numbers of queries and keys that are no multiples of a block", lambda: [_case(40, 200)]),
        Results(1, "right for large scores, whose exp overflows", lambda: [_case(64, 128, times=40.0)]),
    ),
    criteria=(
        Criterion(
            1,
            'ranges "load K" and "load V" around what reads K and V, "QK" and "PV" around T.gemm, "softmax" between',
            _marked,
        ),
        Criterion(1, "timeline: each block of keys is loaded and multiplied once; the payload is the block", _once),
        Criterion(1, 'timeline: "load K" of block k + 1 is issued before the softmax of block k ends', _overlaps),
        Criterion(1, f'timeline: no bubble between "PV" and the next "QK" longer than {MOST_CYCLES} cycles', _steady),
        Criterion(1, "at most 60 % of the given kernel's time", faster(0.6)),
        Criterion(1, "at most 40 % of the given kernel's time", faster(0.4)),
    ),
    given=three_times,
)
