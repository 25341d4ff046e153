"""Frames without the cost of the markers, against schedules to which a known cost was added."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import Span, planned
from recordings import RECORDED
from tiers import examples

from tltrace_nb import load
from tltrace_nb.analysis import columns
from tltrace_nb.data.tracefile import TraceMeta

COST = 24


@st.composite
def nested(draw: st.DrawFn, depth: int = 2) -> list[tuple[str, list]]:
    """Ranges in a row, each with ranges inside."""
    count = draw(st.integers(0, 3))
    return [(draw(st.sampled_from("abc")), draw(nested(depth - 1)) if depth else []) for _ in range(count)]


def schedule(ranges: list[tuple[str, list]], work: list[int], cost: int) -> list[Span]:
    """The spans of one thread that works some cycles before each record, and then takes ``cost`` to make it."""
    spans: list[Span] = []
    steps = iter(work)
    time = 0

    def visit(level: list[tuple[str, list]]) -> None:
        nonlocal time
        for name, inside in level:
            time += next(steps)
            start = time
            time += cost
            place = len(spans)
            spans.append(Span(name, start, start))
            visit(inside)
            time += next(steps)
            spans[place] = replace(spans[place], end=time)
            time += cost

    visit(ranges)
    return spans


@settings(max_examples=examples(60), deadline=None)
@given(nested().filter(bool), st.data())
def test_a_cost_that_was_added_is_taken_out_again(ranges, data: st.DataObject) -> None:
    work = data.draw(st.lists(st.integers(1, 50), min_size=100, max_size=100))
    marked, bare = (planned(schedule(ranges, work, cost)) for cost in (COST, 0))
    found = marked.corrected(COST).events
    for column in ("name", "start", "end", "duration", "depth"):
        assert found[column].tolist() == bare.events[column].tolist()


def test_a_range_loses_its_own_begin_and_every_record_inside() -> None:
    trace = planned([Span("outer", 0, 500), Span("inner", 100, 200), Span("inner", 300, 400)])
    rows = trace.corrected(20).events
    assert rows["duration"].tolist() == [500 - 5 * 20, 100 - 20, 100 - 20]


def test_records_of_other_threads_cost_nothing() -> None:
    rows = planned([Span("a", 0, 100), Span("b", 10, 50, thread=32)]).corrected(20).events
    assert rows["duration"].tolist() == [80, 20]


def test_no_duration_falls_below_zero_and_order_is_kept() -> None:
    rows = planned([Span("a", 0, 5), Span("b", 6, 30), Span("c", 31, 100)]).corrected(50).events
    assert rows["duration"].tolist() == [0, 0, 19]
    assert rows["start"].is_monotonic_increasing


def test_nanoseconds_follow_the_cycles() -> None:
    rows = planned([Span("a", 100, 300), Span("b", 400, 600)]).corrected(20).events
    assert rows["duration_ns"].tolist() == pytest.approx([90, 90])
    assert rows["start_ns"].tolist() == pytest.approx([50, 180])


def test_a_cta_is_shorter_by_what_its_records_took() -> None:
    trace = planned([Span("a", 100, 300)])
    assert (trace.ctas["duration"] - trace.corrected(20).ctas["duration"]).tolist() == [40]


def test_the_meta_says_that_the_times_are_corrected() -> None:
    trace = planned([Span("a", 0, 100)])
    assert "20 cycles a record, is taken out" in trace.corrected(20).meta.note
    assert trace.meta.note == ""


def test_a_corrected_trace_is_analysed_and_drawn_like_any(tmp_path) -> None:
    trace = load(RECORDED / "gemm_3.tltrace").corrected()
    assert trace.critical_path().query("critical")["on_path"].sum() > 0
    assert trace.figure().data
    assert trace.flows.equals(load(RECORDED / "gemm_3.tltrace").flows)


def test_it_is_not_saved_as_if_it_were_recorded(tmp_path) -> None:
    with pytest.raises(ValueError, match="save the one that it was made of"):
        planned([Span("a", 0, 100)]).corrected(20).save(tmp_path / "x.tltrace")


def test_it_is_not_corrected_twice() -> None:
    with pytest.raises(ValueError, match="corrected already"):
        planned([Span("a", 0, 100)]).corrected(20).corrected(20)


def test_the_cost_is_by_default_the_gpu_models() -> None:
    rows = planned([Span("a", 0, 100)]).corrected().events
    assert rows["duration"].tolist() == [76]


def test_on_an_unknown_gpu_the_cost_must_be_given() -> None:
    trace = planned([Span("a", 0, 100)], meta=TraceMeta("kernel", gpu="Imaginary 9000"))
    with pytest.raises(ValueError, match="Imaginary 9000.*cost="):
        trace.corrected()
    assert trace.corrected(10).events["duration"].tolist() == [90]


def test_a_negative_cost_is_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        planned([Span("a", 0, 100)]).corrected(-1)


def test_overhead_counts_the_records_inside_each_name() -> None:
    rows = planned([Span("outer", 0, 500), Span("inner", 100, 200)]).overhead(20).set_index("name")
    assert rows["records"].to_dict() == {"outer": 3, "inner": 1}
    assert rows["share"].to_dict() == {"outer": 60 / 500, "inner": 20 / 100}
    assert list(rows.reset_index()) == list(columns.OVERHEAD)


def test_a_sparsely_marked_trace_is_believed_and_an_over_marked_one_is_flagged() -> None:
    sparse = planned([Span("a", 0, 10_000)]).overhead(24)
    dense = planned([Span("a", 50 * i, 50 * i + 30) for i in range(200)]).overhead(24)
    assert sparse.attrs["verdict"].endswith("believe the trace")
    assert "mark less" in dense.attrs["verdict"]
    assert "mark less" in dense.figure().layout.annotations[0].text.replace("<br>", " ")


@pytest.mark.parametrize("file", sorted(RECORDED.glob("*.tltrace")), ids=lambda file: file.stem)
def test_in_a_recorded_trace_no_range_becomes_longer_or_negative(file) -> None:
    trace = load(file)
    before, after = trace.events, trace.corrected(24).events
    assert (after["duration"] >= 0).all()
    assert (after["duration"] <= before["duration"]).all()
    assert trace.overhead(24).attrs["verdict"]
