"""What lesson 11 says to right answers and to typical wrong ones."""

import pytest

from tltrace_nb.base.gpus import preset
from tltrace_nb.course import bandwidth_and_roofline as checks

WHOLE = 4.8e12 * 600 / 1.83e9
"""Bytes under way on an H200, all of its 132 SMs."""


@pytest.mark.parametrize("answer", [WHOLE / 132, 12_000, "12000", [11_923]])
def test_bytes_under_way_are_bandwidth_times_latency(answer) -> None:
    assert checks.bytes_under_way(answer, preset("h200"), 600).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (WHOLE, "How many SMs"),
        (11.9, "kilobytes"),
        (WHOLE / 132 / 4, "give bytes"),
        (4.8e12 * 600, "how long is a cycle"),
        (4.8e12 / 132, "in a second"),
        (7, "mind the units"),
        ("many", "one number"),
    ],
)
def test_other_bytes_are_told_what_they_are(answer, why) -> None:
    verdict = checks.bytes_under_way(answer, preset("h200"), 600)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [206, 206.0, "206", 989 / 4.8, 210])
def test_the_ridge_is_one_rate_over_the_other(answer) -> None:
    assert checks.ridge(answer, 989e12, 4.8e12).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [(4.8 / 989, "other way round"), (412, "off by two"), (206_000, "they cancel"), (7, "divide"), ("?", "one number")],
)
def test_another_ridge_is_told_what_it_is(answer, why) -> None:
    verdict = checks.ridge(answer, 989e12, 4.8e12)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_nothing_is_no_answer() -> None:
    assert checks.bytes_under_way(None, preset("h200"), 600).state == "unanswered"
    assert checks.ridge(None, 1, 1).state == "unanswered"
    assert checks.fused(None, None, None).state == "unanswered"
