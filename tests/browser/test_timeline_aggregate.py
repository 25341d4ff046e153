"""All CTAs at once: how durations are spread, what they are made of, and the average iteration."""

from typing import Any

import pytest
from timeline_tab import Tab

from tltrace_nb import datasets

pytestmark = pytest.mark.browser
TRACE = datasets.load("h200/roles_split")
NESTED = datasets.load("h200/own_kernel")


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


def test_it_says_that_a_filter_leaves_some(tab: Tab) -> None:
    def heading() -> str:
        return tab.page.locator(".tlt-aggregate h3").filter(has_text="Durations").inner_text()

    assert heading().startswith("Durations of all CTAs, ")
    tab.scene("scene.set({ query: 'cta=0', filter: true })")
    tab.page.wait_for_function(
        "document.querySelector('.tlt-aggregate').textContent.includes('Durations of what is shown')"
    )


def test_a_bar_of_a_histogram_selects_its_events(tab: Tab) -> None:
    row = tab.page.locator(".tlt-aggregate tbody tr").filter(has_text="mma")
    row.locator("svg").click(position={"x": 2, "y": 10})
    durations = TRACE.events.query("name == 'mma'")["duration"]
    first = durations[durations < durations.min() + (durations.max() - durations.min()) / 32]
    assert tab.selected() == first.index.tolist()


def test_the_average_iteration_is_drawn_and_begins_where_the_reader_says(tab: Tab) -> None:
    heading = tab.page.locator(".tlt-aggregate h3").nth(2)
    mma = TRACE.events.query("name == 'mma'")
    period = mma.groupby("cta")["start"].diff().median()
    assert heading.inner_text() == f"The average iteration, from mma to mma: {period:,.0f} cycles"
    assert tab.page.locator(".tlt-fold").count() == 2
    tab.page.mouse.click(*tab.at(int(TRACE.events.query("name == 'load'").index[3])))
    assert heading.inner_text().startswith("The average iteration, from load to load: ")


def flame(tab: Tab) -> list[str]:
    tab.open(NESTED, view={"unit": "cycles"})
    tab.press("i")
    return [box.get_attribute("title") for box in tab.page.locator(".tlt-flame button").all()]


def test_the_flame_graph_has_every_path_with_its_count_and_times(tab: Tab) -> None:
    frame = NESTED.nesting()
    said = flame(tab)
    assert [text.rpartition(": ")[0] for text in said] == frame["path"].tolist()
    first = frame.iloc[0]
    assert said[0] == (
        f"{first['path']}: {first['count']} times, {first['total']:,} cycles,"
        f" {first['self']:,} cycles of it in no range inside"
    )


def test_what_is_inside_a_range_is_below_it_and_as_wide_as_its_time(tab: Tab) -> None:
    flame(tab)
    outer, inner = (tab.page.locator(".tlt-flame button").nth(n).bounding_box() for n in (0, 1))
    rows = NESTED.nesting()["total"]
    assert inner["y"] > outer["y"] + outer["height"] - 1
    assert inner["x"] == pytest.approx(outer["x"], abs=1)
    assert inner["width"] / outer["width"] == pytest.approx(rows[1] / rows[0], rel=0.01)


def test_a_click_on_a_path_selects_its_ranges_and_those_inside_and_is_undone(tab: Tab) -> None:
    everything = flame(tab)
    tab.page.locator(".tlt-flame button").first.click()
    loops = NESTED.events.query("name == 'loop k'").index
    inside = NESTED.events[NESTED.events["parent"].isin(loops) & (NESTED.events["kind"] == "range")].index
    assert tab.selected() == sorted([*loops, *inside])
    paths = NESTED.nesting()["path"]
    assert tab.page.locator(".tlt-flame button").count() == paths.str.startswith("loop k").sum()
    tab.press("Backspace")
    assert tab.page.locator(".tlt-flame button").count() == len(everything)


def test_it_is_hidden_again(tab: Tab) -> None:
    tab.press("i")
    assert not tab.page.locator(".tlt-aggregate").is_visible()
