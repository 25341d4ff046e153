"""The extension in a real JupyterLab in a real browser: load, show, trace a cell, fail."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from synthetic import Rec, build, instant, span, table

from tltrace_nb import Trace
from tltrace_nb.core.sites import Writer

pytest.importorskip("jupyterlab", reason="JupyterLab is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
pytestmark = pytest.mark.browser
TOKEN = "only-this-test"
PATIENCE_S = 90
PATIENCE_MS = 1000 * PATIENCE_S
TRIES = 4
STEPS = 6
CELLS = [
    "%load_ext tltrace_nb\nimport tltrace_nb\nfrom tltrace_nb import trace",
    "loaded = tltrace_nb.load('gemm.tltrace')\nloaded.show()",
    "%%tltrace -o captured\ntrace.captured(loaded)\n'the last value'",
    "captured is loaded, trace.enabled",
    "%tltrace?",
    "%%tltrace\ntrace.captured(loaded)\n1 / 0",
    "print('never reached')",
]
LOADED, TRACED, STATE, HELP, FAILED, AFTER = range(1, 7)


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
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab that serves the notebook and knows nothing of this user's settings."""
    home = tmp_path_factory.mktemp("lab")
    work = home / "work"
    work.mkdir()
    gemm().save(work / "gemm.tltrace")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text, id=f"cell{n}") for n, text in enumerate(CELLS)],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    nbformat.write(notebook, work / "demo.ipynb")
    page_config = home / "config" / "labconfig" / "page_config.json"
    page_config.parent.mkdir(parents=True)
    disabled = {"@jupyterlab/apputils-extension:announcements": True}
    page_config.write_text(json.dumps({"disabledExtensions": disabled}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    root = str(Path(__file__).parents[2])
    environment = os.environ | {
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTER_TOKEN": TOKEN,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={work}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    log = home / "server.log"
    with log.open("wb") as out, subprocess.Popen(command, env=environment, stdout=out, stderr=out) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/api", server, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            stop(server, port)


def wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-3000:]}")


def stop(server: subprocess.Popen[bytes], port: int) -> None:
    """Ask the server to stop, so that it ends its kernels; end it if it does not."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/shutdown", method="POST", headers={"Authorization": f"token {TOKEN}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=5):
            pass
        server.wait(20)
    except (urllib.error.URLError, ConnectionError, TimeoutError, subprocess.TimeoutExpired):
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()


@pytest.fixture(scope="module")
def page(browser: Any, lab: str) -> Iterator[Any]:
    """The notebook after "Run All Cells", as far as it goes; ``foreign`` lists requests to other machines."""
    tab = browser.new_page(viewport={"width": 1400, "height": 2600})
    tab.foreign = []

    def gate(route: Any) -> None:
        if route.request.url.startswith(lab):
            route.continue_()
        else:
            tab.foreign.append(route.request.url)
            route.abort()

    tab.route("**/*", gate)
    tab.goto(f"{lab}/lab/tree/demo.ipynb?reset&token={TOKEN}")
    try:
        run_all(tab)
    except sync_api.TimeoutError:
        pytest.fail(f"the cells did not run:\n{tab.locator('.jp-NotebookPanel, .jp-Dialog').all_inner_texts()}")
    yield tab
    picture = os.environ.get("TLTRACE_SCREENSHOT")
    if picture:
        tab.screenshot(path=picture)


def run_all(tab: Any) -> None:
    """Choose "Run All Cells", again if the notebook was not ready for it, and wait for the cell that fails."""
    tab.locator(".jp-Notebook .jp-CodeCell").nth(AFTER).wait_for(timeout=PATIENCE_MS)
    tab.locator(".jp-StatusBar-TextItem", has_text="| Idle").wait_for(timeout=PATIENCE_MS)
    for attempt in range(TRIES):
        tab.get_by_role("menuitem", name="Run", exact=True).click()
        tab.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        started = cell(tab, 0).locator(".jp-InputPrompt").filter(has_text=re.compile(r"\[(\*|\d+)\]"))
        try:
            started.wait_for(timeout=PATIENCE_MS / TRIES)
            break
        except sync_api.TimeoutError:
            if attempt == TRIES - 1:
                raise
    cell(tab, FAILED).get_by_text("ZeroDivisionError: division by zero").wait_for(timeout=PATIENCE_MS)


def cell(tab: Any, number: int) -> Any:
    return tab.locator(".jp-Notebook .jp-CodeCell").nth(number)


@pytest.mark.parametrize("number", [LOADED, TRACED, FAILED])
def test_the_timeline_is_drawn_under_the_cell(page: Any, number: int) -> None:
    bars = cell(page, number).locator(".js-plotly-plot .bars .point path")
    sync_api.expect(bars).to_have_count(2 * 2 * STEPS, timeout=PATIENCE_MS)
    box = bars.first.bounding_box()
    assert box["width"] > 1
    assert box["height"] > 1


def test_the_payload_is_on_the_bar(page: Any) -> None:
    label = cell(page, LOADED).locator(".js-plotly-plot .bars .point text").first
    sync_api.expect(label).to_contain_text("copy")


def test_the_last_value_of_a_traced_cell_is_its_result(page: Any) -> None:
    result = cell(page, TRACED).locator(".jp-OutputArea-executeResult")
    sync_api.expect(result).to_contain_text("'the last value'")


def test_the_trace_is_in_the_variable_and_the_switch_is_off(page: Any) -> None:
    sync_api.expect(cell(page, STATE).locator(".jp-OutputArea-executeResult")).to_contain_text("(True, False)")


def test_an_error_is_one_usual_traceback_and_stops_the_run(page: Any) -> None:
    errors = cell(page, FAILED).locator(".jp-OutputArea-output", has_text="ZeroDivisionError")
    sync_api.expect(errors).to_have_count(1)
    sync_api.expect(errors).not_to_contain_text("run_cell_magic")
    sync_api.expect(cell(page, AFTER).locator(".jp-OutputArea-output")).to_have_count(0)


def test_nothing_was_fetched_from_elsewhere(page: Any) -> None:
    assert page.foreign == []
