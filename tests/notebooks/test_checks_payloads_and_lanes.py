"""What lesson 2 says to right answers and to typical wrong ones."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from checks import payloads_and_lanes as checks
from planned import Span, planned

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
STEPS = [len(list(walk(start))) for start in STARTS]


def counted(begins, ends):
    """A trace as far as the check reads it: one range a thread, whose payload may change."""
    frame = pd.DataFrame({"name": "walk", "thread": range(len(begins)), "payload": begins, "payload_end": ends})
    return SimpleNamespace(events=frame.astype({"payload": "Int64", "payload_end": "Int64"}))


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


def test_a_payload_that_counts_the_steps_is_right() -> None:
    assert checks.counted_steps(counted([0] * 5, STEPS), STEPS).right
    assert checks.counted_steps(counted([5] * 5, np.add(STEPS, 5)), np.array(STEPS)).right


@pytest.mark.parametrize(
    ("begins", "ends", "why"),
    [
        (STARTS, STARTS, "same at the begin"),
        (STARTS, [1] * 5, "the number that walks"),
        (STEPS, [0] * 5, "wrong sign"),
        ([0] * 5, [s + 1 for s in STEPS], "the differences are"),
        ([0], STEPS[:1], "for every thread"),
    ],
)
def test_other_payloads_are_told_what_they_count(begins, ends, why) -> None:
    verdict = checks.counted_steps(counted(begins, ends), STEPS)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_an_instant_has_no_payload_at_an_end() -> None:
    ends = pd.array([3, None, 3, 3, 3], dtype="Int64")
    events = counted([0] * 5, [0] * 5).events.assign(payload_end=ends)
    assert "an instant" in checks.counted_steps(SimpleNamespace(events=events), STEPS).why


def test_nothing_is_no_answer() -> None:
    assert checks.longest_walk(None, TRACE).state == "unanswered"
    assert checks.highest_of_the_walk_from_7(None, TRACE).state == "unanswered"
    assert checks.counted_steps(counted([None] * 5, [None] * 5), STEPS).state == "unanswered"
