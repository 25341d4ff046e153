"""The offline page in a real browser, without a network."""

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from fake_trace import FakeTrace, pipeline
from timeline_tab import WHERE

from tltrace_nb.core.loading import load
from tltrace_nb.widget.html import write_html

if TYPE_CHECKING:
    from pathlib import Path

    from tltrace_nb.data.frames import TraceLike

RECORDED = files("tltrace_nb").joinpath("datasets", "h200")

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


def hovered(page: Any, row: int) -> str:
    """What is said of a row of the frame when the pointer is on its event."""
    page.mouse.move(*page.evaluate(WHERE, row))
    tip = page.locator(".tlt-tip")
    tip.wait_for()
    return str(tip.inner_text())


@pytest.mark.parametrize("name", ["copy A", "mma", "epilogue"])
def test_hovering_an_event_says_its_name_and_payload(page: Any, trace: FakeTrace, name: str) -> None:
    row = int((trace.events["name"] == name).to_numpy().argmax())
    said = hovered(page, row)
    assert name in said
    payload = trace.events["payload"].iloc[row]
    assert pd.isna(payload) or f"payload {payload}" in said


def test_all_events_are_in_the_page_whatever_the_still_picture_shows(gemm: Any) -> None:
    assert gemm.evaluate("view.scene.events.count") == 4160


def test_the_timeline_takes_the_place_of_the_still_picture(page: Any) -> None:
    assert page.locator("#timeline > svg").count() == 0
    assert page.locator("#timeline .tlt-stage").count() == 1


def test_a_virtual_trace_says_so(page: Any) -> None:
    sync_api.expect(page.locator("#timeline")).to_contain_text("virtual GPU")


def ground(page: Any) -> list[int]:
    """The colour of the canvas in a corner of the lanes, red, green, blue."""
    return list(
        page.evaluate(
            "() => { const canvas = document.querySelector('.tlt-stage canvas');"
            " return [...canvas.getContext('2d').getImageData(canvas.width - 3, canvas.height - 3, 1, 1).data]"
            ".slice(0, 3); }"
        )
    )


def test_the_timeline_is_dark_where_the_reader_is_and_follows_without_reload(page: Any) -> None:
    assert max(ground(page)) < 80
    page.emulate_media(color_scheme="light")
    page.wait_for_function(
        "() => { const c = document.querySelector('.tlt-stage canvas');"
        " return c.getContext('2d').getImageData(c.width - 3, c.height - 3, 1, 1).data[0] > 200; }"
    )


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
