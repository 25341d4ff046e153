"""A profile and the traces in it as one Plotly figure: host threads and GPU streams over the SMs, on one axis.

In: a profile, and traces at their place in it. Out: ``plotly.graph_objects.Figure``. Plotly is imported when it is
drawn, and draws some ten thousand bars; of more the longest are taken, and the figure says so.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb.base.numbers import duration
from tltrace_nb.base.palette import OTHER, PALETTE, border, ink
from tltrace_nb.base.words import clean, markup
from tltrace_nb.data.kineto import CALLS, KERNEL
from tltrace_nb.widget.figure import FONT

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tltrace_nb.analysis.placing import Placed
    from tltrace_nb.data.kineto import Recording, Span

MOST = 10_000
"""Spans of the profile that are drawn."""
_ANNOTATIONS, _OPERATORS, _CALLS, _KERNELS, _COPIES = "annotations", "operators", "calls of CUDA", "kernels", "copies"
_KINDS = {
    "user_annotation": _ANNOTATIONS, "gpu_user_annotation": _ANNOTATIONS, "cpu_op": _OPERATORS,
    "python_function": "Python functions", **dict.fromkeys(CALLS, _CALLS), KERNEL: _KERNELS,
    "gpu_memcpy": _COPIES, "gpu_memset": _COPIES,
}  # fmt: skip
"""What a bar is, by its category in the profile; what has no entry is not drawn."""
_ROW_PX, _SM_PX = 20, 5
_TOP_PX, _BOTTOM_PX, _LABEL_PX = 90, 20, 13


@dataclass(frozen=True, slots=True)
class _Bar:
    """A bar of a ``kind``, in a row, in ns of the axis."""

    kind: str
    row: int
    start: int
    end: int
    text: str
    hover: str


@dataclass(slots=True)
class _Rows:
    """The rows of a figure: what each is called, and how high it is in pixels."""

    labels: list[str]
    pixels: list[int]

    def add(self, label: str, pixels: int) -> int:
        """A new row, the last."""
        self.labels.append(label)
        self.pixels.append(pixels)
        return len(self.labels) - 1


def figure(recording: Recording, placed: Sequence[Placed], launch: Placed | None = None) -> go.Figure:
    """Draw a profile over the SMs of the traces that have a place in it; it shows ``launch`` at first, or all."""
    import plotly.graph_objects as go

    zero = recording.start
    drawn = [span for span in recording.spans if span.category in _KINDS]
    longest = heapq.nlargest(MOST, drawn, key=lambda span: span.end - span.start) if len(drawn) > MOST else drawn
    rows = _Rows([], [])
    bars = [*_of_profile(recording, longest, rows, zero), *_of_traces(placed, rows, zero)]
    edges = np.concatenate([[0], np.cumsum(rows.pixels)]).tolist()
    kinds = dict.fromkeys(bar.kind for bar in bars)
    colors = dict(zip(kinds, [*PALETTE, *[OTHER] * len(kinds)], strict=False))
    of_kind = {kind: [bar for bar in bars if bar.kind == kind] for kind in kinds}
    drawing = go.Figure([_traced(kind, of_kind[kind], colors[kind], edges) for kind in kinds])
    head = f"A profile with {len(placed)} of its launches traced"
    note = "" if longest is drawn else f"<br><span style='font-size:12px'>the longest {MOST:,} of {len(drawn):,}</span>"
    drawing.update_layout(
        template="plotly_white",
        barmode="overlay",
        height=edges[-1] + _TOP_PX + _BOTTOM_PX,
        margin={"l": 20, "r": 20, "t": _TOP_PX, "b": _BOTTOM_PX},
        title={"text": f"<b>{head}</b>{note}", "font": {"size": 16}},
        font={"family": FONT, "size": 12},
        hovermode="closest",
        hoverlabel={"align": "left", "namelength": 0},
        dragmode="zoom",
        uniformtext={"minsize": 9, "mode": "hide"},
        xaxis={
            "title": {"text": "ns since the profile's first event", "standoff": 4}, "side": "top", "ticks": "outside",
            "showline": True, "zeroline": False, "separatethousands": True, "range": _range(launch, zero),
        },
        yaxis=_axis(rows, edges),
    )  # fmt: skip
    return drawing


def _range(launch: Placed | None, zero: int) -> list[int] | None:
    """A launch's kernel with a quarter of its length to either side."""
    if launch is None or launch.kernel is None:
        return None
    start, end = launch.kernel.start - zero, launch.kernel.end - zero
    return [start - (end - start) // 4, end + (end - start) // 4]


def _axis(rows: _Rows, edges: list[int]) -> dict[str, Any]:
    """From the top down; a label at the first row of each name, where it does not meet the one before."""
    at, texts, before = [], [], -float(_LABEL_PX)
    for row, label in enumerate(rows.labels):
        middle = (edges[row] + edges[row + 1]) / 2
        if label and middle - before >= _LABEL_PX:
            at.append(middle)
            texts.append(markup(clean(label, 40)))
            before = middle
    return {
        "range": [edges[-1], 0], "fixedrange": True, "tickmode": "array", "tickvals": at, "ticktext": texts,
        "tickfont": {"size": 11}, "automargin": True, "showgrid": False, "zeroline": False,
    }  # fmt: skip


def _traced(kind: str, bars: Sequence[_Bar], color: str, edges: list[int]) -> dict[str, Any]:
    """The bars of a kind, as Plotly has them."""
    return {
        "type": "bar",
        "orientation": "h",
        "name": markup(kind),
        "base": [bar.start for bar in bars],
        "x": [bar.end - bar.start for bar in bars],
        "y": [(edges[bar.row] + edges[bar.row + 1]) / 2 for bar in bars],
        "width": [0.9 * (edges[bar.row + 1] - edges[bar.row]) for bar in bars],
        "text": [bar.text for bar in bars],
        "textposition": "inside",
        "insidetextanchor": "start",
        "constraintext": "inside",
        "textangle": 0,
        "insidetextfont": {"color": ink(color), "size": 11},
        "hovertext": [bar.hover for bar in bars],
        "hoverinfo": "text",
        "marker": {"color": color, "line": {"color": border(color), "width": 0.5}},
    }


def _of_profile(recording: Recording, spans: Sequence[Span], rows: _Rows, zero: int) -> Iterator[_Bar]:
    """The spans, a row for each depth of a line."""
    of_line = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.category == KERNEL)):
        of_line[span.line].append(span)
    for line, name in recording.lines.items():
        levels: list[int] = []
        open_: list[int] = []  # by level, when what lies there ends
        for span in of_line[line]:
            level = next((level for level, end in enumerate(open_) if end <= span.start), len(open_))
            del open_[level:]
            open_.append(span.end)
            if level == len(levels):
                process = recording.processes[line[0]].rpartition(" · ")[2]
                levels.append(rows.add("" if level else f"{process} · {name}", _ROW_PX))
            told = f"{markup(clean(span.name, 200))}<br>{duration(span.end - span.start)}"
            text = markup(clean(span.name, 60))
            yield _Bar(_KINDS[span.category], levels[level], span.start - zero, span.end - zero, text, told)


def _of_traces(placed: Sequence[Placed], rows: _Rows, zero: int) -> Iterator[_Bar]:
    """The CTAs of traces, as many rows for each SM as it had at a time."""
    found: dict[int, list[tuple[int, int, str, str]]] = defaultdict(list)
    for each in placed:
        frame = each.launch.trace.ctas
        names = frame["kernel"].astype(str) == each.launch.trace.table.launches[each.launch.number].name
        mine = frame[names & np.isfinite(frame["start_ns"]) & np.isfinite(frame["end_ns"])]
        kind = f"CTAs of {clean(each.launch.function, 60)}"
        shift = each.shift - zero
        cells = zip(*(mine[column].tolist() for column in ("sm", "cta", "start_ns", "end_ns")), strict=True)
        for sm, cta, start, end in cells:
            told = f"CTA {cta} on SM {sm}<br>{duration(end - start)}<br>± {each.error:,} ns"
            found[sm].append((round(start) + shift, round(end) + shift, kind, told))
    for sm, ctas in sorted(found.items()):
        free: list[int] = []
        of_sm: list[int] = []
        for start, end, kind, told in sorted(ctas):
            level = next((level for level, since in enumerate(free) if since <= start), len(free))
            free[level : level + 1] = [end]
            if level == len(of_sm):
                of_sm.append(rows.add("" if level else f"SM {sm}", _SM_PX))
            yield _Bar(kind, of_sm[level], start, end, "", told)
