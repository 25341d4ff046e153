"""Time by the ranges that enclose each other: counted by hand, and cycle by cycle."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import Span, planned
from recordings import RECORDED
from tiers import examples

from tltrace_nb import datasets, load
from tltrace_nb.analysis import columns
from tltrace_nb.core.trace import Trace

CASES = json.loads((Path(__file__).parents[1] / "widget" / "nesting.json").read_text(encoding="utf-8"))


def told(trace: Trace) -> dict[str, list[int]]:
    frame = trace.nesting()
    return dict(zip(frame["path"], frame[["count", "total", "self"]].to_numpy().tolist(), strict=True))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_as_in_the_view(case: dict[str, object]) -> None:
    spans = [Span(name, start, start + length) for name, start, length in case["ranges"]]
    assert told(planned(spans)) == case["paths"]


def test_all_ctas_threads_and_lanes_count_together() -> None:
    places = [{}, {"cta": 1}, {"thread": 32}, {"lane": "side"}]
    spans = [Span(*each, **place) for place in places for each in (("loop", 0, 10), ("mma", 2, 8))]
    assert told(planned(spans)) == {"loop": [4, 40, 16], "loop / mma": [4, 24, 24]}


@st.composite
def trees(draw: st.DrawFn) -> list[Span]:
    """Ranges of some CTAs that nest, each with its own begin and end."""
    spans: list[Span] = []

    def grow(start: int, end: int, cta: int, depth: int) -> None:
        while end - start > 6 and draw(st.booleans()):
            begin = draw(st.integers(start, end - 4))
            until = draw(st.integers(begin + 3, end))
            spans.append(Span(draw(st.sampled_from("abc")), begin, until, cta))
            if depth < 3:
                grow(begin + 1, until - 1, cta, depth + 1)
            start = until + 1

    for cta in range(draw(st.integers(1, 2))):
        grow(0, 80, cta, 0)
    return spans


@settings(max_examples=examples(60), deadline=None)
@given(trees().filter(bool))
def test_own_time_is_what_a_count_of_cycles_gives(spans: list[Span]) -> None:
    own: Counter[str] = Counter()
    for cta in {span.cta for span in spans}:
        for cycle in range(80):
            inside = [s for s in spans if s.cta == cta and s.start <= cycle < s.end]
            if inside:
                own[" / ".join(s.name for s in sorted(inside, key=lambda s: (s.start, -s.end)))] += 1
    frame = planned(spans).nesting()
    assert {path: cycles for path, cycles in zip(frame["path"], frame["self"], strict=True) if cycles} == own
    assert frame["share"].sum() == pytest.approx(1)


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.tltrace")), ids=lambda path: path.stem)
def test_recorded_traces_lose_no_range_and_no_time(path: Path) -> None:
    trace = load(path)
    frame, ranges = trace.nesting(), trace.events.query("kind == 'range'")
    assert list(frame) == list(columns.NESTING)
    assert (frame["count"].sum(), frame["total"].sum()) == (len(ranges), ranges["duration"].sum())
    assert frame["path"].is_unique
    assert (frame["self"] >= 0).all()


def test_what_is_inside_stands_behind_its_path_the_longest_first() -> None:
    frame = datasets.load("h200/own_kernel").nesting()
    assert frame["path"].head(3).tolist() == [
        "loop k", "loop k / parallel scale + W → x", "loop k / parallel x → squares",
    ]  # fmt: skip
    outermost = frame[frame["depth"] == 0]["total"]
    assert outermost.is_monotonic_decreasing


def test_the_figure_puts_each_path_below_the_one_that_encloses_it() -> None:
    frame = datasets.load("h200/own_kernel").nesting()
    icicle = frame.figure().data[0]
    assert dict(zip(icicle.labels, icicle.parents, strict=True))["copy X → x"] == icicle.ids[0]
    assert icicle.labels[0] == "loop k"
    inner = frame.query("depth == 1").figure().data[0]
    assert set(inner.parents) == {""}


def test_a_range_that_never_ended_counts_until_the_exit_and_is_said() -> None:
    trace = planned([Span("loop", 0, None), Span("mma", 10, 20)])
    assert told(trace)["loop / mma"] == [1, 10, 10]
    assert trace.nesting().notes == ("1 range never ended: counted until the thread's exit",)
