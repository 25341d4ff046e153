"""Show a trace under the cell, with a still picture and text for views that run nothing.

In: a trace. Out: nothing; what is displayed is the :class:`~tltrace_nb.widget.timeline.Timeline`, or one bundle of
Plotly's own type, and with either ``text/html`` (an image and a table, no script) and ``text/plain``. Both are drawn in
JupyterLab, Notebook 7 and VS Code, without network; nbconvert, Colab and a notebook on GitHub take the still picture.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Literal

from tltrace_nb.base.checks import checked, one_of, optional
from tltrace_nb.data.frames import TraceLike
from tltrace_nb.render.lanes import selected
from tltrace_nb.render.options import DEFAULTS, ViewOptions
from tltrace_nb.widget.figure import CONFIG, figure
from tltrace_nb.widget.notebook import notebook_shell, still

Renderer = Literal["timeline", "plotly"]
RENDERERS: tuple[Renderer, ...] = ("timeline", "plotly")
PLOTLY_MIME = "application/vnd.plotly.v1+json"


@checked(renderer=optional(one_of(RENDERERS)))
def show(trace: TraceLike, options: ViewOptions = DEFAULTS, *, renderer: Renderer | None = None) -> None:
    """Display the timeline of ``trace`` in a notebook; elsewhere print its ``repr`` and how to get a file.

    ``renderer``: the interactive ``"timeline"``, or ``"plotly"``, of which alone ``limit``, ``view`` and ``color`` are
    options, and which is taken where one of the last two is given, or where anywidget is not installed. Errors as those
    of ``figure``; ``ValueError`` for another renderer, or for a view or a colour with ``"timeline"``;
    ``ModuleNotFoundError`` where that is asked for and anywidget is missing.
    """
    charted = (options.view, options.color) != (DEFAULTS.view, DEFAULTS.color)
    renderer = renderer or ("plotly" if charted or not _installed("anywidget") else "timeline")
    if charted and renderer == "timeline":
        raise ValueError("view= and color= are Plotly's: the timeline groups and colours in its own bar")
    options = replace(options, ctas=None, events=selected(trace, options.events, options.ctas))
    if notebook_shell() is None:
        print(repr(trace))
        print("No notebook here: trace.to_html('trace.html') writes the timeline as one offline file.")
        return
    from IPython.display import display

    if renderer == "timeline":
        from tltrace_nb.widget.timeline import Timeline

        view = Timeline(trace, events=options.events, time=options.time, height=options.height, title=options.title)
        display(view)  # type: ignore[no-untyped-call]
        return
    display(bundle(trace, options), raw=True)  # type: ignore[no-untyped-call]


def _installed(package: str) -> bool:
    return sys.modules.get(package) is not None or (package not in sys.modules and find_spec(package) is not None)


def bundle(trace: TraceLike, options: ViewOptions = DEFAULTS) -> dict[str, Any]:
    """The display data of ``trace`` by MIME type. Without Plotly installed, only the still picture and the text."""
    data = still(trace, options)
    try:
        drawing = figure(trace, options)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "plotly":
            raise
        return data
    value = json.loads(drawing.to_json())
    value["config"] = dict(CONFIG)
    return {PLOTLY_MIME: value, **data}
