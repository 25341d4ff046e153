"""The lab on softmax: the given kernel, which reads its rows three times, and what one is judged by that reads once."""

from __future__ import annotations

import torch

from tltrace_nb.course import Verdict
from tltrace_nb.course.given import three_passes
from tltrace_nb.course.kernels import Case
from tltrace_nb.course.labs import Attempt, Criterion, Lab, Results, around, faster, judged, normal, ranges

MOST_CYCLES = 100
"""Of a time between two ranges of a CTA that has no name."""
CLOSE = 2e-5
"""How far a result may be off, relative and absolute."""


def softmax(build: object) -> Verdict:
    """The points of a softmax of rows: ``build`` takes rows and columns, its kernel X and Y, both float32."""
    return judged(build, LAB)


def _case(rows: int, columns: int, more: float = 0.0) -> Case:
    x = normal(rows, columns, times=3.0) + more
    return Case((rows, columns), (x,), torch.softmax(x, -1), CLOSE)


def _marked(attempt: Attempt) -> str | None:
    return around(attempt.mine, "load", 0) or around(attempt.mine, "store", 1, written=True)


def _read_once(attempt: Attempt) -> str | None:
    """With ``load`` around all that reads X, the timeline shows how often a row is read."""
    if (why := _marked(attempt)) is not None:
        return why
    loads, stores = ranges(attempt.mine, "load"), ranges(attempt.mine, "store")
    if len(loads) != len(stores):
        return f"there are {len(loads)} loads and {len(stores)} stores: one of each for the rows that a CTA holds"
    between = zip(loads.cta, loads.end, stores.start, stores.cta, strict=True)
    if any(cta != other or end > start for cta, end, start, other in between):
        return "a load ends behind the store that it belongs to"
    places = len(attempt.mine.uses(0, False))
    return None if places == 1 else f"the kernel reads X in {places} places"


def _named(attempt: Attempt) -> str | None:
    """No time between a CTA's ranges that no range explains."""
    if (why := _marked(attempt)) is not None:
        return why
    events = attempt.mine.trace.events.query("kind == 'range'").sort_values(["cta", "start"])
    for cta, mine in events.groupby("cta"):
        over = mine.end.cummax()
        gap = (mine.start - over.shift()).fillna(0)
        if gap.max() > MOST_CYCLES:
            after = mine["name"].iloc[int(gap.argmax())]
            return f'{int(gap.max()):,} cycles in front of "{after}" in CTA {cta} have no name: what happens there?'
    return None


LAB = Lab(
    results=(
        Results(2, "right for 64 rows of 2,048 numbers", lambda: [_case(64, 2048)]),
        Results(1, "right for rows that are no multiple of 128", lambda: [_case(5, 1000), _case(3, 37)]),
        Results(1, "right for large numbers, whose exp overflows", lambda: [_case(4, 256, more=200.0)]),
    ),
    criteria=(
        Criterion(1, 'a range "load" around all that reads X, and "store" around all that writes Y', _marked),
        Criterion(1, "timeline: each row is loaded once", _read_once),
        Criterion(1, f"timeline: no bubble between two ranges longer than {MOST_CYCLES} cycles", _named),
        Criterion(1, "at most half of the given kernel's time", faster(0.5)),
        Criterion(2, "at most a fifth of the given kernel's time", faster(0.2)),
    ),
    given=three_passes,
)
