"""What the exercises of lesson 1 answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checks import Verdict, right, unanswered, wrong
from checks.numbers import near, number

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace


EXACT, ROUNDED = 0.001, 0.005
"""How far an answer may be off that was worked out from the columns, or from numbers rounded as the tables show them;
the ranges of different CTAs differ by as little as that."""


def number_of_ctas(answer: Any, trace: Trace) -> Verdict:
    """How many CTAs a kernel started; ``trace``: of its run."""
    if answer is None:
        return unanswered()
    given, count = number(answer), len(trace.ctas)
    if given == count:
        return right(f"{count} CTAs; the last one has less to do than the others.")
    if given == count - 1:
        return wrong("then the numbers at the end would belong to no CTA: which way does T.ceildiv round?")
    if given is not None and count - 1 < given < count:
        return wrong("a CTA cannot be started in part.")
    if given is not None and given >= 128:
        return wrong("that counts threads, or numbers. How many groups of threads are there?")
    return wrong("how many chunks does it take to hold all numbers?")


def nanoseconds_of_cta_5(answer: Any, trace: Trace) -> Verdict:
    """How long the only range of CTA 5 lasted; ``trace``: with one range per CTA."""
    if answer is None:
        return unanswered()
    ranges = trace.events.set_index("cta")
    ghz = trace.ctas.set_index("cta")["clock_ghz"]
    cycles = float(ranges.loc[5, "duration"])
    truth = cycles / float(ghz.loc[5])
    given = number(answer)
    if given is None:
        return wrong("that is no number of nanoseconds.")
    if near(given, truth, EXACT) or given == round(truth):
        return right(f"{cycles:.0f} cycles at {ghz.loc[5]:.2f} GHz are {truth:.0f} ns.")
    if near(given, cycles):
        return wrong("those are cycles. How many nanoseconds is a cycle, at this clock rate?")
    if near(given, cycles * float(ghz.loc[5])):
        return wrong("a clock of more than 1 GHz makes more than one cycle in a nanosecond: multiply or divide?")
    if near(given * 1000, truth):
        return wrong("those are microseconds.")
    for other in ranges.index:
        if other != 5 and near(given, float(ranges.loc[other, "duration_ns"]), EXACT):
            return wrong("that is the range of another CTA: the rows need not stand in the order of the SMs.")
    if near(given, truth, ROUNDED):
        return right(f"{cycles:.0f} cycles at {ghz.loc[5]:.2f} GHz are {truth:.0f} ns.")
    return wrong("take the row of events in which cta is 5, and the clock rate from the same row of ctas.")


def load_and_store(trace: Trace | None) -> Verdict:
    """Whether every CTA has a range around its load and one around its store, with its number as payload."""
    if trace is None or (hasattr(trace, "events") and not len(trace.events)):
        return unanswered("put the two ranges into the kernel above and run it, then run this cell again.")
    if not hasattr(trace, "events"):
        return wrong("that is no trace: leave answer = trace.last at the end of the cell.")
    events = trace.events[trace.events["kind"] == "range"]
    names = set(events["name"].astype(str))
    for name in ("load", "store"):
        if name not in names:
            return wrong(f'there is no range named "{name}"; there are: {", ".join(sorted(names)) or "none"}.')
    found = {name: events[events["name"] == name].set_index("cta") for name in ("load", "store")}
    for name, ranges in found.items():
        if sorted(ranges.index) != sorted(trace.ctas["cta"]):
            return wrong(f'there must be one range "{name}" in every CTA, and there are {len(ranges)} of them in all.')
        if ranges["payload"].isna().any():
            return wrong(f'the range "{name}" has no payload: which CTA is it of?')
        if (ranges["payload"] != ranges.index).any():
            return wrong(f'the payload of "{name}" is not the number of its CTA: which variable tells CTAs apart?')
    found = {name: ranges.sort_index() for name, ranges in found.items()}
    if (found["store"]["start"] < found["load"]["end"]).any():
        return wrong('"load" is still open when "store" begins: end it before the multiplication.')
    between = (found["store"]["start"] - found["load"]["end"]).median()
    if between < 0.5 * found["load"]["duration"].median():
        return wrong("the multiplication is inside of one of the ranges; leave it between them.")
    return right(f"between the two ranges are {between:.0f} cycles, in which the data come.")
