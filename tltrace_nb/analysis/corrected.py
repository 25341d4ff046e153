"""A trace without what its own markers cost, and how much that was.

In: a trace, and the cycles that one record takes. Out: frames, which ``core.trace.CorrectedTrace`` has; a
:class:`~tltrace_nb.analysis.table.Table` with ``columns.OVERHEAD``.

A record reads the clock and then takes ``cost`` cycles of its thread. So whatever its thread does next is late by that,
and by all records before: the time between two records of a thread is shorter by the cost of the first, but not below
zero. A range loses the cost of its own begin and of every record of its thread inside it. Records of one cycle read the
clock once; their costs follow them.

What this cannot know: whether a thread would have waited anyway. Each thread is moved against its own records alone, so
times of different threads of a CTA are no longer exact against each other; and what a marker does to the code around
it (``docs/accuracy.md``) stays in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import DOWN, MOST_BARS, bars, chart, colors, most
from tltrace_nb.analysis.launch import caveats, gpu_of
from tltrace_nb.analysis.parts import each, joined, parts
from tltrace_nb.analysis.ranges import ranges_of, renamed
from tltrace_nb.analysis.spans import Array, Axis, Ints, groups
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.base.checks import checked, cycles, optional
from tltrace_nb.base.numbers import count
from tltrace_nb.data.decode import Decoded
from tltrace_nb.data.trace_data import TraceData, a_trace

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

BELIEVED = 0.05
"""Share of the CTAs' time in records up to which a trace is called undisturbed."""


@checked(trace=a_trace, cost=optional(cycles))
def corrected(trace: TraceData, cost: float | None = None) -> tuple[Decoded, float]:
    """The frames without the cost of the trace's records, ``cost`` cycles each (default: the GPU model's), and that.

    Raises ``ValueError`` where no cost is known or it is negative.
    """
    cost = _known(trace, cost)
    return _corrected(trace, cost), cost


@checked(trace=a_trace, cost=optional(cycles))
def overhead(trace: TraceData, cost: float | None = None) -> Table:
    """Per name the records inside its ranges and what they cost, ``cost`` cycles each (default: the GPU model's).

    See ``columns.OVERHEAD``; ``result.attrs["verdict"]`` says in a line whether the trace is to be believed. Raises
    ``ValueError`` where no cost is known, and for a negative one.
    """
    cost = _known(trace, cost)
    stay = _stays(trace.ctas)
    found = each(lambda part: _of_names(part.events, stay, cost), parts(trace))
    names = trace.events["name"].cat.categories
    cells = {"name": renamed(names, np.arange(len(names)))}
    for i, column in enumerate(("count", "total", "records", "cost")):
        summed = np.sum([of_names[i] for of_names, _ in found], axis=0)
        cells[column] = summed if column == "cost" else summed.astype(np.int64)
    cells["share"] = cells["cost"] / np.maximum(cells["total"], 1)
    notes = [*caveats(trace), f"a record counts as {cost:g} cycles; what it does to the code around it is not in this"]
    result = table("corrected", columns.OVERHEAD, cells, notes)
    result = result[result["count"] > 0].sort_values("share", ascending=False, ignore_index=True)
    result.attrs["verdict"] = _verdict(trace, [spent for _, most_ in found for spent in most_])
    return result


def _of_names(events: pd.DataFrame, stay: pd.Series[Any], cost: float) -> tuple[list[Array], list[float]]:
    """By the code of a name, the ranges of some CTAs, their cycles, records and cost; and each CTA's busiest thread."""
    found = ranges_of(events, ended=True)
    records = _Records.of(events, cost)
    begin, end = records.begin[found.row], records.end
    before = np.cumsum(records.times) - records.times
    inside, removed = (of[end] - of[begin] for of in (before, records.late))
    weights = (None, found.end - found.start, inside, removed)
    cta, threads = records.of_threads(events["cta"].to_numpy())
    _, most_ = _largest(cta, records.shift(threads, stay.reindex(cta).to_numpy()))
    return [np.bincount(found.name, weight, found.names) for weight in weights], most_


def _stays(ctas: pd.DataFrame) -> pd.Series[Any]:
    """The cycles of each CTA, by its id."""
    return ctas.set_index("cta")["duration"]


def _known(trace: TraceData, cost: float | None) -> float:
    """The cost of a record, checked."""
    if cost is None:
        model = gpu_of(trace.meta)
        if model is None:
            raise ValueError(
                f"what a record costs on {trace.meta.gpu or 'this GPU'} is not known: pass cost=, in cycles; "
                "benchmarks/markers.py measures it"
            )
        cost = model.latencies.marker
    if cost < 0:
        raise ValueError(f"cost={cost}: cycles of one record, not negative")
    return cost


@dataclass(frozen=True, slots=True)
class _Records:
    """When each thread recorded, how often at that time, and by how much it was late then: sorted, on one axis.

    ``thread`` numbers the (CTA, thread) of each event; ``begin`` is the place of its first record among those times,
    ``end`` that of the last of each range that ``ended``.
    """

    axis: Axis
    thread: Ints
    time: Ints
    times: Ints
    late: Array
    cost: float
    begin: Ints
    end: Ints
    ended: Array

    @classmethod
    def of(cls, events: pd.DataFrame, cost: float) -> _Records:
        """The records that the events were made of."""
        cta, start, end = (events[column].to_numpy().astype(np.int64) for column in ("cta", "start", "end"))
        thread, threads = groups(cta - cta.min(initial=0), events["thread"].to_numpy())
        ended = (events["kind"] == "range").to_numpy() & ~events["truncated"].to_numpy()
        axis = Axis.of(threads, start, end)
        places = np.concatenate([axis.at(thread, start), axis.at(thread[ended], end[ended])])
        order = np.argsort(places, kind="stable")
        places = places[order]
        new = np.concatenate([[True], places[1:] != places[:-1]])[: len(places)]
        of_record = np.empty(len(places), np.int64)
        of_record[order] = np.cumsum(new) - 1
        at = np.flatnonzero(new)
        time, times = places[at], np.diff(at, append=len(places))
        gap = np.diff(time)
        same = axis.key(time[1:]) == axis.key(time[:-1])
        removed = np.where(same, np.minimum(gap, cost * times[:-1]), 0)
        late = np.concatenate([[0], np.cumsum(removed)])[: len(time)]
        first = np.flatnonzero(np.concatenate([[True], ~same])[: len(time)])
        late = late - np.repeat(late[first], np.diff(first, append=len(time)))
        return cls(axis, thread, time, times, late, cost, of_record[: len(start)], of_record[len(start) :], ended)

    def shift(self, thread: Ints, time: Ints) -> Array:
        """By how much each thread was late at ``time``, which may lie after all records."""
        place = self.axis.at(thread, np.clip(time, self.axis.first, self.axis.last))
        index = np.searchsorted(self.time, place, side="right") - 1
        since = time - self.axis.first - self.time[index] + thread * self.axis.stride
        late = self.late[index] + np.minimum(since, self.cost * self.times[index])
        return np.where((index >= 0) & (self.axis.key(self.time[index]) == thread), late, 0)

    def shifts(self, starts: Array, ends: Array) -> tuple[Array, Array]:
        """By how much each event was late at its start and its end."""
        start = self.late[self.begin]
        end = start.copy()  # of instants
        end[self.ended] = self.late[self.end]
        cut = np.flatnonzero(~self.ended & (ends != starts))
        end[cut] = self.shift(self.thread[cut], ends[cut])
        return start, end

    def of_threads(self, cta: Array) -> tuple[Array, Ints]:
        """The CTA of each thread, given that of each event, and the threads."""
        home = np.arange(self.axis.keys)
        first = np.zeros(len(home), np.int64)
        first[self.thread[::-1]] = np.arange(len(self.thread))[::-1]
        return cta[first], home


def _corrected(trace: TraceData, cost: float) -> Decoded:
    """The frames, each thread's times earlier by what its records before took."""
    events, ctas = trace.events, trace.ctas
    if events.empty:
        return Decoded(events, ctas, trace.flows, trace.sites, trace.losses, events)
    clock = ctas.set_index("cta")
    moved = each(lambda part: _moved(part.events, clock, cost), parts(trace))
    cta, ends = (np.concatenate([part[i] for _, part in moved]) for i in (0, 1))
    better = events.assign(**joined([columns_ for columns_, _ in moved]))
    # A CTA ends with its last thread; which that is, is not known where it did more after its last record.
    duration = ctas["cta"].map(dict(zip(cta, ends, strict=True))).fillna(ctas["duration"]).astype("int64")
    shorter = ctas.assign(duration=duration, end_ns=ctas["start_ns"] + duration / ctas["clock_ghz"])
    return Decoded(better.copy(deep=False), shorter, trace.flows, trace.sites, trace.losses, better)


def _moved(
    events: pd.DataFrame, clock: pd.DataFrame, cost: float
) -> tuple[dict[str, Array], tuple[list[int], list[float]]]:
    """The columns that change, for the events of some CTAs, and when each CTA ends then."""
    records = _Records.of(events, cost)
    moved = records.shifts(events["start"].to_numpy(), events["end"].to_numpy())
    start, end = (
        events[column].to_numpy() - np.round(by).astype(np.int64)
        for column, by in zip(("start", "end"), moved, strict=True)
    )
    cta, threads = records.of_threads(events["cta"].to_numpy())
    ghz = clock["clock_ghz"].reindex(cta).to_numpy()[records.thread]
    cells = {
        "start": start,
        "end": end,
        "duration": end - start,
        "start_ns": events["start_ns"].to_numpy() - moved[0] / ghz,
        "duration_ns": (end - start) / ghz,
    }
    stay = clock["duration"].reindex(cta).to_numpy()
    return cells, _largest(cta, (stay - records.shift(threads, stay)).round())


def _largest(key: Array, value: Array) -> tuple[list[int], list[float]]:
    """The distinct keys and the largest value of each."""
    order = np.lexsort((value, key))
    last = np.concatenate([key[order][1:] != key[order][:-1], [True]])[: len(key)]
    return key[order][last].tolist(), value[order][last].tolist()


def _verdict(trace: TraceData, spent: list[float]) -> str:
    """How much of the CTAs' time the busiest thread of each ``spent`` recording, and what follows."""
    time = int(trace.ctas["duration"].sum())
    if not spent or not time:
        return "no records, no cost"
    share = sum(spent) / float(time)
    said = f"records take {share:.1%} of the CTAs' time, {count(round(sum(spent) / len(spent)), 'cycle')} of each CTA"
    if share <= BELIEVED:
        return f"{said}: believe the trace"
    return f"{said}, more than {BELIEVED:.0%}: mark less, or look at corrected() times with care"


def figure(result: Table) -> go.Figure:
    """Per name the share of its time that records take."""
    rows = result.iloc[:MOST_BARS]
    labels = rows["name"].astype(str).tolist()
    hover = [
        f"{name}: {records:,} records in {times:,} ranges take {cost:,.0f} of {total:,} cycles"
        for name, times, total, records, cost in rows[["name", "count", "total", "records", "cost"]].itertuples(
            index=False
        )
    ]
    bar = bars(labels, rows["share"].tolist(), colors(labels), hover)
    notes = [str(result.attrs.get("verdict", "")), *most(len(result), "names")]
    title, height = "What its own markers take of each range", 150 + 26 * len(rows)
    drawing = chart(result, [bar], title, x="share of the ranges' cycles", height=height, yaxis=DOWN, notes=notes)
    return drawing.update_layout(xaxis_tickformat=".0%")
