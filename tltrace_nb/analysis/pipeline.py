"""How a pipelined loop ran: per iteration its issue, when the data were ready, and their use; what stayed empty.

In: a trace. Out: a :class:`~tltrace_nb.analysis.table.Table` with ``columns.PIPELINE``.

An iteration is the i-th range of a producer and the i-th of its consumer in a CTA. A *gap* is the time before a use in
which the consumer's thread was in no range (a wait does not count as one); a *bubble* is the part of it in which the
data were not ready. When they were ready is rarely recorded, so:

* with ``wait``, the ranges around the consumer's waits: when the wait let go, less what one takes that need not wait;
* else the data are ready ``flight`` cycles after the producer's range ended, but not later than they were used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import chart, colors, label, thinned
from tltrace_nb.analysis.launch import caveats, gpu_of
from tltrace_nb.analysis.parts import Part, each, joined, parts
from tltrace_nb.analysis.ranges import NO_RANGES, Ranges, cells, codes, numbered, ranges_of, renamed
from tltrace_nb.analysis.spans import Axis, Ints, Spans, groups, ordinal, union
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.base.checks import checked, cycles, names, optional, text
from tltrace_nb.data.cells import masked
from tltrace_nb.data.trace_data import a_trace

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tltrace_nb.data.trace_data import TraceData


@dataclass(frozen=True, slots=True)
class _Pair:
    """Producer and consumer, iteration by iteration, as positions in a :class:`Ranges`, by CTA and iteration.

    ``alone`` ranges have no partner; ``differ`` pairs have different payloads.
    """

    src: Ints
    dst: Ints
    iteration: Ints
    alone: int
    differ: int


@dataclass(frozen=True, slots=True)
class _Iterations:
    """The iterations of a part, and what of them does not hang on when the data were ready.

    ``cells`` are columns of the result; ``thread`` is the consumer's, which had been idle since ``idle_since``.
    ``let_go`` and ``blocked`` are when the waits say that the data were ready, and for how long the consumer waited.
    ``busy`` is when threads were at work, on ``axis``.
    """

    pair: _Pair
    cells: dict[str, Any]
    thread: Ints
    idle_since: Ints
    let_go: Ints
    blocked: Ints
    axis: Axis
    busy: Spans

    def rows_after(self, flight: int) -> dict[str, Any]:
        """The result by column, where the data are ready so many cycles after their issue ended."""
        ready = np.minimum(self.cells["issued"] + flight, self.cells["use"])
        return self.rows(ready, np.clip(ready - self.idle_since, 0, self.cells["use"] - self.idle_since))

    def rows(self, ready: Ints, bubble: Ints) -> dict[str, Any]:
        """The result by column."""
        issue, axis = self.cells["issue"], self.axis
        times = (issue, np.maximum(ready, issue))
        at = [axis.at(self.thread, np.clip(time, axis.first, axis.last)) for time in times]
        missing = np.asarray(self.cells["gap"].isna())
        cells = self.cells | {
            "ready": ready,
            "bubble": masked(bubble, missing.copy()),
            "overlap": self.busy.within(*at),
        }
        return {column: cells[column] for column in columns.PIPELINE}


@checked(
    trace=a_trace,
    producer=optional(text),
    consumer=optional(text),
    wait=names,
    flight=optional(cycles),
    passing=optional(cycles),
)
def pipeline(
    trace: TraceData,
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
        raise ValueError(f"producer={producer!r}, consumer={consumer!r}: give both, or neither")
    events = trace.events
    notes = caveats(trace)
    waiting = numbered(events, wait, "wait")
    several = parts(trace)
    pairs, said = _pairs(trace, several, producer, consumer)
    cost, told = (passing or 0, []) if passing is not None or not waiting else _passing(trace)
    found = each(lambda part: _of_part(part, pairs, waiting, cost), several)
    notes += [*(said if any(ranges for ranges, _, _ in found) else [NO_RANGES]), *told]
    by_waits = any(waits for _, waits, _ in found)
    known = [str(name) for name in events["name"].cat.categories]
    rows: list[dict[str, Any]] = []
    for number, (src, dst) in enumerate(pairs):
        mine = [of_pairs[number] for _, _, of_pairs in found]
        notes += _unpaired(mine, known[src], known[dst])
        mine = [part for part in mine if len(part.thread)]
        if by_waits or not mine:
            rows += [part.rows(part.let_go, part.blocked) for part in mine]
            continue
        ready_after = flight
        if ready_after is None:
            leads = [part.cells["use"] - part.cells["issued"] for part in mine]
            ready_after = float(min((int(lead[lead >= 0].min()) for lead in leads if (lead >= 0).any()), default=0))
            notes.append(
                f"when the data for {known[dst]!r} were ready is not recorded: {ready_after:,.0f} cycles after the "
                "producer's range ended, the least from there to a use in this trace; pass flight= or wait= where more "
                "is known"
            )
        rows += each(partial(_Iterations.rows_after, flight=round(ready_after)), mine)
    empty: dict[str, Any] = {column: [] for column in columns.PIPELINE}
    return table("pipeline", columns.PIPELINE, joined(rows) if rows else empty, notes)


def _pairs(
    trace: TraceData, several: Sequence[Part], producer: str | None, consumer: str | None
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
    counts, ctas = (sum(each) for each in zip(*each(_by_role, several), strict=True))
    candidates = [np.flatnonzero(mine > of) for mine, of in zip(counts, ctas, strict=True)]
    if [len(each) for each in candidates] == [1, 1]:
        src, dst = (int(each[0]) for each in candidates)
        names = f"{known[src]!r} and {known[dst]!r}"
        return [(src, dst)], [
            f"no arrows (trace.dag): {names}, the only names that repeat in the two roles, are paired"
        ]
    return [], [
        "which ranges produce for which is not told: pass producer= and consumer=, or declare trace.dag(src, dst)"
    ]


def _by_role(part: Part) -> tuple[Ints, Ints]:
    """For producer and consumer, the ranges of each name that enclose no other, and the CTAs that have such."""
    found = ranges_of(part.events, ended=True)
    role, roles = codes(part.events["role"])[found.row], list(part.events["role"].cat.categories)
    counts, ctas = [], []
    for wanted in ("producer", "consumer"):
        mine = ~found.encloses & (role == roles.index(wanted) if wanted in roles else False)
        counts.append(np.bincount(found.name[mine], minlength=found.names))
        ctas.append(groups(found.home[mine])[1])
    return np.array(counts), np.array(ctas)


def _passing(trace: TraceData) -> tuple[float, list[str]]:
    model = gpu_of(trace.meta)
    if model is None:
        return 0.0, [
            "what a wait takes that need not wait is not known for this GPU: pass passing=, else every wait is a bubble"
        ]
    cycles = (model.latencies.mbarrier if model.wgmma else model.latencies.barrier) + model.latencies.marker
    return cycles, [f"a wait counts as passing up to {cycles:.0f} cycles, those of the {model.name} model and a marker"]


def _of_part(
    part: Part, pairs: Sequence[tuple[int, int]], waiting: list[int], passing: float
) -> tuple[int, int, list[_Iterations]]:
    """How many ranges and how many waits a part has, and the iterations of each pair of names."""
    found = ranges_of(part.events, ended=True)
    is_wait = np.isin(found.name, waiting)
    axis = Axis.of(found.threads, found.start, found.end)
    work = np.flatnonzero(~found.encloses & ~is_wait)
    busy = Spans(axis.at(found.thread[work], found.start[work]), axis.at(found.thread[work], found.end[work]))
    waits = np.flatnonzero(is_wait)
    waits = waits[np.argsort(axis.at(found.thread[waits], found.end[waits]), kind="stable")]
    of_pairs = (_pair(part.events, found, *pair) for pair in pairs)
    iterations = [_iterations(part.events, found, pair, axis, busy, waits, passing) for pair in of_pairs]
    return len(found), len(waits), iterations


def _pair(events: pd.DataFrame, found: Ranges, src: int, dst: int) -> _Pair:
    """The i-th of ``src`` with the i-th of ``dst`` in each CTA, in order of start."""
    sides, turns = [], []
    for name in (src, dst):
        rows = np.flatnonzero(found.name == name)
        rows = rows[np.lexsort((found.start[rows], found.home[rows]))]
        sides.append(rows)
        turns.append(ordinal(found.home[rows], np.arange(len(rows))))
    most = max(int(turn.max(initial=0)) for turn in turns) + 1
    keys = [found.home[rows] * most + turn for rows, turn in zip(sides, turns, strict=True)]
    common, left, right = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    first, second = (
        events["payload"].array.take(found.row[rows[at]]) for rows, at in zip(sides, (left, right), strict=True)
    )
    return _Pair(
        src=sides[0][left],
        dst=sides[1][right],
        iteration=common % most,
        alone=len(keys[0]) + len(keys[1]) - 2 * len(common),
        differ=int(np.asarray((first != second).fillna(False), np.bool_).sum()),
    )


def _unpaired(parts: Sequence[_Iterations], src: str, dst: str) -> list[str]:
    """What is said of ranges without a partner, and of partners that may not be such."""
    alone, differ = (sum(getattr(part.pair, of) for part in parts) for of in ("alone", "differ"))
    notes = []
    if alone:
        notes.append(f"{alone:,} ranges of {src!r} and {dst!r} have no partner in their CTA: left out")
    if differ:
        notes.append(
            f"{differ:,} iterations pair different payloads of {src!r} and {dst!r}: they are paired in order of start, "
            "which may not be who produced for whom"
        )
    return notes


def _iterations(
    events: pd.DataFrame, found: Ranges, pair: _Pair, axis: Axis, work: Spans, waits: Ints, passing: float
) -> _Iterations:
    """``work``: the consumer's, and all others'; ``waits``: positions of waits, by thread and end."""
    src, dst = pair.src, pair.dst
    issue, issued, use, done = found.start[src], found.end[src], found.start[dst], found.end[dst]
    used = axis.at(found.thread[dst], use)
    by_end = np.sort(work.end)
    before = by_end[np.maximum(np.searchsorted(by_end, used, side="right") - 1, 0)] if len(by_end) else used
    # Where nothing on the thread came before, the first iteration, there is no gap.
    first = (pair.iteration == 0) | (axis.key(before) != found.thread[dst]) | (before > used)
    idle_since = np.where(first, use, use - (used - before))
    let_go, blocked = np.minimum(issued, use), np.zeros(len(use), np.int64)
    if len(waits) and len(use):
        ends = axis.at(found.thread[waits], found.end[waits])
        last = waits[np.maximum(np.searchsorted(ends, used, side="right") - 1, 0)]
        waited = (
            (found.thread[last] == found.thread[dst])
            & (first | (found.start[last] >= idle_since))
            & (found.end[last] <= use)
        )
        lasted = np.maximum(found.end[last] - found.start[last] - round(passing), 0)
        let_go = np.where(waited, found.start[last] + lasted, let_go)
        blocked = np.where(waited, lasted, 0)
    place = Axis.of(found.ctas, found.start, found.end)
    issues = np.sort(place.at(found.home[src], issue))
    ahead = np.searchsorted(issues, place.at(found.home[dst], use), side="right") - np.arange(len(issues)) - 1
    cells_: dict[str, Any] = cells(events, found.row[dst], ("cta", "payload"))
    cells_ |= {
        "producer": renamed(events["name"].cat.categories, found.name[src]),
        "consumer": renamed(events["name"].cat.categories, found.name[dst]),
        "iteration": pair.iteration.astype(np.int32),
        "issue": issue,
        "issued": issued,
        "use": use,
        "done": done,
        "gap": masked(use - idle_since, first),
        "ahead": np.maximum(ahead, 0).astype(np.int32),
    }
    return _Iterations(pair, cells_, found.thread[dst], idle_since, let_go, blocked, axis, union(work.start, work.end))


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
