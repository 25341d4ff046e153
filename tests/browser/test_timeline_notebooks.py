"""The timeline in real notebooks: JupyterLab and Notebook 7, with a kernel and without; nbconvert; viewers; marimo."""

import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lab
import pytest

lab.needs("jupyterlab", "notebook")
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.wide]

KERNEL = """\
%load_ext tltrace_nb
import tilelang.language as T
import torch
from tltrace_nb import Timeline, trace
from ipywidgets.widgets.widget import _instances

@trace.jit(out_idx=[-1])
def scale(N, block=128):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, block), threads=block) as bx:
            with trace.range("scale", payload=bx):
                for i in T.Parallel(block):
                    B[bx * block + i] = A[bx * block + i] * 2.0
            trace.record("done", payload=bx)

    return main"""
SLIDERS = """\
import ipywidgets
def chosen(cta):
    display(Timeline(t, ctas=[cta]))
cta = ipywidgets.IntSlider(max=7)
display(cta, ipywidgets.interactive_output(chosen, {"cta": cta}))"""
CELLS = [
    KERNEL,
    "%%tltrace --device virtual -o t\nscale(1024)(torch.ones(1024))",
    "timeline = t.timeline()\ntimeline",
    'print(timeline.selection.groupby("name", observed=True).duration.describe())',
    "import gc\ngc.collect()\nprint('kept', len(_instances), len(__import__('comm').get_comm_manager().comms))",
    SLIDERS,
]
LOAD, TRACED, SHOWN, DESCRIBED, KEPT, SLIDER = range(len(CELLS))
DRAWN = ".tlt[data-drawn]"


@dataclass
class Session:
    """A notebook that has run in a front end."""

    tab: Any
    app: str
    home: Path

    def timeline(self, number: int) -> Any:
        return lab.cell(self.tab, number).locator(DRAWN)

    def stage(self, number: int) -> Any:
        stage = self.timeline(number).locator(".tlt-stage")
        stage.scroll_into_view_if_needed()
        return stage

    def text(self, number: int) -> str:
        return str(lab.cell(self.tab, number).locator(".jp-OutputArea-output").last.inner_text())


@pytest.fixture(scope="module", params=["lab", "notebook"])
def session(
    request: pytest.FixtureRequest, browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    """The cells after "Run All Cells"."""
    app, home = request.param, tmp_path_factory.mktemp(request.param)
    with lab.served(home, CELLS, app) as address:
        tab = lab.opened(browser, address, app)
        lab.run_all(tab, app)
        try:
            lab.cell(tab, SLIDER).locator(DRAWN).wait_for(timeout=lab.PATIENCE_MS)
        except sync_api.TimeoutError:
            pytest.fail(f"the cells did not run: {lab.cell(tab, SLIDER).inner_text()}")
        yield Session(tab, app, home)
        tab.close()


def test_the_timeline_is_under_the_cell_and_the_still_picture_is_not(session: Session) -> None:
    for number in (TRACED, SHOWN):
        sync_api.expect(session.timeline(number).locator(".tlt-bar")).to_contain_text("16 events")
        still = lab.cell(session.tab, number).locator(".tltrace-still")
        sync_api.expect(still).to_have_count(1)
        sync_api.expect(still).to_be_hidden()


def test_the_simulated_trace_has_its_badge(session: Session) -> None:
    sync_api.expect(session.timeline(TRACED).locator(".tlt-badge")).to_contain_text("virtual GPU")


def test_hovering_an_event_says_its_payload(session: Session) -> None:
    box = session.stage(SHOWN).bounding_box()
    tip = session.timeline(SHOWN).locator(".tlt-tip")
    for x in range(int(box["x"]) + 240, int(box["x"] + box["width"]) - 20, 12):
        session.tab.mouse.move(x, box["y"] + 26 + 12)
        session.tab.wait_for_timeout(40)
        if tip.is_visible():
            break
    assert "payload 0" in tip.inner_text()
    assert "source" in tip.inner_text()


def test_a_line_goes_to_its_cell(session: Session) -> None:
    session.stage(SHOWN).press("o")
    shown = session.timeline(SHOWN)
    shown.locator(".tlt-lines").get_by_role("button", name='with trace.range("scale"').click()
    line = lab.cell(session.tab, LOAD).locator(".cm-line", has_text="trace.range")
    session.tab.wait_for_function(
        "() => [...document.querySelectorAll('.cm-line')].some((each) => each.getAnimations().length)"
    )
    assert line.evaluate("(each) => each.getAnimations().length") == 1
    sync_api.expect(line).to_be_in_viewport()
    shown.locator(".tlt-stage").press("o")


def test_from_the_cell_to_the_printed_result(session: Session) -> None:
    """``%%tltrace``, the timeline, a brush, and the rows in pandas."""
    box = session.stage(SHOWN).bounding_box()
    mouse = session.tab.mouse
    mouse.move(box["x"] + 235, box["y"] + 8)
    mouse.down()
    mouse.move(box["x"] + 500, box["y"] + 8)
    mouse.move(box["x"] + box["width"] + 5, box["y"] + 8)
    mouse.up()
    sync_api.expect(session.timeline(SHOWN).locator(".tlt-panel h3")).to_have_text("16 events selected")
    # Linked: the view that the magic made shows the same selection.
    sync_api.expect(session.timeline(TRACED).locator(".tlt-panel h3")).to_have_text("16 events selected")
    session.tab.wait_for_timeout(500)
    lab.run(session.tab, DESCRIBED)
    printed = session.text(DESCRIBED)
    rows = {line.split()[0]: line.split()[1] for line in printed.splitlines() if line.startswith(("scale", "done"))}
    assert rows == {"scale": "8.0", "done": "8.0"}


PARTS = (
    ".tlt-map",
    ".tlt-bar",
    ".tlt-title",
    ".tlt-legend",
    ".tlt-legend button",
    ".tlt-stage",
    "button:text-is('Fit')",
)


@pytest.mark.parametrize("part", PARTS)
def test_keys_in_the_timeline_are_not_the_notebooks(session: Session, part: str) -> None:
    """Wherever in it was clicked: move right twice deletes no cell, and A inserts none."""
    cells = session.tab.locator(".jp-Notebook .jp-Cell")
    before = cells.count()
    clicked = session.timeline(SHOWN).locator(part).first
    box = clicked.bounding_box()
    clicked.click(position={"x": box["width"] - 4, "y": box["height"] / 2})
    for key in ("a", "b", "d", "d", "s", "x", "m", "w", "z", "0", "0", "ArrowDown"):
        session.tab.keyboard.press(key)
    session.tab.wait_for_timeout(300)
    assert cells.count() == before
    assert session.tab.locator("dialog, .jp-Dialog").count() == 0
    session.timeline(SHOWN).locator("button:text-is('Fit')").click()


def test_saving_is_the_notebooks_also_from_the_timeline(session: Session) -> None:
    path = session.home / "work" / "demo.ipynb"
    before = path.stat().st_mtime_ns
    session.stage(SHOWN).click(position={"x": 300, "y": 60})
    session.tab.keyboard.press("Control+s")
    session.tab.wait_for_timeout(2500)
    assert path.stat().st_mtime_ns > before


def test_the_menu_of_a_label_is_ours(session: Session) -> None:
    session.stage(SHOWN).click(position={"x": 30, "y": 36}, button="right")
    sync_api.expect(session.timeline(SHOWN).get_by_role("menu")).to_be_visible()
    assert session.tab.locator(".lm-Menu:not(.lm-MenuBar)").count() == 0
    session.tab.keyboard.press("Escape")


def test_a_slider_shows_one_cta_after_another(session: Session) -> None:
    sync_api.expect(session.timeline(SLIDER).locator(".tlt-bar")).to_contain_text("2 events")
    handle = lab.cell(session.tab, SLIDER).locator(".noUi-handle")
    handle.focus()
    for _ in range(3):
        session.tab.keyboard.press("ArrowRight")
    session.tab.wait_for_timeout(1500)
    sync_api.expect(session.timeline(SLIDER)).to_have_count(1)


def alive(client: Any, kind: str) -> int:
    """How many objects of a class the page holds, be they in the document or not."""
    prototype = client.send("Runtime.evaluate", {"expression": f"{kind}.prototype"})["result"]["objectId"]
    found = client.send("Runtime.queryObjects", {"prototypeObjectId": prototype})["objects"]["objectId"]
    size = {"objectId": found, "functionDeclaration": "function () { return this.length; }", "returnByValue": True}
    count = client.send("Runtime.callFunctionOn", size)["result"]["value"]
    client.send("Runtime.releaseObject", {"objectId": found})
    return int(count)


def test_running_a_cell_fifty_times_leaves_nothing(session: Session) -> None:
    """No widget and no comm in the kernel; no canvas, observer or listener in the page, and its memory is flat."""
    tab = session.tab
    client = tab.context.new_cdp_session(tab)

    def kept() -> list[str]:
        lab.run(tab, KEPT)
        return session.text(KEPT).split()

    def held() -> dict[str, int]:
        lab.run(tab, SHOWN)
        session.timeline(SHOWN).wait_for(timeout=lab.PATIENCE_MS)
        tab.wait_for_timeout(1000)
        client.send("HeapProfiler.collectGarbage")
        kinds = ("HTMLCanvasElement", "ResizeObserver", "IntersectionObserver", "MutationObserver")
        listeners = client.send("Memory.getDOMCounters")["jsEventListeners"]
        used = client.send("Runtime.getHeapUsage")["usedSize"]
        return {"bytes": used, "listeners": listeners} | {kind: alive(client, kind) for kind in kinds}

    for _ in range(3):
        lab.run(tab, SHOWN)
    in_kernel, in_page = kept(), held()
    for _ in range(47):
        lab.run(tab, SHOWN)
    after = held()
    assert after.pop("bytes") < in_page.pop("bytes") + 3_000_000  # 0.8 MB a run where the script is evaluated anew
    assert after.pop("listeners") < in_page.pop("listeners") + 50  # one view alone has more
    assert after == in_page
    assert kept() == in_kernel


def test_the_saved_notebook_has_a_still_form_and_no_large_state(session: Session) -> None:
    session.tab.keyboard.press("Control+s")
    path = session.home / "work" / "demo.ipynb"
    session.tab.wait_for_timeout(2500)
    notebook = json.loads(path.read_text())
    assert path.stat().st_size < 2_000_000
    outputs = notebook["cells"][SHOWN]["outputs"]
    forms = [sorted(output["data"]) for output in outputs]
    assert forms == [
        ["text/html", "text/plain"],
        ["application/vnd.jupyter.widget-view+json", "text/html", "text/plain"],
    ]
    html = "".join(outputs[0]["data"]["text/html"])
    assert "<img " in html
    assert "http" not in html.partition("<script")[0].replace("http://www.w3.org/2000/svg", "")


def test_of_all_saved_timelines_one_brings_the_front_end(session: Session) -> None:
    session.tab.keyboard.press("Control+s")
    session.tab.wait_for_timeout(2500)
    saved = (session.home / "work" / "demo.ipynb").read_text()
    assert saved.count("<tltrace-timeline-") >= 2
    assert saved.count("<script>") == 1


def test_nothing_was_fetched_from_elsewhere(session: Session) -> None:
    assert session.tab.foreign == []


def test_without_a_kernel_the_saved_notebook_shows_the_timeline(session: Session, browser: Any) -> None:
    """Opened again by its author, for whom nothing has run yet; in no cell there is an error."""
    with lab.served(session.home, [], session.app, log="again.log") as address:
        tab = lab.opened(browser, address, session.app)
        for number in (TRACED, SHOWN):
            timeline = lab.cell(tab, number).locator(DRAWN)
            sync_api.expect(timeline.locator(".tlt-bar")).to_contain_text("16 events", timeout=lab.PATIENCE_MS)
            sync_api.expect(lab.cell(tab, number).locator(".tltrace-still img")).to_be_hidden()
            sync_api.expect(lab.cell(tab, number)).not_to_contain_text("model not found", use_inner_text=True)
        timeline.locator(".tlt-stage").click(position={"x": 300, "y": 40})
        tab.keyboard.press("w")
        tab.keyboard.press("/")
        tab.keyboard.type("done")
        sync_api.expect(timeline.locator(".tlt-found")).to_have_text("8 found")
        tab.close()


def test_what_is_not_trusted_shows_the_still_form(session: Session, browser: Any, tmp_path: Path) -> None:
    """Opened by somebody else, for whom nothing has run, and whose front end takes scripts out; no error."""
    (tmp_path / "work").mkdir()
    shutil.copy(session.home / "work" / "demo.ipynb", tmp_path / "work")
    with lab.served(tmp_path, [], session.app) as address:
        tab = lab.opened(browser, address, session.app)
        still = lab.cell(tab, SHOWN).locator("img")
        sync_api.expect(still).to_be_visible(timeout=lab.PATIENCE_MS)
        assert still.evaluate("image => image.naturalWidth") > 800
        sync_api.expect(lab.cell(tab, SHOWN).locator("table")).to_contain_text("scale")
        assert lab.cell(tab, SHOWN).locator(".jp-OutputArea-output").last.inner_text() == ""
        tab.close()


def test_nbconvert_of_the_saved_notebook_shows_the_timeline(session: Session, browser: Any, tmp_path: Path) -> None:
    """Without a kernel, and without running anything."""
    pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    shutil.copy(session.home / "work" / "demo.ipynb", tmp_path)
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "demo.ipynb"]
    subprocess.run(command, cwd=tmp_path, env=lab.environment(tmp_path), check=True, timeout=lab.PATIENCE_S)
    tab = browser.new_page()
    tab.route("**/*", lambda route: route.continue_() if route.request.url.startswith("file:") else route.abort())
    tab.goto((tmp_path / "demo.html").as_uri())
    for number in (TRACED, SHOWN):
        code = tab.locator(".jp-CodeCell").nth(number)
        code.scroll_into_view_if_needed()
        sync_api.expect(code.locator(DRAWN).locator(".tlt-bar")).to_contain_text("16 events")
        sync_api.expect(code.locator(".tltrace-still img")).to_be_hidden()
    tab.close()


@pytest.mark.parametrize("protocols", [{"https", "data"}, {"https"}], ids=["with pictures", "without pictures"])
def test_a_viewer_that_strips_scripts_shows_the_still_form(session: Session, browser: Any, protocols: set[str]) -> None:
    """As viewers of repositories do: known elements stay, of others what is in them, of scripts and styles nothing."""
    bleach = pytest.importorskip("bleach", reason="bleach is not installed")
    notebook = json.loads((session.home / "work" / "demo.ipynb").read_text())
    html = "".join(notebook["cells"][SHOWN]["outputs"][0]["data"]["text/html"])
    html = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    kept = {"div", "p", "img", "span", "details", "summary", "table", "thead", "tbody", "tr", "th", "td"}
    html = bleach.clean(html, tags=kept, attributes={"img": ["src", "alt"]}, protocols=protocols, strip=True)
    tab = browser.new_page()
    tab.set_content(html)
    picture = tab.locator("img")
    assert (picture.evaluate("image => image.naturalWidth") > 800) == ("data" in protocols)
    assert picture.get_attribute("alt")
    sync_api.expect(tab.locator("table")).to_contain_text("scale")
    assert len(tab.locator("body").inner_text()) < 1000
    tab.close()


MARIMO = """
import marimo
app = marimo.App()

@app.cell
def _():
    from tltrace_nb import datasets
    datasets.load("h200/attention").timeline()
    return
"""


def test_marimo_shows_the_same_timeline(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("marimo", reason="marimo is not installed")
    (tmp_path / "app.py").write_text(MARIMO)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, log = f"http://127.0.0.1:{port}", tmp_path / "marimo.log"
    command = [sys.executable, "-m", "marimo", "run", "app.py", "--headless", "--no-token"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with (
        log.open("wb") as out,
        subprocess.Popen(command, cwd=tmp_path, env=lab.environment(tmp_path), stdout=out, stderr=out) as server,
    ):
        try:
            lab.wait_for(f"{address}/health", server, log)
            tab, foreign = browser.new_page(viewport={"width": 1200, "height": 900}), []

            def gate(route: Any) -> None:
                if route.request.url.startswith(address):
                    route.continue_()
                else:
                    foreign.append(route.request.url)
                    route.abort()

            tab.route("**/*", gate)
            tab.goto(address)
            timeline = tab.locator(DRAWN)
            sync_api.expect(timeline.locator(".tlt-bar")).to_contain_text("176 events", timeout=lab.PATIENCE_MS)
            box = timeline.locator(".tlt-stage").bounding_box()
            tip = timeline.locator(".tlt-tip")
            for x in range(int(box["x"]) + 200, int(box["x"] + box["width"]) - 20, 12):
                tab.mouse.move(x, box["y"] + 78)
                tab.wait_for_timeout(40)
                if tip.is_visible():
                    break
            assert "tests/kernels/attention.py" in tip.inner_text()
            assert foreign == []
            tab.close()
        finally:
            server.terminate()
            server.wait(20)


def test_nbconvert_shows_the_timeline_without_a_network(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    import nbformat

    code = "from tltrace_nb import datasets\ndatasets.load('h200/attention').show()"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), tmp_path / "a.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "a.ipynb"]
    subprocess.run(command, cwd=tmp_path, env=lab.environment(tmp_path), check=True, timeout=lab.PATIENCE_S)
    tab = browser.new_page()
    tab.route("**/*", lambda route: route.continue_() if route.request.url.startswith("file:") else route.abort())
    tab.goto((tmp_path / "a.html").as_uri())
    still = tab.locator(".tltrace-still img")
    assert still.evaluate("image => image.naturalWidth") > 800
    sync_api.expect(tab.locator(DRAWN).locator(".tlt-bar")).to_contain_text("176 events")
    sync_api.expect(still).to_be_hidden()
    tab.close()
