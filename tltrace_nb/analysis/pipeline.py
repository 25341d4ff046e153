"""How a pipelined loop ran: per iteration its issue, when the data were ready, and their use; what stayed empty.

In: a trace. Out: a :class:`~tltrace_nb.analysis.table.Table` with ``columns.PIPELINE``.

An iteration is the i-th range of a producer and the i-th of its consumer in a CTA. A *gap* is the time before a use in
which the consumer's thread was in no range (a wait does not count as one); a *bubble* is the part of it in which the
data were not ready. When they were ready is rarely recorded, so:

* with ``wait``, the ranges around the consumer's waits: when the wait let go, less what one takes that need not wait;
* else the data are ready ``flight`` cycles after the producer's range ended, but not later than they were used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import chart, colors, label, thinned
from tltrace_nb.analysis.launch import caveats, gpu_of
from tltrace_nb.analysis.ranges import NO_RANGES, Ranges, cells, codes, numbered, ranges_of, renamed
from tltrace_nb.analysis.spans import Axis, Ints, groups, ordinal, union
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.core.cells import masked

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tltrace_nb.core.trace import Trace


@dataclass(frozen=True, slots=True)
class _Pair:
    """Producer and consumer, iteration by iteration, as positions in a :class:`Ranges`, by CTA and iteration."""

    src: Ints
    dst: Ints
    iteration: Ints


def pipeline(
    trace: Trace,
    producer: str | None = None,
    consumer: str | None = None,
    *,
    wait: str | Iterable[str] = (),
    flight: float | None = None,
    passing: float | None = None,
) -> Table:
    """Issue, readiness and use of every iteration, gaps and bubbles; see ``columns.PIPELINE`` and the module.

    ``producer``, ``consumer``: names of ranges; by default every arrow (``dag``) is a pair of them, else the only names
    that repeat in the producer's and in the consumer's role. ``wait``: names (patterns with ``*``) of the consumer's
    waits. ``flight``: cycles from the end of the producer's range to readiness; by default the least of this trace from
    there to a use. ``passing``: cycles of a wait that need not wait;
    by default those of the GPU's model, else 0. Raises ``ValueError`` for a name that no event has, and where only one
    of the two is given.
    """
    if (producer is None) != (consumer is None):
        raise ValueError("give both producer= and consumer=, or neither")
    events = trace.events
    found = ranges_of(events, ended=True)
    notes = caveats(trace)
    waiting = numbered(events, wait, "wait")
    pairs, said = _pairs(trace, found, producer, consumer)
    notes += said if len(found) else [NO_RANGES]
    if waiting and passing is None:
        passing, told = _passing(trace)
        notes += told
    parts = []
    for src, dst in pairs:
        pair, said = _pair(events, found, src, dst)
        notes += said
        if len(pair.src):
            part, said = _iterations(events, found, pair, waiting, flight, passing or 0)
            parts.append(part)
            notes += said
    empty = pd.DataFrame({column: [] for column in columns.PIPELINE})
    return table("pipeline", columns.PIPELINE, pd.concat(parts, ignore_index=True) if parts else empty, notes)


def _pairs(
    trace: Trace, found: Ranges, producer: str | None, consumer: str | None
) -> tuple[list[tuple[int, int]], list[str]]:
    """The names that make up the pipelines, as codes, and how they were found."""
    events = trace.events
    if producer is not None and consumer is not None:
        (src,), (dst,) = (
            numbered(events, [name], which) for name, which in ((producer, "producer"), (consumer, "consumer"))
        )
        return [(src, dst)], []
    known = list(events["name"].cat.categories)
    arrows = [(a, b) for a, b in trace.table.flows if a in known and b in known]
    if arrows:
        return [(known.index(a), known.index(b)) for a, b in arrows], []
    role, roles = codes(events["role"])[found.row], list(events["role"].cat.categories)
    candidates = []
    for wanted in ("producer", "consumer"):
        mine = ~found.encloses & (role == roles.index(wanted) if wanted in roles else False)
        counts = np.bincount(found.name[mine], minlength=found.names)
        ctas = groups(found.home[mine])[1]
        candidates.append(np.flatnonzero(counts > ctas))
    if [len(each) for each in candidates] == [1, 1]:
        src, dst = (int(each[0]) for each in candidates)
        names = f"{known[src]!r} and {known[dst]!r}"
        return [(src, dst)], [
            f"no arrows (trace.dag): {names}, the only names that repeat in the two roles, are paired"
        ]
    return [], [
        "which ranges produce for which is not told: pass producer= and consumer=, or declare trace.dag(src, dst)"
    ]


def _passing(trace: Trace) -> tuple[float, list[str]]:
    model = gpu_of(trace.meta)
    if model is None:
        return 0.0, [
            "what a wait takes that need not wait is not known for this GPU: pass passing=, else every wait is a bubble"
        ]
    cycles = (model.latencies.mbarrier if model.wgmma else model.latencies.barrier) + model.latencies.marker
    return cycles, [f"a wait counts as passing up to {cycles:.0f} cycles, those of the {model.name} model and a marker"]


def _pair(events: pd.DataFrame, found: Ranges, src: int, dst: int) -> tuple[_Pair, list[str]]:
    """The i-th of ``src`` with the i-th of ``dst`` in each CTA, in order of start."""
    sides, turns = [], []
    for name in (src, dst):
        rows = np.flatnonzero(found.name == name)
        rows = rows[np.lexsort((found.start[rows], found.cta[rows]))]
        sides.append(rows)
        turns.append(ordinal(found.cta[rows], np.arange(len(rows))))
    least = int(found.cta.min(initial=0))
    most = max(int(turn.max(initial=0)) for turn in turns) + 1
    keys = [(found.cta[rows] - least) * most + turn for rows, turn in zip(sides, turns, strict=True)]
    common, left, right = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    pair = _Pair(sides[0][left], sides[1][right], common % most)
    notes = []
    known = events["name"].cat.categories
    alone = len(keys[0]) + len(keys[1]) - 2 * len(common)
    if alone:
        notes.append(f"{alone:,} ranges of {known[src]!r} and {known[dst]!r} have no partner in their CTA: left out")
    first, second = (events["payload"].array.take(found.row[each]) for each in (pair.src, pair.dst))
    differ = np.asarray((first != second).fillna(False), np.bool_)
    if differ.any():
        notes.append(
            f"{int(differ.sum()):,} iterations pair different payloads of {known[src]!r} and {known[dst]!r}: they are "
            "paired in order of start, which may not be who produced for whom"
        )
    return pair, notes


def _iterations(
    events: pd.DataFrame, found: Ranges, pair: _Pair, waiting: list[int], flight: float | None, passing: float
) -> tuple[pd.DataFrame, list[str]]:
    notes: list[str] = []
    src, dst, turn = pair.src, pair.dst, pair.iteration
    issue, issued, use, done = found.start[src], found.end[src], found.start[dst], found.end[dst]
    axis = Axis.of(found.threads, found.start, found.end)
    starts, ends = axis.at(found.thread, found.start), axis.at(found.thread, found.end)
    is_wait = np.isin(found.name, waiting)
    work = np.flatnonzero(~found.encloses & ~is_wait)
    by_end = np.sort(ends[work])
    before = by_end[np.maximum(np.searchsorted(by_end, starts[dst], side="right") - 1, 0)]
    # Where nothing on the thread came before, the first iteration, there is no gap.
    first = (turn == 0) | (axis.key(before) != found.thread[dst]) | (before > starts[dst])
    idle_since = np.where(first, use, use - (starts[dst] - before))
    gap = use - idle_since

    if waiting and is_wait.any():
        waits = np.flatnonzero(is_wait)
        waits = waits[np.argsort(ends[waits], kind="stable")]
        last = waits[np.maximum(np.searchsorted(ends[waits], starts[dst], side="right") - 1, 0)]
        waited = (
            (found.thread[last] == found.thread[dst])
            & (first | (found.start[last] >= idle_since))
            & (found.end[last] <= use)
        )
        blocked = np.maximum(found.end[last] - found.start[last] - round(passing), 0)
        ready = np.where(waited, found.start[last] + blocked, np.minimum(issued, use))
        bubble = np.where(waited, blocked, 0)
    else:
        if flight is None:
            lead, name = use - issued, str(events["name"].cat.categories[found.name[dst[0]]])
            apart = lead[lead >= 0]
            flight = float(apart.min()) if len(apart) else 0.0
            notes.append(
                f"when the data for {name!r} were ready is not recorded: {flight:,.0f} cycles after the producer's "
                "range ended, the least from there to a use in this trace; pass flight= or wait= where more is known"
            )
        ready = np.minimum(issued + round(flight), use)
        bubble = np.clip(ready - idle_since, 0, gap)

    busy = union(starts[work], ends[work])
    at = [
        axis.at(found.thread[dst], np.clip(time, axis.first, axis.last)) for time in (issue, np.maximum(ready, issue))
    ]
    place = Axis.of(int(found.cta.max()) + 1, found.start, found.end)
    issues = np.sort(place.at(found.cta[src], issue))
    ahead = np.searchsorted(issues, place.at(found.cta[dst], use), side="right") - np.arange(len(issues)) - 1
    values: dict[str, Any] = cells(events, found.row[dst], ("cta", "payload"))
    values |= {
        "producer": renamed(events["name"].cat.categories, found.name[src]),
        "consumer": renamed(events["name"].cat.categories, found.name[dst]),
        "iteration": turn.astype(np.int32),
        "issue": issue,
        "issued": issued,
        "ready": ready,
        "use": use,
        "done": done,
        "gap": masked(gap, first),
        "bubble": masked(bubble, first.copy()),
        "ahead": np.maximum(ahead, 0).astype(np.int32),
        "overlap": busy.within(*at),
    }
    return pd.DataFrame({column: values[column] for column in columns.PIPELINE}), notes


def figure(result: Table) -> go.Figure:
    """Gap and bubble before each use, on average over the CTAs, by iteration."""
    names = [str(name) for name in result["consumer"].unique()]
    color = dict(zip(names, colors(names), strict=True))
    traces = []
    for (producer, consumer), rows in result.groupby(["producer", "consumer"], observed=True):
        means = rows.groupby("iteration")[["gap", "bubble"]].mean().dropna()
        means = means.iloc[thinned(len(means))]
        for column, dash in (("gap", "dot"), ("bubble", "solid")):
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": label(f"{column} before {consumer} (from {producer})"),
                    "line": {"color": color[str(consumer)], "dash": dash},
                    "x": means.index.tolist(),
                    "y": means[column].astype(float).tolist(),
                    "hovertemplate": f"iteration %{{x}}: {column} %{{y:,.0f}} cycles",
                }
            )
    title = "Bubbles of the pipeline"
    if result["bubble"].notna().any():
        flight = float((result["ready"] - result["issue"]).sum())
        hidden = float(result["overlap"].sum()) / max(flight, 1.0)
        title = f"Bubbles: {result['bubble'].mean():,.0f} cycles an iteration; {hidden:.0%} of production is hidden"
    return chart(result, traces, title, x="iteration", y="cycles", legend={"orientation": "h", "y": 1.08})
