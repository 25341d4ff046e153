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
from tltrace_nb.analysis.spans import Array, Axis, groups, union
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

    Begins and ends cut a track into pieces, in each of which it is at work or is not. From all pieces of a CTA in order
    of time follows when any track is at work, and which piece is the only one: what lies beside a piece is the former
    less the latter. What lies beside a range is the sum over the pieces from its begin to its end.
    """
    if not len(found):
        return np.zeros(found.names), np.zeros(found.names)
    axis = Axis.of(found.tracks, found.start, found.end)
    points = np.concatenate([axis.at(found.track, found.start), axis.at(found.track, found.end)])
    order = np.argsort(points, kind="stable")  # by track
    place = points[order]
    step = np.concatenate([~found.encloses, found.encloses.astype(np.int8) - np.int8(1)])
    works = np.cumsum(step[order], dtype=np.int32) > 0

    home = np.zeros(found.tracks, np.int64)
    home[found.track] = found.home
    track = np.tile(found.track, 2)[order]
    time = place + (home[track] - track) * axis.stride
    by_cta = np.argsort(time, kind="stable")
    length = np.diff(time[by_cta], append=0)
    mine = works * np.arange(len(order), dtype=np.int32)
    working = np.cumsum(np.diff(works.astype(np.int8), prepend=np.int8(0))[by_cta], dtype=np.int32)
    only = np.cumsum(np.diff(mine, prepend=np.int32(0))[by_cta], dtype=np.int32)  # where one works: its piece
    single = working == 1
    alone = np.bincount(only[single], length[single], len(order))
    length[working == 0] = 0
    any_ = np.empty(len(order), np.int64)
    any_[by_cta] = np.cumsum(length) - length
    beside = any_ - (np.cumsum(alone) - alone)

    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    pair, pairs = groups(found.track, found.name)
    name_of = np.zeros(pairs, np.int64)
    name_of[pair] = found.name
    of_pair = Axis(pairs, 0, len(order))
    spans = union(*(of_pair.at(pair, each) for each in np.split(position, 2)))
    key = of_pair.key(spans.start)
    begin, end = spans.start - key * of_pair.stride, spans.end - key * of_pair.stride
    name = name_of[key]
    own, other = (np.bincount(name, of[end] - of[begin], found.names) for of in (place, beside))
    return own, other


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
