"""What lesson 6 says to right answers and to typical wrong ones."""

import numpy as np
import pytest
from planned import Span, planned

from tltrace_nb import datasets
from tltrace_nb.course import warp_specialisation as checks

ROLES = {0: "producer", 128: "consumer"}
SPLIT = planned([Span("load", 0, 50), Span("mma", 100, 400, thread=128)], threads=384, roles=ROLES)
BY_HAND = datasets.load("h200/specialised_gemm")


def ring(wait):
    """A consumer that waits so many cycles before each of six products."""
    spans = []
    for i in range(6):
        start = 400 + i * (wait + 300)
        spans += [
            Span("load", 60 * i, 60 * i + 50, thread=128, payload=i),
            Span("wait full", start, start + wait, payload=i),
            Span("mma", start + wait, start + wait + 300, payload=i),
        ]
    return planned(spans, flows=[("load", "wait full")])


SWEEP = {1: ring(800), 2: ring(240), 4: ring(95), 8: ring(90)}


def test_the_launch_is_the_authors_threads_behind_one_warp_group() -> None:
    assert checks.launch((384, 128), SPLIT).right
    assert checks.launch([384.0, np.int64(128)], SPLIT).right


def test_a_split_kernel_of_one_warp_group_has_two() -> None:
    trace = planned([Span("load", 0, 50), Span("mma", 100, 400, thread=128)], threads=256, roles=ROLES)
    assert checks.launch((256, 128), trace).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((256, 0), "the author's threads"),
        ((512, 256), "does not grow"),
        ((385, 128), "beside them"),
        ((384, 0), "copies"),
        ((384, 256), "straight after"),
        (384, "two numbers"),
        (("many", 0), "two numbers"),
    ],
)
def test_a_wrong_launch_is_told_which_of_the_two_numbers_is_wrong(answer, why) -> None:
    verdict = checks.launch(answer, SPLIT)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [4, 4.0, "4", np.int64(4)])
def test_stages_are_enough_when_no_more_of_them_take_bubble_away(answer) -> None:
    assert checks.enough_stages(answer, SWEEP).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [(1, "not full"), (2, "row of the bubble"), (8, "fewer stages"), (3, "that were run: 1, 2, 4, 8")],
)
def test_too_few_and_too_many_stages_are_told_apart(answer, why) -> None:
    verdict = checks.enough_stages(answer, SWEEP)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [128, 128.0, np.int32(128)])
def test_each_thread_of_the_consumer_arrives(answer) -> None:
    assert checks.arrivals(answer, BY_HAND, lambda: None).right


def test_a_number_that_still_hangs_is_not_right() -> None:
    verdict = checks.arrivals(128, BY_HAND, lambda: "kernel gemm: deadlock")
    assert verdict.state == "wrong"
    assert "deadlock" in verdict.why


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (256, "all threads of the CTA"),
        (1, "every thread of the branch"),
        (4, "not warps"),
        (300, "which branch"),
        (1.5, "whole number"),
        ("all", "whole number"),
    ],
)
def test_wrong_arrivals_are_told_whom_they_count(answer, why) -> None:
    verdict = checks.arrivals(answer, BY_HAND, lambda: pytest.fail("only the right number is tried"))
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_without_an_answer_it_is_the_students_turn() -> None:
    for verdict in (
        checks.launch(None, SPLIT),
        checks.enough_stages(None, SWEEP),
        checks.arrivals(None, BY_HAND, lambda: None),
    ):
        assert verdict.state == "unanswered"
