"""Several launches of a cell: one time axis, lanes for each, and which of them are shown."""

from itertools import pairwise
from typing import Any

import pytest
from timeline_tab import Tab

from tltrace_nb import datasets
from tltrace_nb.render.launches import Kept, together
from tltrace_nb.widget.wire import encode

pytestmark = pytest.mark.browser

LABELS = """() => {
  const found = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    if (y === 13 && x > view.frame.gutter) found.push([x, x + this.measureText(text).width]);
    draw.call(this, text, x, y);
  };
  view.drawing.redraw();
  view.drawing.draw();
  CanvasRenderingContext2D.prototype.fillText = draw;
  return found;
}"""
"""From where to where the times on the axis are written."""


@pytest.fixture
def tab(browser: Any) -> Any:
    """Three launches of a hundred of one kernel, and one of another."""
    row_sum, attention = (datasets.load(f"h200/{name}") for name in ("row_sum", "attention"))
    kept = [Kept(row_sum, why, 100, 0) for why in ("first", "slowest", "last")]
    launches = together([*kept, Kept(attention, "first, last, slowest", 1, 1)])
    tab = Tab(browser).open_wire(encode(launches, launches=launches.facts))
    yield tab
    assert tab.errors == []
    tab.page.close()


def shown(tab: Tab) -> list[str]:
    found: list[str] = tab.scene("scene.rows.strips.filter((s) => s.depth === 0).map((s) => s.node.label)")
    return found


def switch(tab: Tab, text: str) -> Any:
    return tab.page.locator(f".tlt-launches button:text-is('{text}')")


def test_a_kernel_that_ran_a_hundred_times_is_one_with_a_choice(tab: Tab) -> None:
    assert tab.page.locator(".tlt-launches").inner_text().split() == [
        "row_sum", "×", "100", "first", "slowest", "last", "attention", "launch", "4",
    ]  # fmt: skip
    assert shown(tab) == ["launch 3 · row_sum", "launch 4 · attention"]
    switch(tab, "slowest").click()
    switch(tab, "last").click()
    assert shown(tab) == ["launch 2 · row_sum", "launch 4 · attention"]


def test_both_kernels_are_on_one_axis_one_after_the_other(tab: Tab) -> None:
    first, second = tab.scene("scene.axis.sections")
    assert second["from"] > first["to"]
    assert tab.scene("scene.span.from") <= first["from"]
    assert tab.scene("scene.span.to") >= second["to"]


@pytest.mark.parametrize("wide", [700, 900, 1200])
def test_the_times_of_two_launches_do_not_run_into_each_other(browser: Any, wide: int) -> None:
    trace = datasets.load("h200/waves_full")
    launches = together([Kept(trace, "first", 1, 0), Kept(trace, "last", 1, 1)])
    tab = Tab(browser, viewport={"width": wide, "height": 800})
    tab.open_wire(encode(launches, launches=launches.facts))
    labels = tab.do(LABELS)
    assert len(labels) > 2
    assert [(one, after) for one, after in pairwise(sorted(labels)) if one[1] > after[0]] == []
    tab.page.close()


def test_alt_click_shows_one_alone_and_one_always_stays(tab: Tab) -> None:
    switch(tab, "first").click(modifiers=["Alt"])
    assert shown(tab) == ["launch 1 · row_sum"]
    switch(tab, "first").click()
    assert shown(tab) == ["launch 1 · row_sum"]
    assert tab.page.get_by_role("alert").first.inner_text() == "one launch at least is shown"


def test_what_is_selected_over_all_lanes_is_of_the_launches_that_are_shown(tab: Tab) -> None:
    tab.scene("scene.brush({ span: scene.axis.whole, lanes: null }, true)")
    launches = {"launch 3", "launch 4"}
    assert {tab.scene(f"'launch ' + events.laneOf(events.positionOf({id})).launch") for id in tab.selected()[::20]} == (
        launches
    )


def test_the_choice_is_part_of_the_view(tab: Tab) -> None:
    switch(tab, "first").click()
    tab.page.wait_for_function("told.views.length > 0")
    assert tab.do("() => told.views.at(-1).hidden_launches") == [2]
    tab.do("() => view.setView({ hidden_launches: [1, 2, 3] })")
    assert shown(tab) == ["launch 4 · attention"]
