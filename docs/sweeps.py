"""Draws the sweeps of one parameter, an H200 beside the model of it, light and dark.

    python docs/sweeps.py

In: what ``benchmarks/sweeps.py`` recorded on the GPU; the model is run anew. Out: ``docs/images/sweeps-light.png`` and
``-dark.png``.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser")]

from conftest import FLAGS  # noqa: E402

from benchmarks.sweeps import Compared, both  # noqa: E402

RECORDED = ROOT / "benchmarks" / "results" / "2026-11-30-h200-sweeps.json"
IMAGES = ROOT / "docs" / "images"
COLUMNS, WIDTH, HEIGHT = 6, 1200, 128
"""Charts beside each other, pixels of all, and pixels of a row."""
THEMES = {"light": ("#ffffff", "#222222", "#d9d9d9"), "dark": ("#16181d", "#e6e6e6", "#3a3f47")}
"""Ground, text and lines."""
GPU, MODEL = "#2a9d8f", "#e76f51"


def main() -> None:
    """Draw both pictures."""
    sweeps = list(both(RECORDED))
    for theme in THEMES:
        print(taken(drawn(sweeps, theme), IMAGES / f"sweeps-{theme}.png"))


def drawn(sweeps: Sequence[Compared], theme: str) -> Any:
    """A chart for each sweep: times over settings, the GPU's solid, the model's dashed, from zero."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    ground, ink, rule = THEMES[theme]
    rows = -(-len(sweeps) // COLUMNS)
    chart = make_subplots(
        rows, COLUMNS, subplot_titles=[title(each) for each in sweeps], horizontal_spacing=0.03, vertical_spacing=0.052
    )
    for number, each in enumerate(sweeps):
        settings, card, model = zip(*each.rows, strict=True)
        place: dict[str, int] = {"row": number // COLUMNS + 1, "col": number % COLUMNS + 1}
        for name, times, color, dash in (("H200", card, GPU, "solid"), ("virtual GPU", model, MODEL, "dash")):
            marks = {"color": color, "size": 4}
            lines = {"color": color, "dash": dash, "width": 1.6}
            chart.add_trace(
                go.Scatter(x=settings, y=times, name=name, line=lines, marker=marks, showlegend=not number), **place
            )
    chart.update_xaxes(type="category", tickfont_size=8, gridcolor=rule, linecolor=rule, tickangle=0, nticks=3)
    chart.update_yaxes(rangemode="tozero", tickfont_size=8, gridcolor=rule, zerolinecolor=rule, nticks=4)
    chart.update_annotations(font_size=10)
    return chart.update_layout(
        width=WIDTH,
        height=HEIGHT * rows + 60,
        margin={"l": 34, "r": 10, "t": 56, "b": 24},
        paper_bgcolor=ground,
        plot_bgcolor=ground,
        font={"color": ink, "family": "sans-serif"},
        legend={"orientation": "h", "x": 0, "y": 1.05},
    )


def title(each: Compared) -> str:
    """The sweep's name, and how well the model keeps the order of its settings."""
    return f"{each.sweep.name} <b>{'alike' if each.alike else f'{each.spearman:.2f}'}</b>"


def taken(chart: Any, path: Path) -> Path:
    """A picture of a chart, as Chromium draws it."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": 400})
        page.set_content(chart.to_html(include_plotlyjs=True, config={"staticPlot": True}))
        page.wait_for_selector(".main-svg .legend")
        image = Image.open(io.BytesIO(page.locator(".plotly-graph-div").screenshot())).convert("RGB")
        browser.close()
    image.quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


if __name__ == "__main__":
    main()
