"""What the exercises of lesson 9 answer: slack, what a faster softmax is worth, what a causal mask saves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.numbers import near, number, rounded

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

LATER_CYCLES = 200
"""Exercise 1 asks for ranges that may end so much later."""


def may_be_slow(answer: Any, trace: Trace) -> Verdict:
    """A name, all of whose ranges in ``trace`` have a slack of ``LATER_CYCLES``."""
    if answer is None:
        return unanswered()
    names = trace.critical_path().groupby("name", observed=True)
    if not isinstance(answer, str) or answer not in names.groups:
        return wrong(f"give one of the names, as a string: {', '.join(map(str, names.groups))}")
    slack = names.slack.get_group(answer)
    if slack.min() >= LATER_CYCLES:
        return right(f"every {answer} could end at least {slack.min():,} cycles later, and there are {len(slack)}.")
    if slack.max() == 0:
        return wrong(f"every {answer} is on the critical path: a cycle more there is a cycle more for the CTA")
    if slack.median() >= LATER_CYCLES:
        tight = int((slack < LATER_CYCLES).sum())
        return wrong(f"most could, but {tight} of {len(slack)} could not: for which {answer} does everybody wait?")
    return wrong(f"the least slack of {answer} is {slack.min():,} cycles: look at the column least slack")


def half_the_softmax(answer: Any, trace: Trace) -> Verdict:
    """Old over new time of a CTA of ``trace`` when ``softmax`` takes half of its cycles."""
    if answer is None:
        return unanswered()
    given = number(answer)
    if given is None:
        return wrong("give one number, such as 1.1")
    links = trace.critical_path().query("critical and name == 'softmax'")
    share = float(links.on_path.sum()) / float(trace.ctas.duration.sum())
    truth, free = 1 / (1 - share / 2), 1 / (1 - share)
    if near(given, truth) or rounded(given, truth):
        return right(f"the softmax is {share:.0%} of a CTA's time; half of it is saved, all else stays: ×{truth:.2f}.")
    if near(given, 2):
        return wrong("only the softmax becomes twice as fast, the rest of the CTA does not")
    if near(given, free):
        return wrong("that is a softmax that takes no time at all; this one takes half")
    if near(given, 1 + share / 2) or near(given, 1 + share):
        return wrong("it is no sum: take the saved part off the time, then divide the old time by the new one")
    if given <= 1:
        return wrong("the factor is old time over new time, and the new time is shorter")
    if given > free:
        return wrong("so much is not to be had even if the softmax took no time at all")
    return wrong("old time over new time; the new one lacks half of the softmax's cycles on the path")


def causal(answer: Any, masked: Trace, full: Trace) -> Verdict:
    """(MMAs ``QK`` of ``masked``, whether its launch takes clearly less time than that of ``full``)."""
    if answer is None:
        return unanswered()
    try:
        products, faster = answer
    except (TypeError, ValueError):
        return wrong("give a number and True or False, such as (50, True)")
    if not isinstance(faster, (bool, np.bool_)):
        return wrong("the second is True or False, without quotation marks: whether the launch takes less time")
    given = number(products)
    here, before = (int((trace.events.name == "QK").sum()) for trace in (masked, full))
    now, then = (int(trace.ctas.duration.max()) for trace in (masked, full))
    if given == before:
        return wrong("that is without the mask: blocks of keys behind the diagonal are not multiplied at all")
    if given == before / 2:
        return wrong("nearly: half of the *scores* are left, but the blocks on the diagonal are multiplied whole")
    if given == here - len(masked.ctas):
        return wrong("a query sees its own key: the block on the diagonal counts")
    if given != here:
        return wrong("the number is not right: how many blocks of keys does CTA 0 go over, CTA 1, CTA 2?")
    if faster != (now < 0.9 * then):
        return partly("the MMAs are right. But when does a launch end, and how much has that CTA to do?")
    return right(f"{here} of {before} MMAs are left; the longest CTA took {then:,} cycles and now takes {now:,}.")
