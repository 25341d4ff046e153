"""The views of a decoded trace, not of a hand-made frame."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tltrace_nb.core.trace import Trace
from tltrace_nb.data import slots as layout
from tltrace_nb.data.sites import EventKind, Launch, PayloadType, Site, SiteTable, Writer
from tltrace_nb.render.svg import static_svg
from tltrace_nb.widget.figure import figure

if TYPE_CHECKING:
    from tltrace_nb.data.frames import TraceLike


def decoded() -> Trace:
    """One CTA; a range that holds an instant and a range, then a range without payload that never ends."""
    sites = (
        Site(0, EventKind.RANGE_BEGIN, "loop", "main", "default", PayloadType.INT32, "k.py:1", 0),
        Site(1, EventKind.RANGE_END, "loop", "main", "default", PayloadType.INT32, "k.py:1", 0),
        Site(2, EventKind.INSTANT, "dot", "main", "default", PayloadType.FLOAT32, "k.py:2"),
        Site(3, EventKind.RANGE_BEGIN, "plain", "main", "default", PayloadType.NONE, "k.py:3", 3),
        Site(4, EventKind.RANGE_END, "plain", "main", "default", PayloadType.NONE, "k.py:3", 3),
    )
    half = int(np.float32(0.5).view(np.uint32))
    records = [(1100, 0, 0), (1150, 2, half), (1200, 3, 0), (1300, 4, 0), (1400, 1, 7), (1500, 3, 0)]
    table = SiteTable(
        "k", sites, (Writer(0, "default", None, 0),), (("plain", "loop"),), (Launch("k", (1, 1, 1), (32, 1, 1)),), 8
    )
    slots = np.zeros((1, 1, layout.slot_words(8)), np.int64)
    head = slots[..., :6].view(layout.HEADER)[0, 0, 0]
    head["executed"], head["state"] = len(records), layout.STATE_DONE
    head["entry_clock"], head["entry_ns"], head["exit_clock"], head["exit_ns"] = 1000, 500, 2000, 1000
    slots.view(layout.RECORD)[0, 0, layout.HEADER_RECORDS :][: len(records)] = records
    return Trace(slots, table)


def test_a_trace_is_what_the_views_take() -> None:
    trace: TraceLike = decoded()
    assert trace.meta.kernel == "k"


def test_its_events_are_drawn_with_their_payloads() -> None:
    drawing = figure(decoded())
    bars = {(part.base[i], part.text[i]) for part in drawing.data if part.type == "bar" for i in range(len(part.base))}
    assert bars == {(100, "loop<br>0 → 7"), (200, "plain"), (500, "plain")}
    assert [part.text for part in drawing.data if part.name == "dot"] == [("0.5",)]


def test_its_open_range_is_hatched() -> None:
    (plain,) = [part for part in figure(decoded()).data if part.name == "plain"]
    assert plain.marker.pattern.shape == ("", "/")


def test_its_nested_events_are_on_lower_rows() -> None:
    y = {part.name: part.y[0] for part in figure(decoded()).data}
    assert y["loop"] < y["plain"] == y["dot"]


def test_a_wrong_option_is_a_type_error() -> None:
    wrong: Any = {"cta": 0}
    for view in (decoded().figure, decoded().show, lambda **given: decoded().to_html("t.html", **given)):
        with pytest.raises(TypeError, match="unexpected keyword argument 'cta'"):
            view(**wrong)


def test_the_views_of_a_trace_take_the_same_options(tmp_path: Path) -> None:
    trace = decoded()
    only = trace.events.query("name == 'loop'")
    assert [part.name for part in trace.figure(ctas=[0], events=only, height=500, title="t", time="cycles").data] == [
        "loop"
    ]
    page = trace.to_html(tmp_path / "t.html", "t", ctas=1, events=only, limit=1, time="cycles", height=500)
    assert "<dt>ranges</dt><dd>1<" in page.read_text(encoding="utf-8")
    trace.show(ctas=range(1), events=only, limit=1, time="cycles", height=500, title="t")


def test_it_has_a_still_picture() -> None:
    assert "loop" in static_svg(decoded())
