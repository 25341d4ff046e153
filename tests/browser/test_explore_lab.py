"""``explore`` in real front ends: JupyterLab and Notebook 7, marimo, and Voilà, where nobody sees code."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lab
import pytest
from matmul_cell import BUILDER

from tltrace_nb.base.palette import PALETTE

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
expect = sync_api.expect
pytestmark = [pytest.mark.browser, pytest.mark.wide]

CALL = """\
explorer = explore(matmul, M=128, N=128, K=128, block_M=[32, 64, 128], block_K=[16, 32, 512], stages=(1, 4),
                   gpu=["classroom", "h200"])
explorer"""
KEPT = """\
import threading
from ipywidgets.widgets.widget import _instances
print("kept", len(_instances), sum(thread.name == "tltrace explore" for thread in threading.enumerate()))"""
CELLS = [BUILDER, CALL, KEPT]
EXPLORER, KEPT_CELL = 1, 2
DRAWN = ".tlt[data-drawn]"
BLOCK_M, BLOCK_K, STAGES = range(3)


@dataclass
class Session:
    """An explorer that a front end shows, and what the page complained of."""

    tab: Any
    home: Any
    errors: list[str]

    @property
    def title(self) -> Any:
        return self.home.locator(".tlt-title")

    def press(self, slider: int, key: str) -> None:
        self.home.locator(".noUi-handle").nth(slider).focus()
        self.tab.keyboard.press(key)

    def pixels(self) -> list[int]:
        """Of the lanes: how many pixels have a colour of the palette, and how many have one half as strong."""
        palette = [list(bytes.fromhex(color[1:])) for color in PALETTE]
        found: list[int] = self.home.locator(".tlt-stage canvas").first.evaluate(PIXELS, palette)
        return found


PIXELS = """(canvas, palette) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const near = (i, color, share) => color.every((c, n) => Math.abs(data[i + n] - (255 + (c - 255) * share)) <= 2);
  let [full, pale] = [0, 0];
  for (let i = 0; i < data.length; i += 4) {
    if (palette.some((color) => near(i, color, 1))) full++;
    else if (palette.some((color) => near(i, color, 0.5))) pale++;
  }
  return [full, pale];
}"""


def watched(tab: Any) -> list[str]:
    """What goes wrong in a page from now on, but for files that the front end looks for in vain."""
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on(
        "console",
        lambda said: (
            errors.append(said.text) if said.type == "error" and "Failed to load resource" not in said.text else None
        ),
    )
    return errors


@pytest.fixture(scope="module", params=["lab", "notebook"])
def session(
    request: pytest.FixtureRequest, browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    app = request.param
    pytest.importorskip({"lab": "jupyterlab", "notebook": "notebook"}[app])
    with lab.served(tmp_path_factory.mktemp(app), CELLS, app) as address:
        tab = lab.opened(browser, address, app)
        errors = watched(tab)
        lab.run_all(tab, app)
        home = lab.cell(tab, EXPLORER)
        try:
            home.locator(DRAWN).wait_for(timeout=lab.PATIENCE_MS)
            lab.cell(tab, KEPT_CELL).locator(".jp-OutputArea-output").wait_for(timeout=lab.PATIENCE_MS)
        except sync_api.TimeoutError:
            pytest.fail(f"the cells did not run: {home.inner_text()}")
        yield Session(tab, home, errors)
        tab.close()


def test_the_first_run_is_under_the_controls_with_its_facts(session: Session) -> None:
    expect(session.title).to_have_text("gemm: block_M=64, block_K=32, stages=2, classroom")
    expect(session.home.locator(".widget-readout").nth(STAGES)).to_have_text("2")
    expect(session.home).to_contain_text("occupancy")
    expect(session.home.locator(".tlt-before")).to_have_count(0)


def test_an_arrow_key_on_a_slider_moves_the_timeline_and_leaves_a_ghost(session: Session) -> None:
    _, pale = session.pixels()
    session.press(STAGES, "ArrowRight")
    expect(session.title).to_have_text("gemm: block_M=64, block_K=32, stages=3, classroom")
    expect(session.home.locator(".tlt-before")).to_have_attribute("aria-pressed", "true")
    session.tab.wait_for_timeout(600)
    full, with_ghost = session.pixels()
    assert full > 500
    assert with_ghost > pale + 200
    session.home.locator(".tlt-before").click()
    session.tab.wait_for_timeout(300)
    assert session.pixels()[1] < with_ghost - 200
    session.home.locator(".tlt-before").click()
    expect(session.home).to_contain_text(re.compile(r"duration [\d.,]+ (µs|ns)( → |, unchanged)"))


def test_the_menu_of_gpus_changes_the_model(session: Session) -> None:
    session.home.locator(".widget-dropdown select").select_option("h200")
    expect(session.home.locator(".tlt-badge")).to_have_text("virtual GPU (h200 model)")
    session.home.locator(".widget-dropdown select").select_option("classroom")
    expect(session.home.locator(".tlt-badge")).to_have_text("virtual GPU (classroom model)")


def test_a_combination_that_fails_says_why_where_the_lanes_were_and_the_next_one_runs(session: Session) -> None:
    session.press(BLOCK_K, "End")
    session.press(STAGES, "End")
    words = session.home.locator(".tlt-instead")
    expect(words).to_contain_text("block_K=512, stages=4, classroom does not run:")
    expect(words).to_contain_text("bytes of shared memory")
    expect(session.home.locator(".tlt-stage")).to_be_hidden()
    session.press(BLOCK_K, "Home")
    expect(words).to_be_hidden()
    expect(session.home.locator(".tlt-stage")).to_be_visible()
    expect(session.title).to_contain_text("block_K=16, stages=4")


def test_many_fast_moves_end_at_the_last_one_with_one_timeline(session: Session) -> None:
    session.press(STAGES, "Home")
    for key in ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight"] * 4:
        session.tab.keyboard.press(key)
    stages = session.home.locator(".widget-readout").nth(STAGES).inner_text()
    expect(session.title).to_contain_text(f"stages={stages}", timeout=20_000)
    session.tab.wait_for_timeout(1500)
    expect(session.title).to_contain_text(f"stages={stages}")
    expect(session.home.locator(".tlt")).to_have_count(1)
    expect(session.home.locator(".tlt canvas")).to_have_count(3)


def test_running_the_cell_again_ends_the_explorer_before(session: Session) -> None:
    lab.run(session.tab, KEPT_CELL)
    before = lab.cell(session.tab, KEPT_CELL).locator(".jp-OutputArea-output").last.inner_text()
    for _ in range(3):
        lab.run(session.tab, EXPLORER)
        session.home.locator(DRAWN).wait_for(timeout=lab.PATIENCE_MS)
    lab.run(session.tab, KEPT_CELL)
    after = lab.cell(session.tab, KEPT_CELL).locator(".jp-OutputArea-output").last.inner_text()
    assert after == before
    assert before.split()[-1] == "1"


def test_nothing_went_wrong_in_the_page(session: Session) -> None:
    assert session.errors == []


@contextmanager
def application(command: list[str], home: Path, port: int, ready: str) -> Iterator[str]:
    """The address of a server that runs ``command`` in ``home``."""
    address, log = f"http://127.0.0.1:{port}", home / "server.log"
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [sys.executable, "-m", *command], cwd=home, env=lab.environment(home), stdout=out, stderr=out
        ) as server,
    ):
        try:
            lab.wait_for(f"{address}{ready}", server, log)
            yield address
        finally:
            server.terminate()
            server.wait(20)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


MARIMO = """
import marimo
app = marimo.App()

@app.cell
def _():
    from builder import explore, matmul
    explore(matmul, M=128, N=128, K=128, block_M=[32, 64, 128], block_K=[16, 32, 512], stages=(1, 4),
            gpu=["classroom", "h200"])
    return
"""


def test_marimo_shows_it_with_the_same_controls(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("marimo", reason="marimo is not installed")
    (tmp_path / "builder.py").write_text(BUILDER)
    (tmp_path / "app.py").write_text(MARIMO)
    port = free_port()
    command = ["marimo", "run", "app.py", "--headless", "--no-token", "--host", "127.0.0.1", "--port", str(port)]
    with application(command, tmp_path, port, "/health") as address:
        tab = browser.new_page(viewport={"width": 1300, "height": 1000})
        errors = watched(tab)
        tab.goto(address)
        title = tab.locator(".tlt-title")
        expect(title).to_contain_text("block_M=64, block_K=32, stages=2, classroom", timeout=lab.PATIENCE_MS)
        block_m, block_k, stages = (tab.locator(".tlt-x-strip input").nth(n) for n in range(3))
        stages.focus()
        tab.keyboard.press("ArrowRight")
        expect(title).to_contain_text("stages=3, classroom")
        expect(tab.locator(".tlt-before")).to_be_visible()
        expect(tab.locator(".tlt-x-line")).to_contain_text("duration")
        tab.locator(".tlt-x-strip select").select_option("h200")
        expect(tab.locator(".tlt-badge")).to_contain_text("h200 model")
        block_k.focus()
        tab.keyboard.press("End")
        expect(tab.locator(".tlt-instead")).to_contain_text("bytes of shared memory")
        block_k.focus()
        tab.keyboard.press("Home")
        expect(tab.locator(".tlt-stage")).to_be_visible()
        block_m.focus()
        tab.keyboard.press("Home")
        expect(title).to_contain_text("block_M=32, block_K=16, stages=3, h200")
        assert errors == []
        tab.close()


def test_voila_shows_it_without_code(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("voila", reason="Voilà is not installed")
    import nbformat

    cells = [nbformat.v4.new_code_cell(text) for text in (BUILDER, CALL)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "lesson.ipynb")
    port = free_port()
    command = ["voila", "lesson.ipynb", "--no-browser", f"--port={port}", "--Voila.ip=127.0.0.1"]
    with application(command, tmp_path, port, "/voila/static/voila.js") as address:
        tab = browser.new_page(viewport={"width": 1300, "height": 1000})
        errors = watched(tab)
        tab.goto(address)
        title = tab.locator(".tlt-title")
        expect(title).to_contain_text("stages=2, classroom", timeout=lab.PATIENCE_MS)
        own = len(errors)  # Voilà's, about its extensions
        tab.locator(".noUi-handle").nth(STAGES).focus()
        tab.keyboard.press("ArrowRight")
        expect(title).to_contain_text("stages=3, classroom")
        expect(tab.locator(".tlt-before")).to_be_visible()
        expect(tab.locator("body")).not_to_contain_text("alloc_shared")
        assert errors[own:] == []
        tab.close()
