"""The notebook that a view is shown in: whether there is one, and what stands there while nothing runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tltrace_nb.data.frames import TraceLike
from tltrace_nb.render.lanes import selected
from tltrace_nb.render.options import DEFAULTS, ViewOptions
from tltrace_nb.render.svg import image
from tltrace_nb.widget.html import table_html

TABLE_ROWS = 20
"""Most names in the table of the still picture."""


def notebook_shell() -> object | None:
    """The IPython shell that a front end other than a terminal listens to, if there is one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return None if type(shell).__name__ == "TerminalInteractiveShell" else shell


def still(trace: TraceLike, options: ViewOptions = DEFAULTS, *, room: Sequence[float] | None = None) -> dict[str, str]:
    """What stands for the timeline of ``trace`` where nothing runs: a picture as ``svg.image``, a table, and text."""
    shown = selected(trace, options.events, options.ctas)
    return {
        "text/plain": repr(trace),
        "text/html": f"<div>{image(trace, options, room=room)}{table_html(shown, TABLE_ROWS)}</div>",
    }
