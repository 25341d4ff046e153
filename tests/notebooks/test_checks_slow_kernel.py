"""What lesson 14 says to right answers and to typical wrong ones."""

from functools import cache

import pytest
import torch

from tltrace_nb import trace
from tltrace_nb.course import given
from tltrace_nb.course import slow_kernel as checks

STEPS = 10


@cache
def slow() -> object:
    """A trace of four CTAs, ten iterations each."""
    with trace.tracing(device="virtual:h200"):
        kernel = given.slow(128, 128, 32 * STEPS)
    return kernel.run((torch.zeros(128, 32 * STEPS).half(), torch.zeros(32 * STEPS, 128).half()))[1]


@cache
def of(name: str) -> int:
    mine = slow().events.query("cta == 0")
    return int(mine[mine.name == name].duration.sum())


@pytest.mark.parametrize("form", [int, float, str, lambda n: [n], lambda n: n + 1])
def test_the_bound_is_the_sum_of_a_ctas_mmas(form) -> None:
    assert checks.bound(form(of("mma")), slow()).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda: of("mma") / STEPS, "one MMA"),
        (lambda: int(slow().ctas.duration.max()), "so long it takes now"),
        (lambda: 4 * of("mma"), "all CTAs"),
        (lambda: of("mma") + of("load"), "another role's"),
        (lambda: 7, "that nothing can take away"),
        (lambda: "long", "one number"),
    ],
)
def test_another_bound_is_told_what_it_is(answer, why) -> None:
    verdict = checks.bound(answer(), slow())
    assert verdict.state == "wrong"
    assert why in verdict.why


@cache
def verdict(answer: object, repaired: bool = False) -> object:
    return checks.cause(answer, given.ring_of_slots if repaired else given.slow)


@pytest.mark.wide
def test_the_cause_is_what_brings_most_when_it_is_changed() -> None:
    assert verdict("wait").right
    assert "34%" in verdict("wait").why


@pytest.mark.wide
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("slots", "100% of its time: that is not it"),
        ("step", "That helps, but another brings more"),
        ("tile", "that is not it"),
        ("store", "that is not it"),
    ],
)
def test_another_suspect_is_told_what_its_change_brings(answer, why) -> None:
    assert verdict(answer).state == "wrong"
    assert why in verdict(answer).why


@pytest.mark.wide
def test_the_cause_is_measured_and_not_known() -> None:
    assert not verdict("wait", repaired=True).right, "of a kernel that waits for no more than it must"


@pytest.mark.parametrize("answer", ["memory", 3, ["wait"]])
def test_a_word_that_is_no_suspect_is_told_the_words(answer) -> None:
    assert "slots, step, tile, store, wait" in checks.cause(answer, given.slow).why


def test_nothing_is_no_answer() -> None:
    assert checks.bound(None, slow()).state == "unanswered"
    assert checks.cause(None, given.slow).state == "unanswered"
    assert checks.mended(None, given.slow).state == "unanswered"
