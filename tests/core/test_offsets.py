"""How far two clocks are apart: synthetic clocks with an offset, a drift, steps, and messages that take any time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from tltrace_nb.data.offsets import RATE, Offset, OffsetError, Rounds, drift_ppm, during, offset_of

EPOCH = 1_764_000_000_000_000_000
"""ns since 1970, where a GPU's timer is."""


class Clocks:
    """Two clocks, of which the answering one was ``offset`` ahead at time 0 and runs ``ppm`` faster; both step."""

    def __init__(self, offset: int, ppm: float, steps: tuple[int, int] = (1, 1), seed: int = 0) -> None:
        self.offset, self.ppm, self.steps = offset, ppm, steps
        self.random = np.random.default_rng(seed)

    def asking(self, time: np.ndarray) -> np.ndarray:
        return (EPOCH + np.floor(time).astype(np.int64)) // self.steps[0] * self.steps[0]

    def answering(self, time: np.ndarray) -> np.ndarray:
        exact = EPOCH + self.offset + np.floor(time + time * self.ppm * 1e-6).astype(np.int64)
        return exact // self.steps[1] * self.steps[1]

    def true(self, answering: int) -> float:
        """The offset when the answering clock is at ``answering``."""
        time = (answering - EPOCH - self.offset) / (1 + self.ppm * 1e-6)
        return self.offset + time * self.ppm * 1e-6

    def rounds(self, start: float, there: np.ndarray, own: np.ndarray, back: np.ndarray) -> Rounds:
        """Rounds one after the other, with what question, answerer and answer took in each."""
        took = there + own + back
        sent = start + np.concatenate([[0.0], np.cumsum(took)[:-1]])
        received, replied = sent + there, sent + there + own
        return Rounds(self.asking(sent), self.answering(received), self.answering(replied), self.asking(sent + took))

    def played(
        self, start: float, n: int = 200, there: float = 600.0, back: float = 600.0, jitter: float = 300.0
    ) -> Offset:
        late = self.random.exponential(jitter, (3, n))
        return offset_of(self.rounds(start, there + late[0], late[1], back + late[2]))


def off(clocks: Clocks, offset: Offset) -> float:
    return abs(offset.ns - clocks.true(offset.at))


def test_the_offset_is_found_within_its_error_of_half_a_round() -> None:
    clocks = Clocks(offset=-115_000, ppm=5)
    found = clocks.played(0)
    assert off(clocks, found) <= found.error_ns
    assert found.error_ns <= found.fastest / 2 + 2


def test_a_fast_question_and_a_fast_answer_need_not_be_of_one_round() -> None:
    clocks = Clocks(offset=1000, ppm=0)
    there, back = np.tile([100.0, 901.0], 20), np.tile([902.0, 100.0], 20)
    found = offset_of(clocks.rounds(0, there, np.zeros(40), back))
    assert found.error_ns <= 102
    assert off(clocks, found) <= found.error_ns


def test_what_the_answerer_does_meanwhile_costs_nothing() -> None:
    clocks = Clocks(offset=1000, ppm=0)
    n = np.full(50, 1.0)
    assert offset_of(clocks.rounds(0, 500 * n, 1e6 * n, 500 * n)).fastest <= 1002


def test_a_way_there_that_is_slower_than_the_way_back_moves_the_offset_by_less_than_its_error() -> None:
    clocks = Clocks(offset=0, ppm=0)
    found = clocks.played(0, there=2000, back=100)
    assert found.ns > 500
    assert off(clocks, found) <= found.error_ns


def test_timers_that_step_cost_a_step_at_most() -> None:
    clocks = Clocks(offset=77, ppm=3, steps=(32, 32))
    found = clocks.played(0, n=4000, there=50, back=50, jitter=200)
    assert off(clocks, found) <= found.error_ns <= 50 + 32


def test_between_two_ping_pongs_the_drift_is_interpolated() -> None:
    clocks = Clocks(offset=-115_000, ppm=5)
    offsets = [clocks.played(0), clocks.played(2e9)]
    when = EPOCH - 115_000 + 1_000_000_000
    found, error = during(offsets, when, when)
    assert abs(found - clocks.true(when)) <= error < 1000
    ppm, about = drift_ppm(offsets)
    assert abs(ppm - 5) <= about < 1


def test_after_the_last_ping_pong_the_error_grows() -> None:
    clocks = Clocks(offset=0, ppm=5)
    only = clocks.played(0)
    errors = [during([only], only.at + later, only.at + later)[1] for later in (0, 10**6, 10**9)]
    assert errors == [only.error_ns, only.error_ns + 10**6 * RATE, only.error_ns + 10**9 * RATE]


def test_a_long_launch_has_the_drift_of_its_own_time_in_its_error() -> None:
    clocks = Clocks(offset=0, ppm=50)
    offsets = [clocks.played(0), clocks.played(1e9)]
    begin, end = EPOCH, EPOCH + 1_000_000_000
    found, error = during(offsets, begin, end)
    assert max(abs(found - clocks.true(begin)), abs(found - clocks.true(end))) <= error
    assert 25_000 <= error < 27_000


def test_of_one_ping_pong_no_drift_is_told() -> None:
    assert np.isnan(drift_ppm([Clocks(0, 0).played(0)])).all()


def test_without_an_answer_nothing_is_known() -> None:
    none = np.zeros(0, np.int64)
    with pytest.raises(OffsetError, match="no message came back"):
        offset_of(Rounds(none, none, none, none))
    with pytest.raises(OffsetError, match="never compared"):
        during([], 0, 0)


def test_a_clock_that_was_set_meanwhile_is_noticed() -> None:
    clocks = Clocks(offset=0, ppm=0)
    n = np.full(10, 500.0)
    rounds = clocks.rounds(0, n, 0 * n, n)
    leap = np.where(np.arange(10) < 5, 0, 100_000)
    with pytest.raises(OffsetError, match="a clock was set"):
        offset_of(Rounds(rounds.sent, rounds.received + leap, rounds.replied + leap, rounds.back))


DELAYS = st.floats(0, 5000)


@settings(max_examples=examples(400), deadline=None)
@given(
    offset=st.integers(-(10**12), 10**12),
    ppm=st.floats(-RATE * 1e6, RATE * 1e6),
    steps=st.tuples(st.sampled_from([1, 32, 1024]), st.sampled_from([1, 32, 1024])),
    delays=st.lists(st.tuples(DELAYS, DELAYS, DELAYS), min_size=1, max_size=60),
    apart=st.floats(1e5, 1e10),
    at=st.floats(-0.2, 1.2),
)
def test_the_true_offset_always_lies_within_the_stated_error(
    offset: int, ppm: float, steps: tuple[int, int], delays: list[tuple[float, float, float]], apart: float, at: float
) -> None:
    clocks = Clocks(offset, ppm, steps)
    there, own, back = (np.array(each) for each in zip(*delays, strict=True))
    offsets = [offset_of(clocks.rounds(start, there, own, back)) for start in (0.0, apart + (there + own + back).sum())]
    for each in offsets:
        assert off(clocks, each) <= each.error_ns + 1
    when = EPOCH + offset + round(at * (offsets[1].at - offsets[0].at))
    found, error = during(offsets, when, when)
    assert abs(found - clocks.true(when)) <= error + 2


@settings(max_examples=examples(200), deadline=None)
@given(
    there=st.floats(10, 5000),
    back=st.floats(10, 5000),
    jitter=st.floats(1, 3000),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_error_is_never_more_than_half_of_the_fastest_round_and_a_step(
    there: float, back: float, jitter: float, seed: int
) -> None:
    found = Clocks(0, 0, (32, 32), seed).played(0, there=there, back=back, jitter=jitter)
    assert found.error_ns <= found.fastest / 2 + 32 + 1
