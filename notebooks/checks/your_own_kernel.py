"""What the exercises of lesson 10 answer: the slowest operator, a marker of one's own, a kernel that reads once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checks import Verdict, right, unanswered, wrong

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

WORTH = 0.75
"""New over old time of the launch up to which exercise 3 is solved: one read of the rows instead of two must show."""


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
        return wrong("a copy into registers is over when it is asked for. Who waits until the values have come?")
    if answer == means[leaves].idxmax():
        return wrong("the longest single execution, but how many of them are there? Look at total, not at mean")
    return wrong("others take more: look at the column total")


def scale_is_marked(trace: Trace) -> Verdict:
    """``trace``: of a kernel with a range ``scale`` in each turn of a loop, as ``squares`` has one, turn as payload."""
    squares = trace.events.query("name == 'squares'")
    scale = trace.events.query("name == 'scale'")
    if scale.empty:
        others = sorted({str(name) for name in trace.events.name} - {"squares"})
        if others:
            return wrong(f"there is a range {', '.join(others)}, but none called scale: names are taken as written")
        return unanswered("there is no range called scale yet: put one around the body of the second loop.")
    if len(scale) == len(trace.ctas) < len(squares):
        return wrong("there is one range a CTA, around the whole loop; put it inside, around what each turn does")
    if scale.payload.isna().all():
        return wrong("the ranges are there, but carry no payload: which turn is which?")
    turns, given = (set(zip(each.cta, each.payload, strict=True)) for each in (squares, scale))
    if given != turns:
        return wrong("the payload is not the number of the turn: it should go 0, 1, 2, … in every CTA")
    if (scale.duration <= squares.duration.min() / 2).all():
        return wrong("the ranges are very short: do they stand around the copies and the loop, or beside them?")
    return right(f"{len(scale)} ranges, one for each turn of each CTA.")


def faster(after: Trace | None, before: Trace) -> Verdict:
    """``after``: the trace of a kernel that does what that of ``before`` does, in clearly less time."""
    if after is None:
        return unanswered("write the kernel, then after = run(once).")
    if not hasattr(after, "ctas"):
        return wrong("give the trace: after = run(once)")
    if after is before:
        return wrong("that is the trace of the old kernel: after = run(once)")
    missing = {"squares", "scale"} - {str(name) for name in after.events.name}
    if missing:
        return wrong(f"it runs, but the range {' and '.join(sorted(missing))} is missing: how will you compare?")
    if (after.events.query("name == 'squares'").groupby("cta").size() > 1).any():
        return wrong("it still goes over the row in turns: one T.copy can load all columns")
    old, new = (float(trace.ctas.end_ns.max() - trace.ctas.start_ns.min()) for trace in (before, after))
    if new > WORTH * old:
        return wrong(f"{old:,.0f} → {new:,.0f} ns is too little for one read instead of two: is X read again in scale?")
    return right(f"{old:,.0f} → {new:,.0f} ns, ×{old / new:.1f}: fewer reads, and all of them asked for at once.")
