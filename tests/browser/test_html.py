"""The offline page in a real browser, without a network."""

import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from fake_trace import FakeTrace, pipeline

from tltrace_nb.core.trace import load
from tltrace_nb.widget.html import write_html

if TYPE_CHECKING:
    from pathlib import Path

    from tltrace_nb.widget.lanes import TraceLike

RECORDED = files("tltrace_nb").joinpath("datasets")

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def trace() -> FakeTrace:
    return pipeline(ctas=2, losses=[{"lost": 12}], device="virtual", gpu=None)


def opened(browser: Any, trace: "TraceLike", folder: "Path", **how: Any) -> Any:
    """The written page, opened from its file; ``attempts`` and ``errors`` collect what must not be."""
    path = write_html(trace, folder / "trace.html")
    tab = browser.new_page(viewport={"width": 1280, "height": 900}, **how)
    tab.attempts, tab.errors = [], []

    def gate(route: Any) -> None:
        if route.request.url == path.as_uri():
            route.continue_()
        else:
            tab.attempts.append(route.request.url)
            route.abort()

    tab.route("**/*", gate)
    tab.on("pageerror", lambda error: tab.errors.append(str(error)))
    tab.on("console", lambda message: tab.errors.append(message.text) if message.type == "error" else None)
    tab.goto(path.as_uri())
    tab.wait_for_selector("#timeline[data-ready]", state="attached", timeout=60_000)
    return tab


@pytest.fixture(scope="module")
def page(browser: Any, trace: FakeTrace, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A page in dark mode."""
    return opened(browser, trace, tmp_path_factory.mktemp("html"), color_scheme="dark")


@pytest.fixture(scope="module")
def gemm(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The page of a recorded GEMM: 30 CTAs, with arrows."""
    return opened(browser, load(str(RECORDED.joinpath("gemm.tltrace"))), tmp_path_factory.mktemp("gemm"))


def middle(box: dict[str, float]) -> tuple[float, float]:
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_every_range_is_a_bar_on_the_screen(page: Any, trace: FakeTrace) -> None:
    assert page.locator(".bars .point path").count() == (trace.events["kind"] == "range").sum()


def test_hovering_a_bar_shows_the_payload(page: Any) -> None:
    box = page.locator(".bars .point path").first.bounding_box()
    page.mouse.move(*middle(box))
    hover = page.locator(".hoverlayer .hovertext")
    hover.wait_for()
    assert "payload 0" in hover.text_content()


def test_the_payload_is_written_on_the_bar(page: Any) -> None:
    assert page.locator(".bars .point text").first.text_content() == "copy A0"  # two lines


def test_a_legend_entry_hides_its_bars(page: Any, trace: FakeTrace) -> None:
    entry = page.locator(".legend .traces", has_text="wait").locator(".legendtoggle")
    bars = page.locator(".bars .point path")
    left = bars.count() - int((trace.events["name"] == "wait").sum())
    entry.click()
    sync_api.expect(bars).to_have_count(left)


def test_nothing_offers_to_upload_or_to_select(page: Any) -> None:
    titles = [button.get_attribute("data-title") for button in page.locator(".modebar-btn").all()]
    assert "Zoom" in titles
    assert not [title for title in titles if re.search("share|cloud|upload|select", title, re.IGNORECASE)]


def test_the_badge_of_a_virtual_trace_lies_clear_of_the_buttons(page: Any) -> None:
    badge, buttons = (page.locator(part).bounding_box() for part in (".annotation", ".modebar"))
    assert badge["x"] + badge["width"] < buttons["x"]


def test_hovering_any_bar_of_a_recorded_trace_shows_that_bar(gemm: Any) -> None:
    hover = gemm.locator(".hoverlayer .hovertext")
    parts = gemm.evaluate("document.getElementById('timeline').data.filter((part) => part.type === 'bar')")
    assert any(part["name"] == "arrows (dag)" for part in gemm.evaluate("document.getElementById('timeline').data"))
    for number, part in enumerate(parts):
        if part["name"] not in ("load", "mma"):
            continue
        points = gemm.locator(".barlayer .trace.bars").nth(number).locator(".point path")
        for index in (1, 7, 20, 40, 130, 250, 500):
            points.nth(index).scroll_into_view_if_needed()
            gemm.mouse.move(*middle(points.nth(index).bounding_box()))
            name, payload = re.match(r"<b>(.*?)</b><br>(payload \d+)<br>", part["hovertext"][index]).groups()
            sync_api.expect(hover).to_have_count(1)
            sync_api.expect(hover).to_contain_text(f"{name}{payload}start")


def test_a_drag_zooms_time_alone(gemm: Any) -> None:
    axes = "[...['x', 'y'].map((axis) => document.getElementById('timeline').layout[axis + 'axis'].range)]"
    before = gemm.evaluate(axes)
    area = gemm.locator(".nsewdrag").bounding_box()
    gemm.mouse.move(area["x"] + 100, area["y"] + 20)
    gemm.mouse.down()
    gemm.mouse.move(area["x"] + 300, area["y"] + 400, steps=5)
    gemm.mouse.up()
    gemm.wait_for_function(f"JSON.stringify({axes}[0]) !== {json.dumps(json.dumps(before[0], separators=(',', ':')))}")
    after = gemm.evaluate(axes)
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_dark_mode_darkens_the_figure(page: Any) -> None:
    sync_api.expect(page.locator("#timeline .main-svg").first).to_have_css("background-color", "rgb(22, 25, 29)")


def test_light_mode_follows_without_reload(page: Any) -> None:
    page.emulate_media(color_scheme="light")
    sync_api.expect(page.locator("#timeline .main-svg").first).to_have_css("background-color", "rgb(255, 255, 255)")


def test_nothing_was_fetched_and_nothing_failed(page: Any) -> None:
    assert page.attempts == []
    assert page.errors == []


def test_a_browser_that_cannot_unpack_keeps_the_still_picture_and_says_so(
    browser: Any, trace: FakeTrace, tmp_path: "Path"
) -> None:
    tab = browser.new_page()
    tab.add_init_script("delete globalThis.DecompressionStream")
    tab.goto(write_html(trace, tmp_path / "trace.html").as_uri())
    sync_api.expect(tab.locator("#timeline + .note")).to_contain_text("This is a still picture")
    assert tab.locator("#timeline > svg").count() == 1
