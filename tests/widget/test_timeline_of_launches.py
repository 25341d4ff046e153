"""Several launches in one timeline: what stands for them in Python."""

from __future__ import annotations

import json

import pytest

from tltrace_nb import Timeline, Trace, datasets
from tltrace_nb.render import launches
from tltrace_nb.render.launches import Kept, of_traces, together


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    return [datasets.load(f"h200/{name}") for name in ("row_sum", "attention")]


def test_all_events_are_there_with_the_number_of_their_launch(traces: list[Trace]) -> None:
    timeline = Timeline(traces)
    rows = timeline.select("launch == 2")
    assert rows["name"].tolist() == traces[1].events["name"].tolist()
    assert rows["start"].tolist() == traces[1].events["start"].tolist()
    assert len(timeline.select("launch == 1")) == len(traces[0].events)


def test_arrows_and_parents_are_those_of_each_launch(traces: list[Trace]) -> None:
    one = together(of_traces(traces))
    first = len(traces[0].events)
    assert one.flows["src"].tolist() == [*traces[0].flows["src"], *(traces[1].flows["src"] + first)]
    assert one.events["parent"].dropna().tolist() == [
        *traces[0].events["parent"].dropna(),
        *(traces[1].events["parent"].dropna() + first),
    ]


def test_traces_of_one_kernel_are_a_choice(traces: list[Trace]) -> None:
    row_sum, attention = traces
    kept = of_traces([row_sum, attention, row_sum])
    assert [(each.group, each.why, each.of) for each in kept] == [(0, "2", 2), (1, "1", 1), (0, "2", 2)]


def test_the_page_is_told_why_each_launch_is_there(traces: list[Trace]) -> None:
    one = together([Kept(traces[0], "slowest", 100, 0), Kept(traces[1], "last", 1, 1)])
    facts = [(each.kernel, each.why, each.of) for each in one.facts]
    assert facts == [("row_sum", "slowest", 100), ("attention", "last", 1)]
    assert repr(one).splitlines()[0] == "2 launches of row_sum, attention"
    assert repr(one).splitlines()[2].startswith("  2: Trace of attention on cuda (NVIDIA H200): 176 events")
    header = json.loads(Timeline(traces).header)
    assert [each["launch"] for each in header["launches"]] == [1, 2]
    assert header["title"] == "row_sum, attention"


def test_of_too_many_events_the_last_of_each_kernel_stay(traces: list[Trace], monkeypatch: pytest.MonkeyPatch) -> None:
    row_sum, attention = traces
    kept = [Kept(row_sum, "first", 2, 0), Kept(row_sum, "last", 2, 0), Kept(attention, "last", 1, 1)]
    monkeypatch.setattr(launches, "MOST_EVENTS", len(row_sum) + len(attention))
    assert [each.why for each in together(kept).facts] == ["last", "last"]
    monkeypatch.setattr(launches, "MOST_EVENTS", 1)
    assert [each.kernel for each in together(kept).facts] == ["attention"]


def test_one_launch_at_least_is_needed() -> None:
    with pytest.raises(ValueError, match="launches needs one at least"):
        Timeline([])


def test_the_still_picture_says_which_launch_a_lane_is_of(traces: list[Trace]) -> None:
    data, _ = Timeline(traces)._repr_mimebundle_()
    assert "launch 1 · CTA 0" in data["text/html"]
    assert "launch 2 · CTA 0" in data["text/html"]
