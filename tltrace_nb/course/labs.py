"""Labs: a whole kernel is handed in, and gets points by criterion: its results, its timeline, its time.

In: a builder and a :class:`Lab`. Out: a verdict with a mark for each criterion. Whoever computes the wrong thing gets
no points for markers or speed: the first results are looked at first, and nothing else is where they are wrong.
Inputs are drawn anew each time, so that a result that was copied is of no use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tltrace_nb.course import Mark, Verdict, marked, unanswered, wrong
from tltrace_nb.course.kernels import Case, Ran, tried

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.course.accesses import Access

NOT_LOOKED_AT = "not looked at while the first results are wrong"


@dataclass(frozen=True)
class Results:
    """A criterion: the kernel is right for these sizes and inputs, which ``cases`` draws."""

    points: int
    asks: str
    cases: Callable[[], list[Case]]


@dataclass(frozen=True)
class Attempt:
    """A kernel whose results are right: its run on the lab's timed case, and that of the given kernel."""

    mine: Ran
    given: Ran

    @property
    def share(self) -> float:
        """Its time over that of the given kernel, from the first CTA's entry to the last one's exit."""
        return self.mine.launch_ns / self.given.launch_ns


@dataclass(frozen=True)
class Criterion:
    """A criterion on a kernel that is right: ``missing`` says what is not as asked, or ``None``."""

    points: int
    asks: str
    missing: Callable[[Attempt], str | None]


@dataclass(frozen=True)
class Lab:
    """What a kernel is judged by. The first of ``results`` comes first, and its first case is the one that is timed."""

    results: tuple[Results, ...]
    criteria: tuple[Criterion, ...]
    given: Any

    @property
    def all(self) -> list[Results | Criterion]:
        """Both, in order."""
        return [*self.results, *self.criteria]

    @property
    def points(self) -> int:
        """All of them."""
        return sum(each.points for each in self.all)


def judged(build: Any, lab: Lab) -> Verdict:
    """The points of a handed-in builder, with a mark for each criterion."""
    if build is None:
        return _of_a_lab(unanswered("write the kernel into the cell above, run it, then run this cell again."), lab)
    cases = lab.results[0].cases()
    first = tried(build, cases)
    if isinstance(first, Verdict):
        others = (Mark(each.asks, each.points, 0, NOT_LOOKED_AT) for each in lab.all[1:])
        return marked((Mark(lab.results[0].asks, lab.results[0].points, 0, first.why), *others))
    marks = [_mark(lab.results[0], _race(first))]
    for results in lab.results[1:]:
        ran = tried(build, results.cases())
        marks.append(_mark(results, ran.why if isinstance(ran, Verdict) else _race(ran)))
    given = tried(lab.given, cases[:1])
    if isinstance(given, Verdict):
        return wrong(f"the kernel to compare with is no longer right: {given.why}")
    attempt = Attempt(first[0], given[0])
    marks += [_mark(criterion, criterion.missing(attempt)) for criterion in lab.criteria]
    return marked(tuple(marks))


def faster(most: float) -> Callable[[Attempt], str | None]:
    """A criterion's question: does the kernel take at most so much of the given kernel's time?"""

    def missing(attempt: Attempt) -> str | None:
        share = attempt.share
        return None if share <= most else f"it takes {share:.0%} of the given kernel's time"

    return missing


def ranges(ran: Ran, name: str) -> pd.DataFrame:
    """The ranges of that name, in the order of CTAs and of their begins."""
    events = ran.trace.events
    return events[(events["kind"] == "range") & (events["name"] == name)].sort_values(["cta", "start"])


def around(ran: Ran, name: str, *tensors: int, written: bool = False) -> str | None:
    """What a range leaves out of the reads of these tensors (or of what writes them), which are numbered."""
    if ranges(ran, name).empty:
        return f'there is no range "{name}"'
    for position in tensors:
        if ran.outside(name, position, written):
            return f'"{name}" is not around all that {"writes" if written else "reads"} {ran.tensors[position]}'
    return None


def operators(ran: Ran, operator: str) -> list[Access]:
    """What the tile operators of that name read and write."""
    return [access for access in ran.accesses if access.operator == operator]


def counted(ran: Ran, *names: str) -> str | None:
    """Whether the payloads of all these ranges are 0, 1, 2, … in each CTA, and as many of each name."""
    expected: list[tuple[int, int]] = []
    for name in names:
        found = ranges(ran, name)
        if found.payload.isna().any():
            return f'"{name}" has no payload'
        given = sorted(zip(map(int, found.cta), map(int, found.payload), strict=True))
        of = Counter(cta for cta, _ in given)
        if given != sorted((cta, k) for cta, count in of.items() for k in range(count)):
            return f'the payloads of "{name}" are not 0, 1, 2, … in each CTA'
        if expected and given != expected:
            return f'there are not as many "{name}" as "{names[0]}"'
        expected = given
    return None


def ahead(ran: Ran, early: str, late: str) -> str | None:
    """Whether ``early`` k + 1 begins before ``late`` k ends, in all CTAs and for all k; payloads are ``counted``."""
    begins, ends = _moments(ran, early, "start"), _moments(ran, late, "end")
    behind = [(cta, k) for (cta, k), end in ends.items() if begins.get((cta, k + 1), end - 1) >= end]
    if not behind:
        return None
    cta, k = behind[0]
    return f'in CTA {cta} "{early}" {k + 1} begins when "{late}" {k} is over, and so in {len(behind)} iterations'


def bubbles(ran: Ran, before: str, after: str, most: int) -> str | None:
    """Whether ``after`` k + 1 begins at most so many cycles after ``before`` k has ended; payloads are ``counted``."""
    begins, ends = _moments(ran, after, "start"), _moments(ran, before, "end")
    gaps = {(cta, k): begins[cta, k + 1] - end for (cta, k), end in ends.items() if (cta, k + 1) in begins}
    (cta, k), longest = max(gaps.items(), key=lambda each: each[1], default=((0, 0), 0))
    if longest <= most:
        return None
    return f'{longest:,} cycles pass between "{before}" {k} and "{after}" {k + 1} of CTA {cta}'


def _moments(ran: Ran, name: str, column: str) -> dict[tuple[int, int], int]:
    """When the ranges of that name begin or end, by CTA and payload."""
    found = ranges(ran, name)
    keys = zip(map(int, found.cta), map(int, found.payload), strict=True)
    return dict(zip(keys, map(int, found[column]), strict=True))


def normal(*shape: int, dtype: str = "float32", times: float = 1.0) -> torch.Tensor:
    """Unit normals times a factor, other ones at each call."""
    values = torch.randn(shape, generator=_fresh()) * times
    return values.to(getattr(torch, dtype))


def _fresh() -> torch.Generator:
    generator = torch.Generator()
    generator.seed()
    return generator


def _race(ran: list[Ran]) -> str | None:
    """The first race that the virtual GPU has found: such a result is right by luck."""
    return next((each.race for each in ran if each.race), None)


def _mark(criterion: Results | Criterion, why: str | None) -> Mark:
    return Mark(criterion.asks, criterion.points, 0 if why else criterion.points, why or "")


def _of_a_lab(verdict: Verdict, lab: Lab) -> Verdict:
    return Verdict(verdict.state, verdict.why, points=lab.points)
