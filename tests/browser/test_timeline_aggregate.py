"""All CTAs at once: how durations are spread, and the average iteration."""

from typing import Any

import pytest
from timeline_tab import Tab

from tltrace_nb import datasets

pytestmark = pytest.mark.browser
TRACE = datasets.load("h200/roles_split")


@pytest.fixture
def tab(browser: Any) -> Any:
    tab = Tab(browser, viewport={"width": 1400, "height": 1200})
    tab.open(TRACE, view={"unit": "cycles"})
    tab.press("i")
    yield tab
    assert tab.errors == []
    tab.page.close()


def table(tab: Tab) -> dict[str, list[str]]:
    rows = tab.page.locator(".tlt-aggregate tbody tr").all()
    cells = [[cell.inner_text() for cell in row.locator("td").all()] for row in rows]
    return {row[0]: row[2:] for row in cells}


def test_each_name_has_its_percentiles_over_all_ctas(tab: Tab) -> None:
    mma = TRACE.events.query("name == 'mma'")["duration"]
    shown = [float(text.replace(",", "")) for text in table(tab)["mma"]]
    wanted = [len(mma), mma.min(), *mma.quantile([0.1, 0.5, 0.9, 0.99]), mma.max()]
    assert shown == pytest.approx(wanted, abs=0.06)


def test_a_selection_is_what_it_is_about(tab: Tab) -> None:
    tab.scene("scene.set({ query: 'mma payload=3' })")
    tab.scene("scene.select(scene.matches)")
    assert list(table(tab)) == ["mma"]
    assert table(tab)["mma"][0] == str(len(TRACE.events.query("name == 'mma' and payload == 3")))


def test_a_bar_of_a_histogram_selects_its_events(tab: Tab) -> None:
    row = tab.page.locator(".tlt-aggregate tbody tr").filter(has_text="mma")
    row.locator("svg").click(position={"x": 2, "y": 10})
    durations = TRACE.events.query("name == 'mma'")["duration"]
    first = durations[durations < durations.min() + (durations.max() - durations.min()) / 32]
    assert tab.selected() == first.index.tolist()


def test_the_average_iteration_is_drawn_and_begins_where_the_reader_says(tab: Tab) -> None:
    heading = tab.page.locator(".tlt-aggregate h3").nth(1)
    mma = TRACE.events.query("name == 'mma'")
    period = mma.groupby("cta")["start"].diff().median()
    assert heading.inner_text() == f"The average iteration, from mma to mma: {period:,.0f} cycles"
    assert tab.page.locator(".tlt-fold").count() == 2
    tab.page.mouse.click(*tab.at(int(TRACE.events.query("name == 'load'").index[3])))
    assert heading.inner_text().startswith("The average iteration, from load to load: ")


def test_it_is_hidden_again(tab: Tab) -> None:
    tab.press("i")
    assert not tab.page.locator(".tlt-aggregate").is_visible()
