"""What a trace says of itself in a line or two, as text and as HTML, and the table of its names.

In: a trace. Out: strings, and a frame. What was lost is put into words here, and names are counted here, for all views.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from tltrace_nb.base.words import clean
from tltrace_nb.data.left_out import LEFT_OUT

if TYPE_CHECKING:
    from tltrace_nb.data.trace_data import TraceData

TOP_NAMES = 5
TABLE_NAMES = 30
NONE = "–"
"""Stands in a table where there is no number."""
UNMARKED = (
    "no markers in this kernel: write trace.range around its operators, or let --auto of %%tltrace and tltrace run, "
    "or trace.auto, do it"
)
"""Said instead of names where nothing could record."""


def text(trace: TraceData) -> str:
    """Kernel, device, counts, duration, the commonest names, and what is missing."""
    counts = trace.events["name"].value_counts()
    counts = counts[counts > 0]
    names = ", ".join(f"{clean(str(name))} × {count:,}" for name, count in counts.head(TOP_NAMES).items())
    more = f" and {len(counts) - TOP_NAMES:,} more" if len(counts) > TOP_NAMES else ""
    told = names + more if trace.table.sites else UNMARKED
    return "\n  ".join([headline(trace), *([told] if told else []), *troubles(trace)])


def headline(trace: TraceData) -> str:
    """Kernel, device, counts and duration in one line."""
    ctas, meta = trace.ctas, trace.meta
    where = f"{meta.device} ({clean(meta.gpu, 80)})" if meta.gpu else meta.device
    counts = f"{count(len(trace), 'event')}, {count(len(ctas), 'CTA')}"
    line = f"Trace of {clean(meta.kernel or trace.table.kernel, 80)} on {where}: {counts}"
    if len(ctas):
        line += f" on {count(ctas['sm'].nunique(), 'SM')}, {_span(ctas)}"
    return line


def count(number: int, noun: str) -> str:
    """``1 cycle``, ``2,000 cycles``."""
    return f"{number:,} {noun}{'' if abs(number) == 1 else 's'}"


def _span(ctas: pd.DataFrame) -> str:
    """From the first entry to the last exit; in cycles of the longest CTA where no clock rate is known."""
    nanoseconds = ctas["end_ns"].max() - ctas["start_ns"].min()
    if ctas["clock_ghz"].isna().all():
        return f"longest CTA {ctas['duration'].max():,} cycles (clock rate unknown)"
    return f"{nanoseconds / 1000:,.1f} µs"


def losses(frame: pd.DataFrame) -> list[str]:
    """What rows of ``Trace.losses`` say, a phrase per kind of loss; none where nothing was lost."""
    phrases = []
    if missing := frame.attrs.get(LEFT_OUT):
        left, total, budget = missing
        phrases.append(f"CTAs left out: {left:,} of {total:,} (budget={budget} holds all, ctas= chooses)")
    if frame.empty:
        return phrases
    lost, entered = frame["lost"], frame["entered"].astype(bool)
    if lost.sum():
        phrases.append(
            f"lost {count(int(lost.sum()), 'record')} of {count(int((lost > 0).sum()), 'writer')}: "
            f"max_events={int(frame['max_events'].max())} would have held them"
        )
    counted = (
        (frame["corrupt"], "corrupt record", ""),
        (frame["unmatched_ends"], "end", " without a begin"),
        (frame["unfinished"], "writer", " never left the kernel"),
        (~entered, "writer", " never entered it"),
        (entered & (frame["executed"] == 0), "writer", " recorded nothing"),
    )
    phrases += [f"{count(int(each.sum()), noun)}{rest}" for each, noun, rest in counted if each.sum()]
    if back := frame.loc[frame["timer_back"].astype(bool), "cta"].nunique():
        phrases.append(f"{count(back, 'CTA')} in which the GPU's timer ran backwards, without a time in ns")
    return phrases


def troubles(trace: TraceData) -> list[str]:
    """One line per kind of loss; none where all is well."""
    sites = trace.sites
    lines = losses(trace.losses)
    if cut := int(trace.events["truncated"].sum()):
        lines.append(f"{count(cut, 'range')} never ended")
    silent = sites[sites["count"] == 0]
    if len(silent):
        names = list(
            dict.fromkeys(
                f"{clean(name)} ({clean(source, 80)})"
                for name, source in zip(silent["name"], silent["source"], strict=True)
            )
        )
        more = ", …" if len(names) > TOP_NAMES else ""
        lines.append(f"{len(silent):,} of {len(sites):,} sites never recorded: {', '.join(names[:TOP_NAMES])}{more}")
    return lines


def by_name(events: pd.DataFrame) -> pd.DataFrame:
    """Per name ``count``, ``total``, ``mean``, ``p50``, ``p99``, ``payload_min``, ``payload_max``; longest total first.

    Durations are in cycles and over ranges only; a name of instants alone has missing values there, and a name without
    payload has them in the last two.
    """
    groups = events.groupby("name", observed=True)
    ranges = events.loc[events["kind"] == "range"].groupby("name", observed=True)["duration"]
    table = pd.DataFrame(
        {
            "count": groups.size(),
            "total": ranges.sum(),
            "mean": ranges.mean(),
            "p50": ranges.quantile(0.5),
            "p99": ranges.quantile(0.99),
            "payload_min": groups["payload"].min(),
            "payload_max": groups["payload"].max(),
        }
    )
    return table.sort_values(["total", "count"], ascending=False, kind="stable")


def number(value: float, digits: int = 0) -> str:
    """A number of a table as text, a dash where it is missing."""
    return NONE if pd.isna(value) else f"{value:,.{digits}f}"


def html(trace: TraceData) -> str:
    """The same, with a table of names; everything that comes from a kernel is escaped."""
    told = troubles(trace) if trace.table.sites else [UNMARKED, *troubles(trace)]
    lines = "".join(f"<br><em>{escape(line)}</em>" for line in told)
    names = by_name(trace.events)
    columns = ("count", "total", "mean", "payload_min", "payload_max")
    body = "".join(
        f"<tr><td>{escape(clean(str(name)))}</td><td>{times:,}</td><td>{number(total)}</td><td>{number(mean, 1)}</td>"
        f"<td>{_range(least, greatest)}</td></tr>"
        for name, times, total, mean, least, greatest in names.loc[:, columns].head(TABLE_NAMES).itertuples()
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
