"""The timeline as one HTML file that works offline, weeks later, from ``file://``.

In: a trace. Out: a file with a table of names, the still picture, and what replaces it where scripts run: the timeline
of the notebook, ``static/timeline.js``, and all events, packed (base64 of gzip). Nothing is fetched, and a content
security policy in the page forbids it. The page itself is ``page.html`` beside this module, ``page.js`` its own script.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from tltrace_nb.base.checks import checked, file, optional, whole
from tltrace_nb.base.files import writing
from tltrace_nb.base.numbers import number
from tltrace_nb.base.palette import WARNING
from tltrace_nb.base.words import clean
from tltrace_nb.data.headline import by_name
from tltrace_nb.render.colors import Names
from tltrace_nb.render.lanes import of_events, of_shown_ctas, part, selected
from tltrace_nb.render.options import DEFAULTS, PAGE_EVENTS, ViewOptions
from tltrace_nb.render.svg import static_svg
from tltrace_nb.render.text import badge
from tltrace_nb.widget.overlays import OVERLAYS
from tltrace_nb.widget.wire import encode, said_of, unit

if TYPE_CHECKING:
    import os

    import pandas as pd

    from tltrace_nb.data.frames import TraceLike

MOST_EXPLAINED = 20_000
"""Events of a trace up to which a page has its critical path and waits with it."""
TABLE_ROWS = 200
"""Most names in the table of a page."""


@checked(path=file, most=optional(whole(1, "a number of events, at least 1, or None for all")))
def write_html(
    trace: TraceLike,
    path: str | os.PathLike[str],
    options: ViewOptions = DEFAULTS,
    *,
    most: int | None = PAGE_EVENTS,
) -> Path:
    """Write the timeline of ``trace`` to ``path`` (overwritten if it exists) and return the path.

    ``most``: events in the page, of which the CTAs are then chosen from the beginning, the end and between, as the page
    says (``None``: all). The facts, the table and the timeline are about all events of the page, the still picture
    about as many as ``options.limit`` says; durations in the table are in cycles. Follows the reader's light or dark
    preference.

    Raises ``ValueError`` as ``figure`` does, and ``OSError`` when the file cannot be written.
    """
    text = page_html(trace, selected(trace, options.events, options.ctas), options, most)
    with writing(path) as file:
        file.write(text.encode())
    return Path(path)


def page_html(trace: TraceLike, events: pd.DataFrame, options: ViewOptions, most: int | None = PAGE_EVENTS) -> str:
    """The page of some rows of a trace; arguments as ``write_html``."""
    shown, note = part(events, most)
    heading = escape(clean(options.title or trace.meta.kernel, 200))
    worn = badge(trace.meta)
    kind = "badge warns" if worn and worn.warns else "badge"
    sign = f' <span class="{kind}" title="{escape(worn.why)}">{escape(worn.text)}</span>' if worn else ""
    facts = page_facts(trace, shown)
    return Template(_resource("page.html")).substitute(
        title=heading,
        heading=heading + sign,
        note=f'<p class="note">{escape(note)}</p>' if note else "",
        facts="".join(f"<div><dt>{key}</dt><dd>{escape(text)}</dd></div>" for key, text in facts.items()),
        table=table_html(shown, TABLE_ROWS),
        still=static_svg(trace, replace(options, ctas=None, events=shown, title="")),
        scripts=_scripts(trace, shown, options),
        warning=WARNING,
    )


def _scripts(trace: TraceLike, events: pd.DataFrame, options: ViewOptions) -> str:
    """The events and the timeline that draws them."""
    wire = encode(of_events(trace, events), title="", names=Names.of(trace), **said_of(trace))
    overs = {which: make(trace) for which, make in OVERLAYS.items()} if len(trace.events) <= MOST_EXPLAINED else {}
    remarks = [asdict(note) for note in getattr(trace.meta, "notes", ())]
    view = {"unit": unit(wire.aligned, events, options.time)}
    mounted = json.dumps({"height": options.height, "view": view, "overs": overs, "remarks": remarks})
    mounted = mounted.replace("<", "\\u003c")  # a name may say </script>
    own = Template(_resource("page.js")).substitute(data=wire.script(), options=mounted)
    return f'<script type="module">\n{_resource("static/timeline.js")}\n{own}</script>'


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def page_facts(trace: TraceLike, events: pd.DataFrame) -> dict[str, str]:
    """What a reader wants to know first: kernel, device, and how much there is in ``events``, rows of the trace."""
    ranges = int((events["kind"] == "range").sum())
    device = clean(trace.meta.gpu, 80) if trace.meta.gpu else trace.meta.device
    ctas = of_shown_ctas(trace.ctas, trace, events)
    arrows = trace.flows["src"].isin(events.index) & trace.flows["dst"].isin(events.index)
    return {
        "kernel": clean(trace.meta.kernel, 80),
        "device": f"{device} (simulated)" if trace.meta.device == "virtual" else device,
        "SMs": f"{ctas['sm'].nunique():,}" if len(ctas) else "unknown",  # a list of rows says nothing of SMs
        "CTAs": f"{max(len(ctas), events['cta'].nunique()):,}",
        "ranges": f"{ranges:,}",
        "instants": f"{len(events) - ranges:,}",
        "arrows": f"{int(arrows.sum()):,}",
        "lost": f"{int(of_shown_ctas(trace.losses, trace, events)['lost'].sum()):,} records",
    }


def table_html(events: pd.DataFrame, most: int) -> str:
    """The table of names as HTML, longest total first, at most ``most`` rows (said below it when there are more)."""
    if events.empty:
        return '<p class="note">no events</p>'
    table = by_name(events)[["count", "total", "mean", "p50", "p99"]]
    rows = []
    for name, *values in table.head(most).itertuples():
        numbers = "".join(f"<td>{number(value)}</td>" for value in values)
        rows.append(f"<tr><td>{escape(clean(str(name)))}</td>{numbers}</tr>")
    more = f'<p class="note">{most:,} of {len(table):,} names</p>' if len(table) > most else ""
    head = "".join(f"<th>{text}</th>" for text in ("name", "count", "total, cycles", "mean", "p50", "p99"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"
