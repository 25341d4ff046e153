"""Blocked time by barrier and producer, against schedules whose waits are known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from planned import Span, planned
from recordings import RECORDED
from test_critical_path import SCHEDULES, Schedule
from tiers import examples

from tltrace_nb import load
from tltrace_nb.analysis import columns


def blocked(schedule: Schedule) -> dict[tuple[str, int], tuple[int, set[str]]]:
    """For each task that an arrow leads to: the cycles that it waited for arrows alone, and for whom."""
    ends = {(span.name, span.payload): span.end for span in schedule.spans()}
    waits = {}
    for name, task in ends:
        sources = {src: ends[src, task] for src, dst in schedule.flows if dst == name and (src, task) in ends}
        if sources:
            free, last = ends.get((name, task - 1), 0), max(sources.values())
            waits[name, task] = max(last - free, 0), {src for src, end in sources.items() if end == last}
    return waits


@settings(max_examples=examples(60), deadline=None)
@given(SCHEDULES)
def test_arrows_tell_how_long_and_for_whom_each_range_waited(schedule: Schedule) -> None:
    frame = schedule.trace().waits(each=True)
    truth = blocked(schedule)
    assert len(frame) == len(truth)
    for row in frame.itertuples():
        cycles, sources = truth[row.name, int(row.payload)]
        assert row.blocked == cycles == row.end - row.start
        assert row.producer in sources
        assert row.unexplained == 0


@settings(max_examples=examples(30), deadline=None)
@given(SCHEDULES)
def test_the_table_sums_the_single_waits(schedule: Schedule) -> None:
    trace = schedule.trace()
    table, each = trace.waits(), trace.waits(each=True)
    assert table["total"].sum() == each["blocked"].sum()
    assert table["count"].sum() == len(each)
    assert table["total"].is_monotonic_decreasing


CONSUMER = [
    Span("wait full", 10, 90, thread=32),
    Span("mma", 92, 120, thread=32),
    Span("wait full", 130, 140, thread=32),
    Span("mma", 140, 160, thread=32),
]
PRODUCER = [Span("load", 0, 70), Span("load", 70, 100)]


def test_named_ranges_are_waits_whole_and_hold_up_what_follows() -> None:
    row = planned(CONSUMER).waits("wait full").iloc[0]
    assert (row["name"], row["barrier"], row["count"], row["total"], row["longest"]) == ("mma", "wait full", 2, 90, 80)


def test_without_arrows_a_named_wait_has_no_producer_and_says_so() -> None:
    frame = planned(CONSUMER).waits("wait full")
    assert frame["producer"].isna().all()
    assert any("for whom" in note for note in frame.notes)


def test_an_arrow_to_what_was_held_up_tells_for_whom_the_wait_was() -> None:
    frame = planned([*CONSUMER, *PRODUCER], flows=[("load", "mma")]).waits("wait full", each=True)
    assert frame["producer"].tolist() == ["load", "load"]
    assert frame["unexplained"].tolist() == [20, 10]  # after the load had ended


def test_an_arrow_to_the_wait_itself_comes_first() -> None:
    spans = [*CONSUMER, *PRODUCER, Span("other", 0, 80, thread=64), Span("other", 90, 95, thread=64)]
    frame = planned(spans, flows=[("load", "mma"), ("other", "wait full")]).waits("wait full", each=True)
    assert frame["producer"].tolist() == ["other", "other"]


def test_a_pattern_names_several_waits() -> None:
    frame = planned([*CONSUMER, Span("wait empty", 5, 25)]).waits("wait *")
    assert frame["barrier"].tolist() == ["wait full", "wait empty"]


def test_a_wait_that_nothing_follows_holds_up_nothing() -> None:
    assert planned([Span("drain", 0, 50)]).waits("drain")["name"].isna().all()


def test_the_time_after_the_source_ended_is_unexplained() -> None:
    frame = planned([Span("load", 0, 30), Span("mma", 100, 120, thread=32)], flows=[("load", "mma")]).waits(each=True)
    assert frame[["blocked", "unexplained"]].to_numpy().tolist() == [[30, 70]]


def test_a_share_is_of_the_time_of_all_ctas() -> None:
    trace = planned(CONSUMER)
    assert trace.waits("wait full")["share"].tolist() == [90 / trace.ctas["duration"].sum()]


def test_without_names_and_arrows_nothing_is_a_wait_and_it_says_what_to_do() -> None:
    frame = planned(CONSUMER).waits()
    assert frame.empty
    assert any("names=" in note and "trace.dag" in note for note in frame.notes)
    assert "names=" in frame.figure().layout.annotations[0].text


def test_a_name_that_does_not_occur_is_refused_with_those_that_do() -> None:
    with pytest.raises(ValueError, match=r"names='sync \*'.*there are: wait full, mma"):
        planned(CONSUMER).waits("sync *")


def test_the_columns_are_the_documented_ones() -> None:
    trace = planned(CONSUMER)
    assert list(trace.waits("wait full")) == list(columns.WAITS)
    assert list(trace.waits("wait full", each=True)) == list(columns.WAITS_EACH)
    assert list(trace.waits()) == list(columns.WAITS)


def test_rows_chosen_from_the_single_waits_are_drawn() -> None:
    frame = planned(CONSUMER).waits("wait full", each=True)
    assert frame.query("blocked > 50").figure().data[0]["x"] == (80.0,)


def test_on_a_recorded_gemm_the_producer_waits_most_for_an_empty_buffer() -> None:
    frame = load(RECORDED / "specialised_gemm.tltrace").waits("wait *")
    assert frame[["barrier", "role"]].to_numpy().tolist() == [["wait empty", "producer"], ["wait full", "consumer"]]
    assert frame["count"].tolist() == [32, 32]
