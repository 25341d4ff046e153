"""What the timeline saves for Perfetto is what Python's export of the trace has."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from timeline_tab import Tab

from tltrace_nb import Trace, datasets
from tltrace_nb.data.notes import Note, notes_of
from tltrace_nb.render.frames import frames
from tltrace_nb.render.launches import of_traces, together

pytestmark = pytest.mark.browser
NOTES = [
    {"cta": 1, "thread": 0, "start": 100, "end": 900, "text": "long"},
    {"cta": 1, "thread": -1, "start": 500, "end": 1200, "text": "crosses"},
    {"cta": 2, "thread": 128, "start": 700, "end": 700, "text": "here"},
]


@pytest.fixture(scope="module")
def shared(browser: Any) -> Any:
    tab = Tab(browser)
    yield tab
    assert tab.errors == []


def saved(tab: Tab, item: str = "Save for Perfetto") -> dict[str, Any]:
    tab.page.get_by_role("button", name="Save", exact=True).click()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("menuitem", name=item).click()
    assert download.value.suggested_filename.endswith(".json")
    return json.loads(Path(download.value.path()).read_text(encoding="utf-8"))


def events_of(file: dict[str, Any], phases: str) -> list[dict[str, Any]]:
    return [event for event in file["traceEvents"] if event["ph"] in phases]


def comparable(file: dict[str, Any]) -> list[tuple[str, int]]:
    """Events without the arrows, each as text without its time, and that in ns, in an order of their own."""
    facts = [(event, round(1000 * event.pop("ts", 0))) for event in events_of(file, "MBEi")]
    return sorted((json.dumps(event, sort_keys=True), ns) for event, ns in facts)


def arrows(file: dict[str, Any]) -> list[Any]:
    return sorted((event["ph"], event["id"], event["pid"], event["tid"]) for event in events_of(file, "sf"))


def with_notes(trace: Trace, folder: Path, notes: tuple[Note, ...]) -> dict[str, Any]:
    trace.meta = replace(trace.meta, notes=notes)
    return json.loads(trace.to_chrome(folder / "a.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["roles_split", "own_kernel", "payloads_and_lanes", "every_thread", "branch_by_lane"])
def test_everything_is_as_in_pythons_file(shared: Tab, tmp_path: Path, name: str) -> None:
    trace = datasets.load(f"h200/{name}")
    shared.open(trace, remarks=NOTES)
    mine, theirs = saved(shared), with_notes(trace, tmp_path, notes_of(NOTES))
    pairs = list(zip(comparable(mine), comparable(theirs), strict=True))
    assert [ours for (ours, _), _ in pairs] == [other for _, (other, _) in pairs]
    assert max(abs(ns - other) for (_, ns), (_, other) in pairs) <= 1  # a time may be in the middle of two ns
    assert arrows(mine) == arrows(theirs)
    assert mine["otherData"]["gpu"] == theirs["otherData"]["gpu"]
    assert mine["otherData"]["time_unit"] == theirs["otherData"]["time_unit"]


def test_ranges_that_cross_are_on_threads_that_nest(shared: Tab) -> None:
    rows = [("a", 0, 10), ("b", 5, 15), ("c", 6, 8), ("d", 20, 30), ("e", 20, 25)]
    frame = pd.DataFrame(rows, columns=["name", "start", "end"]).assign(lane="main", cta=0, thread=0)
    shared.open(frames(frame))
    file = saved(shared)
    stacks: dict[int, list[str]] = {}
    parents = {}
    for event in file["traceEvents"]:
        stack = stacks.setdefault(event["tid"], [])
        if event["ph"] == "B":
            parents[event["name"]] = stack[-1] if stack else None
            stack.append(event["name"])
        if event["ph"] == "E":
            stack.pop()
    assert parents == {"a": None, "b": None, "c": "b", "d": None, "e": "d"}
    assert not any(stacks.values())


def test_a_selection_is_saved_alone_with_the_arrows_inside_it(shared: Tab) -> None:
    trace = datasets.load("h200/roles_split")
    shared.open(trace)
    shared.scene("scene.set({ query: 'cta=1' })")
    shared.scene("scene.select(scene.matches)")
    file = saved(shared, "Save the selection for Perfetto")
    mine = trace.events.query("cta == 1")
    begun = [event["args"]["start_cycles"] for event in events_of(file, "B")]
    assert sorted(begun) == sorted(mine["start"])
    assert len(arrows(file)) == 2 * int((trace.flows["cta"] == 1).sum())


def test_each_launch_has_its_own_processes(shared: Tab) -> None:
    trace = datasets.load("h200/roles_split")
    shared.open(together(of_traces([trace, datasets.load("h200/roles_together")])))
    file = saved(shared)
    names = {event["args"]["name"] for event in events_of(file, "M") if event["name"] == "process_name"}
    assert {name.partition(" · ")[0] for name in names} == {"launch 1", "launch 2"}
