"""What the exercises of lesson 1 answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.kernels import Case, Ran, tried
from tltrace_nb.course.numbers import near, number

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

SIZES = (4096, 3000)
"""Of the tensors that the kernel of exercise 3 is tried on; the second is no multiple of a chunk."""
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
    cycles = float(ranges["duration"].loc[5])
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


def load_and_store(build: Any) -> Verdict:
    """Whether the kernel doubles its numbers, with a range around its load and one around its store in every CTA.

    ``build``: takes the count of numbers; the payload of both ranges is the number of the CTA.
    """
    if build is None:
        return unanswered("put the two ranges into the kernel above and run it, then run this cell again.")
    cases = [Case((n,), (x := torch.randn(n, generator=torch.Generator().manual_seed(n)),), 2 * x) for n in SIZES]
    ran = tried(build, cases, _not_doubled)
    if isinstance(ran, Verdict):
        return ran
    events = ran[0].trace.events
    ranges = events[events["kind"] == "range"]
    if ranges.empty:
        return unanswered("put the two ranges into the kernel above and run it, then run this cell again.")
    names = set(ranges["name"].astype(str))
    for name in ("load", "store"):
        if name not in names:
            return partly(f'there is no range named "{name}"; there are: {", ".join(sorted(names))}.')
    for each in ran:
        for name in ("load", "store"):
            if (why := _payload_of(name, each.trace)) is not None:
                return partly(why)
    return _enclosed(ran[0])


def _not_doubled(case: Case, ran: Ran) -> str | None:
    result = ran.result
    if torch.equal(result, case.inputs[0]):
        return "B is A itself: the multiplication is gone."
    if torch.equal(result[: len(result) // 256 * 256], case.expected[: len(result) // 256 * 256]):
        return "the numbers behind the last full chunk are wrong: which way does T.ceildiv round?"
    return None


def _payload_of(name: str, trace: Trace) -> str | None:
    """What is wrong with how often a range is there and with its payload."""
    ranges = trace.events[trace.events["name"] == name].set_index("cta")
    if sorted(ranges.index) != sorted(trace.ctas["cta"]):
        return f'there must be one range "{name}" in every CTA, and there are {len(ranges)} of them in all.'
    if ranges["payload"].isna().any():
        return f'the range "{name}" has no payload: which CTA is it of?'
    if (ranges["payload"] != ranges.index).any():
        return f'the payload of "{name}" is not the number of its CTA: which variable tells CTAs apart?'
    return None


def _enclosed(ran: Ran) -> Verdict:
    """Whether the ranges are around what they are named for, and around nothing else."""
    for name, tensor, written, what in (("load", 0, False, "reads A"), ("store", 1, True, "writes B")):
        if ran.outside(name, tensor, written):
            return partly(f'"{name}" is not around the line that {what}.')
    for name, tensor, written in (("load", 1, True), ("store", 0, False)):
        if any(name in each.ranges for each in ran.uses(tensor, written)):
            return partly('"load" is still open when "store" begins: end it before the multiplication.')
    doubling = [each for each in ran.accesses if each.computed]
    if any({"load", "store"} & each.ranges for each in doubling):
        return partly("the multiplication is inside of one of the ranges; leave it between them.")
    events = ran.trace.events.set_index("cta")
    load, store = (events[events["name"] == name].sort_index() for name in ("load", "store"))
    between = (store["start"] - load["end"]).median()
    return right(f"between the two ranges are {between:.0f} cycles, in which the data come.")
