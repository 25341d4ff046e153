"""Resident CTAs and warps per SM, against schedules whose residency is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import Stay, planned
from recordings import RECORDED
from tiers import examples

from tltrace_nb import load
from tltrace_nb.analysis import columns
from tltrace_nb.data.tracefile import TraceMeta

SMS = 4
STAY = st.tuples(st.integers(0, SMS - 1), st.integers(0, 4000), st.integers(50, 1500).map(lambda n: 2 * n + 1))
"""SM, start, and a length that is odd, so that the timer's step of 1 ns is seen."""
STAYS = st.lists(STAY.map(lambda s: Stay(s[0], s[1], s[1] + s[2])), min_size=1, max_size=24)


def resident(stays: list[Stay], sm: int, time: float) -> int:
    return sum(stay.sm == sm and stay.start <= time < stay.end for stay in stays)


@settings(max_examples=examples(25), deadline=None)
@given(STAYS)
def test_at_any_time_it_tells_the_ctas_that_are_there(stays: list[Stay]) -> None:
    frame = planned([], stays).occupancy()
    zero = min(stay.start for stay in stays)
    for row in frame.itertuples():
        middle = (row.start_ns + row.end_ns) / 2 + zero
        assert row.ctas == resident(stays, row.sm, middle)
        assert row.warps == 8 * row.ctas


@settings(max_examples=examples(25), deadline=None)
@given(STAYS)
def test_the_rows_of_an_sm_cover_the_launch_without_gap_or_overlap(stays: list[Stay]) -> None:
    frame = planned([], stays).occupancy()
    span = max(s.end for s in stays) - min(s.start for s in stays)
    for _, rows in frame.groupby("sm"):
        assert rows["start_ns"].iloc[0] == 0
        assert rows["end_ns"].iloc[-1] == pytest.approx(span)
        assert (rows["end_ns"].to_numpy()[:-1] == rows["start_ns"].to_numpy()[1:]).all()
        assert (np.diff(rows["ctas"]) != 0).all()


def test_every_sm_of_a_known_gpu_is_told_of_also_the_idle_ones() -> None:
    frame = planned([], [Stay(0, 0, 1000)]).occupancy()
    assert frame["sm"].nunique() == 132
    assert frame.groupby("sm")["ctas"].max().sum() == 1


def test_the_columns_are_the_documented_ones() -> None:
    assert list(planned([], [Stay(0, 0, 1000)]).occupancy()) == list(columns.OCCUPANCY)


def test_the_limit_follows_from_threads_registers_and_shared_memory() -> None:
    frame = planned([], [Stay(0, 0, 1000)]).occupancy(registers=128, shared=100 * 1024)
    assert frame["limit_ctas"].eq(2).all()  # 65,536 registers for 256 threads of 128; 228 KiB for 101 KiB
    assert frame["theoretical"].eq(16 / 64).all()
    assert frame.notes == ()


def test_without_registers_the_limit_is_an_upper_bound_and_says_so() -> None:
    frame = planned([], [Stay(0, 0, 1000)]).occupancy()
    assert frame["limit_ctas"].eq(8).all()
    assert any("upper bound, by threads" in note for note in frame.notes)


def test_the_resources_in_the_meta_are_used() -> None:
    meta = TraceMeta("kernel", device="virtual", gpu="h200 model", grids=((1, 1, 1),), resources=((128, 0),))
    frame = planned([], [Stay(0, 0, 1000)], meta=meta).occupancy()
    assert frame["limit_ctas"].eq(2).all()
    assert frame.notes == ()


def test_an_unknown_gpu_leaves_the_limit_missing_and_says_so() -> None:
    frame = planned([], [Stay(0, 0, 1000)], meta=TraceMeta("kernel", gpu="Imaginary 9000")).occupancy()
    assert frame["limit_ctas"].isna().all()
    assert frame["ctas"].max() == 1
    assert any("Imaginary 9000" in note and "gpu=" in note for note in frame.notes)


def test_a_cta_larger_than_an_sm_is_refused_with_the_limit() -> None:
    with pytest.raises(ValueError, match="shared memory"):
        planned([], [Stay(0, 0, 1000)]).occupancy(shared=10**6)


def test_ctas_without_a_clock_are_left_out_in_words() -> None:
    trace = load(RECORDED / "every_thread.tltrace")
    frame = trace.occupancy()
    assert frame.empty
    assert any("clock rate" in note for note in frame.notes)
    assert frame.figure().layout.annotations[0].text


def test_a_subset_of_the_ctas_says_that_others_are_not_known() -> None:
    trace = planned([], [Stay(0, 0, 1000), Stay(3, 0, 1000)], ctas=(2, 7))
    frame = trace.occupancy()
    assert frame["sm"].unique().tolist() == [0, 3]
    assert any("only 2 CTAs" in note for note in frame.notes)


def test_the_figure_tells_the_average_and_the_notes() -> None:
    drawing = planned([], [Stay(0, 0, 1000), Stay(1, 0, 500)]).occupancy().figure()
    assert "8 at most" in drawing.layout.title.text
    assert "upper bound" in drawing.layout.annotations[0].text.replace("<br>", " ")


@pytest.mark.parametrize("file", sorted(RECORDED.glob("*.tltrace")), ids=lambda file: file.stem)
def test_a_recorded_h200_never_holds_more_than_an_sm_can(file) -> None:
    frame = load(file).occupancy()
    assert (frame["ctas"] <= frame["limit_ctas"]).all()
    assert (frame["duration_ns"] > 0).all()
