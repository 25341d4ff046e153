"""The exercises of lesson 9: slack, what a faster softmax is worth, what a causal mask saves."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

from checks import Verdict, right, unanswered, wrong

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

LATER_CYCLES = 200
"""Exercise 1 asks for ranges that may end so much later."""
CLOSE = 0.02
"""Factors within two percent of the right one count as right."""


def may_be_slow(answer: Any, trace: Trace) -> Verdict:
    """``answer``: a name all of whose ranges in ``trace`` have a slack of ``LATER_CYCLES``."""
    if answer is None:
        return unanswered()
    links = trace.critical_path()
    names = links.groupby("name", observed=True)
    if answer not in names.groups:
        return wrong(f"give one of the names, as a string: {', '.join(map(str, names.groups))}")
    slack = names.slack.get_group(answer)
    if slack.min() >= LATER_CYCLES:
        return right(f"every {answer} could end at least {slack.min():,} cycles later: {len(slack)} ranges, none of them bound")
    if slack.max() == 0:
        return wrong(f"every {answer} is on the critical path: a cycle more there is a cycle more for the CTA")
    if slack.median() >= LATER_CYCLES:
        tight = int((slack < LATER_CYCLES).sum())
        return wrong(
            f"most of them could, but {tight} of {len(slack)} could not: which execution of {answer} does everybody wait for?"
        )
    return wrong(f"the least slack of {answer} is {slack.min():,} cycles: look at the column least slack")


def half_the_softmax(answer: Any, trace: Trace) -> Verdict:
    """``answer``: old over new time of a CTA of ``trace`` when ``softmax`` takes half of its cycles."""
    if answer is None:
        return unanswered()
    if isinstance(answer, bool) or not isinstance(answer, Real):
        return wrong("give one number, such as 1.1")
    links = trace.critical_path().query("critical and name == 'softmax'")
    whole = float(trace.ctas.duration.sum())
    share = float(links.on_path.sum()) / whole
    given, truth = float(answer), 1 / (1 - share / 2)

    def near(value: float) -> bool:
        return abs(given / value - 1) <= CLOSE if value else False

    if near(truth):
        return right(f"the softmax is {share:.0%} of a CTA's time, half of it is saved, and all else stays: ×{truth:.2f}")
    if near(2):
        return wrong("only the softmax becomes twice as fast, the rest of the CTA does not")
    if near(1 / (1 - share)):
        return wrong("that is a softmax that takes no time at all; this one takes half")
    if near(1 + share / 2) or near(1 + share):
        return wrong("the saved share must be taken off the time, and the old time divided by the new one: it is no sum")
    if given <= 1:
        return wrong("the factor is old time over new time, and the new time is shorter")
    if given > 1 / (1 - share):
        return wrong("so much is not to be had even if the softmax took no time at all")
    return wrong("old time over new time; the new one lacks half of the softmax's cycles on the path")


def causal(answer: Any, masked: Trace, full: Trace) -> Verdict:
    """``answer``: (products ``QK`` of ``masked``, whether its launch takes clearly less time than that of ``full``)."""
    if answer is None:
        return unanswered()
    try:
        products, faster = answer
        products = float(products)
    except (TypeError, ValueError):
        return wrong("give a number and True or False, such as (50, True)")
    here, before = (int((trace.events.name == "QK").sum()) for trace in (masked, full))
    blocks = len(masked.ctas)
    quicker = bool(masked.ctas.duration.max() < 0.9 * full.ctas.duration.max())
    if products == before:
        return wrong("that is without the mask: blocks of keys behind the diagonal are not multiplied at all")
    if products == before / 2:
        return wrong("nearly: half of the *scores* are left, but the blocks on the diagonal are multiplied whole")
    if products == here - blocks:
        return wrong("a query sees its own key: the block on the diagonal counts")
    if products != here:
        return wrong("the number is not right: how many blocks of keys does CTA 0 go over, CTA 1, CTA 2?")
    if bool(faster) != quicker:
        if faster:
            return wrong("the products are right. But when does a launch end, and how much has that CTA to do?")
        return wrong("the products are right. But look at the longest CTA of both traces")
    return right(
        f"{here} of {before} products are left; the longest CTA took {full.ctas.duration.max():,} cycles and now takes "
        f"{masked.ctas.duration.max():,}"
    )
