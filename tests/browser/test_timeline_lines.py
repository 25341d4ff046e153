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


# Where the timeline is under a notebook's cell

NOTEBOOK = """(cells) => {
  document.querySelectorAll(".jp-CodeCell").forEach((each) => each.remove());
  document.body.classList.toggle("jp-Notebook", cells.length > 0);
  for (const [number, text] of cells) {
    const cell = document.createElement("div");
    cell.className = "jp-CodeCell";
    cell.style.marginBottom = "2000px";
    cell.innerHTML = "<div class=jp-InputPrompt></div><div class=cm-content></div>";
    cell.firstChild.textContent = `[${number}]:`;
    for (const line of text.split("\\n")) {
      const element = document.createElement("div");
      element.className = "cm-line";
      element.textContent = line;
      cell.lastChild.append(element);
    }
    document.body.prepend(cell);
  }
}"""
MARKED = """() => [...document.querySelectorAll(".cm-line")].filter((each) => each.getAnimations().length)
  .map((each) => [each.textContent.trim(), each.getBoundingClientRect().top > 0])"""
IN_CELL = {"In [3]:2": "T.gemm(A, B, C)"}


@pytest.fixture
def of_cell(shared: Tab) -> Any:
    """A timeline whose one event is of the second line of cell 3; what is in the notebook is the test's."""
    trace = make_trace([span("mma", 0, 60, source="In [3]:2")])

    def of(*cells: tuple[int, str]) -> Tab:
        shared.do(NOTEBOOK, [list(each) for each in cells])
        shared.open_wire(encode(trace, code=IN_CELL), view={"unit": "cycles"})
        shared.press("o")
        return shared

    yield of
    shared.do(NOTEBOOK, [])


def test_code_goes_to_its_line_in_the_cell_with_its_number(of_cell: Any) -> None:
    tab = of_cell((2, "T.gemm(A, B, C)"), (3, "for k in T.Pipelined(4):\n    T.gemm(A, B, C)\nT.gemm(A, B, C)"))
    tab.page.get_by_role("button", name="T.gemm").click()
    assert tab.do(MARKED) == [["T.gemm(A, B, C)", True]]
    assert tab.do("() => [...document.querySelectorAll('.cm-line')].findIndex((e) => e.getAnimations().length)") == 1
    assert tab.do("() => document.activeElement.className") == "tlt-stage"


def test_so_does_the_source_of_an_event(of_cell: Any) -> None:
    tab = of_cell((3, "\n\nT.gemm(A, B, C)  # two lines were added"))
    tab.page.mouse.click(*tab.at(0))
    tab.page.locator(".tlt-panel").get_by_role("button", name="In [3]:2").click()
    assert tab.do(MARKED) == [["T.gemm(A, B, C)  # two lines were added", True]]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([(4, "T.gemm(A, B, C)")], "there is no cell In [3] now"),
        ([(3, "print()")], "cell In [3] has changed since: line 2 was T.gemm(A, B, C)"),
    ],
)
def test_a_cell_that_is_another_now_is_said(of_cell: Any, cells: list[tuple[int, str]], said: str) -> None:
    tab = of_cell(*cells)
    tab.page.get_by_role("button", name="T.gemm").click()
    alert = tab.page.locator(".tlt-note[role=alert]", has_text="In [3]")
    alert.wait_for()
    assert alert.inner_text().startswith(said)
    assert tab.do(MARKED) == []


def test_beside_no_notebook_the_source_is_text(of_cell: Any) -> None:
    tab = of_cell()
    assert tab.page.locator(".tlt-source").count() == 0
