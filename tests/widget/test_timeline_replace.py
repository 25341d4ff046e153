"""One timeline that is given another run: what it sends, what it keeps, what it lets go of."""

import gc
import json
import weakref
from collections.abc import Iterator
from typing import Any

import ipywidgets
import pytest
from fake_trace import FakeTrace, make_trace, pipeline, span

from tltrace_nb.widget.runs import to_runs
from tltrace_nb.widget.timeline import Timeline
from tltrace_nb.widget.wire import encode


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    ipywidgets.Widget.close_all()


def other() -> FakeTrace:
    return make_trace([span("load", 0, 10), span("other", 10, 30)])


def test_the_events_are_those_of_the_other_run() -> None:
    timeline = Timeline(pipeline())
    timeline.replace(other(), title="the second")
    header = json.loads(timeline.header)
    assert header["events"] == 2
    assert header["title"] == "the second"
    assert len(timeline.select("name == 'other'")) == 1
    assert "Timeline of Trace('gemm', 2 events)" in repr(timeline)


def test_header_and_columns_travel_in_one_message() -> None:
    timeline = Timeline(pipeline())
    sent: list[set[str]] = []
    timeline.send_state = lambda key=None: sent.append(set(key))  # type: ignore[assignment]
    timeline.replace(other())
    assert sum("header" in keys or "columns" in keys for keys in sent) == 1
    assert {"header", "columns"} <= sent[0]


def test_nothing_is_selected_and_no_words_stand_in_its_place() -> None:
    timeline = Timeline(pipeline())
    timeline.set_state({"selected": memoryview(to_runs([1, 2]))})
    timeline.instead = "too large"
    timeline.replace(other())
    assert timeline.selection.empty
    assert timeline.instead == ""


def test_the_view_stays_as_it_is() -> None:
    timeline = Timeline(pipeline(), view={"color_by": "payload", "ghost": False})
    before = dict(timeline.view)
    timeline.replace(other())
    assert timeline.view == before


def test_a_timeline_that_had_no_events_takes_the_unit_of_the_first() -> None:
    timeline = Timeline(make_trace([]))
    assert timeline.view["unit"] == "cycles"
    timeline.replace(pipeline(ctas=2))
    assert timeline.view["unit"] == "ns"


def test_names_keep_their_colours() -> None:
    timeline = Timeline(pipeline())

    def color(name: str) -> Any:
        header = json.loads(timeline.header)
        return header["palette"][header["name_color"][header["names"].index(name)]]

    names = set(json.loads(timeline.header)["names"])
    timeline.replace(make_trace([span(name, 0, 10) for name in (*names, "another")]))
    before = {name: color(name) for name in names}
    for name in names:
        timeline.replace(make_trace([span(name, 0, 10)]))
        assert color(name) == before[name]


def test_it_follows_the_views_of_the_other_run_and_no_longer_those_of_the_first() -> None:
    first, second = pipeline(), pipeline()
    timeline, of_first, of_second = Timeline(first), Timeline(first), Timeline(second)
    timeline.replace(second)
    of_first.select("name == 'mma'")
    assert timeline.selection.empty
    of_second.select("name == 'mma'")
    assert set(timeline.selection["name"]) == {"mma"}


def test_the_first_run_is_let_go_of() -> None:
    first = pipeline()
    gone = weakref.ref(first.events)
    timeline = Timeline(first)
    timeline.replace(other())
    del first
    gc.collect()
    assert gone() is None
    assert timeline.comm is not None


def test_what_is_too_large_to_be_saved_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltrace_nb.widget.timeline.SAVED_BYTES", 10)
    timeline, sent = Timeline(pipeline()), []
    timeline.replace(other())
    assert timeline.columns == b""
    monkeypatch.setattr(timeline, "send", lambda content, buffers: sent.append((content, buffers)))
    timeline._answer(None, {"kind": "columns"}, None)
    assert sent == [({"kind": "columns"}, [encode(other()).columns])]


def test_what_is_no_trace_is_a_type_error_and_the_run_stays() -> None:
    timeline = Timeline(pipeline())
    header = timeline.header
    with pytest.raises(TypeError, match="source=.*: give a Trace, or a DataFrame of events"):
        timeline.replace(3)  # type: ignore[arg-type]
    assert timeline.header == header
