"""What lesson 12 says to right answers and to typical wrong ones."""

import pytest

from tltrace_nb.course import reductions as checks


@pytest.mark.parametrize("answer", [10, 10.0, "10", [10]])
def test_a_tree_has_a_barrier_for_each_halving(answer) -> None:
    assert checks.barriers_of_a_tree(answer, 1024).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [(8, "256 threads"), (1023, "additions"), (9, "one off"), (11, "one off"), (3, "halves"), ("?", "halves")],
)
def test_other_barriers_are_told_what_they_count(answer, why) -> None:
    verdict = checks.barriers_of_a_tree(answer, 1024)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [8, "8", 5 + 3])
def test_a_thread_of_the_first_warp_shuffles_in_both_parts(answer) -> None:
    assert checks.shuffles_of_a_thread(answer, 256).right


@pytest.mark.parametrize(
    ("answer", "why"), [(5, "first part"), (10, "one for each warp"), (40, "counts numbers"), (3, "both loops")]
)
def test_other_shuffles_are_told_what_they_count(answer, why) -> None:
    verdict = checks.shuffles_of_a_thread(answer, 256)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_nothing_is_no_answer() -> None:
    assert checks.barriers_of_a_tree(None, 1024).state == "unanswered"
    assert checks.shuffles_of_a_thread(None, 256).state == "unanswered"
    assert checks.largest(None).state == "unanswered"
