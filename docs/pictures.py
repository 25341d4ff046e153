"""Draws the documentation's timelines, light and dark: recorded traces for the gallery, and those of the tutorial.

    python docs/pictures.py [NAME ...]

In: the traces of ``tltrace_nb.datasets``, the blocks of ``docs/tutorial.md``, and Chromium. Out:
``docs/images/timeline-NAME-light.png`` and ``-dark.png``, and ``profile.png``.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser"), str(ROOT / "tests" / "docs")]

from conftest import FLAGS  # noqa: E402
from pages import Page  # noqa: E402
from timeline_tab import Tab  # noqa: E402

from tltrace_nb import Trace, datasets  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDTH = 1036
PROFILE = "profile"
"""The picture that is no timeline."""
COLORS = 128
"""Of a picture's palette: enough for bars and text, and half the bytes."""


def nothing(_: Tab, __: Trace) -> None:
    """Leave the view as it opened."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A trace, what of its view is changed, and what is done in it before it is taken."""

    name: str
    load: Callable[[str], Trace] = lambda name: datasets.load(f"h200/{name}")
    ctas: int | None = None
    view: dict[str, Any] = field(default_factory=dict)
    height: int = 354
    act: Callable[[Tab, Trace], None] = nothing


def hover_softmax(tab: Tab, trace: Trace) -> None:
    """Show the tooltip of CTA 0's first softmax."""
    tab.hover(int(trace.events.query("cta == 0 and name == 'softmax'").index[0]))


def hover_wait(tab: Tab, trace: Trace) -> None:
    """Show the tooltip of the longest wait in CTA 0."""
    tab.hover(int(trace.events.query("cta == 0 and name == 'wait empty'").duration.idxmax()))


def brush(tab: Tab, trace: Trace) -> None:
    """Select an area over two CTAs."""
    first, last = (trace.events.query(f"cta == {cta} and name == 'store'").index[n] for cta, n in ((0, 0), (1, 1)))
    (left, top), (right, bottom) = tab.at(int(first)), tab.at(int(last))
    tab.drag((left - 60, top - 80), (right + 20, bottom - 50))
    tab.page.mouse.move(5, 5)


@cache
def tutorial() -> dict[str, Any]:
    """The variables of the tutorial, after its blocks have run."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    for block in Page(ROOT / "docs" / "tutorial.md").blocks():
        if block.language == "python" and "three.save" not in block.source:
            shell.run_cell(block.source).raise_error()
    return dict(shell.user_ns)


def of_tutorial(name: str) -> Trace:
    """The trace in a variable of the tutorial."""
    trace: Trace = tutorial()[name]
    return trace


PICTURES = (
    Picture("one", of_tutorial, ctas=2, view={"unit": "cycles", "span": [0, 6000]}, height=200),
    Picture("three", of_tutorial, ctas=2, view={"unit": "cycles", "span": [0, 6000]}, height=200),
    Picture("attention", act=hover_softmax),
    Picture("specialised_gemm", ctas=2, act=hover_wait),
    Picture("gemm", ctas=2, view={"unit": "cycles", "span": [0, 4200], "arrows": "all"}, height=170),
    Picture("gemm_3", ctas=2, view={"color_by": "payload"}, height=240),
    Picture("persistent", ctas=3, act=brush),
    Picture("softmax", ctas=7, view={"color_by": "duration"}, height=300),
    Picture("every_thread"),
)


def main(names: list[str]) -> None:
    """Draw the pictures of these names, all by default."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for picture in PICTURES:
            if not names or picture.name in names:
                for theme in ("light", "dark"):
                    print(draw(browser, picture, theme))
        if not names or PROFILE in names:
            print(draw_profile(browser))
        browser.close()


def draw(browser: Any, picture: Picture, theme: str) -> Path:
    """Take one picture and return its path."""
    trace = picture.load(picture.name)
    events = trace.events if picture.ctas is None else trace.events.query(f"cta < {picture.ctas}")
    tab = Tab(browser, viewport={"width": WIDTH, "height": 1000}, color_scheme=theme)
    tab.open(shown(trace, events), height=picture.height, view=picture.view)
    tab.scene("undefined")
    picture.act(tab, trace)
    tab.scene("undefined")
    taken = tab.page.locator("#home").screenshot()
    tab.page.close()
    return kept(taken, f"timeline-{picture.name}-{theme}.png")


def draw_profile(browser: Any) -> Path:
    """Take the picture of a profile around one of its traced launches, and return its path."""
    from tltrace_nb import load, profile

    folder = ROOT / "tests" / "recorded" / "profiles"
    found = profile(folder / "plain.json.gz", [load(path) for path in sorted(folder.glob("plain-*.tltrace"))])
    figure = found.figure(launch=2).update_layout(title=None, margin={"t": 50})
    page = browser.new_page(viewport={"width": WIDTH, "height": figure.layout.height})
    page.set_content(figure.to_html(include_plotlyjs=True))
    page.wait_for_selector(".legend")
    taken = page.screenshot()
    page.close()
    return kept(taken, f"{PROFILE}.png")


def kept(taken: bytes, name: str) -> Path:
    """Write a picture in few colours, and return its path."""
    from PIL import Image

    image = Image.open(io.BytesIO(taken)).convert("RGB")
    image.quantize(COLORS, dither=Image.Dither.NONE).save(IMAGES / name, optimize=True)
    return IMAGES / name


def shown(trace: Trace, events: Any) -> Any:
    """The frames of some events of a trace, as a view draws them."""
    from tltrace_nb.render.frames import Frames

    return Frames(events, trace.ctas, trace.flows, trace.losses, trace.meta)


if __name__ == "__main__":
    main(sys.argv[1:])
