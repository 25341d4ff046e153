"""The extension in a real JupyterLab in a real browser: load, show, trace a cell, fail."""

import os
from collections.abc import Iterator
from typing import Any

import lab
import pytest
from synthetic import Rec, build, instant, span, table

from tltrace_nb import Trace
from tltrace_nb.data.sites import Writer

lab.needs("jupyterlab", "nbformat")
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
pytestmark = pytest.mark.browser
STEPS = 6
CELLS = [
    "%load_ext tltrace_nb\nimport tltrace_nb\nfrom tltrace_nb import trace",
    "loaded = tltrace_nb.load('gemm.tltrace')\nloaded.show()",
    "loaded.show(renderer='plotly')",
    "%%tltrace -o captured\ntrace.captured(loaded)\n'the last value'",
    "captured is loaded, trace.enabled",
    "%tltrace?",
    "%%tltrace\ntrace.captured(loaded)\n1 / 0",
    "print('never reached')",
]
LOADED, PLOTLY, TRACED, STATE, HELP, FAILED, AFTER = range(1, 8)


def gemm() -> Trace:
    """Two CTAs of a producer and a consumer."""
    of = table(
        *span(0, "copy", group="producer"),
        *span(2, "mma", group="consumer"),
        instant(4, "done", group="consumer"),
        writers=(Writer(0, "producer", "producer", 0), Writer(1, "consumer", "consumer", 128)),
        grid=(2, 1, 1),
        capacity=32,
        flows=(("copy", "mma"),),
    )
    records = []
    for cta in range(2):
        for k in range(STEPS):
            begin = 1500 + 1000 * k
            records += [Rec(cta, 0, begin, 0, k), Rec(cta, 0, begin + 700, 1, k)]
            records += [Rec(cta, 1, begin + 800, 2, k), Rec(cta, 1, begin + 1500, 3, k)]
        records.append(Rec(cta, 1, 9000, 4, -1))
    return Trace(build(of, records, rows=2), of)


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The notebook after "Run All Cells", as far as it goes."""
    home = tmp_path_factory.mktemp("lab")
    (home / "work").mkdir()
    gemm().save(home / "work" / "gemm.tltrace")
    with lab.served(home, CELLS) as address:
        tab = lab.opened(browser, address)
        try:
            lab.run_all(tab)
            lab.cell(tab, FAILED).get_by_text("ZeroDivisionError: division by zero").wait_for(timeout=lab.PATIENCE_MS)
        except sync_api.TimeoutError:
            pytest.fail(f"the cells did not run:\n{tab.locator('.jp-NotebookPanel, .jp-Dialog').all_inner_texts()}")
        yield tab
        picture = os.environ.get("TLTRACE_SCREENSHOT")
        if picture:
            tab.screenshot(path=picture)


@pytest.mark.some(1)
@pytest.mark.parametrize("number", [LOADED, TRACED, FAILED])
def test_the_timeline_is_drawn_under_the_cell(page: Any, number: int) -> None:
    timeline = lab.cell(page, number).locator(".tlt[data-drawn]")
    sync_api.expect(timeline).to_have_count(1, timeout=lab.PATIENCE_MS)
    sync_api.expect(timeline.locator(".tlt-bar")).to_contain_text(f"{2 * 2 * STEPS + 2} events")


def test_plotly_draws_it_where_it_is_asked_for(page: Any) -> None:
    bars = lab.cell(page, PLOTLY).locator(".js-plotly-plot .bars .point path")
    sync_api.expect(bars).to_have_count(2 * 2 * STEPS, timeout=lab.PATIENCE_MS)
    box = bars.first.bounding_box()
    assert box["width"] > 1
    assert box["height"] > 1
    label = lab.cell(page, PLOTLY).locator(".js-plotly-plot .bars .point text").first
    sync_api.expect(label).to_contain_text("copy")


def test_the_last_value_of_a_traced_cell_is_its_result(page: Any) -> None:
    result = lab.cell(page, TRACED).locator(".jp-OutputArea-executeResult")
    sync_api.expect(result).to_contain_text("'the last value'")


def test_the_trace_is_in_the_variable_and_the_switch_is_off(page: Any) -> None:
    sync_api.expect(lab.cell(page, STATE).locator(".jp-OutputArea-executeResult")).to_contain_text("(True, False)")


def test_an_error_is_one_usual_traceback_and_stops_the_run(page: Any) -> None:
    errors = lab.cell(page, FAILED).locator(".jp-OutputArea-output", has_text="ZeroDivisionError")
    sync_api.expect(errors).to_have_count(1)
    sync_api.expect(errors).not_to_contain_text("run_cell_magic")
    sync_api.expect(lab.cell(page, AFTER).locator(".jp-OutputArea-output")).to_have_count(0)


def test_nothing_was_fetched_from_elsewhere(page: Any) -> None:
    assert page.foreign == []
