"""Show a trace under the cell, with a still picture and text for views that run nothing.

In: a trace. Out: nothing; what is displayed is the :class:`~tltrace_nb.widget.timeline.Timeline`, or one bundle of
Plotly's own type, and with either ``text/html`` (an image and a table, no script) and ``text/plain``. Both are drawn in
JupyterLab, Notebook 7 and VS Code, without network; nbconvert, Colab and a notebook on GitHub take the still picture.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from tltrace_nb.base.checks import checked, one_of, optional
from tltrace_nb.render.lanes import Time, selected
from tltrace_nb.render.limits import LIMIT
from tltrace_nb.render.readable import TraceLike
from tltrace_nb.render.svg import image
from tltrace_nb.render.views import Color, View
from tltrace_nb.widget.figure import CONFIG, OPTIONS, figure
from tltrace_nb.widget.html import table_html
from tltrace_nb.widget.notebook import TABLE_ROWS, notebook_shell

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.core.compile.options import Ctas

Renderer = Literal["timeline", "plotly"]
RENDERERS: tuple[Renderer, ...] = ("timeline", "plotly")
PLOTLY_MIME = "application/vnd.plotly.v1+json"


@checked(renderer=optional(one_of(RENDERERS)), **OPTIONS)
def show(
    trace: TraceLike,
    *,
    renderer: Renderer | None = None,
    ctas: Ctas | None = None,
    events: pd.DataFrame | None = None,
    limit: int = LIMIT,
    time: Time = "auto",
    height: int | None = None,
    title: str | None = None,
    view: View = "thread",
    color: Color = "name",
) -> None:
    """Display the timeline of ``trace`` in a notebook; elsewhere print its ``repr`` and how to get a file.

    ``renderer``: the interactive ``"timeline"``, or ``"plotly"``, of which alone ``limit``, ``view`` and ``color`` are
    options, and which is taken where one of the last two is given, or where anywidget is not installed. The other
    options, and the errors, are those of ``figure``; ``ValueError`` for another renderer, or for a view or a colour
    with ``"timeline"``; ``ModuleNotFoundError`` where that is asked for and anywidget is missing.
    """
    charted = (view, color) != ("thread", "name")
    renderer = renderer or ("plotly" if charted or not _installed("anywidget") else "timeline")
    if charted and renderer == "timeline":
        raise ValueError("view= and color= are Plotly's: the timeline groups and colours in its own bar")
    wanted = selected(trace, events, ctas)
    if notebook_shell() is None:
        print(repr(trace))
        print("No notebook here: trace.to_html('trace.html') writes the timeline as one offline file.")
        return
    from IPython.display import display

    if renderer == "timeline":
        from tltrace_nb.widget.timeline import Timeline

        display(Timeline(trace, events=wanted, time=time, height=height, title=title))  # type: ignore[no-untyped-call]
        return
    data = bundle(trace, events=wanted, limit=limit, time=time, height=height, title=title, view=view, color=color)
    display(data, raw=True)  # type: ignore[no-untyped-call]


def _installed(package: str) -> bool:
    return sys.modules.get(package) is not None or (package not in sys.modules and find_spec(package) is not None)


def bundle(
    trace: TraceLike,
    *,
    ctas: Ctas | None = None,
    events: pd.DataFrame | None = None,
    limit: int = LIMIT,
    time: Time = "auto",
    height: int | None = None,
    title: str | None = None,
    view: View = "thread",
    color: Color = "name",
) -> dict[str, Any]:
    """The display data of ``trace`` by MIME type. Without Plotly installed, only the still picture and the text."""
    wanted = selected(trace, events, ctas)
    still = image(trace, time=time, events=wanted, title=title, limit=limit, view=view)
    data: dict[str, Any] = {
        "text/plain": repr(trace),
        "text/html": f"<div>{still}{table_html(wanted, TABLE_ROWS)}</div>",
    }
    try:
        drawing = figure(
            trace, events=wanted, limit=limit, time=time, height=height, title=title, view=view, color=color
        )
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "plotly":
            raise
        return data
    value = json.loads(drawing.to_json())
    value["config"] = dict(CONFIG)
    return {PLOTLY_MIME: value, **data}
