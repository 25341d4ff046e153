"""The lab on a pipelined GEMM: the given kernel, one step after the other, and what one is judged by that overlaps."""

from __future__ import annotations

from tltrace_nb.course import Verdict
from tltrace_nb.course.given import one_at_a_time
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
)

MOST_CYCLES = 250
"""Between an MMA and the next one of the same CTA, once the pipeline runs."""
CLOSE = 5e-3
"""How far a result may be off, relative and absolute: sums in float32 are nearer, sums in float16 are not."""


def gemm(build: object) -> Verdict:
    """The points of a GEMM: ``build`` takes M, N and K, its kernel A and B in float16 and C in float32."""
    return judged(build, LAB)


def _case(m: int, n: int, k: int) -> Case:
    a, b = normal(m, k, dtype="float16"), normal(k, n, dtype="float16")
    return Case((m, n, k), (a, b), a.float() @ b.float(), CLOSE)


def _marked(attempt: Attempt) -> str | None:
    if (why := around(attempt.mine, "load", 0, 1)) is not None:
        return why
    multiplied = operators(attempt.mine, "gemm")
    if not multiplied or any("mma" not in each.ranges for each in multiplied):
        return '"mma" is not around all of T.gemm'
    if any("load" in each.ranges for each in multiplied) or any(
        "mma" in each.ranges for position in (0, 1) for each in attempt.mine.uses(position, False)
    ):
        return "one of the two ranges is around both"
    return None


def _counted(attempt: Attempt) -> str | None:
    return _marked(attempt) or counted(attempt.mine, "load", "mma")


def _overlaps(attempt: Attempt) -> str | None:
    return _counted(attempt) or ahead(attempt.mine, "load", "mma")


def _steady(attempt: Attempt) -> str | None:
    return _counted(attempt) or bubbles(attempt.mine, "mma", "mma", MOST_CYCLES)


LAB = Lab(
    results=(
        Results(2, "right for 256 × 256 × 1,024", lambda: [_case(256, 256, 1024)]),
        Results(1, "right for sizes that are no multiples of a tile", lambda: [_case(200, 136, 328)]),
    ),
    criteria=(
        Criterion(1, 'a range "load" around all that reads A and B, and "mma" around T.gemm', _marked),
        Criterion(1, "the payload of both is the iteration", _counted),
        Criterion(
            2, "timeline: the copies of iteration k + 1 are issued before the MMA of iteration k ends", _overlaps
        ),
        Criterion(1, f"timeline: no bubble between two MMAs longer than {MOST_CYCLES} cycles", _steady),
        Criterion(1, "at most 60 % of the given kernel's time", faster(0.6)),
        Criterion(1, "at most 40 % of the given kernel's time", faster(0.4)),
    ),
    given=one_at_a_time,
)
