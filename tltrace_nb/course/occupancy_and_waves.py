"""What the exercises of lesson 7 answer: the last wave of a grid, how many CTAs fit on an SM, how to cut work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.numbers import number

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

MOST_WARPS = 64
"""That an SM of an H200 holds."""
AS_FAST = 1.02
"""Times within two percent of the best count as the best."""


def pair(answer: Any) -> tuple[int, int] | None:
    """The two whole numbers of an answer, ``None`` where it is none."""
    try:
        first, second = map(number, answer)
    except (TypeError, ValueError):
        return None
    if first is None or second is None or not first.is_integer() or not second.is_integer():
        return None
    return int(first), int(second)


def last_wave(answer: Any, trace: Trace) -> Verdict:
    """(waves of a launch, CTA slots that its last one leaves empty); ``trace``: of that launch."""
    if answer is None:
        return unanswered()
    given = pair(answer)
    if given is None:
        return wrong("give two numbers, such as (2, 0): the waves, and the CTA slots that stay empty in the last")
    row = trace.waves("launch").iloc[0]
    slots, ctas, waves, sms = int(row.places), int(row.ctas), int(row.waves), int(row.sms)
    empty = waves * slots - ctas
    if given == (waves, empty):
        return right(f"{ctas} CTAs, {slots} at a time: {waves} waves, and {empty} CTA slots empty in the last.")
    if given[0] == ctas // slots != waves:
        return wrong("those are the full waves; CTAs that are left over need one, too")
    if given[0] == -(-ctas // sms) != waves:
        return wrong("an SM holds more than one CTA at once: count CTA slots, not SMs")
    if given[0] != waves:
        return wrong(f"the waves are not right: {ctas} CTAs, {slots} at a time")
    if given[1] == ctas % slots:
        return partly("the waves are right; but so many CTA slots of the last wave are taken, not empty")
    return partly(f"the waves are right; the CTAs that the full waves left take some of its {slots} CTA slots")


def fit(answer: Any, trace: Trace) -> Verdict:
    """How many CTAs of a kernel an SM holds at once; ``trace``: of that kernel, on an H200 or its model."""
    if answer is None:
        return unanswered()
    given = number(answer)
    if given is None:
        return wrong("give one number")
    resident = trace.occupancy()
    limit = int(resident.limit_ctas.max())
    warps = int(resident.limit_warps.max()) // limit
    if given == limit:
        return right(f"{limit} CTAs, {limit * warps} of the {MOST_WARPS} warps that an SM can hold.")
    if limit < given < limit + 1:
        return wrong("a CTA is on an SM as a whole or not at all: which way must be rounded?")
    if given == MOST_WARPS // warps:
        return wrong("so many fit by their threads; registers and shared memory are used up before")
    if given < limit:
        return wrong("more fit: what is the stock of an SM, and did you halve what does not depend on the threads?")
    return wrong("so many do not fit: one of the resources is used up before. Divide each stock, and take the least")


def cut(answer: Any, run: Callable[[], Mapping[tuple[int, int], Trace]]) -> Verdict:
    """The fastest of the cuts, (CTAs, blocks of each); ``run``: gives the trace of each."""
    if answer is None:
        return unanswered()
    given = pair(answer)
    launches = {each: trace.waves("launch").iloc[0] for each, trace in run().items()}
    if given not in launches:
        return wrong(f"give one of the cuts: {', '.join(map(str, launches))}")
    best = min(launch.duration_ns for launch in launches.values())
    mine = launches[given]
    slower = f"{mine.duration_ns / best - 1:.0%} slower than the best"
    if mine.duration_ns <= AS_FAST * best:
        return right(f"{mine.duration_ns:,.0f} ns: every CTA slot is taken once, to the end.")
    if mine.quantisation_loss > 0:
        return wrong(f"{slower}: its last wave leaves {mine.quantisation_loss:.0%} of all CTA slots empty")
    return wrong(f"{slower}: no tail, but {int(mine.waves)} waves, and each CTA pays for its entry and its store")
