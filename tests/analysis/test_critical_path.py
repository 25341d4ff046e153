"""The chain that bounds a CTA, and slack, against schedules that can be run again with one range made longer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import Span, planned
from recordings import RECORDED
from tiers import examples

from tltrace_nb import load
from tltrace_nb.analysis import columns
from tltrace_nb.core.trace import Trace

NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Schedule:
    """Three threads, each with tasks of these lengths; the i-th task of ``flows``' source precedes that of its
    destination. ``inside``: a task that has to wait is begun before, and waits inside its range."""

    lengths: tuple[tuple[int, ...], ...]
    flows: tuple[tuple[str, str], ...]
    inside: bool

    def spans(self) -> list[Span]:
        ends: dict[tuple[str, int], int] = {}
        spans = []
        for i in range(max(map(len, self.lengths))):
            for thread, name in enumerate(NAMES):
                if i >= len(self.lengths[thread]):
                    continue
                before = ends.get((name, i - 1), 0)
                needed = [ends[src, i] for src, dst in self.flows if dst == name and (src, i) in ends]
                ready = max([before, *needed])
                ends[name, i] = ready + self.lengths[thread][i]
                spans.append(Span(name, before if self.inside else ready, ends[name, i], thread=32 * thread, payload=i))
        return spans

    def trace(self) -> Trace:
        return planned(self.spans(), flows=self.flows)

    def longer(self, thread: int, task: int, by: int) -> Schedule:
        lengths = [list(each) for each in self.lengths]
        lengths[thread][task] += by
        return replace(self, lengths=tuple(map(tuple, lengths)))

    @property
    def end(self) -> int:
        return max(span.end or 0 for span in self.spans())


SCHEDULES = st.builds(
    Schedule,
    st.tuples(*[st.lists(st.integers(1, 50), min_size=1, max_size=6).map(tuple)] * 3),
    st.sets(st.sampled_from([("a", "b"), ("b", "c"), ("a", "c")])).map(lambda found: tuple(sorted(found))),
    st.booleans(),
)


@settings(max_examples=examples(60), deadline=None)
@given(SCHEDULES)
def test_a_range_may_end_later_by_its_slack_and_not_by_one_cycle_more(schedule: Schedule) -> None:
    for row in schedule.trace().critical_path().itertuples():
        thread, task = row.thread // 32, int(row.payload)
        assert schedule.longer(thread, task, row.slack).end == schedule.end
        assert schedule.longer(thread, task, row.slack + 1).end == schedule.end + 1


@settings(max_examples=examples(60), deadline=None)
@given(SCHEDULES)
def test_the_chain_covers_the_time_from_the_entry_to_the_last_end(schedule: Schedule) -> None:
    chain = links(schedule.trace().critical_path())
    assert chain["on_path"].sum() == schedule.end
    assert chain["gap"].sum() == 0
    begin = chain["end"] - chain["on_path"]
    assert begin.tolist() == [0, *chain["end"].tolist()[:-1]]
    assert chain["slack"].eq(0).all()
    assert chain["step"].tolist() == list(range(len(chain)))


@settings(max_examples=examples(40), deadline=None)
@given(SCHEDULES)
def test_each_link_was_needed_by_the_next(schedule: Schedule) -> None:
    chain = links(schedule.trace().critical_path())
    for before, after in zip(chain.iloc[:-1].itertuples(), chain.iloc[1:].itertuples(), strict=True):
        if after.via == "thread":
            assert before.thread == after.thread
        else:
            assert (before.name, after.name) in schedule.flows
            assert before.payload == after.payload


def links(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["critical"]].sort_values("step")


def test_of_two_threads_the_slower_bounds_the_cta() -> None:
    spans = [Span("fast", 0, 40), Span("slow", 10, 90, thread=32)]
    frame = planned(spans, flows=[("fast", "never")]).critical_path()
    assert links(frame)["name"].tolist() == ["slow"]
    assert links(frame)["gap"].tolist() == [10]
    assert frame["slack"].tolist() == [50, 0]


def test_what_no_marker_covers_is_a_gap() -> None:
    chain = links(planned([Span("a", 5, 20), Span("b", 32, 40)]).critical_path())
    assert chain["gap"].tolist() == [5, 12]
    assert chain["on_path"].tolist() == [15, 8]
    assert chain["via"].tolist() == ["entry", "thread"]


def test_a_range_around_others_is_no_link() -> None:
    spans = [Span("loop", 0, 100), Span("a", 10, 30), Span("b", 40, 90)]
    assert planned(spans).critical_path()["name"].tolist() == ["a", "b"]


def test_an_arrow_to_a_loop_leads_to_the_first_range_inside() -> None:
    spans = [
        Span("load", 0, 50),
        Span("loop", 10, 100, thread=32),
        Span("a", 55, 70, thread=32),
        Span("b", 70, 90, thread=32),
    ]
    chain = links(planned(spans, flows=[("load", "loop")]).critical_path())
    assert chain[["name", "via"]].to_numpy().tolist() == [["load", "entry"], ["a", "dag"], ["b", "thread"]]


def test_an_arrow_from_a_loop_leads_from_the_last_range_inside() -> None:
    spans = [Span("loop", 0, 60), Span("a", 5, 20), Span("b", 30, 50), Span("use", 55, 80, thread=32)]
    chain = links(planned(spans, flows=[("loop", "use")]).critical_path())
    assert chain["name"].tolist() == ["a", "b", "use"]


def test_at_a_barrier_the_last_to_arrive_bounds_the_others() -> None:
    spans = [
        Span("a", 0, 30), Span("sync", 30, 85), Span("c", 85, 100),
        Span("b", 0, 80, thread=32), Span("sync", 80, 85, thread=32), Span("d", 85, 90, thread=32),
    ]  # fmt: skip
    frame = planned(spans).critical_path(barriers="sync")
    assert links(frame)[["name", "via"]].to_numpy().tolist() == [["b", "entry"], ["sync", "barrier"], ["c", "thread"]]
    assert frame.set_index("name").loc["a", "slack"] == 50
    assert frame.set_index("name").loc["d", "slack"] == 10


def test_barriers_of_a_loop_meet_turn_by_turn() -> None:
    spans = []
    for turn, (first, second) in enumerate([(10, 40), (90, 50)]):
        base = 100 * turn
        meet = base + max(first, second)
        for thread, length in ((0, first), (32, second)):
            spans += [
                Span(f"work {thread}", base, base + length, thread=thread),
                Span("sync", base + length, base + 100, thread=thread),
            ]
        assert meet < base + 100
    chain = links(planned(spans).critical_path(barriers=["sync"]))
    assert chain["name"].tolist()[::2] == ["work 32", "work 0"]


def test_an_arrow_against_time_is_left_out_in_words() -> None:
    frame = planned([Span("a", 50, 90), Span("b", 0, 40, thread=32)], flows=[("a", "b")]).critical_path()
    assert any("1 of 1 arrows" in note for note in frame.notes)
    assert links(frame)["name"].tolist() == ["a"]


def test_without_arrows_it_says_that_threads_cannot_be_told_apart() -> None:
    frame = planned([Span("a", 0, 40), Span("b", 0, 90, thread=32)]).critical_path()
    assert any("trace.dag" in note for note in frame.notes)


def test_every_cta_has_a_chain_of_its_own() -> None:
    spans = [Span("a", 0, 10 + cta, cta=cta) for cta in range(4)]
    frame = planned(spans).critical_path()
    assert frame["critical"].all()
    assert frame["on_path"].tolist() == [10, 11, 12, 13]


def test_a_range_that_never_ended_is_left_out_in_words() -> None:
    frame = planned([Span("a", 0, 40), Span("b", 50, None)]).critical_path()
    assert frame["name"].tolist() == ["a"]
    assert any("never ended" in note for note in frame.notes)


def test_lost_records_are_said() -> None:
    trace = planned([Span("a", 0, 40), Span("b", 50, 60)], capacity=2)
    assert any("lost 2 records" in note for note in trace.critical_path().notes)


def test_a_trace_without_ranges_has_no_chain_and_says_so() -> None:
    frame = planned([Span("a", 0, None)]).critical_path()
    assert frame.empty
    assert any("no ranges" in note for note in frame.notes)
    assert frame.figure()


def test_a_name_that_does_not_occur_is_refused_with_those_that_do() -> None:
    with pytest.raises(ValueError, match="barriers='snyc'.*there are: a"):
        planned([Span("a", 0, 40)]).critical_path(barriers="snyc")


@pytest.mark.parametrize("file", sorted(RECORDED.glob("*.tltrace")), ids=lambda file: file.stem)
def test_on_a_recorded_h200_the_chain_covers_each_cta(file) -> None:
    trace = load(file)
    frame = trace.critical_path()
    assert list(frame) == list(columns.CRITICAL_PATH)
    ranges = trace.events[trace.events["kind"] == "range"]
    covered = frame[["on_path", "gap"]].sum(axis=1).groupby(frame["cta"]).sum()
    assert covered.tolist() == frame.groupby("cta")["end"].max().tolist()
    assert set(frame["event"]) <= set(ranges.index)


def test_in_a_recorded_gemm_the_products_bound_the_cta_and_loads_have_room() -> None:
    frame = load(RECORDED / "gemm.tltrace").critical_path()
    on_path = frame.groupby("name", observed=True)["on_path"].sum()
    assert on_path["mma"] > 20 * on_path["load"]
    assert frame[frame["name"] == "load"]["slack"].median() > 0
    assert "mma" in str(frame.figure().data)


def test_of_what_follows_a_range_the_one_with_the_least_room_counts() -> None:
    spans = [
        Span("a", 0, 10),
        Span("x", 10, 48),
        Span("b", 0, 20, thread=32),
        Span("c", 20, 40, thread=64),
        Span("y", 40, 53, thread=64),
    ]
    slack = planned(spans, flows=[("a", "c"), ("b", "c")]).critical_path().set_index("name")["slack"]
    assert slack["x"] == 5  # to the end
    assert slack["a"] == 5  # not the 10 by which it came before b
    assert slack["b"] == 0
