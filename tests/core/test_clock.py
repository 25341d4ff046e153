"""Where the CTAs lie on one time axis, and how fast their clocks ran."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from tltrace_nb.data.clock import COARSEST_STEP, Clocks, align, timer_step

GHZ = 1.9
STEP = 32


def measured(
    entry_ns: Any, length_ns: Any, *, sm: Any = None, ghz: Any = GHZ, launch: Any = None, stated: float | None = None
) -> Clocks:
    """What ``align`` says of CTAs that ran so, each SM's clock having started anywhere and the timer stepping."""
    entry, length = np.asarray(entry_ns, float), np.asarray(length_ns, float)
    sms = np.arange(len(entry)) if sm is None else np.asarray(sm)
    times = np.stack([entry, entry + length], axis=1)
    clock = np.round(times * np.asarray(ghz).reshape(-1, 1)).astype(np.int64) + sms[:, None] * 10**12
    ns = (times // STEP).astype(np.int64) * STEP + 1_700_000_000 * 10**9 // STEP * STEP
    launches = np.zeros(len(entry), np.int32) if launch is None else np.asarray(launch)
    valid = np.ones(clock.shape, bool)
    duration = clock[:, 1] - clock[:, 0]
    return align(clock, ns, valid, entry=clock[:, 0], duration=duration, sm=sms, launch=launches, stated=stated)


def test_a_long_cta_has_a_rate_of_its_own() -> None:
    clocks = measured([0, 0], [100_000, 100_000], ghz=[1.9, 1.2])
    assert clocks.ghz == pytest.approx([1.9, 1.2], rel=1e-3)


def test_a_short_cta_takes_the_rate_of_its_sm() -> None:
    entry = np.arange(0, 100_000, 1_000)
    clocks = measured(entry, np.full(len(entry), 900), sm=np.zeros(len(entry), int))
    assert clocks.ghz == pytest.approx(np.full(len(entry), GHZ), rel=1e-3)


def test_short_ctas_alone_on_their_sms_share_the_launchs_rate() -> None:
    entry = np.random.default_rng(0).uniform(0, 320, 132)
    clocks = measured(entry, np.full(132, 1_000))
    assert clocks.ghz == pytest.approx(np.full(132, GHZ), rel=1e-2)
    assert len(set(clocks.ghz)) == 1


def test_a_rate_is_not_borrowed_from_another_launch() -> None:
    clocks = measured([0, 200_000], [100_000, 40], sm=[0, 0], launch=[0, 1])
    assert np.isnan(clocks.ghz[1])


def test_nothing_is_guessed_when_nothing_is_known() -> None:
    clocks = measured([5], [20])
    assert np.isnan(clocks.ghz[0])
    assert clocks.start_ns[0] == 0


def test_a_stated_rate_holds_however_short_the_cta() -> None:
    clocks = measured([5, 100_000], [20, 100_000], stated=2.0)
    assert clocks.ghz.tolist() == [2.0, 2.0]
    assert clocks.end_ns[0] - clocks.start_ns[0] == 38 / 2.0  # 20 ns at 1.9 GHz are 38 cycles


def test_zero_is_the_entry_of_the_first_cta() -> None:
    clocks = measured([7_000, 64, 3_000], [50_000, 50_000, 50_000])
    assert clocks.start_ns.min() == clocks.start_ns[1] == 0


def test_ctas_are_placed_within_a_step_of_the_truth() -> None:
    entry = np.sort(np.random.default_rng(1).uniform(0, 1e6, 500))
    entry[0] = 0
    clocks = measured(entry, np.full(500, 1_000), sm=np.arange(500) % 4)
    assert np.abs(clocks.start_ns - entry).max() <= STEP


def test_large_absolute_times_lose_no_precision() -> None:
    assert measured([0, 96], [64_000, 64_000]).start_ns[1] == 96


def test_an_end_is_the_start_and_the_duration() -> None:
    clocks = measured([0], [64_000])
    assert clocks.end_ns[0] == pytest.approx(64_000)


def test_a_cta_without_a_reading_is_nowhere() -> None:
    valid = np.array([[True, True], [False, False]])
    clock, ns = np.array([[0, 10_000], [0, 0]]), np.array([[0, 5_000], [0, 0]])
    zeros = np.zeros(2, np.int64)
    clocks = align(clock, ns, valid, entry=zeros, duration=np.array([10_000, 0]), sm=zeros, launch=zeros)
    assert clocks.ghz[0] == 2
    assert np.isnan([clocks.ghz[1], clocks.start_ns[1], clocks.end_ns[1]]).all()


def test_an_unfinished_cta_takes_its_sms_rate() -> None:
    valid = np.array([[True, True], [True, False]])
    clock, ns = np.array([[0, 40_000], [50_000, 0]]), np.array([[0, 20_000], [25_000, 0]])
    zeros = np.zeros(2, np.int64)
    clocks = align(clock, ns, valid, entry=clock[:, 0], duration=np.array([40_000, 8]), sm=zeros, launch=zeros)
    assert clocks.ghz[1] == 2
    assert (clocks.start_ns[1], clocks.end_ns[1]) == (25_000, 25_004)


@pytest.mark.parametrize(
    ("times", "step"), [([0, 32, 96], 32), ([5, 6], 1), ([1000, 1000], COARSEST_STEP), ([0, 1 << 20], 1024)]
)
def test_the_step_is_what_the_readings_show(times: list[int], step: int) -> None:
    assert timer_step(np.array(times)) == step


def test_no_ctas_are_no_error() -> None:
    none = np.zeros((0, 0), np.int64)
    clocks = align(
        none,
        none,
        none.astype(bool),
        entry=none[:, 0:0].reshape(0),
        duration=np.zeros(0, np.int64),
        sm=np.zeros(0, int),
        launch=np.zeros(0, int),
    )
    assert len(clocks.ghz) == 0


@settings(max_examples=examples(200), deadline=None)
@given(data=st.data(), rows=st.integers(1, 5))
def test_garbage_neither_raises_nor_warns(data: st.DataObject, rows: int) -> None:
    word = st.sampled_from([0, -1, 2**63 - 1, -(2**63)]) | st.integers(-(2**63), 2**63 - 1)
    clock, ns = (
        np.array(data.draw(st.lists(word, min_size=2 * rows, max_size=2 * rows))).reshape(rows, 2) for _ in range(2)
    )
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=2 * rows, max_size=2 * rows))).reshape(rows, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clocks = align(
            clock, ns, valid, entry=clock[:, 0], duration=ns[:, 0], sm=np.arange(rows) % 2, launch=np.arange(rows) // 3
        )
    assert np.array_equal(np.isnan(clocks.start_ns), ~valid.any(axis=1) | clocks.backwards)
    assert ((clocks.ghz > 0) | np.isnan(clocks.ghz)).all()
