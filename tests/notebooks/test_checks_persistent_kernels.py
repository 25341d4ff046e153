"""What lesson 8 says to right answers and to typical wrong ones."""

import numpy as np
import pytest
from planned import Span, planned

from tltrace_nb.course import persistent_kernels as checks

LENGTHS = [64, 32, 24, 18, 16, 12, 8, 6, 4]
STATIC = planned([Span("document", 1000 * (d // 4), 1000 * (d // 4) + 900, d % 4, payload=d) for d in range(9)])


@pytest.mark.parametrize("answer", [84, 84.0, "84", np.int64(84)])
def test_the_busiest_worker_has_the_sum_of_its_turns(answer) -> None:
    assert checks.busiest(answer, STATIC, LENGTHS).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [(64, "longest document alone"), (46, "the mean"), (24, "idlest"), (68, "write down"), ("all", "one number")],
)
def test_another_number_of_blocks_is_told_what_it_is(answer, why) -> None:
    verdict = checks.busiest(answer, STATIC, LENGTHS)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [[0, 1, 2, 3, 7, 6, 5, 4, 8], np.array([1, 0, 2, 3, 4, 8, 6, 7, 5])])
def test_an_order_is_right_when_nobody_has_much_more_than_the_longest_document(answer) -> None:
    assert checks.order(answer, LENGTHS, 4).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (list(range(9))[::-1], "other way round"),
        ([0, 1, 2, 3, 4], "exactly once"),
        ([0, 1, 2, 3, 4, 6, 5, 7, 8], "worker 0 has 84 blocks (64, 16, 4)"),
        (7, "a list"),
        ([float("inf")], "a list"),
    ],
)
def test_an_order_that_does_not_help_names_the_worker_that_still_has_too_much(answer, why) -> None:
    verdict = checks.order(answer, LENGTHS, 4)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [(64, 46), [64.0, 46], ("64", "46")])
def test_whole_documents_are_bounded_by_the_longest_and_cut_ones_by_the_mean(answer) -> None:
    assert checks.bounds(answer, LENGTHS, 4).right


def test_where_no_document_is_longer_than_the_mean_both_bounds_are_the_mean_rounded_up() -> None:
    assert checks.bounds((4, 4), [3, 3, 3, 2, 2], 4).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((46, 46), "longer than it"),
        ((64, 64), "need not be one worker's"),
        ((64, 1), "all blocks must be done"),
        ((84, 46), "which document"),
        ((64, 40), "all have the same"),
        (64, "two numbers"),
    ],
)
def test_a_wrong_bound_is_told_which_one_and_why(answer, why) -> None:
    verdict = checks.bounds(answer, LENGTHS, 4)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_without_an_answer_it_is_the_students_turn() -> None:
    for verdict in (
        checks.busiest(None, STATIC, LENGTHS),
        checks.order(None, LENGTHS, 4),
        checks.order(list(range(9)), LENGTHS, 4),
        checks.bounds(None, LENGTHS, 4),
    ):
        assert verdict.state == "unanswered"
