"""The timeline as a still picture: SVG without script.

In: a trace. Out: an ``<svg>`` element as text; for views that run nothing (nbconvert, mail, Colab) one of at most 50 kB
whatever the trace holds. Colours are attributes, and the ground is painted, because such views strip style sheets.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.numbers import payload_text
from tltrace_nb.base.palette import OTHER, WARNING, border, ink
from tltrace_nb.base.words import clean
from tltrace_nb.data.frames import TraceLike
from tltrace_nb.render.colors import Names
from tltrace_nb.render.lanes import Layout, layout, of_shown_ctas, rows_of
from tltrace_nb.render.merging import merged_lines
from tltrace_nb.render.options import DEFAULTS, ViewOptions
from tltrace_nb.render.text import NO_EVENTS, NONE_SELECTED, badge, hover_lines, loss_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tltrace_nb.render.options import DEFAULTS, ViewOptions

MOST_EVENTS = 240
MOST_BYTES = 50_000

_ROW, _BAR = 30.0, 27.0
_MARGIN_LEFT, _MARGIN_RIGHT, _AXIS = 236.0, 12.0, 24.0
_TYPE = 'font-family="system-ui,sans-serif" font-size="11" fill="#222222"'
_KEY, _KEYS = 18.0, 24
"""Height of a line of the legend, and the most names in it."""
_IN_URL = {ord(char): f"%{ord(char):02X}" for char in "%#<>\n"}
"""What a ``data:`` URL must not hold as it is."""
_CHAR = 6.3
"""Width of an average character of 11 px text, for deciding what fits."""


def static_svg(
    trace: TraceLike,
    options: ViewOptions = DEFAULTS,
    width: int = 900,
    *,
    tips: bool = True,
    room: Sequence[float] | None = None,
) -> str:
    """A picture as ``svg`` draws it, of at most 240 events whatever ``limit`` is, and fewer where names are long."""
    limit = min(options.limit, MOST_EVENTS)
    while True:
        text = svg(trace, replace(options, limit=limit), width, tips=tips, room=room)
        if len(text.encode()) <= MOST_BYTES or limit == 1:
            return text
        limit = max(1, limit * 2 // 3)


def image(trace: TraceLike, options: ViewOptions = DEFAULTS, *, room: Sequence[float] | None = None) -> str:
    """``static_svg`` as an ``<img>`` that holds it.

    JupyterLab strips the elements of an ``<svg>`` from the output of a notebook that it does not trust, which is any
    notebook of somebody else, and leaves their words; an image stays. It has no use for tips.
    """
    drawn = static_svg(trace, options, tips=False, room=room)
    data = drawn.replace('"', "'").translate(_IN_URL)
    words = escape(f"{clean(trace.meta.kernel)}: timeline")
    return f'<img alt="{words}" style="max-width:100%" src="data:image/svg+xml;charset=utf-8,{escape(data)}">'


def svg(
    trace: TraceLike,
    options: ViewOptions,
    width: int,
    *,
    tips: bool = True,
    room: Sequence[float] | None = None,
) -> str:
    """Draw ``trace``, ``width`` pixels wide, with the lanes, names and payloads of ``figure``.

    Hovering an event shows its details (``tips``) where the viewer shows ``<title>``; the axis reaches over ``room``,
    too, two times in its unit. Raises what ``layout`` raises.
    """
    plan = layout(trace, options)
    heading = _heading(trace, plan, trace.meta.kernel if options.title is None else options.title, width)
    begin, end = plan.extent
    extent = (begin, end) if room is None else (min(begin, room[0]), max(end, room[1]))
    return _draw(trace, plan, extent, width, heading, tips)


def _draw(
    trace: TraceLike,
    plan: Layout,
    extent: tuple[float, float],
    width: int,
    lines: list[tuple[str, str]],
    tips: bool,
) -> str:
    """The picture; the axis is the ``extent``, ``lines`` stand over the lanes, each with its attributes."""
    top = 20.0 + 17.0 * len(lines)
    colors = (Names.of(trace) | Names(frozenset(plan.events["name"].unique()))).colors()
    foot = top + max(plan.rows, 1.0) * _ROW + _AXIS
    legend = _legend(plan, colors, width, foot + 6)
    height = foot + _KEY * len(legend)
    begin, end = extent
    scale = (width - _MARGIN_LEFT - _MARGIN_RIGHT) / max(end - begin, 1e-9)

    def at(x: float) -> float:
        return _MARGIN_LEFT + (x - begin) * scale

    def row(y: float) -> float:
        return top + y * _ROW

    size = f'width="{width}" height="{height:.0f}"'
    right_aligned = 'text-anchor="end"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height:.0f}" {_TYPE} role="img">',
        f"<title>{escape(clean(trace.meta.kernel))}: timeline</title>",
        f'<rect {size} fill="#ffffff"/>',
    ]
    for i, (text, style) in enumerate(lines):
        parts.append(f'<text x="8" y="{20 + 17 * i}" {style}>{escape(text)}</text>')
    for lane in plan.labelled:
        middle = row((lane.top + lane.bottom) / 2) + 4
        parts.append(f'<path d="M8 {row(lane.top) - 2:.1f}H{width - 8}" stroke="#e3e6ea"/>')
        label = escape(clean(lane.label, 36))
        parts.append(f'<text x="{_MARGIN_LEFT - 8:.0f}" y="{middle:.1f}" {right_aligned}>{label}</text>')
    parts += (
        _event(event, colors[event["name"]], at(event["x"]), row(event["y"]), scale, tips)
        for event in rows_of(plan.events)
    )
    parts += (
        _arrow(at(arrow["x0"]), row(arrow["y0"]), at(arrow["x1"]), row(arrow["y1"])) for arrow in rows_of(plan.arrows)
    )
    for bar in rows_of(plan.merged.bars):
        strip = plan.merged.strips[bar["strip"]]
        color = colors.get(strip.name or "", OTHER)
        tip = _tip(merged_lines(bar, strip, plan.unit)) if tips else ""
        parts.append(_merged(bar, color, at(bar["x"]), row(bar["y"]), bar["width"] * scale, tip))
    if plan.lanes:
        bottom = f'y="{foot - 8:.0f}" fill="#666666"'
        parts.append(f'<text x="{_MARGIN_LEFT:.0f}" {bottom}>{begin:,.0f}</text>')
        parts.append(f'<text x="{width - 12}" {bottom} {right_aligned}>{end:,.0f} {plan.unit}</text>')
    return "".join((*parts, *legend, "</svg>"))


def _legend(plan: Layout, colors: dict[str, str], width: int, top: float) -> list[str]:
    """The colours of the names, a line of SVG each, the commonest names first."""
    counts = plan.events["name"].value_counts()
    names = dict.fromkeys(
        [str(name) for name, size in counts.items() if size]
        + [s.name for s in plan.merged.strips if s.name is not None]
    )
    lines: list[str] = []
    x = 0.0
    for name in list(names)[:_KEYS]:
        label = clean(name, 24)
        step = len(label) * _CHAR + 32
        if not lines or x + step > width - _MARGIN_RIGHT:
            lines.append("")
            x = 8.0
        y = top + _KEY * (len(lines) - 1)
        lines[-1] += f'<rect x="{x:.0f}" y="{y:.0f}" width="10" height="10" fill="{colors[name]}"/>'
        lines[-1] += f'<text x="{x + 15:.0f}" y="{y + 9:.0f}">{escape(label)}</text>'
        x += step
    if len(names) > _KEYS:
        y = top + _KEY * len(lines)
        lines.append(f'<text x="8" y="{y + 9:.0f}" fill="#666666">and {len(names) - _KEYS:,} more names</text>')
    return lines


def _heading(trace: TraceLike, plan: Layout, title: str, width: int) -> list[tuple[str, str]]:
    """The lines over the lanes, broken to the width, each with its attributes."""
    warn = f'fill="{WARNING}"'
    worn = badge(trace.meta)
    lines = [
        (clean(title, 80) if title else "", 'font-size="14" font-weight="bold"'),
        (str(worn or ""), warn if worn and worn.warns else 'fill="#666666"'),
        (plan.note and f"{plan.note}; ctas= shows others", 'fill="#666666"'),
        (loss_text(of_shown_ctas(trace.losses, trace, plan.chosen)), warn),
        ((NO_EVENTS if trace.events.empty else NONE_SELECTED) if plan.chosen.empty else "", 'fill="#666666"'),
    ]
    return [(part, style) for text, style in lines for part in textwrap.wrap(text, int(width / _CHAR))]


def _tip(lines: list[str]) -> str:
    return f"<title>{escape(clean(chr(10).join(lines), 160))}</title>"


def _event(event: dict[str, Any], color: str, x: float, y: float, scale: float, tips: bool) -> str:
    payload = payload_text(event["payload"], event["payload_end"])
    tip = _tip(hover_lines(event)) if tips else ""
    paint = f'fill="{color}" stroke="{border(color)}"'
    width = event["width"] * scale
    beside = ""
    if event["width"] == 0 and payload and len(payload) * _CHAR + 10 <= event["room"] * scale:
        beside = f'<text x="{x + 9:.1f}" y="{y + 4:.1f}">{escape(payload)}</text>'
    if event["kind"] == "instant":
        return f'<g><path d="M{x:.1f} {y - 6:.1f}l6 6-6 6-6-6z" {paint}/>{beside}{tip}</g>'
    rim = ' stroke-dasharray="4 3"' if event["truncated"] else ""
    bar = f'<rect x="{x:.1f}" y="{y - _BAR / 2:.1f}" width="{max(width, 1):.1f}" height="{_BAR:.0f}" {paint}{rim}/>'
    lines = [line for line in (clean(event["name"]), payload) if line]
    fitting = [line for line in lines if len(line) * _CHAR + 4 <= width]
    middle = y + 4 - 11.5 * (len(fitting) - 1) / 2
    words = "".join(
        f'<text x="{x + width / 2:.1f}" y="{middle + 11.5 * i:.1f}">{escape(line)}</text>'
        for i, line in enumerate(fitting)
    )
    ink_of = f' text-anchor="middle" fill="{ink(color)}"' if words else ""
    return f"<g{ink_of}>{bar}{words}{beside}{tip}</g>"


def _merged(bar: dict[str, Any], color: str, x: float, y: float, width: float, tip: str) -> str:
    """A bar of merged events, paler and lower than one of a single event."""
    number = f"× {bar['count']:,}"
    place = f'x="{x + width / 2:.1f}" y="{y + 4:.1f}" text-anchor="middle"'
    words = f"<text {place}>{number}</text>" if len(number) * _CHAR + 4 <= width else ""
    paint = f'fill="{color}" fill-opacity="0.45" stroke="{border(color)}" stroke-dasharray="1 1"'
    box = f'x="{x:.1f}" y="{y - _BAR / 3:.1f}" width="{max(width, 1):.1f}" height="{_BAR * 2 / 3:.0f}"'
    return f"<g><rect {box} {paint}/>{words}{tip}</g>"


def _arrow(x0: float, y0: float, x1: float, y1: float) -> str:
    """A line with a small head."""
    length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1e-9)
    ux, uy = (x1 - x0) / length * 6, (y1 - y0) / length * 6
    points = ((x1, y1), (x1 - ux - uy / 2, y1 - uy + ux / 2), (x1 - ux + uy / 2, y1 - uy - ux / 2), (x1, y1))
    path = "".join(f"L{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{x0:.1f} {y0:.1f}{path}" fill="#555555" stroke="#555555"/>'
