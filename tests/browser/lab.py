"""A real JupyterLab, or Notebook 7, that serves one notebook and knows nothing of this user's settings."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TOKEN = "only-this-test"
PATIENCE_S = 180
PATIENCE_MS = 1000 * PATIENCE_S
TRIES = 4
APPS = {"lab": ("jupyterlab", "lab/tree/demo.ipynb?reset&"), "notebook": ("notebook", "notebooks/demo.ipynb?")}
"""The module that starts each front end, and where it shows the notebook."""


def needs(*packages: str) -> None:
    """Skip a module where a package is missing, which is not imported: JupyterLab takes seconds."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed", allow_module_level=True)


@contextmanager
def served(home: Path, cells: Sequence[str], app: str = "lab", log: str = "server.log") -> Iterator[str]:
    """The address of a running server that shows ``demo.ipynb``, with these cells if ``home`` did not have it yet."""
    import nbformat

    work = home / "work"
    work.mkdir(exist_ok=True)
    if not (work / "demo.ipynb").exists():
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(text, id=f"cell{n}") for n, text in enumerate(cells)],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        nbformat.write(notebook, work / "demo.ipynb")
    page_config = home / "config" / "labconfig" / "page_config.json"
    page_config.parent.mkdir(parents=True, exist_ok=True)
    disabled = {"@jupyterlab/apputils-extension:announcements": True}
    page_config.write_text(json.dumps({"disabledExtensions": disabled}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    module, _ = APPS[app]
    command = [
        sys.executable, "-m", module, "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={work}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    path = home / log
    with path.open("wb") as out, subprocess.Popen(command, env=environment(home), stdout=out, stderr=out) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/api", server, path)
            yield f"http://127.0.0.1:{port}"
        finally:
            stop(server, port)


def environment(home: Path) -> dict[str, str]:
    """This process's environment, with Jupyter's folders in ``home`` and this checkout's package."""
    root = str(Path(__file__).parents[2])
    return os.environ | {
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTER_TOKEN": TOKEN,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
    }


def wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-3000:]}")


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


def opened(browser: Any, address: str, app: str = "lab", height: int = 2600) -> Any:
    """A tab with the notebook; its ``foreign`` lists requests to other machines, which fail."""
    tab = browser.new_page(viewport={"width": 1400, "height": height})
    tab.foreign = []

    def gate(route: Any) -> None:
        if route.request.url.startswith(address):
            route.continue_()
        else:
            tab.foreign.append(route.request.url)
            route.abort()

    tab.route("**/*", gate)
    # On a busy machine a front end may ask, which kernel to use for example: it gets what it proposes.
    tab.add_locator_handler(tab.locator("dialog.jp-Dialog .jp-mod-accept"), lambda button: button.last.click())
    tab.goto(f"{address}/{APPS[app][1]}token={TOKEN}")
    tab.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=PATIENCE_MS)
    return tab


def run_all(tab: Any, app: str = "lab") -> None:
    """Choose "Run All Cells", again if the notebook was not ready for it."""
    from playwright import sync_api

    if app == "lab":
        tab.locator(".jp-StatusBar-TextItem", has_text="| Idle").wait_for(timeout=PATIENCE_MS)
    else:
        tab.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for(
            state="attached", timeout=PATIENCE_MS
        )
    for attempt in range(TRIES):
        tab.get_by_role("menuitem", name="Run", exact=True).click()
        tab.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        started = cell(tab, 0).locator(".jp-InputPrompt").filter(has_text=re.compile(r"\[(\*|\d+)\]"))
        try:
            started.wait_for(timeout=PATIENCE_MS / TRIES)
            return
        except sync_api.TimeoutError:
            if attempt == TRIES - 1:
                raise


def run(tab: Any, number: int) -> None:
    """Run one cell again and wait until it is done."""
    one = cell(tab, number)
    before = one.locator(".jp-InputArea-prompt").first.inner_text()
    one.locator(".cm-content").click()
    tab.keyboard.press("Control+Enter")
    tab.wait_for_function(
        "([n, before]) => { const p = document.querySelectorAll('.jp-Notebook .jp-CodeCell')[n]"
        ".querySelector('.jp-InputArea-prompt').innerText; return p !== before && /\\d/.test(p); }",
        arg=[number, before],
        timeout=PATIENCE_MS,
    )


def cell(tab: Any, number: int) -> Any:
    return tab.locator(".jp-Notebook .jp-CodeCell").nth(number)
