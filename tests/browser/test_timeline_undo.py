"""Back and forth through what was seen, and what a reader takes away: pictures, rows, a link."""

import re
from pathlib import Path
from typing import Any

import pytest
from fake_trace import FakeTrace, pipeline
from timeline_tab import Tab

from tltrace_nb import datasets

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shared(browser: Any) -> Tab:
    return Tab(browser, viewport={"width": 1400, "height": 800}, accept_downloads=True)


@pytest.fixture(scope="module")
def trace() -> FakeTrace:
    return pipeline(ctas=3)


@pytest.fixture
def tab(shared: Tab, trace: FakeTrace) -> Tab:
    return shared.open(trace, theme="light")


def state(tab: Tab) -> Any:
    return tab.scene(
        "[scene.span, scene.state.query, scene.state.filter, scene.state.hiddenNames,"
        " [...scene.state.lanes.collapsed], scene.selected && scene.selected.length]"
    )


ACTS = {
    "zoom": "scene.zoom(0.5)",
    "selection": "scene.brush({ span: scene.axis.whole, lanes: null }, true)",
    "search": "scene.set({ query: 'mma' })",
    "filter": "scene.set({ filter: true })",
    "legend": "scene.set({ hiddenNames: ['wait'] })",
    "folding": "scene.fold(true)",
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
@pytest.mark.parametrize(
    ("undo", "redo"), [("Control+z", "Control+Shift+z"), ("Backspace", "Shift+Backspace"), ("Control+z", "Control+y")]
)
def test_it_is_undone_and_done_again(tab: Tab, act: str, undo: str, redo: str) -> None:
    before = state(tab)
    tab.scene(act)
    after = state(tab)
    assert after != before
    tab.press(undo)
    assert state(tab) == before
    tab.press(redo)
    assert state(tab) == after


def test_one_after_the_other_back_to_the_beginning(tab: Tab) -> None:
    seen = [state(tab)]
    for act in ACTS.values():
        tab.scene(act)
        seen.append(state(tab))
    for before in reversed(seen[:-1]):
        tab.press("Backspace")
        assert state(tab) == before
    tab.press("Backspace")
    assert tab.page.get_by_role("alert").first.inner_text() == "nothing to undo"


def test_a_movement_and_a_word_are_one_step(tab: Tab) -> None:
    before = state(tab)
    tab.scene("[1, 2, 3].map(() => scene.zoom(0.7))")
    tab.press("Backspace")
    assert state(tab) == before
    tab.scene("['m', 'mm', 'mma'].map((query) => scene.set({ query }))")
    tab.press("Backspace")
    assert state(tab) == before


def test_after_something_new_there_is_nothing_to_do_again(tab: Tab) -> None:
    tab.scene(ACTS["filter"])
    tab.press("Backspace")
    tab.scene(ACTS["legend"])
    after = state(tab)
    tab.press("Shift+Backspace")
    assert state(tab) == after


def saved(tab: Tab, item: str) -> Path:
    tab.page.get_by_role("button", name="Save", exact=True).click()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("menuitem", name=item).click()
    return Path(download.value.path())


def test_the_picture_has_the_lanes_the_title_and_the_names(tab: Tab) -> None:
    image = pytest.importorskip("PIL.Image")
    with image.open(saved(tab, "Save the picture")) as picture:
        width, height = tab.do("() => [view.frame.width, view.frame.height]")
        assert picture.width == width
        assert picture.height > height + 40
        lanes = picture.convert("RGB").crop((0, 30, width, 30 + height))
        assert len(lanes.getcolors(1 << 24)) > 8
        foot = picture.convert("RGB").crop((0, 32 + height, width, picture.height))
        assert len(foot.getcolors(1 << 24)) > 8


def test_the_rows_are_those_that_are_selected_else_all(tab: Tab, trace: FakeTrace) -> None:
    lines = saved(tab, "Save the rows").read_text().splitlines()
    assert lines[0].split(",")[:4] == ["name", "kind", "launch", "cta"]
    assert [line.split(",")[0] for line in lines[1:]] == trace.events["name"].tolist()
    tab.scene("scene.set({ query: 'mma' })")
    tab.scene("scene.select(scene.matches)")
    lines = saved(tab, "Save the selected rows").read_text().splitlines()
    mma = trace.events[trace.events["name"] == "mma"]
    assert [int(line.split(",")[7]) for line in lines[1:]] == mma["start"].tolist()
    assert [int(line.split(",")[8]) for line in lines[1:]] == mma["duration"].tolist()


def test_a_page_is_offered_only_where_python_makes_one(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Save", exact=True).click()
    assert tab.page.get_by_role("menuitem").all_inner_texts() == [
        "Copy the picture",
        "Save the picture",
        "Save the rows",
        "Save for Perfetto",
    ]


def test_large_for_a_talk(tab: Tab, trace: FakeTrace) -> None:
    plain = tab.page.locator(".tlt-legend button").first.bounding_box()["height"]
    tab.press("l")
    assert tab.page.locator(".tlt-legend button").first.bounding_box()["height"] == pytest.approx(1.5 * plain)
    assert not tab.page.locator("input[type=search]").is_visible()
    mma = trace.events.index[trace.events["name"] == "mma"][1]
    box = tab.page.locator(".tlt-stage").bounding_box()
    tab.do("() => view.draw()")
    x, y = tab.at(int(mma))
    tab.page.mouse.move(box["x"] + 1.5 * (x - box["x"]), box["y"] + 1.5 * (y - box["y"]))
    assert tab.scene("events.id[scene.hovered]") == mma
    tab.press("l")
    assert tab.page.locator("input[type=search]").is_visible()


def test_the_address_of_a_page_is_a_view(browser: Any, tmp_path: Path) -> None:
    path = datasets.load("h200/attention").to_html(tmp_path / "a.html")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("[data-ready]")
    page.locator("input[type=search]").fill("softmax")
    page.locator(".tlt-stage").focus()
    page.keyboard.press("w")
    sync_api.expect(page).to_have_url(re.compile("span%22%3A%5B.*softmax"))
    address, span = page.url, page.evaluate("view.scene.span")
    other = browser.new_page()
    other.goto(address)
    other.wait_for_selector("[data-ready]")
    assert other.locator("input[type=search]").input_value() == "softmax"
    assert other.evaluate("view.scene.span") == pytest.approx(span)
    other.evaluate("location.hash = 'view=' + encodeURIComponent(JSON.stringify({ query: 'QK' }))")
    sync_api.expect(other.locator("input[type=search]")).to_have_value("QK")
    assert other.evaluate("view.scene.state.span") is None
    other.goto(path.as_uri() + "#view=%7Bnonsense")
    other.wait_for_selector("[data-ready]")
    other.close()
    page.close()


def test_nothing_failed(shared: Tab) -> None:
    assert shared.errors == []
