"""What the exercises of lesson 2 answer; the traces are those of walks from a number down to 1, one a thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.kernels import Case, Ran, tried
from tltrace_nb.course.numbers import number

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.core.trace import Trace

STARTS = ((1, 2, 3, 5, 6, 7, 9, 11), (27, 1, 97, 8, 15))
"""From which numbers the kernel of exercise 3 walks, one a thread: those of the lesson, and others."""


def longest_walk(answer: Any, trace: Trace) -> Verdict:
    """From which number the most steps are needed."""
    if answer is None:
        return unanswered()
    given = number(answer)
    steps, starts = _steps(trace), _starts(trace)
    count = steps.groupby("thread").size()
    longest = int(count.index[int(count.argmax())])
    if given == starts[longest]:
        return right(f"from {starts[longest]} it takes {count[longest]} steps.")
    if given == count.max():
        return wrong("that is how many steps there are. From which number do they start?")
    if given == longest:
        return wrong("that is the thread. From which number does its walk start?")
    if given == starts.max():
        return wrong("the largest start is not the longest walk: count the steps of every thread.")
    if given == steps["payload"].max():
        return wrong("that is the highest number on the way, not the one it starts from.")
    if given == starts.iloc[0]:
        return wrong("all walks last equally long, as the threads wait for each other: count steps, not cycles.")
    return wrong("count the rows named step of each thread, then look up where the walk of that thread begins.")


def highest_of_the_walk_from_7(answer: Any, trace: Trace) -> Verdict:
    """The highest number on the way from 7 to 1."""
    if answer is None:
        return unanswered()
    given = number(answer)
    steps, starts = _steps(trace), _starts(trace)
    mine = steps[steps["thread"] == starts.index[starts == 7][0]]
    if given == mine["payload"].max():
        return right(
            f"{mine['payload'].max()}, which step {int(mine['payload'].argmax()) + 1} of the walk starts from."
        )
    if given == len(mine):
        return wrong("that is how many steps the walk has.")
    if given == steps["payload"].max():
        return wrong("another walk reaches that one: take only the thread that starts from 7.")
    if given == 7:
        return wrong("that is where it begins. Look at the payloads of its steps.")
    if given in mine["payload"].to_numpy():
        return wrong("that number is on the way, but it goes higher.")
    return wrong("find the thread whose walk begins at 7, then the largest payload among its steps.")


def counted_steps(build: Any) -> Verdict:
    """Whether the payload of each thread's range ``walk`` is 0 when it begins, and the steps of the walk when it ends.

    ``build``: takes the number of threads; the kernel computes the steps from each start.
    """
    if build is None:
        return unanswered("give the range a payload and run the cell above, then run this cell again.")
    cases = [Case((len(starts),), (_int32(starts),), _int32(map(_walk, starts))) for starts in STARTS]
    ran = tried(build, cases, _not_counted)
    if isinstance(ran, Verdict):
        return ran
    for each, case in zip(ran, cases, strict=True):
        walks = each.trace.events.query("name == 'walk'").set_index("thread").sort_index()
        if len(walks) != len(case.expected):
            return partly('there has to be one range "walk" for every thread; leave the group as it is.')
        if walks["payload"].isna().all():
            return unanswered("the range has no payload yet: give it one and run the cell above.")
        if walks["payload_end"].isna().any():
            return partly(
                "an instant has one payload; keep trace.range, which has one at the begin and one at the end."
            )
        if (why := _miscounted(walks, case)) is not None:
            return partly(why)
    return right("the variable is 0 at the begin of each range, and the number of steps at its end.")


def _miscounted(walks: pd.DataFrame, case: Case) -> str | None:
    """What the payloads of the walks are instead of the steps taken; ``None`` if they are."""
    steps = case.expected.tolist()
    begin, end = (walks[column].astype(float).tolist() for column in ("payload", "payload_end"))
    if end == steps and not any(begin):
        return None
    if begin == end:
        return "the payload is the same at the begin and at the end: which variable does the loop change?"
    if begin == case.inputs[0].tolist():
        return "that is the number that walks. Which variable counts the steps?"
    if [-each for each in end] == steps:
        return "the payload counts down from 0; it has the wrong sign."
    counted = [last - first for first, last in zip(begin, end, strict=True)]
    if counted == steps:
        return f"the payload counts the steps, but it begins at {begin[0]:g} and not at 0."
    return f"the payload goes from {begin} to {end}; it should go from 0 to {steps}."


def _not_counted(case: Case, ran: Ran) -> str | None:
    result = ran.result
    off = (result != case.expected).nonzero().flatten().tolist()
    start, counted, steps = case.inputs[0][off[0]], result[off[0]], case.expected[off[0]]
    return f"Steps is wrong: from {start} it counts {counted} steps, and there are {steps}. Change the payload alone."


def _walk(start: int) -> int:
    """How many steps the walk from a number takes."""
    steps = 0
    while start > 1:
        start, steps = (start // 2 if start % 2 == 0 else 3 * start + 1), steps + 1
    return steps


def _int32(numbers: Iterable[int]) -> torch.Tensor:
    return torch.tensor(list(numbers), dtype=torch.int32)


def _steps(trace: Trace) -> pd.DataFrame:
    return trace.events[trace.events["name"] == "step"]


def _starts(trace: Trace) -> pd.Series:
    """From which number the walk of each thread starts."""
    return trace.events[trace.events["name"] == "walk"].set_index("thread")["payload"].astype(int)
