"""The documentation in a browser, opened from a folder: what is seen, what it does, and that nothing is fetched."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import built

pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed")
pytest.importorskip("material", reason="mkdocs-material is not installed")
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
pytestmark = pytest.mark.browser

PAGES = ["index", "tutorial", "gallery", "how-to/waits", "reference/traces"]
WIDTHS = [1400, 900, 400]


class Reader:
    """Somebody who reads the site in one tab, with the colours of the browser, not those of a test."""

    def __init__(self, browser: Any, site: Path) -> None:
        self.page = browser.new_page(viewport={"width": 1400, "height": 900}, color_scheme="null")
        self.site = site
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("request", self._asked)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.site.as_uri(), "data:", "blob:", "about:")):
            self.wrong.append(request.url)

    def open(self, name: str, wide: int = 1400) -> Any:
        self.page.set_viewport_size({"width": wide, "height": 900})
        self.page.goto((self.site / f"{name}.html").as_uri())
        return self.page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("site"))


@pytest.fixture
def reader(browser: Any, site: Path) -> Iterator[Reader]:
    reader = Reader(browser, site)
    yield reader
    assert reader.wrong == []
    reader.page.close()


def test_navigation_is_one_row(reader: Reader) -> None:
    tabs = reader.open("index").locator(".md-tabs__item")
    boxes = [tab.bounding_box() for tab in tabs.all()]
    assert len(boxes) > 5
    assert len({box["y"] for box in boxes}) == 1
    assert max(box["x"] + box["width"] for box in boxes) <= 1400


@pytest.mark.some(5)
@pytest.mark.parametrize("wide", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_no_wider_than_its_window(reader: Reader, name: str, wide: int) -> None:
    assert reader.open(name, wide).evaluate("document.documentElement.scrollWidth") <= wide


def test_the_search_finds_a_page_without_a_server(reader: Reader) -> None:
    page = reader.open("index")
    page.keyboard.press("/")
    page.keyboard.type("deadlock")
    page.locator(".md-search-result__link", has_text="How do I find a deadlock?").first.click()
    sync_api.expect(page.locator("h1")).to_contain_text("How do I find a deadlock?")


@pytest.mark.parametrize("name", ["index", "gallery", "how-to/full-gpu", "how-to/waits"])
def test_live_timelines_are_drawn_and_seen_whole(reader: Reader, name: str) -> None:
    page = reader.open(name)
    for number in range(page.locator("iframe.live").count()):
        frame = page.locator("iframe.live").nth(number)
        frame.scroll_into_view_if_needed()
        sync_api.expect(frame.content_frame.locator(".tlt[data-drawn]")).to_have_count(1)
        legend, whole = frame.content_frame.locator(".tlt-legend").bounding_box(), frame.bounding_box()
        assert legend["y"] + legend["height"] <= whole["y"] + whole["height"]


def test_timelines_and_pictures_have_the_colours_that_the_reader_chooses(reader: Reader) -> None:
    page = reader.open("gallery")
    inside = page.locator("iframe.live").first.content_frame.locator("body")
    switch = page.locator(".md-header label[for^=__palette]:visible")
    switch.click()
    sync_api.expect(inside).to_have_css("background-color", "rgb(255, 255, 255)")
    switch.click()
    sync_api.expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    sync_api.expect(inside).not_to_have_css("background-color", "rgb(255, 255, 255)")
    reader.open("tutorial")
    sync_api.expect(page.locator("img[src*=timeline-one-dark]")).to_be_visible()
    sync_api.expect(page.locator("img[src*=timeline-one-light]")).to_be_hidden()
