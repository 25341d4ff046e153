"""Two timelines over each other, on one time axis: what is zoomed in one is zoomed in the other.

In: two traces. Out: :class:`Pair`, two linked widgets in a notebook, and ``plotly.graph_objects.Figure``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.palette import border, ink
from tltrace_nb.base.words import clean, markup
from tltrace_nb.render.colors import Names
from tltrace_nb.render.options import DEFAULTS, ViewOptions
from tltrace_nb.widget.figure import figure

if TYPE_CHECKING:
    from collections.abc import Callable

    import plotly.graph_objects as go

    from tltrace_nb.data.frames import TraceLike
    from tltrace_nb.data.trace_data import TraceData
    from tltrace_nb.widget.timeline import Timeline

_BETWEEN_PX = 70
SHARED = ("unit", "span", "color_by", "query", "filter", "hidden_names")
"""Keys of a timeline's ``view`` that both have in common."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two traces beside each other, ``a`` above. ``options`` are those of ``Timeline``, for both."""

    a: TraceData
    b: TraceData
    options: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def timelines(self) -> tuple[Timeline, Timeline]:
        """The widgets: time, unit, colours, search and hidden names of one are those of the other.

        Errors as ``Timeline``.
        """
        from tltrace_nb.widget.timeline import Timeline

        above, below = (
            Timeline(mine, title=f"{letter}: {mine.meta.kernel}", beside=other, **self.options)
            for letter, mine, other in (("a", self.a, self.b), ("b", self.b, self.a))
        )
        if above.view["unit"] != below.view["unit"]:  # only one of them has ns
            above.view = below.view = {"unit": "cycles"}
        above.observe(_follower(below), "view")
        below.observe(_follower(above), "view")
        return above, below

    def figure(self, **view: Any) -> go.Figure:
        """Both as one Plotly figure; options and errors as ``Trace.figure``, by default those of the pair."""
        return pair(self.a, self.b, ViewOptions(**self.options | view))

    def __repr__(self) -> str:
        return f"a: {self.a!r}\nb: {self.b!r}"

    def _ipython_display_(self) -> None:
        from tltrace_nb.widget.notebook import notebook_shell

        if notebook_shell() is None:
            print(repr(self))
            return
        from IPython.display import display

        for timeline in self.timelines:
            display(timeline)  # type: ignore[no-untyped-call]


def _follower(other: Timeline) -> Callable[[Any], None]:
    """Takes over into ``other`` what both have in common, where its axis has that unit."""

    def follow(change: Any) -> None:
        view = {key: change["new"][key] for key in SHARED if key in change["new"]}
        if view["unit"] in other.units and any(other.view.get(key) != value for key, value in view.items()):
            other.view = view

    return follow


def pair(a: TraceLike, b: TraceLike, options: ViewOptions = DEFAULTS) -> go.Figure:
    """The timelines of ``a``, above, and ``b``, below; ``options`` for both.

    A name has one entry in the legend, which hides it in both. Errors as ``figure``.
    """
    import plotly.graph_objects as go

    above, below = figure(a, options), figure(b, options)
    heights = [drawing.layout.height - drawing.layout.margin.t - drawing.layout.margin.b for drawing in (above, below)]
    room = sum(heights) + _BETWEEN_PX
    colors = {markup(clean(name)): color for name, color in Names.of(a, b).colors().items()}
    known: set[str] = set()
    traces = []
    for drawing, axes in ((above, {"xaxis": "x", "yaxis": "y"}), (below, {"xaxis": "x2", "yaxis": "y2"})):
        entries = {each.legendgroup: each.name for each in drawing.data if each.showlegend is not False}
        for each in drawing.data:
            shown = each.showlegend is not False and each.name not in known
            group = entries.get(each.legendgroup, each.name)
            drawn = each.to_plotly_json() | axes | {"legendgroup": group, "showlegend": shown}
            traces.append(_recoloured(drawn, colors[each.name]) if each.name in colors else drawn)
        known |= set(entries.values())
    both = go.Figure(traces)
    layout = above.layout.to_plotly_json()
    lower = below.layout.to_plotly_json()
    split = heights[1] / room
    layout["yaxis"] |= {"domain": [split + _BETWEEN_PX / room, 1]}
    layout["xaxis2"] = lower["xaxis"] | {"matches": "x", "anchor": "y2"}
    layout["yaxis2"] = lower["yaxis"] | {"domain": [0, split], "anchor": "x2"}
    kernels = [markup(clean(trace.meta.kernel, 60)) for trace in (a, b)]
    layout["title"] |= {"text": f"<b>{kernels[0]}</b> (a, above) and <b>{kernels[1]}</b> (b, below)"}
    layout["height"] = room + above.layout.margin.t + above.layout.margin.b
    layout["annotations"] = []
    layout.pop("updatemenus", None)  # its buttons know the traces of one timeline
    return both.update_layout(layout)


def _recoloured(drawn: dict[str, Any], color: str) -> dict[str, Any]:
    """Bars or marks in the colour that their name has among those of both traces; a scale stays."""
    marker = drawn["marker"]
    if not isinstance(marker.get("color"), str):
        return drawn
    marker = marker | {"color": color, "line": marker["line"] | {"color": border(color)}}
    if "pattern" in marker:
        marker |= {"pattern": marker["pattern"] | {"fgcolor": border(color)}}
    text = {"insidetextfont": drawn["insidetextfont"] | {"color": ink(color)}} if "insidetextfont" in drawn else {}
    return drawn | {"marker": marker} | text
