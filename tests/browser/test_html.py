"""The offline page in a real browser, without a network."""

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from fake_trace import FakeTrace, pipeline

from tltrace_nb.widget.html import write_html

if TYPE_CHECKING:
    from pathlib import Path

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def trace() -> FakeTrace:
    return pipeline(ctas=2, losses=[{"lost": 12}], device="virtual", gpu=None)


@pytest.fixture(scope="module")
def page(trace: FakeTrace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The written page, opened from its file in dark mode; ``attempts`` and ``errors`` collect what must not be."""
    path: Path = write_html(trace, tmp_path_factory.mktemp("html") / "trace.html")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        tab = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="dark")
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
        yield tab
        browser.close()


def test_every_range_is_a_bar_on_the_screen(page: Any, trace: FakeTrace) -> None:
    assert page.locator(".bars .point path").count() == (trace.events["kind"] == "range").sum()


def test_hovering_a_bar_shows_the_payload(page: Any) -> None:
    box = page.locator(".bars .point path").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
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


def test_dark_mode_darkens_the_figure(page: Any) -> None:
    sync_api.expect(page.locator("#timeline .main-svg").first).to_have_css("background-color", "rgb(22, 25, 29)")


def test_light_mode_follows_without_reload(page: Any) -> None:
    page.emulate_media(color_scheme="light")
    sync_api.expect(page.locator("#timeline .main-svg").first).to_have_css("background-color", "rgb(255, 255, 255)")


def test_nothing_was_fetched_and_nothing_failed(page: Any) -> None:
    assert page.attempts == []
    assert page.errors == []
