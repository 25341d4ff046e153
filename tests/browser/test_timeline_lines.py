"""The lines of the kernel with the time of their events, both ways."""

from typing import Any

import pytest
from fake_trace import FakeTrace, make_trace, span
from timeline_tab import Tab

from tltrace_nb.widget.wire import encode

pytestmark = pytest.mark.browser
CODE = {"kernel.py:9": "T.gemm(A_shared, B_shared, C)", "kernel.py:12": "T.copy(C, D)"}


@pytest.fixture(scope="module")
def shared(browser: Any) -> Tab:
    return Tab(browser)


@pytest.fixture(scope="module")
def trace() -> FakeTrace:
    rows = [span("mma", 100 * n, 100 * n + 60, source="kernel.py:9") for n in range(3)]
    return make_trace([*rows, span("store", 400, 420, source="kernel.py:12"), span("odd", 500, 520, source="")])


@pytest.fixture
def tab(shared: Tab, trace: FakeTrace) -> Tab:
    shared.open_wire(encode(trace, code=CODE), view={"unit": "cycles"})
    shared.press("o")
    return shared


def lines(tab: Tab) -> list[list[str]]:
    rows = tab.page.locator(".tlt-lines tbody tr").all()
    return [[cell.inner_text().strip() for cell in row.locator("td").all()] for row in rows]


def test_each_line_has_its_code_and_its_time(tab: Tab) -> None:
    assert lines(tab) == [
        ["kernel.py:9", "T.gemm(A_shared, B_shared, C)", "3", "180 cycles", "90.0 %"],
        ["kernel.py:12", "T.copy(C, D)", "1", "20 cycles", "10.0 %"],
    ]


def test_a_click_on_a_line_selects_its_events(tab: Tab) -> None:
    tab.page.get_by_role("button", name="kernel.py:9").click()
    assert tab.selected() == [0, 1, 2]


def test_the_lines_of_what_is_focused_or_selected_stand_out(tab: Tab) -> None:
    on = tab.page.locator(".tlt-lines .tlt-on button")
    assert on.count() == 0
    tab.page.mouse.click(*tab.at(3))
    assert on.all_inner_texts() == ["kernel.py:12"]
    tab.press("Escape")
    tab.scene("scene.select(Uint32Array.of(events.positionOf(1)))")
    assert on.all_inner_texts() == ["kernel.py:9"]


def test_hidden_events_and_the_unit_count(tab: Tab) -> None:
    tab.scene("scene.set({ hiddenNames: ['store'] })")
    assert [line[0] for line in lines(tab)] == ["kernel.py:9"]
    tab.scene("scene.set({ unit: 'ns' })")
    assert lines(tab)[0][3] == "90.0 ns"


def test_the_button_shows_and_hides_them(tab: Tab) -> None:
    button = tab.page.get_by_role("button", name="Lines")
    if not button.is_visible():
        tab.page.get_by_role("button", name="more tools").click()
    button.click()
    assert not tab.page.locator(".tlt-lines").is_visible()
    assert tab.errors == []
