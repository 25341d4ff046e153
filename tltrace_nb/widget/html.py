"""The timeline as one HTML file that works offline, weeks later, from ``file://``.

In: a trace. Out: a file with plotly.js inside (4.8 MB), the figure, and a table of names; nothing is fetched, and a
content security policy in the page forbids it. Where Plotly is not installed the file has a still picture instead. The
page itself is ``page.html`` beside this module, its script ``page.js``.
"""

from __future__ import annotations

import importlib.util
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import pandas as pd

from tltrace_nb.widget.colors import WARNING
from tltrace_nb.widget.figure import LIMIT, VIRTUAL, figure
from tltrace_nb.widget.svg import static_svg
from tltrace_nb.widget.text import clean, name_table

if TYPE_CHECKING:
    import os

    from tltrace_nb.widget.lanes import Time, TraceLike

TABLE_ROWS = 200
"""Most names in the table of a page."""


def write_html(
    trace: TraceLike,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    events: pd.DataFrame | None = None,
    limit: int = LIMIT,
    time: Time = "auto",
) -> Path:
    """Write the timeline of ``trace`` to ``path`` (overwritten if it exists) and return the path.

    Arguments: ``title`` defaults to the kernel's name; ``events`` is a selection of the rows of ``trace.events`` to
    show instead of all; ``limit`` and ``time`` are those of ``figure``. The table counts all events, also those
    above the limit, and its durations are in cycles. Follows the reader's light or dark preference.

    Raises ``ValueError`` as ``figure`` does, and ``OSError`` when the file cannot be written.
    """
    shown = trace.events if events is None else events
    heading = escape(clean(title or trace.meta.kernel, 200))
    badge = f' <span class="badge" title="{VIRTUAL}">virtual GPU</span>' if trace.meta.device == "virtual" else ""
    scripts = _scripts(trace, events, limit, time)
    page = Template(_resource("page.html")).substitute(
        title=heading,
        heading=heading + badge,
        facts="".join(f"<div><dt>{key}</dt><dd>{escape(fact)}</dd></div>" for key, fact in facts(trace, shown).items()),
        table=table_html(shown, TABLE_ROWS),
        still="" if scripts else static_svg(trace, time=time),
        scripts=scripts,
        warning=WARNING,
    )
    target = Path(path)
    target.write_text(page, encoding="utf-8")
    return target


def _scripts(trace: TraceLike, events: pd.DataFrame | None, limit: int, time: Time) -> str:
    """Plotly, the figure and what draws it; nothing where Plotly is not installed."""
    if importlib.util.find_spec("plotly") is None:
        return ""
    from plotly.offline import get_plotlyjs

    drawing = figure(trace, limit=limit, time=time, events=events, title="")
    return (
        f"<script>{get_plotlyjs()}</script>\n"
        # Plotly makes its strings fit for a script element.
        f'<script type="application/json" id="figure">{drawing.to_json()}</script>\n'
        f"<script>{_resource('page.js')}</script>"
    )


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def facts(trace: TraceLike, events: pd.DataFrame) -> dict[str, str]:
    """What a reader wants to know first: kernel, device, and how much of what is shown."""
    ranges = int((events["kind"] == "range").sum())
    device = clean(trace.meta.gpu, 80) if trace.meta.gpu else trace.meta.device
    return {
        "kernel": clean(trace.meta.kernel, 80),
        "device": f"{device} (simulated)" if trace.meta.device == "virtual" else device,
        "SMs": f"{trace.ctas['sm'].nunique():,}",
        "CTAs": f"{len(trace.ctas):,}",
        "ranges": f"{ranges:,}",
        "instants": f"{len(events) - ranges:,}",
        "arrows": f"{len(trace.flows):,}",
        "lost": f"{int(trace.losses['lost'].sum()):,} records",
    }


def table_html(events: pd.DataFrame, most: int) -> str:
    """The table of names as HTML, longest total first, at most ``most`` rows (said below it when there are more)."""
    if events.empty:
        return '<p class="note">no events</p>'
    table = name_table(events)
    rows = []
    for name, *values in table.head(most).itertuples():
        numbers = "".join("<td>-</td>" if pd.isna(value) else f"<td>{value:,.0f}</td>" for value in values)
        rows.append(f"<tr><td>{escape(clean(str(name)))}</td>{numbers}</tr>")
    more = f'<p class="note">{most:,} of {len(table):,} names</p>' if len(table) > most else ""
    head = "".join(f"<th>{text}</th>" for text in ("name", "count", "total, cycles", "mean", "p50", "p99"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"
