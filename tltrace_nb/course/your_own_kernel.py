"""What the exercises of lesson 10 answer: the slowest operator, a marker of one's own, a kernel that reads once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.kernels import Case, Ran, tried

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

WORTH = 0.75
"""New over old time of the launch up to which exercise 3 is solved: one read of the rows instead of two must show."""

SHAPES = ((16, 4096), (15, 4096), (6, 1280))
"""Rows and columns that the kernels are tried on; the last two are no multiples of what a CTA or an iteration takes."""


def slowest(answer: Any, trace: Trace) -> Verdict:
    """The name with the most cycles among the ranges of ``trace`` that enclose no other."""
    if answer is None:
        return unanswered()
    ranges = trace.events[trace.events.kind == "range"]
    by_name = ranges.groupby("name", observed=True).duration
    totals, means = by_name.sum(), by_name.mean()
    enclosing = set(ranges.name[ranges.index.isin(ranges.parent.dropna())])
    leaves = [name for name in totals.index if name not in enclosing]
    if not isinstance(answer, str) or answer not in totals.index:
        return wrong(f"give one of the names, as a string: {', '.join(map(str, totals.index))}")
    if answer in enclosing:
        return wrong("a loop encloses operators, whose cycles are counted in it: which of them takes the most?")
    if answer == totals[leaves].idxmax():
        share, count = totals[answer] / totals[leaves].sum(), int((ranges.name == answer).sum())
        return right(f"{share:.0%} of all operators' cycles, in {count} executions.")
    if str(answer).startswith("copy"):
        return wrong("a copy into registers is only issued there. Which operator waits until the values have come?")
    if answer == means[leaves].idxmax():
        return wrong("the longest single execution, but how many of them are there? Look at total, not at mean")
    return wrong("others take more: look at the column total")


def scale_is_marked(build: Any) -> Verdict:
    """Whether the kernel normalises, with a range ``scale`` around each iteration of its second loop.

    ``build``: takes rows and columns. The payload of ``scale`` is the iteration, as that of ``squares`` is.
    """
    ran = tried(build, _rows())
    if isinstance(ran, Verdict):
        return ran
    names = {str(name) for name in ran[0].trace.events.name} - {"squares"}
    if not names:
        return unanswered("there is no range called scale yet: put one around the body of the second loop.")
    if "scale" not in names:
        return partly(f"there is a range {', '.join(sorted(names))}, but none called scale: names are taken as written")
    for each in ran:
        if (why := _iterations(each)) is not None:
            return partly(why)
    for tensor, written, what in ((2, True, "copy to Y"), (1, False, "multiplication by W")):
        if ran[0].outside("scale", tensor, written):
            return partly(f"the range scale leaves the {what} out: put it around all that an iteration does.")
    if any(not each.ranges & {"squares", "scale"} for each in ran[0].uses(0, False)):
        return partly("the range scale leaves the copy from X out: put it around all that an iteration does.")
    scale = ran[0].trace.events.query("name == 'scale'")
    return right(f"{len(scale)} ranges, one for each iteration of each CTA.")


def _iterations(ran: Ran) -> str | None:
    """What is wrong with how often ``scale`` is there and with its payload."""
    squares, scale = (ran.trace.events.query("name == @name") for name in ("squares", "scale"))
    if squares.empty:
        return "leave the range squares where it was, around the body of the first loop."
    if len(scale) == len(ran.trace.ctas) < len(squares):
        return "there is one range a CTA, around the whole loop; put it inside, around what each iteration does"
    if scale.payload.isna().all():
        return "the ranges are there, but carry no payload: which iteration is which?"
    counted, given = (sorted(zip(each.cta, each.payload, strict=True)) for each in (squares, scale))
    if given != counted:
        return "the payload is not the number of the iteration: it should go 0, 1, 2, … once in every CTA"
    return None


def faster(build: Any, before: Any) -> Verdict:
    """Whether the kernel of ``build`` does what that of ``before`` does, in clearly less time on the virtual GPU."""
    if build is None:
        return unanswered("write the kernel, then run this cell again.")
    ran = tried(build, _rows(), _not_normalised)
    if isinstance(ran, Verdict):
        return ran
    old = tried(before, _rows()[:1])
    if isinstance(old, Verdict):
        return partly(f"the kernel to compare with is no longer right: {old.why}")
    mine, events = ran[0], ran[0].trace.events
    missing = {"squares", "scale"} - {str(name) for name in events.name}
    if missing:
        return partly(f"it runs, but the range {' and '.join(sorted(missing))} is missing: how will you compare?")
    if (events.query("name == 'squares'").groupby("cta").size() > 1).any():
        return partly("it still goes over the row in iterations: one T.copy can load all columns")
    for name, tensor, written, what in (("squares", 0, False, "reads X"), ("scale", 2, True, "writes Y")):
        if mine.outside(name, tensor, written):
            return partly(f"the range {name} is not around what {what}: is X read a second time?")
    then, now = (float(each.trace.ctas.end_ns.max() - each.trace.ctas.start_ns.min()) for each in (old[0], mine))
    if now > WORTH * then:
        return partly(
            f"{then:,.0f} → {now:,.0f} ns is too little for one read instead of two: is X read again in scale?"
        )
    return right(f"{then:,.0f} → {now:,.0f} ns, ×{then / now:.1f}: fewer reads, and all of them issued at once.")


def _rows() -> list[Case]:
    """Matrices with their weights, and what their rows are normalised."""
    cases = []
    for rows, columns in SHAPES:
        generator = torch.Generator().manual_seed(rows)
        x, w = torch.randn(rows, columns, generator=generator), torch.randn(columns, generator=generator)
        expected = torch.nn.functional.rms_norm(x, (columns,), w, 1e-6)
        cases.append(Case((rows, columns), (x, w), expected, tolerance=1e-4))
    return cases


def _not_normalised(case: Case, ran: Ran) -> str | None:
    if torch.allclose(ran.result, case.inputs[0] * case.inputs[1], rtol=1e-3, atol=1e-3):
        return "Y is X · W: the squares and their scale are missing."
    return None
