"""The names of a trace: how often, how long, how much of the CTAs' time, and how much of that beside other work.

In: a trace. Out: a :class:`~tltrace_nb.analysis.table.Table` with ``columns.SUMMARY``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import DOWN, MOST_BARS, bars, chart, colors, most
from tltrace_nb.analysis.launch import caveats
from tltrace_nb.analysis.parts import Parted, each, parts
from tltrace_nb.analysis.ranges import Ranges, ranges_of
from tltrace_nb.analysis.spans import Array, Axis, Spans, groups, union
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.base.checks import checked
from tltrace_nb.data.headline import Tally, counted, tally
from tltrace_nb.data.trace_data import a_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from tltrace_nb.data.trace_data import TraceData


@checked(trace=a_trace)
def summary(trace: TraceData) -> Table:
    """Per name count, durations, share of the CTAs' time, overlap and payloads; see ``columns.SUMMARY``."""
    return summed(each(sums_of, parts(trace)), int(trace.ctas["duration"].sum()), caveats(trace))


@dataclass(frozen=True, slots=True)
class Sums:
    """What the summary of some CTAs is made of. ``open``, ``own`` and ``beside`` are cycles by the code of a name.

    ``open``: of a CTA in which such a range was open; ``own``: the same by track; ``beside``: those in which another
    track was at work, too.
    """

    tally: Tally
    open: Array
    own: Array
    beside: Array
    ctas: int
    tracks: int
    truncated: int


def sums_of(part: Parted) -> Sums:
    """The sums_of of one part."""
    found = ranges_of(part.events)
    cut = int(part.events["truncated"].sum())
    return Sums(tally(part.events), _open(found), *_beside(found), found.ctas, found.tracks, cut)


def summed(parts: Sequence[Sums], time: int, notes: list[str]) -> Table:
    """The summary of a trace of these parts, whose CTAs took ``time`` cycles in all."""
    names = counted([each.tally for each in parts])
    code = pd.CategoricalIndex(parts[0].tally.names.index).categories.get_indexer(names.index)
    open_, own, beside = (sum(getattr(each, of) for each in parts)[code] for of in ("open", "own", "beside"))
    with np.errstate(divide="ignore", invalid="ignore"):
        share, overlap = np.where(own > 0, open_ / time, np.nan), np.where(own > 0, beside / own, np.nan)
    names = names.assign(share=share, overlap=overlap).reset_index()
    types: Any = {column: type_ for column, type_ in columns.SUMMARY.items() if type_ in ("Int64", "Float64")}
    ctas, tracks = (sum(getattr(each, of) for each in parts) for of in ("ctas", "tracks"))
    if ctas and tracks == ctas:
        notes = [*notes, "every CTA recorded on one track: there is nothing that its ranges could overlap with"]
    return table("summary", columns.SUMMARY, names.astype(types), notes)


def _open(found: Ranges) -> Array:
    """Per code of a name the cycles of the CTAs in which such a range was open."""
    if not len(found):
        return np.zeros(found.names)
    pair, pairs = groups(found.home, found.name)
    name_of = np.zeros(pairs, np.int64)
    name_of[pair] = found.name
    axis = Axis.of(pairs, found.start, found.end)
    spans = union(axis.at(pair, found.start), axis.at(pair, found.end))
    return np.bincount(name_of[axis.key(spans.start)], spans.length, found.names)


def _beside(found: Ranges) -> tuple[Array, Array]:
    """Per name the cycles of its ranges, track by track, and those in which another track of the CTA was at work.

    That is where any track works, less where the track itself does and no other.
    """
    if not len(found):
        return np.zeros(found.names), np.zeros(found.names)
    home = np.zeros(found.tracks, np.int64)
    home[found.track] = found.home
    by_track, by_cta = (Axis.of(keys, found.start, found.end) for keys in (found.tracks, found.ctas))
    leaf = ~found.encloses
    work = union(*(by_track.at(found.track[leaf], each[leaf]) for each in (found.start, found.end)))
    track = by_track.key(work.start)

    shift = home[track] * by_cta.stride - track * by_track.stride
    place = np.concatenate([work.start + shift, work.end + shift])
    step = np.repeat([1, -1], len(track))
    order = np.argsort(place, kind="stable")
    place = place[order]
    working = np.cumsum(step[order])[:-1]
    alone = np.cumsum((step * np.tile(track, 2))[order])[:-1]  # where one works: its number
    stretch = place[1:] > place[:-1]
    some, single = stretch & (working >= 1), stretch & (working == 1)
    any_ = Spans(place[:-1][some], place[1:][some])
    # The stretches in which one track works, on that track's own part of an axis.
    other = alone[single]
    back = other * by_track.stride - home[other] * by_cta.stride
    start, end = place[:-1][single] + back, place[1:][single] + back
    sort = np.argsort(start, kind="stable")
    lonely = Spans(start[sort], end[sort])

    pair, pairs = groups(found.track, found.name)
    of_pair = np.zeros((2, pairs), np.int64)
    of_pair[:, pair] = found.track, found.name
    axis = Axis.of(pairs, found.start, found.end)
    mine = union(axis.at(pair, found.start), axis.at(pair, found.end))
    key = axis.key(mine.start)
    tracks, names = of_pair[:, key]
    to_track = tracks * by_track.stride - key * axis.stride
    to_cta = home[tracks] * by_cta.stride - key * axis.stride
    working = any_.within(mine.start + to_cta, mine.end + to_cta)
    beside = working - lonely.within(mine.start + to_track, mine.end + to_track)
    return np.bincount(names, mine.length, found.names), np.bincount(names, beside, found.names)


def figure(result: Table) -> go.Figure:
    """Per name its share of the CTAs' time, and the part of it beside other tracks."""
    rows = result.dropna(subset=["share"]).iloc[:MOST_BARS]
    labels = rows["name"].astype(str).tolist()
    shown = rows[["count", "total", "mean", "p50", "p99", "share", "overlap"]].itertuples(index=False)
    hover = [
        f"{name}: {times:,} times, {total:,} cycles in all\n"
        f"mean {mean:,.0f}, median {p50:,.0f}, p99 {p99:,.0f} cycles\n"
        f"open in {share:.1%} of the CTAs' time, {overlap:.1%} of that beside other tracks"
        for name, (times, total, mean, p50, p99, share, overlap) in zip(labels, shown, strict=True)
    ]
    open_, beside = rows["share"].astype(float), (rows["share"] * rows["overlap"]).astype(float)
    traces = [
        bars(labels, open_.tolist(), colors(labels), hover, "open"),
        bars(labels, beside.tolist(), "#5f6670", hover, "beside other tracks"),
    ]
    drawing = chart(
        result,
        traces,
        "Share of the CTAs' time",
        x="share of the CTAs' time",
        height=150 + 34 * len(rows),
        yaxis=DOWN,
        notes=most(len(result), "names"),
    )
    return drawing.update_layout(barmode="group", xaxis_tickformat=".0%")
