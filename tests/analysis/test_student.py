"""Student's t against printed tables, and variances that lend each other theirs."""

from __future__ import annotations

import numpy as np
import pytest

from tltrace_nb.analysis.student import moderated, two_sided

TABLE = [(12.706, 1, 0.05), (4.303, 2, 0.05), (3.182, 3, 0.05), (2.776, 4, 0.05), (6.869, 5, 0.001), (5.041, 8, 0.001)]


@pytest.mark.parametrize(("t", "freedom", "chance"), [*TABLE, (3.496, 50, 0.001)])
def test_chances_are_those_of_the_tables(t: float, freedom: int, chance: float) -> None:
    assert two_sided(np.array([t]), np.array([freedom]))[0] == pytest.approx(chance, rel=0.01)


def test_without_freedom_or_value_anything_is_possible() -> None:
    assert two_sided(np.array([9.0, np.nan]), np.array([0, 5])).tolist() == [1, 1]


def test_no_difference_is_certain_and_an_infinite_one_impossible() -> None:
    assert two_sided(np.array([0.0, np.inf]), np.array([5, 5])).tolist() == [1, 0]


def test_variances_of_one_size_are_pooled() -> None:
    variance = np.random.default_rng(0).chisquare(4, 200) / 4
    better, freedom = moderated(variance, 4)
    assert freedom > 100
    assert better.std() < 0.2 * variance.std()
    assert better.mean() == pytest.approx(1, rel=0.1)


def test_variances_of_many_sizes_stay_their_own() -> None:
    noise = np.random.default_rng(0)
    sizes = np.exp(noise.normal(0, 3, 200))
    variance = sizes * noise.chisquare(4, 200) / 4
    better, freedom = moderated(variance, 4)
    assert freedom < 6
    assert np.median(np.abs(np.log(better / variance))) < 0.5


def test_no_variance_stays_none() -> None:
    better, _ = moderated(np.array([0.0, 1.0, 1.1, 0.9]), 4)
    assert better[0] == 0


def test_two_variances_have_nothing_to_lend() -> None:
    assert moderated(np.array([1.0, 2.0]), 4)[1] == 4
