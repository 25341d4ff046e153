"""What lesson 9 says to right answers and to typical wrong ones."""

from pathlib import Path

import numpy as np
import pytest
from planned import GHZ, Span, Stay, planned

import tltrace_nb
from tltrace_nb import datasets
from tltrace_nb.course import flash_attention as checks

FULL = datasets.load("h200/attention")
CAUSAL = tltrace_nb.load(Path(__file__).parents[1] / "recorded" / "causal_attention.tltrace")
BEFORE, LEFT, BLOCKS = (FULL.events.name == "QK").sum(), (CAUSAL.events.name == "QK").sum(), len(CAUSAL.ctas)
PIPELINE = planned(
    [
        Span("load K", 0, 300, thread=128),
        Span("load V", 350, 400, thread=128),
        Span("load K", 450, 500, thread=128),
        Span("QK", 300, 700),
        Span("softmax", 700, 1300),
        Span("PV", 1300, 1500),
        Span("QK", 1500, 1900),
    ],
    flows=[("load K", "QK"), ("load V", "PV")],
)
"""The first product waits for the first K; all other loads come early."""
CHAIN = planned([Span("QK", 0, 400), Span("softmax", 400, 1000)], [Stay(0, 0, 1000 // GHZ)])
"""A CTA whose softmax is 600 of its 1000 cycles."""


def test_what_is_loaded_ahead_may_be_slow() -> None:
    assert checks.may_be_slow("load V", PIPELINE).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("softmax", "is on the critical path"),
        ("load K", "does everybody wait"),
        ("load", "one of the names"),
        (["load V", "load Q"], "as a string"),
        (3, "one of the names"),
    ],
)
def test_a_name_that_may_not_be_slow_is_told_whether_always_or_once(answer, why) -> None:
    verdict = checks.may_be_slow(answer, PIPELINE)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [1 / 0.7, 1.43, 1.4, "1.43", [1.43], np.float32(1.43)])
def test_half_a_softmax_saves_half_of_its_share(answer) -> None:
    assert checks.half_the_softmax(answer, CHAIN).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (2, "only the softmax"),
        (2.5, "no time at all"),
        (1.3, "no sum"),
        (1.6, "no sum"),
        (0.7, "old time over new"),
        (3, "not to be had"),
        (1.1, "on the path"),
        ("much", "one number"),
    ],
)
def test_another_factor_is_told_what_it_would_be(answer, why) -> None:
    verdict = checks.half_the_softmax(answer, CHAIN)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [(LEFT, False), [float(LEFT), np.bool_(False)]])
def test_a_mask_saves_products_but_not_the_longest_cta(answer) -> None:
    assert checks.causal(answer, CAUSAL, FULL).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((BEFORE, False), "without the mask"),
        ((LEFT, None), "True or False"),
        ((LEFT, "False"), "True or False"),
        ((BEFORE / 2, False), "multiplied whole"),
        ((LEFT - BLOCKS, False), "its own key"),
        ((LEFT + 1, False), "CTA 0"),
        ((LEFT, True), "when does a launch end"),
        (LEFT, "True or False"),
    ],
)
def test_a_wrong_answer_on_the_mask_is_told_what_it_forgets(answer, why) -> None:
    verdict = checks.causal(answer, CAUSAL, FULL)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_without_an_answer_it_is_the_students_turn() -> None:
    for verdict in (
        checks.may_be_slow(None, PIPELINE),
        checks.half_the_softmax(None, CHAIN),
        checks.causal(None, CAUSAL, FULL),
    ):
        assert verdict.state == "unanswered"
