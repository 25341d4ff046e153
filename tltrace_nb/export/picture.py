"""The still picture of a trace as a file: SVG, or PNG by resvg.

In: a trace. Out: a file with the lanes, names and payloads of the figure. PNG needs resvg_py and a font.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from tltrace_nb.base.checks import checked, file, whole
from tltrace_nb.base.files import writing
from tltrace_nb.render.options import DEFAULTS, ViewOptions
from tltrace_nb.render.svg import svg

if TYPE_CHECKING:
    import os

    from tltrace_nb.data.frames import TraceLike

SVG_SUFFIX, PNG_SUFFIX = ".svg", ".png"

LEAST_WIDTH, MOST_WIDTH = 400, 100_000
"""Pixels; the lanes' names take 240 of them."""
WIDTH = whole(LEAST_WIDTH, f"pixels, {LEAST_WIDTH} to {MOST_WIDTH}", MOST_WIDTH)
ZOOM = 2.0
"""Pixels of a PNG for each of the SVG's, for screens of high density."""
MOST_PIXELS = 40_000_000
"""A PNG has no more: 160 MB while it is drawn."""
FAMILY = "Source Sans Pro"
"""The font of a PNG, which comes with the extra that draws it: pictures are the same on every machine."""


@checked(path=file, width=WIDTH)
def write_svg(
    trace: TraceLike,
    path: str | os.PathLike[str],
    options: ViewOptions = DEFAULTS,
    *,
    width: int = 1200,
) -> Path:
    """Write the picture as SVG and return the path; options and errors as ``Trace.to_svg``."""
    drawing = svg(trace, options, width)
    with writing(path) as file:
        file.write(drawing.encode())
    return Path(path)


@checked(path=file, width=WIDTH)
def write_png(
    trace: TraceLike,
    path: str | os.PathLike[str],
    options: ViewOptions = DEFAULTS,
    *,
    width: int = 1200,
) -> Path:
    """Write the picture as PNG and return the path; options and errors as ``Trace.to_png``."""
    try:
        import font_source_sans_pro as font
        import resvg_py
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"PNG files need {error.name}, which is not installed: pip install 'tltrace-nb[png]'; to_svg needs nothing",
            name=error.name,
        ) from error

    drawing = svg(trace, options, width)
    height = float(drawing.partition('height="')[2].partition('"')[0])
    zoom = min(ZOOM, math.sqrt(MOST_PIXELS / (width * height)))
    files = [font.font_files_ttf[f"SourceSansPro{weight}"] for weight in ("", "Bold")]
    pixels = resvg_py.svg_to_bytes(
        svg_string=drawing, zoom=zoom, font_files=files, font_family=FAMILY, sans_serif_family=FAMILY
    )
    with writing(path) as file:
        file.write(bytes(pixels))
    return Path(path)
