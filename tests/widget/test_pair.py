"""Two timelines beside each other: what is done to one is done to the other."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import unquote

import pytest

from tltrace_nb import datasets
from tltrace_nb.core.trace import Trace
from tltrace_nb.widget.pair import Pair


def trace(name: str) -> Trace:
    return datasets.load(f"h200/{name}")


@pytest.fixture
def pair() -> Pair:
    return trace("gemm_3").beside(trace("dynamic_gemm"), ctas=1)


def test_both_axes_have_room_for_the_times_of_both(pair: Pair) -> None:
    rooms = [json.loads(each.header)["room"] for each in pair.timelines]
    for room, other in zip(rooms, (pair.b, pair.a), strict=True):
        shown = other.events.query("cta == 0")
        assert room["cycles"] == [shown["start"].min(), shown["end"].max()]
        assert room["ns"][1] == (shown["start_ns"] + shown["duration_ns"]).max()


def test_the_still_pictures_have_one_axis_too_and_say_which_is_which(pair: Pair) -> None:
    pictures = [unquote(unescape(each._texts["text/html"])) for each in pair.timelines]
    axes = [re.findall(r">([\d,]+)</text><text[^>]*>([\d,]+ (?:ns|cycles))<", picture) for picture in pictures]
    assert len(axes[0]) == 1
    assert axes[0] == axes[1]
    assert ["a: gemm" in pictures[0], "b: dynamic" in pictures[1]] == [True, True]


def test_zooming_searching_and_hiding_in_one_is_so_in_the_other(pair: Pair) -> None:
    above, below = pair.timelines
    above.view = {"span": [10.0, 500.0], "query": "mma", "hidden_names": ["store"]}
    assert below.view["span"] == [10.0, 500.0]
    below.view = {"span": [20.0, 30.0]}
    assert (above.view["span"], above.view["query"], above.view["hidden_names"]) == ([20.0, 30.0], "mma", ["store"])


def test_what_is_about_lanes_stays_with_its_own(pair: Pair) -> None:
    above, below = pair.timelines
    above.view = {"scroll": 40, "collapsed": ["x"]}
    assert not {"scroll", "collapsed"}.intersection(below.view)


def test_a_trace_without_ns_and_one_with_are_both_in_cycles_and_ns_stay_alone() -> None:
    above, below = trace("gemm_3").beside(trace("every_thread")).timelines
    assert (above.view["unit"], below.view["unit"]) == ("cycles", "cycles")
    above.view = {"unit": "ns", "span": [0.0, 10.0]}
    assert below.view["unit"] == "cycles"
    assert "span" not in below.view


def test_a_name_has_one_colour_in_both(pair: Pair) -> None:
    colors = []
    for each in pair.timelines:
        header = json.loads(each.header)
        colors.append(
            {name: header["palette"][c] for name, c in zip(header["names"], header["name_color"], strict=True)}
        )
    assert {"load", "mma"} <= colors[0].keys() & colors[1].keys()
    assert all(colors[0][name] == colors[1][name] for name in colors[0].keys() & colors[1].keys())


def test_outside_a_notebook_both_are_told(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    pair._ipython_display_()
    out = capsys.readouterr().out
    assert out.startswith("a: Trace of gemm")
    assert "\nb: Trace of " in out


def test_something_that_is_no_trace_is_refused() -> None:
    with pytest.raises(TypeError, match="other=.*: give a Trace"):
        trace("gemm_3").beside(3)  # type: ignore[arg-type]
