"""Waves, tails and losses, against a dispatcher whose doings are known."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import Stay, planned
from tiers import examples

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.waves import TIMER_STEP_NS, ctas_in_waves, idle_stretches
from tltrace_nb.base.gpus import preset
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.tracefile import TraceMeta
from tltrace_nb.widget import overlays

LATENCY = 100
"""ns from when a place is left to the entry of the next CTA."""
META = TraceMeta("kernel", device="virtual", gpu="classroom model", resources=((128, 0),))
"""Four SMs, which hold two CTAs of 256 threads each."""
PLACES = 8


@dataclass(frozen=True)
class Dispatch:
    """What happened: the CTAs in order, and the wave of each."""

    stays: list[Stay]
    waves: list[int]

    @property
    def trace(self) -> Trace:
        return planned([], self.stays, meta=META)


def dispatch(lengths: list[int]) -> Dispatch:
    """A GPU of four SMs of two places hands out CTAs, each to the place that was left first."""
    places = [(0, place % 4, place, 0) for place in range(PLACES)]
    stays, waves = [], []
    for number, length in enumerate(lengths):
        free, sm, place, wave = heapq.heappop(places)
        start = free + (LATENCY if wave else 2 * number)
        stays.append(Stay(sm, start, start + length))
        waves.append(wave)
        heapq.heappush(places, (start + length, sm, place, wave + 1))
    return Dispatch(stays, waves)


LENGTHS = st.lists(st.integers(50, 2000).map(lambda n: 2 * n + 1), min_size=1, max_size=60)
"""ns; odd, so that the timer's step of 1 ns is seen."""


@settings(max_examples=examples(40), deadline=None)
@given(LENGTHS)
def test_a_cta_is_of_the_wave_after_the_one_whose_place_it_took(lengths: list[int]) -> None:
    happened = dispatch(lengths)
    assert ctas_in_waves(happened.trace)["wave"].tolist() == happened.waves


@settings(max_examples=examples(25), deadline=None)
@given(LENGTHS)
def test_no_two_ctas_are_in_one_place_at_once(lengths: list[int]) -> None:
    frame = ctas_in_waves(dispatch(lengths).trace).sort_values("start_ns")
    for _, rows in frame.groupby(["sm", "place"]):
        assert (rows["end_ns"].to_numpy()[:-1] <= rows["start_ns"].to_numpy()[1:]).all()


@settings(max_examples=examples(25), deadline=None)
@given(LENGTHS)
def test_stretches_without_a_cta_are_the_idle_time_of_the_sms(lengths: list[int]) -> None:
    trace = dispatch(lengths).trace
    found = idle_stretches(ctas_in_waves(trace))
    by_sm = found.groupby(trace.ctas.set_index("cta")["sm"].reindex(found["cta"]).to_numpy())["idle_ns"].sum()
    told = trace.waves("sm").set_index("sm")
    short = TIMER_STEP_NS * (len(lengths) + 1)  # stretches of no more than a step of the timer are none
    assert (told["idle_ns"] - by_sm.reindex(told.index, fill_value=0)).between(-1, short).all()


def test_an_sm_is_idle_from_the_exit_of_its_last_cta_to_the_next_entry_in_the_cycles_of_that_cta() -> None:
    stays = [Stay(0, 0, 1001), Stay(0, 500, 3001), Stay(0, 4001, 5001), Stay(1, 0, 5001)]
    found = idle_stretches(ctas_in_waves(planned([], stays, meta=META)))
    assert found["cta"].tolist() == [1]
    assert found["idle_ns"].tolist() == pytest.approx([1000], abs=2)
    assert (found["end"] / found["start"]).tolist() == pytest.approx([3501 / 2501], rel=0.01)


@settings(max_examples=examples(25), deadline=None)
@given(LENGTHS)
def test_waves_sms_and_launch_tell_of_all_ctas(lengths: list[int]) -> None:
    trace = dispatch(lengths).trace
    assert trace.waves()["ctas"].sum() == trace.waves("sm")["ctas"].sum() == len(lengths)
    assert trace.waves("launch")["ctas"].tolist() == [len(lengths)]


@pytest.mark.parametrize(
    ("ctas", "waves", "loss"), [(1, 1, 7 / 8), (7, 1, 1 / 8), (8, 1, 0), (9, 2, 7 / 16), (16, 2, 0), (60, 8, 4 / 64)]
)
def test_waves_and_quantisation_loss_follow_from_the_grid(ctas: int, waves: int, loss: float) -> None:
    launch = dispatch([1000] * ctas).trace.waves("launch").iloc[0]
    assert (launch["waves"], launch["places"], launch["sms"]) == (waves, PLACES, 4)
    assert launch["quantisation_loss"] == pytest.approx(loss)
    assert launch["ideal_waves"] == ctas / PLACES


def test_the_tail_begins_when_the_first_sm_runs_out() -> None:
    stays = [Stay(0, 0, 1000), Stay(1, 0, 1000), Stay(2, 0, 1000), Stay(3, 0, 4000)]
    launch = planned([], stays, meta=META).waves("launch").iloc[0]
    assert launch["tail_ns"] == pytest.approx(3000)
    assert launch["tail"] == pytest.approx(0.75)
    assert launch["idle"] == pytest.approx(9000 / 16000)
    assert launch["imbalance"] == pytest.approx(4000 / 1750 - 1)


def test_an_sm_that_never_had_a_cta_is_in_the_tail_from_the_beginning() -> None:
    launch = planned([], [Stay(0, 0, 1000)], meta=META).waves("launch").iloc[0]
    assert launch["tail"] == 1


def test_the_time_of_an_sm_is_busy_idle_or_tail() -> None:
    stays = [Stay(0, 0, 1000), Stay(0, 1500, 2000), Stay(1, 0, 4000), Stay(1, 500, 1000)]
    rows = planned([], stays, meta=META).waves("sm")
    assert rows["busy_ns"].tolist() == pytest.approx([1500, 4000])
    assert rows["idle_ns"].tolist() == pytest.approx([2500, 0])
    assert rows["tail_ns"].tolist() == pytest.approx([2000, 0])


@pytest.mark.some(1)
@pytest.mark.parametrize("gpu", ["h200", "a100", "rtx4090", "t4"])
def test_no_time_is_negative_where_a_cycle_is_no_whole_part_of_a_ns(gpu: str) -> None:
    ghz = preset(gpu).clock_ghz
    meta = TraceMeta("kernel", device="virtual", gpu=f"{gpu} model", clock_ghz=ghz, resources=((128, 0),))
    for length in range(301, 331):
        trace = planned([], [Stay(sm, 0, length) for sm in range(3)], meta=meta)
        assert (trace.waves("sm")["idle_ns"] >= 0).all()
        assert (trace.waves("launch")["idle"] >= 0).all()
        assert (trace.waves("wave")["imbalance"] >= 0).all()


def test_ctas_that_overlap_by_less_than_the_timer_tells_follow_each_other() -> None:
    stays = [Stay(0, 0, 1000), Stay(0, 990, 2000)]
    assert planned([], stays).waves()["wave"].tolist() == [0, 1]


def test_no_more_places_are_filled_than_there_are() -> None:
    stays = [Stay(0, 0, 1000), Stay(0, 0, 1001), Stay(0, 900, 2000)]  # the clocks are off by 100 ns
    assert planned([], stays, meta=META).waves()["wave"].tolist() == [0, 1]
    assert planned([], stays).waves()["wave"].tolist() == [0]


def test_where_places_are_not_known_those_seen_count_and_it_says_so() -> None:
    frame = planned([], [Stay(0, 0, 1000), Stay(0, 10, 1000)]).waves("launch")
    assert frame["places"].tolist() == [2 * preset("h200").sms]
    assert any("counts as 2" in note for note in frame.notes)


@pytest.mark.parametrize(
    ("by", "schema"), [("wave", columns.WAVES), ("sm", columns.WAVES_BY_SM), ("launch", columns.WAVES_BY_LAUNCH)]
)
def test_the_columns_are_the_documented_ones_and_a_figure_is_drawn(by, schema) -> None:
    frame = dispatch([1000] * 9).trace.waves(by)
    assert list(frame) == list(schema)
    assert frame.figure().data


def test_another_by_is_refused_with_the_right_ones() -> None:
    with pytest.raises(ValueError, match="'wave', 'sm', 'launch'"):
        planned([], [Stay(0, 0, 1000)]).waves("block")  # type: ignore[arg-type]


def test_without_sm_ids_nothing_is_told_but_why() -> None:
    trace = planned([], [Stay(0, 0, 1000)])
    trace.ctas["sm"] = -1
    for frame in (trace.waves(), trace.waves("sm"), trace.waves("launch"), trace.occupancy()):
        assert frame.empty
        assert any("no SM id" in note for note in frame.notes)
        assert "no SM id" in frame.figure().layout.annotations[0].text


def sampled() -> tuple[Trace, Trace]:
    """A launch of 100 CTAs, and what is seen of it where the first wave and one in five of the others recorded."""
    stays = dispatch([1000] * 100).stays
    ids = (*range(PLACES), *range(PLACES, 99, 5), 99)
    return planned([], stays, meta=META), planned([], [stays[cta] for cta in ids], meta=META, ctas=ids)


def test_where_some_ctas_recorded_waves_are_those_of_the_grid() -> None:
    whole, part = (trace.waves("launch").iloc[0] for trace in sampled())
    assert part["ctas"] < whole["ctas"]
    told = ["waves", "ideal_waves", "quantisation_loss", "places", "sms"]
    assert part[told].tolist() == whole[told].tolist()


def test_where_some_ctas_recorded_each_is_of_the_wave_that_it_is_of_among_all() -> None:
    whole, part = (ctas_in_waves(trace).set_index("cta")["wave"] for trace in sampled())
    assert part.equals(whole[part.index])


@pytest.mark.parametrize(
    ("by", "unseen"),
    [
        ("wave", ["filled", "imbalance"]),
        ("sm", ["busy_ns", "idle_ns", "tail_ns", "imbalance"]),
        ("launch", ["tail_ns", "tail", "idle", "imbalance"]),
    ],
)
def test_where_some_ctas_recorded_what_the_others_left_empty_is_not_told(by: Any, unseen: list[str]) -> None:
    frame = sampled()[1].waves(by)
    assert frame[unseen].isna().all(axis=None)
    assert any("is not known" in note for note in frame.notes)
    assert "nan" not in str(frame.figure().to_json()).lower()


def test_over_the_lanes_of_some_ctas_no_sm_is_idle() -> None:
    whole, part = map(overlays.waves, sampled())
    assert any(text.startswith("SM idle") for text in whole["spans"]["text"])
    assert not any(text.startswith("SM idle") for text in part["spans"]["text"])
    assert "13 waves" in part["words"]
    assert "idle" not in part["words"]
    assert "the last has" not in part["words"]
