"""How the results look: one frame for all charts, of modest size, with the notes under it.

In: Plotly traces as dictionaries, and a result. Out: ``plotly.graph_objects.Figure``; Plotly is imported when one is
drawn. Names have the colours that they have in the timeline.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.palette import WARNING, border, name_colors
from tltrace_nb.base.words import clean, markup

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tltrace_nb.analysis.table import Table

FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif"
MOST_BARS = 40
"""Bars of one chart; what is beyond is counted in words."""
MOST_POINTS = 4000
"""Points of one line or scatter, evenly chosen where there are more."""
GREY, RED = "#999999", WARNING

_NOTE_CHARS, _LINE_PX = 120, 17


def chart(
    result: Table,
    traces: Sequence[dict[str, Any]],
    title: str,
    *,
    x: str = "",
    y: str = "",
    height: int = 340,
    notes: Sequence[str] = (),
    **layout: Any,
) -> go.Figure:
    """The figure of ``traces`` under ``title``, the notes of ``result`` and ``notes`` below the axes.

    ``x`` and ``y`` title the axes; ``height`` is in pixels, without the notes.
    """
    import plotly.graph_objects as go

    said = [*result.notes, *notes] if len(result) or result.notes else ["there is nothing to draw"]
    lines = [line for note in said for line in textwrap.wrap(note, _NOTE_CHARS)]
    below = 58 + _LINE_PX * len(lines)
    drawing = go.Figure(list(traces))
    drawing.update_layout(
        template="plotly_white",
        height=height + _LINE_PX * len(lines),
        title={"text": f"<b>{markup(title)}</b>", "font": {"size": 15}},
        font={"family": FONT, "size": 12},
        margin={"l": 20, "r": 20, "t": 48, "b": below},
        hoverlabel={"align": "left", "namelength": 0},
        xaxis={"title": {"text": x}, "separatethousands": True},
        yaxis={"title": {"text": y}, "automargin": True},
        bargap=0.25,
    )
    drawing.update_layout(**layout)
    if lines:
        drawing.add_annotation(
            text="<br>".join(markup(line) for line in lines),
            showarrow=False,
            xref="paper",
            yref="paper",
            x=0,
            y=0,
            xanchor="left",
            yanchor="top",
            yshift=-46,
            align="left",
            font={"size": 11, "color": "#5f6670"},
        )
    return drawing


def bars(
    labels: Sequence[str], values: Sequence[float], colors: Sequence[str] | str, hover: Sequence[str], name: str = ""
) -> dict[str, Any]:
    """Horizontal bars, the first on top of a chart whose y axis is ``DOWN``."""
    shades = [colors] * len(labels) if isinstance(colors, str) else list(colors)
    return {
        "type": "bar",
        "orientation": "h",
        "name": markup(name),
        "showlegend": bool(name),
        "y": [label(text) for text in labels],
        "x": [float(value) for value in values],
        "hovertext": [markup(text).replace("\n", "<br>") for text in hover],
        "hoverinfo": "text",
        "marker": {"color": shades, "line": {"color": [border(shade) for shade in shades], "width": 0.7}},
    }


DOWN: dict[str, Any] = {"autorange": "reversed", "automargin": True, "title": {"text": ""}, "type": "category"}
"""A y axis of names, the first on top."""


def label(text: str) -> str:
    """A name as Plotly is to read it: escaped, on one line, of bounded length."""
    return markup(clean(text, 60))


def colors(names: Sequence[str]) -> list[str]:
    """The colour of each name, as the timeline has it for the same set of names."""
    known = name_colors(names)
    return [known[name] for name in names]


def thinned(count: int) -> slice:
    """Rows of a frame of ``count`` that are drawn, at most ``MOST_POINTS``, evenly."""
    return slice(None, None, max(1, -(-count // MOST_POINTS)))


def most(count: int, what: str) -> list[str]:
    """The note that says what lies beyond ``MOST_BARS``."""
    return [f"{count - MOST_BARS:,} more {what} are in the frame, not in the figure"] if count > MOST_BARS else []
