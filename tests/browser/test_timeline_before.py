"""Two runs in one view: the one before thin under the lanes, and by how much each name has changed."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from fake_trace import make_trace, span
from timeline_tab import Tab, _base64

from tltrace_nb import Timeline, datasets
from tltrace_nb.widget.wire import encode

if TYPE_CHECKING:
    from tltrace_nb.data.frames import TraceLike

pytestmark = pytest.mark.browser
A = make_trace([span("mma", 0, 100), span("load", 120, 180), span("gone", 200, 220)])
B = make_trace([span("mma", 0, 50), span("load", 120, 180), span("added", 200, 260)])


def compare(tab: Tab, after: TraceLike, earlier: TraceLike) -> None:
    now, before = encode(after), encode(earlier)
    tab.do("() => { window.view?.close(); document.getElementById('home').replaceChildren(); }")
    tab.do(
        "async ([a, b, c, d]) => { window.view = await widgetless({ header: a, columns: bytes(b),"
        " before: { header: c, columns: bytes(d) } }); view.draw(); }".replace(
            "widgetless(", "(await import('./timeline.js')).mount(document.getElementById('home'), "
        ),
        [now.header, _base64(now), before.header, _base64(before)],
    )


@pytest.fixture
def tab(browser: Any) -> Any:
    tab = Tab(browser, viewport={"width": 1400, "height": 900})
    compare(tab, B, A)
    yield tab
    assert tab.errors == []
    tab.page.close()


def changes(tab: Tab) -> dict[str, str]:
    chips = tab.page.locator(".tlt-legend button:has(bdi)").all()
    said = {chip.locator("bdi").inner_text(): chip.locator(".tlt-change") for chip in chips}
    return {name: change.inner_text() if change.count() else "" for name, change in said.items()}


def test_the_legend_says_by_how_much_each_name_has_changed(tab: Tab) -> None:
    assert changes(tab) == {"mma": "−50.0 %", "load": "", "added": "new"}


def test_the_run_before_is_under_the_lanes_and_can_be_hidden(tab: Tab) -> None:
    assert tab.scene("scene.beside !== null")
    tab.page.get_by_role("button", name="previous run").click()
    assert tab.scene("scene.beside === null")


def test_iterations_are_brought_together_on_demand_and_told(tab: Tab) -> None:
    after, before = datasets.load("h200/roles_split"), datasets.load("h200/roles_together")
    compare(tab, after, before)
    tab.scene("scene.set({ unit: 'cycles' })")
    tab.page.get_by_role("button", name="per iteration").click()
    begins = "(events) => [...events.start].filter((_, i) => events.name(i) === 'mma' && events.laneOf(i).cta === 0)"
    mine, others = (tab.scene(f"({begins})({of})") for of in ("events", "scene.beside.shown"))
    assert sorted(mine) == sorted(others)
    was, now = (
        t.events.query("name == 'mma'").groupby("cta")["start"].apply(lambda s: s.sort_values().diff()).median()
        for t in (before, after)
    )
    told = tab.page.locator(".tlt-align").inner_text()
    assert told.startswith(f"per iteration, from mma to the next: {was:,.0f} cycles → {now:,.0f} cycles, −")
    tab.page.get_by_role("button", name="per iteration").click()
    assert tab.scene("scene.beside.shown === scene.ghost.events")


def test_without_iterations_it_says_so(tab: Tab) -> None:
    tab.page.get_by_role("button", name="per iteration").click()
    assert tab.page.get_by_role("alert").first.inner_text().startswith("no name is there twice")
    assert tab.scene("scene.state.align") == "cta"


def test_python_sends_both_with_one_set_of_colours() -> None:
    before, after = datasets.load("h200/roles_together"), datasets.load("h200/roles_split")
    timeline = Timeline(after, before=before)
    headers = [json.loads(text) for text in (timeline.header, timeline.before_header)]
    colors = [dict(zip(each["names"], each["name_color"], strict=True)) for each in headers]
    assert {name: colors[0][name] for name in colors[1] if name in colors[0]} == {
        name: color for name, color in colors[1].items() if name in colors[0]
    }
    assert timeline.view["unit"] == "cycles"
    assert gzip.decompress(timeline.before_columns) == encode(before).columns
    timeline.replace(before)
    assert timeline.before_columns == b""
