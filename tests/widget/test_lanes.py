"""Which events are drawn, in which lane, on which row, at which x."""

import itertools
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fake_trace import instant, make_trace, pipeline, span
from hypothesis import given
from hypothesis import strategies as st

from tltrace_nb.render.lanes import choose, layout, sub_rows
from tltrace_nb.render.options import ViewOptions


def test_a_lane_per_track_in_order() -> None:
    rows = [span("a", 0, 1, cta=c, thread=t, lane=n) for c in (1, 0) for t in (128, 0) for n in ("main", "dma")]
    plan = layout(make_trace(rows), ViewOptions(limit=100))
    assert [(lane.cta, lane.thread, lane.lane) for lane in plan.lanes] == [
        (c, t, n) for c in (0, 1) for t in (0, 128) for n in ("dma", "main")
    ]


def test_a_lane_is_labelled_with_its_track_group_and_role() -> None:
    plan = layout(make_trace([span("a", 0, 1, cta=2, thread=128, group="math", role="consumer")]), ViewOptions(limit=9))
    assert plan.lanes[0].label == "CTA 2 · t128 · main (math, consumer)"


ROWS = json.loads(Path(__file__).with_name("rows.json").read_text(encoding="utf-8"))
"""Events as start, duration and row, as the front end has them, whose own tests read the same."""


@pytest.mark.parametrize("events", ROWS.values(), ids=ROWS)
def test_events_that_overlap_have_the_rows_of_the_front_end(events: list[list[int]]) -> None:
    start, duration, rows = zip(*events, strict=True)
    assert sub_rows(start, [a + b for a, b in zip(start, duration, strict=True)]) == list(rows)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=30))
def test_no_event_hides_another(spans: list[tuple[int, int]]) -> None:
    start = [a for a, _ in spans]
    end = [a + length for a, length in spans]
    rows = sub_rows(start, end)
    for i, j in itertools.combinations(range(len(spans)), 2):
        if rows[i] == rows[j]:
            assert max(start[i], start[j]) >= min(max(end[i], start[i] + 1), max(end[j], start[j] + 1))


def test_one_cta_is_drawn_in_cycles() -> None:
    plan = layout(pipeline(ctas=1), ViewOptions(limit=1000))
    assert (plan.unit, plan.events["x"].tolist()) == ("cycles", plan.events["start"].tolist())


def test_several_ctas_are_drawn_in_aligned_time() -> None:
    plan = layout(pipeline(ctas=2), ViewOptions(limit=1000))
    assert (plan.unit, plan.events["x"].tolist()) == ("ns", plan.events["start_ns"].tolist())


def test_several_ctas_without_aligned_time_are_drawn_in_cycles() -> None:
    assert layout(pipeline(aligned=False), ViewOptions(limit=1000)).unit == "cycles"


def test_asking_for_unknown_time_is_an_error() -> None:
    with pytest.raises(ValueError, match="no time that is aligned across SMs"):
        layout(pipeline(aligned=False), ViewOptions(limit=1000, time="ns"))


def test_a_wrong_time_lists_the_right_ones() -> None:
    wrong: Any = "seconds"
    with pytest.raises(ValueError, match="time='seconds': give one of 'auto', 'cycles', 'ns'"):
        layout(pipeline(), ViewOptions(limit=1000, time=wrong))


def test_a_limit_below_one_is_an_error() -> None:
    with pytest.raises(ValueError, match="limit=0"):
        layout(pipeline(), ViewOptions(limit=0))


def test_at_the_limit_nothing_is_left_out() -> None:
    events = pipeline().events
    chosen, note = choose(events, len(events))
    assert (len(chosen), note) == (len(events), "")


def test_above_the_limit_whole_ctas_are_kept() -> None:
    events = pipeline(ctas=10).events  # 21 events a CTA
    chosen, note = choose(events, 70)
    assert chosen["cta"].unique().tolist() == [0, 1, 2]
    assert note == "showing 63 of 210 events: CTAs 0\u20132"


def test_ctas_that_fit_exactly_are_kept() -> None:
    assert len(choose(pipeline(ctas=10).events, 63)[0]) == 63


def test_a_cta_above_the_limit_keeps_whole_lanes() -> None:
    chosen, note = choose(pipeline(ctas=1).events, 10)
    assert chosen["thread"].unique().tolist() == [0]
    assert note == "showing 6 of 21 events: CTA 0, the first 1 of its 2 lanes"


def test_a_lane_above_the_limit_keeps_its_earliest_events() -> None:
    chosen, note = choose(make_trace([instant("a", i) for i in range(9)]).events, 4)
    assert chosen["start"].tolist() == [0, 1, 2, 3]
    assert note == "showing 4 of 9 events: CTA 0, the earliest of its first lane"


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=40), st.integers(1, 40))
def test_a_limit_is_kept_and_never_empties_the_view(tracks: list[tuple[int, int]], limit: int) -> None:
    events = make_trace([instant("a", i, cta=c, thread=t) for i, (c, t) in enumerate(tracks)]).events
    chosen, note = choose(events, limit)
    assert 0 < len(chosen) <= limit
    assert bool(note) == (len(chosen) < len(events))


def test_arrows_run_from_an_end_to_a_start() -> None:
    trace = make_trace([span("a", 0, 10, thread=0), span("b", 30, 40, thread=32)], flows=[(0, 1)])
    arrow = layout(trace, ViewOptions(limit=9)).arrows.iloc[0]
    assert (arrow["x0"], arrow["x1"], arrow["src_name"], arrow["dst_name"]) == (10, 30, "a", "b")
    assert arrow["y0"] < arrow["y1"]


def test_arrows_out_of_the_view_are_counted() -> None:
    plan = layout(pipeline(ctas=10), ViewOptions(limit=70))
    assert len(plan.arrows) == 18
    assert plan.note.endswith("42 arrows lead to events not shown one by one")


def test_a_selection_of_rows_keeps_its_arrows_and_parents() -> None:
    trace = pipeline(ctas=2)
    plan = layout(trace, ViewOptions(limit=1000, events=trace.events[trace.events["cta"] == 1]))
    assert len(plan.arrows) == 6
    assert {lane.cta for lane in plan.lanes} == {1}
    assert max(lane.bottom - lane.top for lane in plan.lanes) == 2


def test_no_events_make_an_empty_layout() -> None:
    plan = layout(make_trace([]), ViewOptions(limit=9))
    assert (plan.lanes, plan.rows, len(plan.arrows), plan.extent) == ((), 0.0, 0, (0.0, 1.0))


def test_room_is_the_distance_to_the_next_event_on_the_row() -> None:
    plan = layout(make_trace([instant("a", 1), instant("b", 4)]), ViewOptions(limit=9))
    assert plan.events["room"].tolist() == [3, float("inf")]


def test_the_frame_is_not_changed() -> None:
    trace = pipeline()
    before = trace.events.copy()
    layout(trace, ViewOptions(limit=10))
    pd.testing.assert_frame_equal(trace.events, before)
