"""What a trace says of itself in a line or two, as text and as HTML.

In: a trace. Out: strings.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

TOP_NAMES = 5
TABLE_NAMES = 30


def text(trace: Trace) -> str:
    """Kernel, device, counts, duration, the commonest names, and what is missing."""
    counts = trace.events["name"].value_counts()
    counts = counts[counts > 0]
    names = ", ".join(f"{name} × {count:,}" for name, count in counts.head(TOP_NAMES).items())
    more = f" and {len(counts) - TOP_NAMES:,} more" if len(counts) > TOP_NAMES else ""
    return "\n  ".join([headline(trace), *([names + more] if names else []), *troubles(trace)])


def headline(trace: Trace) -> str:
    """Kernel, device, counts and duration in one line."""
    ctas, meta = trace.ctas, trace.meta
    where = f"{meta.device} ({meta.gpu})" if meta.gpu else meta.device
    counts = f"{_number(len(trace), 'event')}, {_number(len(ctas), 'CTA')}"
    line = f"Trace of {meta.kernel or trace.table.kernel} on {where}: {counts}"
    if len(ctas):
        line += f" on {_number(ctas['sm'].nunique(), 'SM')}, {_span(ctas)}"
    return line


def _number(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _span(ctas: pd.DataFrame) -> str:
    """From the first entry to the last exit; in cycles of the longest CTA where no clock rate is known."""
    nanoseconds = ctas["end_ns"].max() - ctas["start_ns"].min()
    if ctas["clock_ghz"].isna().all():
        return f"longest CTA {ctas['duration'].max():,} cycles (clock rate unknown)"
    return f"{nanoseconds / 1000:,.1f} µs"


def troubles(trace: Trace) -> list[str]:
    """One line per kind of loss; none where all is well."""
    losses, sites, events = trace.losses, trace.sites, trace.events
    lines = []
    if lost := int(losses["lost"].sum()):
        lines.append(
            f"lost {lost:,} records of {int((losses['lost'] > 0).sum()):,} writers: "
            f"max_events={int(losses['max_events'].max())} would have held them"
        )
    counted = {
        "records corrupt": int(losses["corrupt"].sum()),
        "ends without a begin": int(losses["unmatched_ends"].sum()),
        "ranges never ended": int(events["truncated"].sum()),
        "writers never left the kernel": int(losses["unfinished"].sum()),
        "writers never entered it": int((~losses["entered"]).sum()),
    }
    lines += [f"{count:,} {what}" for what, count in counted.items() if count]
    silent = sites[sites["count"] == 0]
    if len(silent):
        names = list(
            dict.fromkeys(f"{name} ({source})" for name, source in zip(silent["name"], silent["source"], strict=True))
        )
        more = ", …" if len(names) > TOP_NAMES else ""
        lines.append(f"{len(silent):,} of {len(sites):,} sites never recorded: {', '.join(names[:TOP_NAMES])}{more}")
    return lines


def by_name(events: pd.DataFrame) -> pd.DataFrame:
    """Per name: ``count``, ``total`` and ``mean`` cycles, least and greatest payload (missing where there is none)."""
    groups = events.groupby("name", observed=True, sort=False)
    return groups.agg(
        count=("duration", "size"),
        total=("duration", "sum"),
        mean=("duration", "mean"),
        payload_min=("payload", "min"),
        payload_max=("payload", "max"),
    ).sort_values("total", ascending=False)


def html(trace: Trace) -> str:
    """The same, with a table of names; everything that comes from a kernel is escaped."""
    lines = "".join(f"<br><em>{escape(line)}</em>" for line in troubles(trace))
    names = by_name(trace.events)
    body = "".join(
        f"<tr><td>{escape(str(name))}</td><td>{row.count_:,}</td><td>{row.total:,}</td><td>{row.mean:,.1f}</td>"
        f"<td>{_range(row.payload_min, row.payload_max)}</td></tr>"
        for name, row in zip(
            names.index,
            names.rename(columns={"count": "count_"}).head(TABLE_NAMES).itertuples(index=False),
            strict=False,
        )
    )
    heads = "".join(f"<th>{head}</th>" for head in ("name", "count", "total cycles", "mean cycles", "payload"))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>" if body else ""
    more = f"{len(names) - TABLE_NAMES:,} more names" if len(names) > TABLE_NAMES else ""
    return f'<div class="tltrace-summary"><strong>{escape(headline(trace))}</strong>{lines}{table}{more}</div>'


def _range(least: object, greatest: object) -> str:
    """Least to greatest payload."""
    if pd.isna(least):  # type: ignore[call-overload]
        return ""
    return escape(f"{least}" if least == greatest else f"{least} … {greatest}")
