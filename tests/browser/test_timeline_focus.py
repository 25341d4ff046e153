"""Whose the keys and the context menu are: the timeline's, wherever in it was clicked, and not the page's around it."""

from typing import Any

import pytest
from fake_trace import pipeline
from timeline_tab import Tab

pytestmark = pytest.mark.browser

KEYS = (*"wsad.,]efncuxpyjkb0", "ArrowRight", "ArrowDown", "PageDown", "Backspace")
PARTS = {
    "overview": ".tlt-map",
    "toolbar": ".tlt-bar",
    "title": ".tlt-title",
    "count": ".tlt-bar .tlt-count",
    "legend": ".tlt-legend",
    "chip": ".tlt-legend button",
    "button": ".tlt-bar button:text-is('Fit')",
    "disabled button": ".tlt-bar [aria-label^='next match']",
    "losses": ".tlt-note",
    "details": ".tlt-panel dl",
    "details' button": ".tlt-panel button:text-is('Copy')",
    "scrollbar": ".tlt-scroll",
    "labels": ".tlt-stage",
}
# A notebook: what is clicked in it has the focus, and it has shortcuts.
AROUND = """() => {
  window.reached = [];
  const home = document.getElementById("home");
  home.tabIndex = 0;
  home.addEventListener("keydown", (event) => reached.push(event.key));
  home.addEventListener("contextmenu", (event) => reached.push("contextmenu"));
}"""


@pytest.fixture(scope="module")
def tab(browser: Any) -> Tab:
    tab = Tab(browser, viewport={"width": 1400, "height": 800})
    tab.do(AROUND)
    return tab


@pytest.mark.parametrize("part", PARTS)
def test_a_click_on_any_part_gives_the_keys_to_the_lanes(tab: Tab, part: str) -> None:
    tab.open(pipeline(ctas=12, losses=[{"lost": 12}]), height=200, theme="light")
    tab.scene("scene.focus(5)")
    box = tab.page.locator(PARTS[part]).first.bounding_box()
    tab.do("() => { document.activeElement.blur(); reached.length = 0; }")
    tab.page.mouse.click(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    assert tab.do("() => document.activeElement.className") == "tlt-stage"
    before = tab.scene("scene.span.to - scene.span.from")
    for key in ("w", *KEYS):
        tab.page.keyboard.press(key)
    assert tab.do("() => reached") == []
    assert tab.scene("scene.span.to - scene.span.from") < before


def test_keys_on_a_control_that_tab_has_reached_are_the_lanes_too(tab: Tab) -> None:
    tab.open(pipeline())
    tab.do("() => { reached.length = 0; }")
    whole = tab.scene("scene.span.to - scene.span.from")
    chip = tab.page.locator(".tlt-legend button").first
    chip.focus()
    tab.page.keyboard.press("w")
    assert tab.scene("scene.span.to - scene.span.from") == pytest.approx(0.7 * whole)
    tab.page.keyboard.press("Space")
    assert chip.get_attribute("aria-pressed") == "false"
    assert chip.evaluate("chip => chip === document.activeElement")
    assert tab.do("() => reached") == []


def test_keys_of_the_browser_and_of_the_page_with_control_go_on(tab: Tab) -> None:
    tab.open(pipeline())
    tab.do("() => { reached.length = 0; }")
    tab.press("Control+s")
    assert tab.do("() => reached") == ["Control", "s"]


def test_words_of_the_details_can_be_marked(tab: Tab) -> None:
    tab.open(pipeline())
    tab.scene("scene.focus(3)")
    fact = tab.page.locator(".tlt-panel dd").nth(1)
    fact.dblclick(position={"x": 6, "y": 6})
    assert tab.do("() => String(getSelection())").strip()


def test_the_search_box_keeps_the_focus(tab: Tab) -> None:
    tab.open(pipeline())
    tab.page.locator("input[type=search]").click()
    tab.page.keyboard.type("dd")
    assert tab.page.locator("input[type=search]").input_value() == "dd"


def test_a_right_click_on_a_label_opens_our_menu_and_no_other(tab: Tab) -> None:
    tab.open(pipeline())
    tab.do("() => { reached.length = 0; }")
    box = tab.stage.bounding_box()
    tab.page.mouse.click(box["x"] + 30, box["y"] + 36, button="right")
    assert tab.page.get_by_role("menu").is_visible()
    assert tab.do("() => reached") == []
    tab.page.locator(".tlt-title").click()
    assert tab.page.get_by_role("menu").count() == 0


def test_the_ring_around_the_lanes_is_whole(tab: Tab) -> None:
    """Nothing of the lanes covers it on any side."""
    tab.open(pipeline(ctas=12), height=200, theme="light")
    tab.page.locator(".tlt-map").click()
    ring = tab.do("() => { const s = getComputedStyle(document.querySelector('.tlt-stage'), '::after');"
                  " return [s.borderTopWidth, s.borderLeftWidth, s.inset, s.zIndex]; }")  # fmt: skip
    assert ring == ["2px", "2px", "0px", "2"]
