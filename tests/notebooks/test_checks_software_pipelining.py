"""What lesson 5 says to right answers and to typical wrong ones."""

import numpy as np
import pytest
from planned import Span, Stay, planned

from tltrace_nb.course import software_pipelining as checks


def pipeline(stages, iterations=8):
    """One thread's loads and products, the loads ``stages - 1`` iterations ahead."""
    order = [("load", k) for k in range(stages - 1)]
    for k in range(iterations):
        if k + stages - 1 < iterations:
            order.append(("load", k + stages - 1))
        order.append(("mma", k))
    return planned([Span(name, 100 * i, 100 * i + 80, payload=k) for i, (name, k) in enumerate(order)])


def lasting(ns):
    return planned([], [Stay(0, 0, ns), Stay(1, 0, ns)])


RUNS = {1: lasting(2000), 2: lasting(1300), 3: lasting(1090), 4: lasting(1000)}
REAL = {"tile": 128, "step": 64, "item_bytes": 2, "shared": 232_448}


@pytest.mark.parametrize(("stages", "newest"), [(1, 4), (2, 5), (3, 6), (4, 7)])
def test_the_newest_load_follows_from_the_order_of_the_trace(stages, newest) -> None:
    for answer in (newest, float(newest), np.int64(newest)):
        assert checks.newest_load(answer, pipeline(stages)).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [(4, "used by now"), (15, "last load of all"), (7, "count from 0"), (9, "look for the loads"), ("k", "look for")],
)
def test_other_loads_are_told_apart(answer, why) -> None:
    verdict = checks.newest_load(answer, pipeline(3, iterations=16))
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [3, 3.0, np.int64(3), "3"])
def test_the_fewest_stages_that_are_fast_enough_are_right(answer) -> None:
    assert checks.fewest_stages(answer, RUNS).right


@pytest.mark.parametrize(
    ("answer", "why"), [(2, "30% slower"), (1, "100% slower"), (4, "that is the fastest"), (9, "there are traces")]
)
def test_other_numbers_of_stages_are_told_why_not(answer, why) -> None:
    verdict = checks.fewest_stages(answer, RUNS)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [7, 7.0, np.int64(7)])
def test_as_many_stages_as_fit_whole_are_right(answer) -> None:
    assert checks.most_stages(answer, **REAL).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (7.09, "fits or it does not"),
        (8, "would take"),
        (14, "each of the two"),
        (28, "bytes"),
        (3, "not square"),
        (5, "two tiles"),
    ],
)
def test_other_numbers_that_fit_are_told_apart(answer, why) -> None:
    verdict = checks.most_stages(answer, **REAL)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_nothing_is_no_answer() -> None:
    assert checks.newest_load(None, pipeline(3)).state == "unanswered"
    assert checks.fewest_stages(None, RUNS).state == "unanswered"
    assert checks.most_stages(None, **REAL).state == "unanswered"
