"""Three tasks of a reader, done with keys and mouse alone, as ``docs/how-to/timeline.md`` tells; few actions each."""

import io
from typing import Any

import pytest
from fake_trace import FakeTrace, make_trace, span
from PIL import Image
from timeline_tab import Tab, _base64

from tltrace_nb import compare, datasets
from tltrace_nb.widget.wire import encode

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
pytestmark = pytest.mark.browser

CTAS, STEPS, PERIOD = 24, 8, 1000
SLOW_CTA, SLOW_STEP, LONGEST = 17, 3, 421


class Hands:
    """Does what a reader does, and counts it."""

    def __init__(self, tab: Tab) -> None:
        self.tab, self.page, self.actions = tab, tab.page, 0

    def click(self, target: Any, **where: Any) -> None:
        self.actions += 1
        target.click(**where)

    def type(self, text: str) -> None:
        self.actions += 1
        self.page.keyboard.type(text)

    def press(self, key: str) -> None:
        self.actions += 1
        self.page.keyboard.press(key)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.actions += 1
        self.tab.drag(start, end)

    def search(self, text: str) -> None:
        self.click(self.page.get_by_label("Search events"))
        self.type(text)

    def button(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name, exact=True))


def waiting(cta: int, step: int) -> int:
    """How long a consumer waits: by CTA and iteration another time; other CTAs wait longer than the one looked for."""
    return LONGEST if (cta, step) == (SLOW_CTA, SLOW_STEP) else 100 + (37 * cta + 53 * step) % 300 + 400 * (cta == 5)


@pytest.fixture(scope="module")
def trace() -> FakeTrace:
    rows = []
    for cta in range(CTAS):
        load = {"cta": cta, "sm": cta, "thread": 0, "role": "producer"}
        math = {"cta": cta, "sm": cta, "thread": 128, "role": "consumer"}
        for k in range(STEPS):
            at, blocked = PERIOD * k, waiting(cta, k)
            rows += [span("load", at, at + 90, payload=k, **load)]
            rows += [span("wait", at, at + blocked, payload=k, **math)]
            rows += [span("mma", at + blocked, at + 880, payload=k, **math)]
    return make_trace(rows)


@pytest.fixture
def tab(browser: Any) -> Any:
    tab = Tab(browser, viewport={"width": 1400, "height": 1100}, accept_downloads=True)
    yield tab
    assert tab.errors == []
    tab.page.close()


def test_the_longest_wait_of_a_cta(tab: Tab, trace: FakeTrace) -> None:
    hands = Hands(tab.open(trace, view={"unit": "cycles"}))
    hands.search(f"wait cta={SLOW_CTA}")
    hands.button("Filter")
    hands.press("i")
    row = tab.page.get_by_role("row").filter(has=tab.page.get_by_role("cell", name="wait", exact=True))
    sync_api.expect(row.get_by_role("cell").last).to_have_text(str(LONGEST))
    assert hands.actions == 4

    histogram = row.get_by_label("histogram").locator("svg")
    hands.click(histogram, position={"x": histogram.bounding_box()["width"] - 2, "y": 10})
    hands.press(".")
    hands.press("f")
    panel = tab.page.locator(".tlt-panel")
    sync_api.expect(panel).to_contain_text("1 event selected")
    sync_api.expect(panel.locator("dl")).to_contain_text(f"payload{SLOW_STEP}")
    [event] = trace.events.query(f"cta == {SLOW_CTA} and name == 'wait' and payload == {SLOW_STEP}").index
    assert tab.selected() == [event]
    assert hands.actions == 7


def test_how_much_faster_one_run_is_than_another(tab: Tab) -> None:
    before, after = datasets.load("h200/roles_together"), datasets.load("h200/roles_split")
    tab.do(
        "async ([h, c, d, e]) => { const { mount } = await import('./timeline.js');"
        " window.view = await mount(document.getElementById('home'),"
        " { header: h, columns: bytes(c), before: { header: d, columns: bytes(e) } }); view.draw(); }",
        [part for wire in (encode(after), encode(before)) for part in (wire.header, _base64(wire))],
    )
    chip = tab.page.locator(".tlt-legend button").filter(has=tab.page.locator("bdi", has_text="mma"))
    found = compare(before, after).set_index("name").loc["mma"]
    sign = "−" if found["ratio"] < 1 else "+"
    sync_api.expect(chip.locator(".tlt-change")).to_have_text(f"{sign}{abs(found['ratio'] - 1):.1%}".replace("%", " %"))


def test_a_picture_of_one_iteration(tab: Tab, trace: FakeTrace) -> None:
    hands = Hands(tab.open(trace, view={"unit": "cycles"}))
    hands.search("payload=5")
    own = trace.events.query("cta == 2")
    (left, top), (right, _) = (tab.at(int(own.query(f"payload == {k} and name == 'load'").index[0])) for k in (5, 6))
    _, bottom = tab.at(int(own.query("payload == 5 and name == 'mma'").index[0]))
    hands.drag((left - 12, top - 5), (right - 12, bottom + 5))
    hands.press("f")
    hands.button("Save")
    with tab.page.expect_download() as file:
        hands.click(tab.page.get_by_role("menuitem", name="Save the picture"))
    assert hands.actions == 6
    picture = Image.open(io.BytesIO(file.value.path().read_bytes()))
    assert picture.width > 1000
    seen = tab.scene("[scene.span.from, scene.span.to]")
    assert 4 * PERIOD < seen[0] < 5 * PERIOD
    assert 5 * PERIOD + 880 < seen[1] < 7 * PERIOD
    assert set(trace.events.loc[tab.selected(), "payload"]) == {5}
