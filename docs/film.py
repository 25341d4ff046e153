"""Films the README's moving picture: a real JupyterLab, a cell that is run, and what can be done then.

    python docs/film.py [FOLDER]

In: this checkout, JupyterLab, Chromium. Out: ``docs/images/film.gif``; with ``FOLDER``, its frames there too.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser")]

from conftest import FLAGS  # noqa: E402
from lab import PATIENCE_MS, cell, opened, run, served  # noqa: E402

FILM = ROOT / "docs" / "images" / "film.gif"
SIZE = (980, 700)
WIDTH = 800
"""Of the film, in pixels: as wide as GitHub shows it."""
COLORS = 96
STEP, LOOK, READ = 90, 900, 2200
"""Milliseconds that a frame stays: of a movement, to see what happened, to read."""

CELLS = (
    """%load_ext tltrace_nb
import tilelang.language as T, torch
from tltrace_nb import trace


@trace.jit(out_idx=[-1])
def matmul(M, N, K, stages, bm=64, bn=64, bk=32):
    @T.prim_func
    def gemm(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(N // bn, M // bm, threads=128) as (bx, by):
            A_shared, B_shared = T.alloc_shared((bm, bk), "float16"), T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // bk, num_stages=stages):
                with trace.range("load", payload=k):
                    T.copy(A[by * bm, k * bk], A_shared)
                    T.copy(B[k * bk, bx * bn], B_shared)
                with trace.range("mma", payload=k):
                    T.gemm(A_shared, B_shared, C_local)
            with trace.range("store"):
                T.copy(C_local, C[by * bm, bx * bn])
            trace.dag("load", "mma")
    return gemm

a, b = torch.randn(192, 512).half(), torch.randn(512, 64).half()""",
    """%%tltrace --device virtual:h200
c = matmul(192, 64, 512, stages=3)(a, b)""",
    """selected = trace.last.timeline().selection
selected[["name", "role", "cta", "sm", "start", "duration", "payload"]].head(6)""",
)
POINTER = """() => {
  const pointer = document.createElement("div");
  pointer.id = "pointer";
  pointer.innerHTML = '<svg width="18" height="24" viewBox="0 0 18 24"><path d="M1 1v18l5-5 3 8 3-1-3-8h7z"' +
    ' fill="#111" stroke="#fff" stroke-width="1.5"/></svg>';
  pointer.style.cssText = "position:fixed;left:-50px;top:0;z-index:99999;pointer-events:none";
  document.body.append(pointer);
  document.addEventListener("mousemove", (event) => {
    pointer.style.left = event.clientX + "px";
    pointer.style.top = event.clientY + "px";
  }, true);
}"""
"""A screenshot has no pointer: this one follows the mouse."""


@dataclass
class Camera:
    """Takes frames of a tab; ``mouse`` is where the pointer is."""

    tab: Any
    mouse: tuple[float, float] = (500.0, 400.0)
    frames: list[tuple[Image.Image, int]] = field(default_factory=list)

    def take(self, ms: int) -> None:
        """One frame, to be shown for so long."""
        shot = Image.open(io.BytesIO(self.tab.locator(".jp-NotebookPanel").screenshot())).convert("RGB")
        height = round(shot.height * WIDTH / shot.width)
        self.frames.append((shot.resize((WIDTH, height), Image.Resampling.LANCZOS), ms))

    def move(self, x: float, y: float, steps: int = 6) -> None:
        """Move the pointer, a frame a step."""
        left, top = self.mouse
        for step in range(1, steps + 1):
            share = step / steps
            self.tab.mouse.move(left + (x - left) * share, top + (y - top) * share)
            self.take(STEP)
        self.mouse = (x, y)


def film(tab: Any) -> Camera:
    """Run the cells and play with the timeline."""
    tab.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
    tab.keyboard.press("Control+b")  # without the list of files
    tab.locator(".jp-StatusBar-TextItem", has_text="| Idle").wait_for(timeout=PATIENCE_MS)
    run(tab, 0)
    tab.evaluate(POINTER)
    camera = Camera(tab)
    cell(tab, 1).locator(".cm-content").click()
    top(tab, 1, 500)
    camera.take(LOOK)
    tab.keyboard.press("Control+Enter")
    tab.wait_for_timeout(150)
    camera.take(LOOK)
    stage = cell(tab, 1).locator(".tlt-stage")
    stage.wait_for(timeout=PATIENCE_MS)
    top(tab, 1)
    tab.wait_for_timeout(700)
    camera.take(READ)
    box = stage.bounding_box()
    gutter = box["x"] + 200
    camera.move(gutter + 110, box["y"] + 60)
    tab.keyboard.down("Control")
    for _ in range(7):
        tab.mouse.wheel(0, -120)
        tab.wait_for_timeout(120)
        camera.take(STEP)
    tab.keyboard.up("Control")
    camera.take(LOOK)
    for x, y in (found(tab, box, "mma", 2), found(tab, box, "load", 4)):
        camera.move(x, y)
        tab.wait_for_timeout(150)
        camera.take(READ)
    left, right = gutter + 60, gutter + 420
    camera.move(left, box["y"] + 40)
    tab.mouse.down()
    camera.move(right, box["y"] + 150, steps=8)
    tab.mouse.up()
    tab.wait_for_timeout(300)
    camera.take(LOOK)
    top(tab, 2, 540)
    tab.wait_for_timeout(200)
    camera.take(LOOK)
    run(tab, 2)
    top(tab, 2, 310)
    tab.wait_for_timeout(400)
    camera.take(READ + LOOK)
    return camera


def found(tab: Any, box: dict[str, float], name: str, payload: int) -> tuple[float, float]:
    """Where an event of that name and payload is drawn: the pointer looks for its tooltip, unfilmed."""
    tip = cell(tab, 1).locator(".tlt-tip")
    for y in range(round(box["y"]) + 36, round(box["y"] + box["height"]), 9):
        for x in range(round(box["x"]) + 240, round(box["x"] + box["width"]) - 160, 9):
            tab.mouse.move(x, y)
            said = tip.inner_text().split("\n") if tip.is_visible() else []
            if said[:2] == [name, f"payload {payload}"]:
                return x + 4, y + 4
    raise LookupError(f"no {name} with payload {payload} is in view")


def top(tab: Any, number: int, above: int = 10) -> None:
    """Scroll the notebook so that a cell begins so far below its top."""
    tab.evaluate(
        """([number, above]) => {
          const one = document.querySelectorAll(".jp-Notebook .jp-CodeCell")[number];
          const notebook = document.querySelector(".jp-WindowedPanel-outer");
          notebook.scrollTop += one.getBoundingClientRect().top - notebook.getBoundingClientRect().top - above;
        }""",
        [number, above],
    )
    tab.wait_for_timeout(200)


def main(folder: str | None = None) -> None:
    """Film it, and write the film."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright, served(Path(home), CELLS) as address:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        camera = film(opened(browser, address))
        browser.close()
    palette = camera.frames[len(camera.frames) // 2][0].quantize(COLORS, dither=Image.Dither.NONE)
    drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame, _ in camera.frames]
    drawn[0].save(
        FILM, save_all=True, append_images=drawn[1:], duration=[ms for _, ms in camera.frames], loop=0, optimize=True
    )
    print(f"{FILM}: {len(drawn)} frames, {FILM.stat().st_size:,} bytes")
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for number, frame in enumerate(drawn):
            frame.save(Path(folder) / f"{number:02}.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
