"""What the exercises of lesson 3 answer; the traces are those of an ``if`` with the arms "first" and "second"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb.course import Verdict, right, unanswered, wrong
from tltrace_nb.course.numbers import near, number

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

WARP = 32
"""Threads of a warp."""


def smallest_without_divergence(answer: Any, runs: Mapping[int, Trace]) -> Verdict:
    """The smallest boundary at which no warp has both arms; ``runs``: a trace for each boundary that was tried."""
    if answer is None:
        return unanswered()
    given = number(answer)
    free = min(every for every, trace in runs.items() if not _diverged(trace))
    if given == free:
        return right(f"{free} threads are a warp: nobody in it disagrees.")
    if given is not None and given > free and given % free == 0:
        return wrong("no warp diverges there, but a smaller one does it, too.")
    if given == 1:
        return wrong("there every warp has threads of both kinds: look at the table of arms a warp goes through.")
    if given is not None and given < free:
        return wrong("there a warp still goes through both arms: look at the table above. How many threads has a warp?")
    return wrong("for that one, some warp has its boundary inside. At which multiples can it lie?")


def sum_of_the_arms(answer: Any, trace: Trace) -> Verdict:
    """How long the ``if`` takes when the second arm multiplies a quarter as often.

    ``trace``: of a diverged warp whose arms multiply equally often; what one takes more than the other is no work.
    """
    if answer is None:
        return unanswered()
    given = number(answer)
    median = trace.events.groupby("name", observed=True)["duration"].median()
    work = min(median["first"], median["second"])
    truth = median["if"] - 0.75 * work
    if given is None:
        return wrong("that is no number of cycles.")
    if near(given, truth, 0.05):
        return right(f"about {truth:.0f} cycles: three quarters of one arm less than before.")
    if near(given, median["if"], 0.05):
        return wrong("that is the range as it is now: something became shorter.")
    if near(given, median["if"] - 0.75 * max(median["first"], median["second"]), 0.05):
        return wrong("both arms multiply equally often, but one range is longer: does its wait become shorter, too?")
    if near(given, median["if"] - work, 0.03):
        return wrong("the second arm becomes shorter, but it does not go away.")
    if any(near(given, median[name], 0.05) for name in ("first", "second")):
        return wrong("that would be one arm alone. Do its threads have to wait for the others of their warp?")
    return wrong("a warp that diverges goes through one arm after the other: what is the sum?")


def arranged(answer: Any, warps: int = 8, positive: int = 100) -> Verdict:
    """Whether as few warps as possible have threads of both signs; ``answer``: a number for every thread."""
    if answer is None:
        return unanswered("give an arrangement in the cell above, run it, then run this cell again.")
    try:
        signs = np.asarray(answer.tolist() if hasattr(answer, "tolist") else answer, dtype=float).ravel() > 0
    except (TypeError, ValueError, OverflowError):
        return wrong("give a tensor or a list of numbers, one for each thread.")
    if signs.size != warps * WARP:
        return wrong(f"there are {warps} warps of {WARP} threads, but {signs.size} numbers.")
    if signs.sum() != positive:
        return wrong(f"{signs.sum()} of your numbers are positive, not {positive}.")
    count = signs.reshape(warps, WARP).sum(axis=1)
    mixed = int(((count > 0) & (count < WARP)).sum())
    least = int(positive % WARP > 0)
    if mixed == least:
        return right(f"{mixed} warp has both signs, as {positive} is no multiple of {WARP}.")
    if mixed == warps:
        return wrong("every warp has both signs: put numbers of the same sign next to each other.")
    return wrong(f"{mixed} warps have both signs, and it can be fewer: where are the boundaries between your signs?")


def _diverged(trace: Trace) -> bool:
    arms = trace.events[trace.events["name"].isin(["first", "second"])]
    return bool((arms.groupby("warp")["name"].nunique() > 1).any())
