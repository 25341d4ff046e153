"""What the exercises of lesson 2 answer; the traces are those of walks from a number down to 1, one a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checks import Verdict, right, unanswered, wrong
from checks.numbers import number

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.core.trace import Trace


def longest_walk(answer: Any, trace: Trace) -> Verdict:
    """From which number the most steps are needed."""
    if answer is None:
        return unanswered()
    given = number(answer)
    steps, starts = _steps(trace), _starts(trace)
    count = steps.groupby("thread").size()
    longest = int(count.idxmax())
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


def counted_steps(trace: Trace | None, steps: Any) -> Verdict:
    """Whether the payloads of each thread's range count its steps; ``steps``: what the kernel computed, by thread."""
    if trace is not None and not hasattr(trace, "events"):
        return wrong("that is no trace: leave answer = trace.last at the end of the cell.")
    if trace is None or not len(trace.events):
        return unanswered("give the range a payload and run the cell above, then run this cell again.")
    walks = trace.events[trace.events["name"] == "walk"].set_index("thread").sort_index()
    if len(walks) != len(steps):
        return wrong('there has to be one range "walk" for every thread; leave the group as it is.')
    if walks["payload"].isna().all():
        return unanswered("the range has no payload yet: give it one and run the cell above.")
    if walks["payload_end"].isna().any():
        return wrong(
            "an instant has one payload only: keep trace.range, which has one at the begin and one at the end."
        )
    counted = (walks["payload_end"] - walks["payload"]).tolist()
    expected = [int(count) for count in steps]
    if counted == expected:
        return right("the variable was 0 at the begin of each range, and the number of steps at its end.")
    if not any(counted):
        return wrong("the payload is the same at the begin and at the end: which variable does the loop change?")
    if [-c for c in counted] == expected:
        return wrong("the difference has the wrong sign.")
    if (walks["payload_end"] == 1).all():
        return wrong("that is the number that walks. Which variable counts the steps?")
    return wrong(f"the differences are {counted}, and the steps were {expected}.")


def _steps(trace: Trace) -> pd.DataFrame:
    return trace.events[trace.events["name"] == "step"]


def _starts(trace: Trace) -> pd.Series:
    """From which number the walk of each thread starts."""
    return trace.events[trace.events["name"] == "walk"].set_index("thread")["payload"].astype(int)
