"""Notes on the lanes: written in the view, kept with the trace, a frame in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from timeline_tab import Tab

from tltrace_nb import Timeline, Trace, datasets, load
from tltrace_nb.core.trace import TraceFileError

pytestmark = pytest.mark.browser
OPEN = """([header, columns, remarks]) => {
  window.written = [];
  return open_view(header, columns, { remarks, view: { unit: "cycles" }, onRemarks: (each) => written.push(each) });
}"""


@pytest.fixture(scope="module")
def shared(browser: Any) -> Tab:
    return Tab(browser)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return datasets.load("h200/attention")


@pytest.fixture
def tab(shared: Tab, trace: Trace) -> Tab:
    return shared.open(trace, view={"unit": "cycles"}, remarks=[])


def write(tab: Tab, text: str) -> None:
    tab.press("b")
    tab.page.get_by_label("Note", exact=True).fill(text)
    tab.page.keyboard.press("Enter")


def remarks(tab: Tab) -> list[str]:
    return list(tab.page.locator(".tlt-remarks > div > span > button:first-child").all_inner_texts())


def test_a_note_on_an_event_is_drawn_and_listed(tab: Tab, trace: Trace) -> None:
    one = trace.events.index[trace.events["name"] == "softmax"][1]
    tab.page.mouse.click(*tab.at(int(one)))
    write(tab, "too long?")
    assert remarks(tab) == ["too long?"]
    event = trace.events.loc[one]
    spans = tab.do("() => view.overlay.remarks.over.spans")
    assert [spans[key][0] for key in ("cta", "thread", "start", "end", "text")] == [
        event["cta"], event["thread"], event["start"], event["end"], "too long?",
    ]  # fmt: skip
    assert tab.do("() => document.activeElement.className") == "tlt-stage"


def test_a_note_on_what_is_measured(tab: Tab, trace: Trace) -> None:
    tab.press("m")
    (x, y), (end, _) = (tab.at(int(trace.events.index[trace.events["name"] == "QK"][n])) for n in (0, 1))
    tab.drag((x, y), (end, y))
    write(tab, "one iteration")
    measured = tab.scene(
        "[scene.measured.from, scene.measured.to].map((time) => Math.round(time) + Number(events.origin))"
    )
    spans = tab.do("() => view.overlay.remarks.over.spans")
    assert [spans["start"][0], spans["end"][0]] == measured
    tab.press("v")


def test_a_note_on_a_time_says_when_and_stands_beside_it(tab: Tab) -> None:
    note = {"cta": 0, "thread": -1, "start": 1200, "end": 1200, "text": "here"}
    tab.do("(notes) => { view.setRemarks(notes); view.draw(); }", [note])
    assert tab.page.locator(".tlt-remarks .tlt-count").inner_text() == "CTA 0, at 1,200 cycles"


def test_without_a_place_it_says_what_to_do_and_escape_writes_nothing(tab: Tab, trace: Trace) -> None:
    tab.press("b")
    assert tab.page.get_by_role("alert").first.inner_text().startswith("click an event, or measure")
    tab.page.mouse.click(*tab.at(20))
    tab.press("b")
    tab.page.keyboard.type("never mind")
    tab.page.keyboard.press("Escape")
    assert remarks(tab) == []


def test_notes_are_gone_to_and_removed(tab: Tab, trace: Trace) -> None:
    tab.page.mouse.click(*tab.at(20))
    write(tab, "here")
    tab.page.get_by_role("button", name="here").click()
    event = trace.events.iloc[20]
    span = tab.scene("scene.span")
    assert span["from"] <= event["start"] <= event["end"] <= span["to"]
    assert span["to"] - span["from"] < 10 * max(event["duration"], 8)
    tab.page.get_by_label("Remove this note").click()
    assert remarks(tab) == []
    assert tab.do("() => view.overlay.remarks") is None
    assert tab.errors == []


# Python's end


def a_trace(tmp_path: Path) -> Trace:
    datasets.load("h200/attention").save(tmp_path / "a.tltrace")
    return load(tmp_path / "a.tltrace")


def test_what_is_written_in_a_view_is_the_traces_and_saved_with_it(tmp_path: Path) -> None:
    trace = a_trace(tmp_path)
    note = {"cta": 1, "thread": 128, "start": 10, "end": 20, "text": "why?"}
    trace.timeline().set_state({"remarks": [note]})
    assert trace.notes.to_dict("records") == [note]
    trace.save(tmp_path / "b.tltrace")
    again = load(tmp_path / "b.tltrace")
    assert again.notes.to_dict("records") == [note]
    assert Timeline(again).remarks == [note]
    assert "why?" in again.to_html(tmp_path / "b.html").read_text()


def test_notes_are_a_frame_that_can_be_assigned(tmp_path: Path) -> None:
    trace = a_trace(tmp_path)
    assert trace.notes.empty
    trace.notes = pd.DataFrame({"cta": [0], "start": [1], "end": [2], "text": ["</script>"]})
    assert trace.notes.dtypes.astype(str).to_dict() == {
        "cta": "int64", "thread": "int64", "start": "int64", "end": "int64", "text": "str",
    }  # fmt: skip
    assert trace.notes["thread"].tolist() == [-1]
    assert (
        "</script>"
        not in trace.to_html(tmp_path / "b.html")
        .read_text()
        .partition('<script type="module">')[2]
        .rpartition("</script>")[0]
    )
    with pytest.raises(ValueError, match="a DataFrame with the columns cta, thread, start, end, text; it lacks text"):
        trace.notes = pd.DataFrame({"cta": [0], "start": [1], "end": [2]})


@pytest.mark.parametrize("notes", [[3], [{"cta": 0}], [{"cta": "a", "start": 1, "end": 2, "text": "x"}], "x"])
def test_notes_that_make_no_sense_make_no_file(notes: Any, tmp_path: Path) -> None:
    import zipfile

    a_trace(tmp_path)
    with zipfile.ZipFile(tmp_path / "a.tltrace") as old, zipfile.ZipFile(tmp_path / "b.tltrace", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "meta.json":
                raw = json.loads(content)
                raw["meta"]["notes"] = notes
                content = json.dumps(raw).encode()
            new.writestr(name, content)
    with pytest.raises(TraceFileError, match="notes"):
        _ = load(tmp_path / "b.tltrace").meta
