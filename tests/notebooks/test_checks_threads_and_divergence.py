"""What lesson 3 says to right answers and to typical wrong ones."""

import numpy as np
import pytest
from planned import Span, planned

from tltrace_nb import datasets
from tltrace_nb.course import threads_and_divergence as checks


def branch(every, first=300, second=300, warps=4):
    """An ``if`` as warps take it: the arms of one warp follow each other."""
    spans = []
    for warp in range(warps):
        ways = sorted({thread // every % 2 for thread in range(32 * warp, 32 * warp + 32)})
        now = 20
        for way in ways:
            length = (first, second)[way]
            name = ("first", "second")[way]
            spans.append(Span(name, now, now + length, thread=32 * warp + (way if len(ways) > 1 else 0), lane="arms"))
            now += length
        spans.append(Span("if", 0, now + 20, thread=32 * warp))
    return planned(spans)


RUNS = {every: branch(every) for every in (1, 2, 16, 32, 64)}
DIVERGED = branch(1, first=250, second=480)
CARD = datasets.load("h200/branch_by_lane")


@pytest.mark.parametrize("answer", [32, 32.0, np.int64(32)])
def test_a_boundary_of_one_warp_is_the_smallest(answer) -> None:
    assert checks.smallest_without_divergence(answer, RUNS).right


@pytest.mark.parametrize(
    ("answer", "why"), [(64, "smaller one"), (1, "both kinds"), (16, "both arms"), (48, "boundary inside")]
)
def test_other_boundaries_are_told_why_not(answer, why) -> None:
    verdict = checks.smallest_without_divergence(answer, RUNS)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [582.5, 580, np.float64(600), "582"])
def test_three_quarters_of_one_arm_less_are_right(answer) -> None:
    assert checks.sum_of_the_arms(answer, DIVERGED).right


def test_the_recorded_arms_differ_by_a_wait_that_stays() -> None:
    median = CARD.events.groupby("name", observed=True)["duration"].median()
    assert checks.sum_of_the_arms(median["if"] - 0.75 * median["first"], CARD).right
    assert "does not go away" in checks.sum_of_the_arms(median["if"] - median["first"], CARD).why
    assert "wait" in checks.sum_of_the_arms(median["if"] - 0.75 * median["second"], CARD).why


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (770, "as it is now"),
        (410, "does its wait become shorter"),
        (520, "does not go away"),
        (480, "one arm alone"),
        (250, "one arm alone"),
        (5000, "the sum"),
        ("x", "no number"),
    ],
)
def test_other_combinations_of_the_arms_are_told_apart(answer, why) -> None:
    verdict = checks.sum_of_the_arms(answer, DIVERGED)
    assert verdict.state == "wrong"
    assert why in verdict.why


def signs(*runs):
    """Numbers in runs: so many positive, so many negative, and so on."""
    return np.concatenate([np.full(count, 1.0 if i % 2 == 0 else -1.0) for i, count in enumerate(runs)])


@pytest.mark.parametrize("answer", [signs(100, 156), signs(0, 156, 100), list(signs(32, 32, 64, 124, 4))])
def test_an_arrangement_with_one_mixed_warp_is_right(answer) -> None:
    assert checks.arranged(answer).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (signs(100, 150), "250 numbers"),
        (signs(128, 128), "not 100"),
        (
            np.r_[np.tile(signs(12, 20), 7), signs(16, 16)],
            "same sign next to each other",
        ),
        (signs(50, 100, 50, 56), "boundaries"),
        (["plus"] * 256, "list of numbers"),
        ([[1.0], [1.0, 2.0]], "list of numbers"),
        ({}, "list of numbers"),
    ],
)
def test_other_arrangements_are_told_what_is_wrong(answer, why) -> None:
    verdict = checks.arranged(answer)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_nothing_is_no_answer() -> None:
    assert checks.smallest_without_divergence(None, RUNS).state == "unanswered"
    assert checks.sum_of_the_arms(None, DIVERGED).state == "unanswered"
    assert checks.arranged(None).state == "unanswered"
