"""What lesson 13 says to right answers and to typical wrong ones."""

import pytest
import torch
from handed_in import handed_in

from tltrace_nb.course import race_hunt as checks


def smoothed(a: torch.Tensor, steps: int) -> torch.Tensor:
    for _ in range(steps):
        a = 0.5 * (a + a.roll(-1))
    return a


def said(answer: object) -> object:
    return checks.barriers(answer, handed_in(13, "smooth", given=True), smoothed)


@pytest.mark.some(2)
@pytest.mark.parametrize("answer", ["abc", "ABC", "a, b, c", "cab", ["a", "b", "c"], {"a", "b", "c"}])
def test_barriers_without_which_there_is_a_race_must_stay(answer) -> None:
    assert said(answer).right


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("abcd", "without d there is none, either"),
        ("bcd", "with b, c, d alone there is a race on S"),
        ("acd", "T.sync_threads() between them"),
        ("abd", "writes it"),
        ("", "with none alone"),
        ("xyz", "out of a, b, c and d"),
        (3, "out of a, b, c and d"),
    ],
)
def test_other_barriers_are_told_the_race_or_the_one_that_can_go(answer, why) -> None:
    verdict = said(answer)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_nothing_is_no_answer() -> None:
    assert said(None).state == "unanswered"
    assert checks.one_barrier(None, smoothed).state == "unanswered"
    assert checks.mended(None).state == "unanswered"


def test_the_ring_as_it_is_given_is_right_and_has_both_races() -> None:
    verdict = checks.mended(handed_in(13, "ring", given=True))
    assert verdict.state == "wrong"
    assert "the result is right, and there is a race on A_shared" in verdict.why
