"""The table of names: share and overlap, against a cycle-by-cycle count."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from planned import Span, Stay, planned
from recordings import RECORDED
from tiers import examples

from tltrace_nb import load
from tltrace_nb.analysis import columns


@st.composite
def schedules(draw: st.DrawFn) -> list[Span]:
    """Per CTA and thread some ranges in a row, some with another inside."""
    spans = []
    for cta in range(draw(st.integers(1, 2))):
        for thread in draw(st.sets(st.sampled_from([0, 32, 64]), min_size=1)):
            time = 0
            for _ in range(draw(st.integers(0, 4))):
                start = time + draw(st.integers(1, 15))
                time = start + draw(st.integers(4, 30))
                spans.append(Span(draw(st.sampled_from("ab")), start, time, cta, thread))
                if draw(st.booleans()):
                    spans.append(Span(draw(st.sampled_from("cd")), start + 1, time - 1, cta, thread))
    return spans


def count(spans: list[Span], name: str) -> tuple[int, int, int]:
    """Cycles in which the name was open in a CTA; the same summed over threads; those of them beside another thread."""
    leaves = [
        s
        for s in spans
        if not any(
            o is not s and (o.cta, o.thread) == (s.cta, s.thread) and s.start <= o.start and o.end <= s.end
            for o in spans
        )
    ]
    open_, own, beside = set(), set(), set()
    for span in (s for s in spans if s.name == name):
        for cycle in range(span.start, span.end or 0):
            open_.add((span.cta, cycle))
            own.add((span.cta, span.thread, cycle))
            if any(s.cta == span.cta and s.thread != span.thread and s.start <= cycle < s.end for s in leaves):
                beside.add((span.cta, span.thread, cycle))
    return len(open_), len(own), len(beside)


@settings(max_examples=examples(60), deadline=None)
@given(schedules().filter(bool))
def test_share_and_overlap_are_what_a_count_of_cycles_gives(spans: list[Span]) -> None:
    trace = planned(spans)
    time = trace.ctas["duration"].sum()
    for row in trace.summary().itertuples():
        open_, own, beside = count(spans, row.name)
        assert row.share == open_ / time
        assert row.overlap == beside / own


def test_durations_are_counted_per_name_the_longest_total_first() -> None:
    frame = planned([Span("a", 0, 10), Span("b", 10, 40), Span("a", 40, 50)]).summary()
    assert frame[["name", "count", "total", "mean", "p50"]].to_numpy().tolist() == [
        ["b", 1, 30, 30, 30],
        ["a", 2, 20, 10, 10],
    ]


def test_the_columns_are_the_documented_ones() -> None:
    frame = load(RECORDED / "softmax.tltrace").summary()
    assert list(frame) == list(columns.SUMMARY)


def test_a_name_of_instants_has_no_durations() -> None:
    row = load(RECORDED / "softmax.tltrace").summary().set_index("name").loc["summed"]
    assert row["count"] == 64
    assert row[["total", "mean", "share", "overlap"]].isna().all()


def test_one_track_says_that_nothing_could_overlap() -> None:
    assert any("one track" in note for note in planned([Span("a", 0, 10)]).summary().notes)


def test_a_trace_without_events_is_an_empty_table() -> None:
    trace = planned([Span("a", 0, 10)], [Stay(0, 0, 1000)], capacity=0)
    assert trace.summary().empty
    assert any("lost" in note for note in trace.summary().notes)


def test_in_a_recorded_attention_the_loads_lie_beside_the_products() -> None:
    rows = load(RECORDED / "attention.tltrace").summary().set_index("name")
    assert rows.loc[["load K", "load V"], "overlap"].min() > 0.9
    assert rows.loc["store", "overlap"] == 0


def test_the_figure_has_a_bar_per_name() -> None:
    drawing = load(RECORDED / "gemm.tltrace").summary().figure()
    assert drawing.data[0]["y"] == ("mma", "load", "store")
