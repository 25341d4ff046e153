"""How long after its cell a timeline of many events is there, in a real JupyterLab.

    python benchmarks/timeline_notebook.py [--events 1000000] [--lanes 2000]

Needs JupyterLab and Chromium. The clock starts when the cell's prompt gets its number and stops at the first picture.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests" / "browser")]

import lab  # noqa: E402
from timeline import FLAGS  # noqa: E402

WATCH = """() => {
  const cell = document.querySelectorAll(".jp-Notebook .jp-CodeCell")[1];
  window.times = {};
  const watch = () => {
    const prompt = cell.querySelector(".jp-InputArea-prompt").innerText;
    if (!times.ended && /\\d/.test(prompt)) times.ended = performance.now();
    if (cell.querySelector(".tlt[data-drawn]")) times.drawn = performance.now();
    else requestAnimationFrame(watch);
  };
  watch();
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--lanes", type=int, default=2000)
    arguments = parser.parse_args()
    setup = (
        f"import sys; sys.path[:0] = [{str(ROOT / 'benchmarks')!r}]\n"
        "from timeline import synthetic\nfrom tltrace_nb import Timeline\n"
        f"frame = synthetic({arguments.events}, {arguments.lanes})"
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        lab.served(Path(folder), [setup, "Timeline(frame)"]) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        tab = lab.opened(browser, address, height=1400)
        lab.cell(tab, 1).wait_for()
        tab.evaluate(WATCH)
        lab.run_all(tab)
        tab.wait_for_function("times.ended && times.drawn", timeout=300_000)
        ended, drawn = tab.evaluate("[times.ended, times.drawn]")
        print(f"{arguments.events:,} events over {arguments.lanes:,} lanes: first picture {drawn - ended:.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
