"""What lesson 2 says to right answers and to typical wrong ones."""

import numpy as np
import pytest
from planned import Span, planned

from tltrace_nb.course import payloads_and_lanes as checks

STARTS = [11, 3, 7, 20, 9]


def walk(value):
    """The numbers from which a step starts."""
    while value > 1:
        yield value
        value = value * 3 + 1 if value % 2 else value // 2


def walks(starts):
    spans = []
    for thread, start in enumerate(starts):
        spans.append(Span("walk", 0, 2000, thread=thread, payload=start))
        spans += [
            Span("step", 10 + 50 * i, 50 + 50 * i, thread=thread, payload=value, lane="steps")
            for i, value in enumerate(walk(start))
        ]
    return planned(spans)


TRACE = walks(STARTS)


@pytest.mark.parametrize("answer", [9, 9.0, np.int64(9)])
def test_the_start_of_the_longest_walk_is_right(answer) -> None:
    assert checks.longest_walk(answer, TRACE).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (19, "how many steps"),
        (4, "that is the thread"),
        (20, "largest start"),
        (52, "highest number"),
        (11, "count steps, not cycles"),
        (1000, "count the rows"),
    ],
)
def test_other_numbers_of_the_longest_walk_are_told_apart(answer, why) -> None:
    verdict = checks.longest_walk(answer, TRACE)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [52, 52.0, np.int32(52)])
def test_the_highest_number_of_the_walk_is_right(answer) -> None:
    assert checks.highest_of_the_walk_from_7(answer, walks([3, 7, 15])).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (16, "how many steps"),
        (160, "another walk"),
        (7, "where it begins"),
        (40, "goes higher"),
        (99, "find the thread"),
    ],
)
def test_other_numbers_of_the_walk_from_7_are_told_apart(answer, why) -> None:
    verdict = checks.highest_of_the_walk_from_7(answer, walks([3, 7, 15]))
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_nothing_is_no_answer() -> None:
    assert checks.longest_walk(None, TRACE).state == "unanswered"
    assert checks.highest_of_the_walk_from_7(None, TRACE).state == "unanswered"
    assert checks.counted_steps(None).state == "unanswered"
