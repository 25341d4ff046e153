"""The timeline as a Plotly figure: a lane per thread, the payload on the bar and in the hover.

In: a trace. Out: ``plotly.graph_objects.Figure``. Plotly draws some thousand bars well and no more, hence ``limit``;
what it leaves out is said in the figure. Plotly is imported when ``figure`` is called.

Every event is drawn once: a range as a bar, an instant as a diamond, a range of no duration as a tick. Values are
handed over as lists, not typed arrays, because an older Plotly in the front end cannot read the latter.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from tltrace_nb.base.numbers import payload_text
from tltrace_nb.base.palette import OTHER, PALETTE, WARNING, border, ink
from tltrace_nb.base.words import clean, markup
from tltrace_nb.data.frames import TraceLike
from tltrace_nb.render.colors import Names
from tltrace_nb.render.lanes import OTHERS, Layout, layout, of_shown_ctas, rows_of
from tltrace_nb.render.merging import merged_lines
from tltrace_nb.render.options import DEFAULTS, ViewOptions
from tltrace_nb.render.text import NO_EVENTS, NONE_SELECTED, badge, hover_lines, loss_text
from tltrace_nb.render.views import shades

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from tltrace_nb.data.trace_data import TraceData
    from tltrace_nb.render.merging import Strip

FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif"
CONFIG = {
    "displaylogo": False,
    "responsive": True,
    # Plotly's "Share chart" would upload the trace; a selection by lasso or box selects nothing here.
    "plotlyServerURL": "",
    "showSendToCloud": False,
    "modeBarButtonsToRemove": ["sendChartToCloud", "sendDataToCloud", "select2d", "lasso2d"],
}
"""What Plotly is told besides the figure, in a notebook and on the page."""

_ROW_PX = 36.0
"""Height of a row that holds a name and a payload below each other."""
_TWO_LINES_PX = 30.0
_TEXT_PX = 19.0
"""Height of a row below which no text fits on a bar."""
_LABEL_PX, _LABELLED_PX = 13.0, 14.0
"""Height of a lane's label, and of a row at which every lane has one."""
_HEIGHT_PX = (240, 900, 1200)
"""The least height, what fits a notebook, and what is used at most for a label on every lane."""
_BAR = 0.9
"""Height of a bar, in rows."""
_TOP_PX, _TITLE_LINE_PX, _AXIS_PX, _BOTTOM_PX = 26, 20, 48, 16
_TITLE_CHARS = 130
_TOO_LOW = "rows too low for text on the bars: ctas= shows fewer, height= makes room"
_TOP_LEFT = {"x": 0, "y": 1, "yanchor": "top", "pad": {"l": 20, "t": 12}}
_LEGEND_LINE_PX = 20
_ARROWS = "arrows (dag)"
_ARROW, _LINE = "#5f6670", "#b4bac2"
_CHAR_PX, _WIDTH_PX = 6.5, 800.0
"""For guessing whether an instant's text meets its neighbour: a character, and the lanes, in pixels."""

_ON_PAPER = {"showarrow": False, "xref": "paper", "yref": "paper"}
_BADGE = _ON_PAPER | {
    "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom",
    "yshift": _AXIS_PX, "borderpad": 3,
}  # fmt: skip
_NOTHING = _ON_PAPER | {"x": 0.5, "y": 0.5, "font": {"size": 15}}


def figure(trace: TraceLike, options: ViewOptions = DEFAULTS) -> go.Figure:
    """Draw ``trace`` as the options have it, by default up to 900 pixels high, or 1200 for a label on every lane.

    A drag zooms time alone. Clicking a name in the legend hides it, with what was merged of it and with the arrows that
    leave from it; the button over the legend hides all arrows. Raises what ``layout`` raises.
    """
    import plotly.graph_objects as go

    plan = layout(trace, options)
    shade = shades(cast("TraceData", trace), plan.events, options.color)
    if shade is not None:
        drawn: Any = [_wave_color(each) for each in shade] if options.color == "wave" else shade
        plan = replace(plan, events=plan.events.assign(shade=drawn))
    losses = loss_text(of_shown_ctas(trace.losses, trace, plan.chosen))
    heading = trace.meta.kernel if options.title is None else options.title
    for hint in ("", _TOO_LOW):
        lines = _title_lines(heading, (plan.note and plan.note + OTHERS, hint), losses)
        top = _TOP_PX + _TITLE_LINE_PX * len(lines) + _AXIS_PX
        pixels = options.height or _height(plan, top)
        row_px = (pixels - top - _BOTTOM_PX) / max(plan.rows, 1.0)
        if row_px >= _TEXT_PX:
            break
    drawing = go.Figure(_traces(plan, trace, row_px))
    drawing.update_layout(
        template="plotly_white",
        barmode="overlay",
        height=pixels,
        margin={"l": 20, "r": 20, "t": top, "b": _BOTTOM_PX},
        title={"text": "<br>".join(lines), "font": {"size": 16}, **_TOP_LEFT},
        font={"family": FONT, "size": 12},
        hovermode="closest",
        hoverlabel={"align": "left", "namelength": 0},
        dragmode="zoom",
        legend={
            "itemclick": "toggle",
            "itemdoubleclick": "toggleothers",
            "groupclick": "togglegroup",
            "tracegroupgap": 0,
        },
        uniformtext={"minsize": 9, "mode": "hide"},
        xaxis=_time_axis(plan),
        yaxis=_lane_axis(plan, row_px),
    )
    if len(plan.arrows):
        drawing.update_layout(updatemenus=[_arrow_button([part.name == _ARROWS for part in drawing.data])])
    if shade is not None and options.color != "wave":
        bar = {"title": {"text": options.color}, "len": 0.6, "y": 0.3}  # below the legend
        drawing.update_layout(coloraxis={"colorscale": "Viridis", "colorbar": bar})
    if (worn := badge(trace.meta)) is not None:
        paint = WARNING if worn.warns else _LINE
        words = {"text": markup(worn.text), "hovertext": worn.why, "font": {"color": paint, "size": 11}}
        drawing.add_annotation(**_BADGE, **words, bordercolor=paint)
    if plan.events.empty:
        drawing.add_annotation(**_NOTHING, text=NO_EVENTS if trace.events.empty else NONE_SELECTED)
        drawing.update_layout(xaxis={"visible": False}, yaxis={"visible": False})
    return drawing


def _traces(plan: Layout, trace: TraceLike, row_px: float) -> list[dict[str, Any]]:
    """Per name up to four traces: bars, marks, merged bars, and the arrows from it; then the strip of other names."""
    shown = plan.events
    colors = (Names.of(trace) | Names(frozenset(shown["name"].unique()))).colors()
    begin, end = plan.extent
    px = _WIDTH_PX / max(end - begin, 1e-9)
    traces: list[dict[str, Any]] = []
    strips = {strip.name: (number, strip) for number, strip in enumerate(plan.merged.strips)}
    for group, name in enumerate(sorted({*shown["name"].unique(), *filter(None, strips)})):
        mine = shown[shown["name"] == name]
        is_bar = (mine["kind"] == "range") & (mine["width"] > 0)
        parts = []
        if is_bar.any():
            bars = _ranges(rows_of(mine[is_bar]), colors[name], "<br>" if row_px >= _TWO_LINES_PX else " · ")
            parts.append(_shaded(bars, mine[is_bar]) if "shade" in mine else bars)
        if not is_bar.all():
            parts.append(_marks(rows_of(mine[~is_bar]), colors[name], px, row_px))
        label = clean(name)
        if name in strips:
            number, strip = strips[name]
            parts.append(_strip(plan, number, strip, colors[name]))
            label += f" ({strip.events:,} merged)"
        for i, part in enumerate(parts):
            traces.append({**part, "name": markup(label), "legendgroup": str(group), "showlegend": i == 0})
        leaving = plan.arrows[plan.arrows["src_name"] == name]
        if len(leaving):
            traces.append({**_arrow_trace(leaving), "legendgroup": str(group), "showlegend": False})
    if None in strips:
        number, strip = strips[None]
        traces.append({**_strip(plan, number, strip, OTHER), "name": f"{strip.label} ({strip.events:,} merged)"})
    return traces


def _strip(plan: Layout, number: int, strip: Strip, color: str) -> dict[str, Any]:
    """The merged bars of one strip; ``customdata`` holds the events and the cycles of each."""
    rows = [row for row in rows_of(plan.merged.bars) if row["strip"] == number]
    texts = [f"× {row['count']:,}" for row in rows]
    hovers = ["<br>".join(map(markup, merged_lines(row, strip, plan.unit))) for row in rows]
    bars = _bars(rows, color, texts, hovers, {"shape": ".", "fgcolor": border(color), "size": 6})
    return bars | {"customdata": [[row["count"], row["total"]] for row in rows]}


def _ranges(rows: list[dict[str, Any]], color: str, separator: str) -> dict[str, Any]:
    """The bars of ranges that are drawn one by one; those that never ended are hatched."""
    hatched = {"shape": ["/" if row["truncated"] else "" for row in rows], "fgcolor": border(color), "size": 7}
    return _bars(rows, color, [_label(row, separator) for row in rows], [_hover(row) for row in rows], hatched)


def _bars(
    rows: list[dict[str, Any]], color: str, texts: list[str], hovers: list[str], pattern: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "base": [row["x"] for row in rows],
        "x": [row["width"] for row in rows],
        "y": [row["y"] for row in rows],
        "width": _BAR,
        "text": texts,
        "textposition": "inside",
        "insidetextanchor": "middle",
        "constraintext": "inside",
        "textangle": 0,
        "insidetextfont": {"color": ink(color), "size": 12},
        "hovertext": hovers,
        "hoverinfo": "text",
        "marker": {"color": color, "line": {"color": border(color), "width": 0.7}, "pattern": pattern},
    }


def _wave_color(wave: float) -> str | None:
    """The colour of a wave, the same in every figure; ``None`` where it is not known."""
    return None if math.isnan(wave) else PALETTE[int(wave) % len(PALETTE)]


def _shaded(bars: dict[str, Any], rows: pd.DataFrame) -> dict[str, Any]:
    """The bars on the colour scale; grey where there is nothing to show. Plotly chooses the ink."""
    known = rows["shade"].notna()
    marker = bars["marker"] | {"line": {"color": "#5f6670", "width": 0.7}}
    if known.any() and isinstance(rows["shade"][known].iloc[0], str):
        marker |= {"color": [v if k else _LINE for v, k in zip(rows["shade"], known, strict=True)]}
    elif known.any():
        marker |= {"color": [float(v) if k else None for v, k in zip(rows["shade"], known, strict=True)]}
        marker |= {"coloraxis": "coloraxis"}
    else:
        marker |= {"color": _LINE}
    plain = {key: value for key, value in bars.items() if key != "insidetextfont"}
    return plain | {"marker": marker}


def _marks(rows: list[dict[str, Any]], color: str, px: float, row_px: float) -> dict[str, Any]:
    """Instants and ranges of no duration. The text stands beside the mark where it does not meet the next event."""
    payloads = [payload_text(row["payload"], row["payload_end"]) for row in rows]
    instant = [row["kind"] == "instant" for row in rows]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [row["x"] for row in rows],
        "y": [row["y"] for row in rows],
        "text": [
            markup(payload) if len(payload) * _CHAR_PX + 10 <= row["room"] * px else ""
            for payload, row in zip(payloads, rows, strict=True)
        ],
        "textposition": "middle right",
        "textfont": {"size": 11},
        "hovertext": [_hover(row) for row in rows],
        "hoverinfo": "text",
        "marker": {
            "color": color,
            "size": min(max(row_px / 2, 5), 11),
            "symbol": ["diamond" if i else "line-ns" for i in instant],
            "line": {"color": border(color), "width": [1 if i else 3 for i in instant]},
        },
    }


def _arrow_trace(arrows: pd.DataFrame) -> dict[str, Any]:
    """Arrows as one trace of line segments; the head is a marker that turns to its segment.

    Arrows have no hover: their ends lie on bars, and would be nearer to the pointer than the bar.
    """
    rows = rows_of(arrows)
    return {
        "type": "scatter",
        "name": _ARROWS,
        "mode": "lines+markers",
        "x": [x for row in rows for x in (row["x0"], row["x1"], None)],
        "y": [y for row in rows for y in (row["y0"], row["y1"], None)],
        "hoverinfo": "skip",
        "line": {"color": _ARROW, "width": 1.4},
        "marker": {
            "symbol": "arrow",
            "angleref": "previous",
            "size": [0, 11, 0] * len(rows),
            "color": _ARROW,
            "opacity": 1,
            "line": {"color": "#ffffff", "width": 0.8},
        },
    }


def _arrow_button(arrows: list[bool]) -> dict[str, Any]:
    """Shows and hides the traces of which ``arrows`` is true; stands over the legend."""
    traces = [number for number, is_arrow in enumerate(arrows) if is_arrow]
    button = {
        "label": _ARROWS,
        "method": "restyle",
        "args": [{"visible": False}, traces],
        "args2": [{"visible": True}, traces],
    }
    return {
        "type": "buttons",
        "buttons": [button],
        "active": -1,
        "x": 1.02,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "font": {"size": 11},
        "pad": {"b": 4},
    }


def _label(row: dict[str, Any], separator: str) -> str:
    """The name, and the payload under it when there is one."""
    payload = payload_text(row["payload"], row["payload_end"])
    name = markup(clean(row["name"]))
    return f"{name}{separator}{markup(payload)}" if payload else name


def _hover(row: dict[str, Any]) -> str:
    name, *rest = map(markup, hover_lines(row))
    return "<br>".join((f"<b>{name}</b>", *rest))


def _title_lines(heading: str, notes: tuple[str, ...], losses: str) -> list[str]:
    """The heading, unless it is empty, then in small type what is not shown and what was lost."""
    small = [(line, "") for note in notes for line in textwrap.wrap(note, _TITLE_CHARS)]
    small += [(line, f";color:{WARNING}") for line in textwrap.wrap(losses, _TITLE_CHARS)]
    lines = [f"<b>{markup(clean(heading, 80))}</b>"] if heading else []
    return lines + [f"<span style='font-size:12px{color}'>{markup(line)}</span>" for line, color in small]


def _time_axis(plan: Layout) -> dict[str, Any]:
    """Over the lanes, where it is seen without scrolling, with its ticks repeated below them."""
    return {
        "title": {"text": _axis_title(plan), "standoff": 4},
        "side": "top",
        "ticks": "outside",
        "ticklen": 4,
        "mirror": "ticks",
        "showline": True,
        "linecolor": _LINE,
        "tickcolor": _LINE,
        "zeroline": False,
        "separatethousands": True,
    }


def _axis_title(plan: Layout) -> str:
    if plan.unit == "ns":
        return "ns since the first CTA's entry"
    one = len({lane.cta for lane in plan.lanes}) == 1
    return "cycles since the CTA's entry" if one else "cycles since each CTA's own entry"


def _lane_axis(plan: Layout, row_px: float) -> dict[str, Any]:
    """Numeric, from the top down, with a label in the middle of a lane and a line between lanes."""
    rows_per_lane = plan.rows / max(len(plan.labelled), 1)
    step = max(1, round(_LABEL_PX / max(row_px * rows_per_lane, 0.01) + 0.49))  # labels must not overlap
    labelled = plan.labelled[::step]
    edges = [(a.bottom + b.top) / 2 for a, b in itertools.pairwise(plan.labelled)]
    return {
        "range": [plan.rows + 0.1, -0.1],
        "fixedrange": True,  # a drag zooms time alone
        "tickmode": "array",
        "tickvals": [(lane.top + lane.bottom) / 2 for lane in labelled],
        "ticktext": [markup(lane.label) for lane in labelled],
        "tickfont": {"size": 11},
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "minor": {"tickmode": "array", "tickvals": edges, "showgrid": True, "gridcolor": "#dfe3e8"},
    }


def _height(plan: Layout, top: int) -> int:
    """Enough pixels for rows of two lines and for the legend, within bounds."""
    low, usual, high = _HEIGHT_PX
    legend = _LEGEND_LINE_PX * min(plan.events["name"].nunique() + 1, 20)
    around = top + _BOTTOM_PX
    comfortable = min(max(plan.rows * _ROW_PX, legend) + around, usual)
    labelled = min(plan.rows * _LABELLED_PX + around, high)
    return round(max(comfortable, labelled, low))
