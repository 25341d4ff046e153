"""What a trace says of itself in a line or two, as text and as HTML, and the table of its names.

In: a trace. Out: strings, and a frame. What was lost is put into words here, and names are counted here, for all views.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.base.numbers import count, duration, number
from tltrace_nb.base.words import clean
from tltrace_nb.data.left_out import LEFT_OUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tltrace_nb.data.trace_data import TraceData

TOP_NAMES = 5
TABLE_NAMES = 30
NOTE = 1000
"""Characters of a trace's note that are shown."""
UNMARKED = (
    "no markers in this kernel: write trace.range around its operators, or let --auto of %%tltrace and tltrace run, "
    "or trace.auto, do it"
)
"""Said instead of names where nothing could record."""


def text(trace: TraceData) -> str:
    """Kernel, device, counts, duration, the commonest names, what is missing, and what is noted."""
    counts = trace.events["name"].value_counts()
    counts = counts[counts > 0]
    names = ", ".join(f"{clean(str(name))} × {count:,}" for name, count in counts.head(TOP_NAMES).items())
    more = f" and {len(counts) - TOP_NAMES:,} more" if len(counts) > TOP_NAMES else ""
    told = names + more if trace.table.sites else UNMARKED
    return "\n  ".join([headline(trace), *([told] if told else []), *troubles(trace), *notes(trace)])


def headline(trace: TraceData) -> str:
    """Kernel, device, counts and duration in one line."""
    ctas, meta = trace.ctas, trace.meta
    where = f"{meta.device} ({clean(meta.gpu, 80)})" if meta.gpu else meta.device
    counts = f"{count(len(trace), 'event')}, {count(len(ctas), 'CTA')}"
    line = f"Trace of {clean(meta.kernel or trace.table.kernel, 80)} on {where}: {counts}"
    if len(ctas):
        line += f" on {count(ctas['sm'].nunique(), 'SM')}, {_span(ctas)}"
    return line


def _span(ctas: pd.DataFrame) -> str:
    """From the first entry to the last exit; in cycles of the longest CTA where no clock rate is known."""
    if ctas["clock_ghz"].isna().all():
        return f"longest CTA {ctas['duration'].max():,} cycles (clock rate unknown)"
    return duration(ctas["end_ns"].max() - ctas["start_ns"].min())


def losses(frame: pd.DataFrame) -> list[str]:
    """What rows of ``Trace.losses`` say, a phrase per kind of loss; none where nothing was lost."""
    phrases = []
    if missing := frame.attrs.get(LEFT_OUT):
        left, total, budget = missing
        how = f"budget={budget} holds all, ctas= chooses" if budget else f"a sample; ctas=range({total}) traces all"
        phrases.append(f"CTAs left out: {left:,} of {total:,} ({how})")
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


def notes(trace: TraceData) -> list[str]:
    """What the run was found to be, a race above all, in one line; none where there is nothing to say."""
    return [clean(trace.meta.note, NOTE)] if trace.meta.note else []


def by_name(events: pd.DataFrame) -> pd.DataFrame:
    """Per name ``count``, ``total``, ``mean``, ``p50``, ``p99``, ``payload_min``, ``payload_max``; longest total first.

    Durations are in cycles and over ranges only; a name of instants alone has missing values there, and a name without
    payload has them in the last two.
    """
    return counted([tally(events)])


@dataclass(frozen=True, slots=True)
class Tally:
    """What the table of names is made of. Those of parts add up.

    ``names`` has ``count``, ``payload_min`` and ``payload_max`` by name; ``durations`` are the distinct durations of
    the ranges of each name that has some, ascending, and how often each is there.
    """

    names: pd.DataFrame
    durations: dict[Any, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]


def tally(events: pd.DataFrame) -> Tally:
    """The tally of ``events``."""
    groups = events.groupby("name", observed=True)
    payload = groups["payload"]
    names = pd.DataFrame({"count": groups.size(), "payload_min": payload.min(), "payload_max": payload.max()})
    name = pd.Categorical(events["name"])
    code = np.where((events["kind"] == "range").to_numpy(), name.codes, -1).astype(name.codes.dtype)
    order = np.argsort(code, kind="stable")  # codes are of 8 or 16 bits mostly, which are sorted in one pass
    duration = events["duration"].to_numpy()[order]
    ends = np.searchsorted(code[order], np.arange(-1, len(name.categories)), side="right")
    several = itertools.pairwise(ends.tolist())
    return Tally(
        names,
        {
            each: _distinct(duration[first:last])
            for each, (first, last) in zip(name.categories, several, strict=True)
            if last > first
        },
    )


def _distinct(
    values: npt.NDArray[np.int64], times: npt.NDArray[np.int64] | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The distinct values, ascending, and how often each is there; each counts ``times`` (default: once)."""
    order = slice(None) if times is None else np.argsort(values, kind="stable")
    ascending = np.sort(values) if times is None else values[order]
    first = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    many = np.diff(first, append=len(ascending)) if times is None else np.add.reduceat(times[order], first)
    return ascending[first], many


def counted(tallies: Sequence[Tally]) -> pd.DataFrame:
    """The table of names of events in parts, each of which has its tally."""
    names, durations = tallies[0].names, tallies[0].durations
    if len(tallies) > 1:
        groups = pd.concat([each.names for each in tallies]).groupby(level=0, observed=True)
        names = groups.agg({"count": "sum", "payload_min": "min", "payload_max": "max"})
        durations = {}
        for name in dict.fromkeys(name for each in tallies for name in each.durations):
            parts = [each.durations[name] for each in tallies if name in each.durations]
            durations[name] = _distinct(*(np.concatenate([part[i] for part in parts]) for i in (0, 1)))
    of_ranges = pd.DataFrame(
        [_statistics(*durations[name]) for name in names.index if name in durations],
        names.index[[name in durations for name in names.index]],
        ["total", "mean", "p50", "p99"],
    )
    table = pd.concat([names[["count"]], of_ranges, names[["payload_min", "payload_max"]]], axis=1)
    return table.sort_values(["total", "count"], ascending=False, kind="stable")


def _statistics(values: npt.NDArray[np.int64], times: npt.NDArray[np.int64]) -> tuple[int, float, float, float]:
    """Sum, mean, median and 99th percentile (interpolated linearly) of values that are there so many times."""
    total, last = int((values * times).sum()), np.cumsum(times)
    count = int(last[-1])
    quantiles = []
    for share in (0.5, 0.99):
        at, rest = divmod(share * (count - 1), 1)
        low, high = (float(values[np.searchsorted(last, at + i, side="right")]) for i in (0, 1 if rest else 0))
        quantiles.append(low + (high - low) * rest)
    return total, total / count, quantiles[0], quantiles[1]


def html(trace: TraceData) -> str:
    """The same, with a table of names; everything that comes from a kernel is escaped."""
    told = [*([] if trace.table.sites else [UNMARKED]), *troubles(trace), *notes(trace)]
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
