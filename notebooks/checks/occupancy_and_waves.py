"""The exercises of lesson 7: the last wave of a grid, how many CTAs fit on an SM, how to cut work into CTAs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from checks import Verdict, right, unanswered, wrong

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

AS_FAST = 1.02
"""Times within two percent of the best count as the best."""


def pair(answer: Any) -> tuple[int, int] | None:
    """The two whole numbers of an answer, ``None`` where it is none."""
    try:
        first, second = answer
        return (int(first), int(second)) if (first, second) == (int(first), int(second)) else None
    except (TypeError, ValueError):
        return None


def last_wave(answer: Any, trace: Trace) -> Verdict:
    """``answer``: (waves of the launch of ``trace``, places that its last one leaves empty)."""
    if answer is None:
        return unanswered()
    given = pair(answer)
    if given is None:
        return wrong("give two numbers, such as (2, 0): the waves, and the places that stay empty in the last")
    launch = trace.waves("launch").iloc[0]
    places, ctas, waves = int(launch.places), int(launch.ctas), int(launch.waves)
    if given[0] == ctas // places and given[0] != waves:
        return wrong("those are the full waves; CTAs that are left over need one, too")
    if given[0] == -(-ctas * places // int(launch.sms)) // places and given[0] != waves:
        return wrong("an SM holds more than one CTA at once: count places, not SMs")
    if given[0] != waves:
        return wrong(f"the waves are not right: {ctas} CTAs, {places} at a time")
    empty = waves * places - ctas
    if given[1] == ctas % places and given[1] != empty:
        return wrong("the waves are right; but so many places of the last wave are taken, not empty")
    if given[1] != empty:
        return wrong(f"the waves are right; the last one has {places} places, and what the full waves left takes some")
    return right(f"{ctas} CTAs, {places} at a time: {waves} waves, and {empty} places empty in the last")


def fit(answer: Any, trace: Trace) -> Verdict:
    """``answer``: how many CTAs of the kernel of ``trace`` an SM holds at once."""
    if answer is None:
        return unanswered()
    if isinstance(answer, bool) or not isinstance(answer, Real):
        return wrong("give one number")
    answer = float(answer)
    limit = int(trace.occupancy().limit_ctas.max())
    warps = int(trace.occupancy().limit_warps.max()) // limit
    if answer == limit:
        return right(f"{limit} CTAs, {limit * warps} of the SM's warps")
    if int(answer) == limit:
        return wrong("a CTA is on an SM as a whole or not at all: round down")
    if answer == 2048 // (32 * warps):
        return wrong("so many fit by their threads; registers and shared memory are used up before")
    if answer < limit:
        return wrong("more fit: what is the stock of an SM, and did you halve what does not depend on the threads?")
    return wrong("so many do not fit: one of the resources is used up before. Divide each stock, and take the least")


def cut(answer: Any, run: Callable[[], Mapping[tuple[int, int], Trace]]) -> Verdict:
    """``answer``: the fastest of the cuts (CTAs, blocks of each), of which ``run`` gives a trace each."""
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
        return right(f"{mine.duration_ns:,.0f} ns; {int(mine.waves)} wave{'s' if mine.waves > 1 else ''}, no place empty")
    if mine.quantisation_loss > 0:
        return wrong(f"{slower}: its last wave leaves {mine.quantisation_loss:.0%} of all places empty")
    return wrong(f"{slower}: it has no tail, but {int(mine.waves)} waves, and each CTA pays for its entry and its store")
