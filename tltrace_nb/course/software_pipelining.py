"""What the exercises of lesson 5 answer; the traces have a "load" and an "mma" for each iteration, their payload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tltrace_nb.course import Verdict, right, unanswered, wrong
from tltrace_nb.course.numbers import number

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

SLACK = 1.1
"""How much slower than the fastest a run may be to count as fast enough."""


def newest_load(answer: Any, trace: Trace, iteration: int = 4) -> Verdict:
    """The newest load that CTA 0 has issued when the MMA of an iteration begins."""
    if answer is None:
        return unanswered()
    given = number(answer)
    mine = trace.events[trace.events["cta"] == 0]
    loads, mmas = (mine[mine["name"] == name] for name in ("load", "mma"))
    begin = int(mmas.loc[mmas["payload"] == iteration, "start"].iloc[0])
    issued = loads[loads["start"] < begin]
    newest = int(issued["payload"].max())
    if given == newest:
        return right(f"the loads run {newest - iteration} iterations ahead of the MMAs.")
    if given == iteration:
        return wrong("that load has been used by now: newer ones have been issued, too.")
    if given == loads["payload"].max():
        return wrong("that is the last load of all; there are not so many buffers.")
    if given == len(issued):
        return wrong("so many have been issued, but they count from 0: the buffer of that one is still being read.")
    return wrong("in the rows of CTA 0, look for the loads that start before this MMA does.")


def fewest_stages(answer: Any, runs: Mapping[int, Trace]) -> Verdict:
    """With how few stages a CTA is fast enough; ``runs``: a trace for each number of stages."""
    if answer is None:
        return unanswered()
    given = number(answer)
    cycles = {stages: float(trace.ctas["duration"].median()) for stages, trace in runs.items()}
    fastest = min(cycles, key=lambda stages: cycles[stages])
    enough = min(stages for stages, took in cycles.items() if took <= SLACK * cycles[fastest])
    slower = {stages: took / cycles[fastest] - 1 for stages, took in cycles.items()}
    if given == enough:
        return right(f"{enough} stages are {slower[enough]:.0%} slower than the fastest, {fastest}.")
    if given not in cycles:
        return wrong(f"there are traces for {', '.join(map(str, cycles))} stages.")
    if given < enough:
        return wrong(f"that is {slower[int(given)]:.0%} slower than the fastest, which is more than a tenth.")
    if given == fastest:
        return wrong("that is the fastest. Is one with fewer stages less than a tenth slower?")
    return wrong("that is fast enough, but fewer stages are, too.")


def most_stages(answer: Any, tile: int, step: int, item_bytes: int, shared: int) -> Verdict:
    """How many stages of square tiles fit so many bytes of shared memory."""
    if answer is None:
        return unanswered()
    given = number(answer)
    one = tile * step * item_bytes
    truth = shared // (2 * one)
    if given == truth:
        return right(f"{truth} stages of {2 * one:,} bytes take {truth * 2 * one:,} bytes.")
    if given is not None and truth < given < truth + 1:
        return wrong("a stage fits or it does not.")
    if given == truth + 1:
        return wrong(f"they would take {(truth + 1) * 2 * one:,} bytes.")
    if given == shared // one:
        return wrong("a stage has a tile of each of the two matrices.")
    if given == shared // (2 * tile * step):
        return wrong("that counts elements. How many bytes has one?")
    if given == shared // (2 * tile * tile * item_bytes):
        return wrong("the tiles of A and B are not square: one side is the step.")
    return wrong("how many bytes do the two tiles of one stage have?")
