"""Two runs in one view: the one before thin under the lanes, and by how much each name has changed."""

import gzip
import json
from typing import Any

import pytest
from fake_trace import make_trace, span
from timeline_tab import Tab, _base64

from tltrace_nb import Timeline, datasets
from tltrace_nb.widget.wire import encode

pytestmark = pytest.mark.browser
A = make_trace([span("mma", 0, 100), span("load", 120, 180), span("gone", 200, 220)])
B = make_trace([span("mma", 0, 50), span("load", 120, 180), span("added", 200, 260)])


@pytest.fixture
def tab(browser: Any) -> Any:
    tab = Tab(browser)
    now, before = encode(B), encode(A)
    tab.do(
        "async ([a, b, c, d]) => { window.view = await widgetless({ header: a, columns: bytes(b),"
        " before: { header: c, columns: bytes(d) } }); view.draw(); }".replace(
            "widgetless(", "(await import('./timeline.js')).mount(document.getElementById('home'), "
        ),
        [now.header, _base64(now), before.header, _base64(before)],
    )
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
