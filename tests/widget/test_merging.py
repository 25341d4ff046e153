"""Merged events: none is lost, and a bar covers what it stands for."""

from typing import Any

import pandas as pd
import pytest
from fake_trace import words
from hypothesis import given, settings
from hypothesis import strategies as st

from tltrace_nb.render.merging import MOST_STRIPS, merge


def rows(*events: tuple[str, float, float], payload: Any = None) -> pd.DataFrame:
    """Events of (name, x, width)."""
    names, x, width = zip(*events, strict=True) if events else ((), (), ())
    frame = pd.DataFrame({"x": x, "width": width}, dtype="float64")
    values = [payload] * len(frame) if payload is None or not isinstance(payload, list) else payload
    return frame.assign(
        name=words(names),
        duration=frame["width"].astype("int64"),
        payload=pd.array(values, dtype="Int64"),
    )


EVENTS = st.lists(
    st.tuples(st.sampled_from("abcdefghijklmnopq"), st.integers(0, 200), st.integers(0, 30)), min_size=1, max_size=60
)


@settings(deadline=None)
@given(EVENTS, st.integers(1, 40))
def test_every_event_lies_in_one_bar_that_counts_it(events: list[tuple[str, float, float]], bars: int) -> None:
    merged = merge(rows(*events), bars, 0.0)
    assert merged.bars["count"].sum() == merged.events == len(events)
    assert merged.bars["total"].sum() == sum(width for *_, width in events)
    assert len(merged.bars) <= max(bars, len(merged.strips))
    of_name = {strip.name: number for number, strip in enumerate(merged.strips)}
    for number in range(len(merged.strips)):
        mine = merged.bars[merged.bars["strip"] == number]
        inside = [event for event in events if of_name.get(event[0], len(merged.strips) - 1) == number]
        covering = [
            (event, at)
            for event in inside
            for at, bar in enumerate(mine.itertuples())
            if bar.x <= event[1] and event[1] + event[2] <= bar.x + bar.width
        ]
        assert len({id(event) for event, _ in covering}) == len({id(event) for event in inside})
        assert mine["count"].sum() == merged.strips[number].events == len(inside)


@settings(deadline=None)
@given(EVENTS, st.integers(1, 40))
def test_bars_of_a_strip_do_not_touch_and_pauses_that_stay_are_the_longest(
    events: list[tuple[str, float, float]], bars: int
) -> None:
    merged = merge(rows(*events), bars, 0.0)
    for _, mine in merged.bars.groupby("strip"):
        pauses = mine["x"].to_numpy()[1:] - (mine["x"] + mine["width"]).to_numpy()[:-1]
        assert (pauses > merged.pause).all()


def test_with_room_only_what_touches_is_joined() -> None:
    merged = merge(rows(("a", 0, 10), ("a", 10, 10), ("a", 25, 5), ("a", 26, 1)), 10, 3.0)
    assert merged.bars[["x", "width", "count", "y"]].to_numpy().tolist() == [[0, 20, 2, 3.5], [25, 5, 2, 3.5]]
    assert merged.pause == 0


def test_without_room_the_short_pauses_are_closed() -> None:
    merged = merge(rows(("a", 0, 10), ("a", 15, 10), ("a", 90, 10)), 2, 0.0)
    assert merged.bars[["x", "width"]].to_numpy().tolist() == [[0, 25], [90, 10]]
    assert merged.pause == 5


def test_a_bar_tells_the_bounds_of_its_payloads() -> None:
    merged = merge(rows(("a", 0, 5), ("a", 5, 5), ("b", 0, 1), payload=[3, -1, None]), 9, 0.0)
    assert merged.bars["payload"].tolist() == ["-1 … 3", ""]


def test_the_rarest_names_share_the_last_strip_and_are_listed() -> None:
    merged = merge(rows(*[(f"n{i:02}", 0, 100 - i) for i in range(20)]), 50, 0.0)
    assert len(merged.strips) == MOST_STRIPS
    assert merged.strips[-1].name is None
    assert merged.strips[-1].label == "9 other names"
    assert merged.strips[-1].shared.startswith("n11 × 1 (89 cycles), n12 × 1")


@pytest.mark.parametrize("name", ["\ud800", "x" * 10_000, "<b>"])
def test_a_name_may_be_anything(name: str) -> None:
    assert merge(rows((name, 0, 1)), 1, 0.0).strips[0].name == name


def test_nothing_gives_nothing() -> None:
    merged = merge(rows(), 5, 0.0)
    assert (merged.strips, len(merged.bars), merged.note) == ((), 0, "")
