"""The chain that bounds each CTA, and how much room the other ranges had.

In: a trace. Out: a :class:`~tltrace_nb.analysis.table.Table` with ``columns.CRITICAL_PATH``.

The links of a chain are ranges that enclose no other. Before a range could end, three kinds of things had to happen,
each at a time that is known:

* *thread*: the range before it on its thread had ended (a thread does one thing after the other; ends are in order);
* *dag*: the source of an arrow to it had ended;
* *barrier*: where the caller names ranges that are CTA-wide barriers, the last thread had arrived at it.

The latest of them *binds* the range: the chain goes on there. From the last range of the CTA back to its entry the
chain covers all of the CTA's time: in a range from when its binder was done (``on_path``), or in front of it, where no
marker stands (``gap``). A range's *slack* is the least, over what follows it, of what follows' slack and the time by
which it came before the binder; one that nothing follows has until the end of the CTA's last range. It is exact for the
schedule as it was recorded: a thread that would go another way is not foreseen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import DOWN, MOST_BARS, bars, chart, colors, most
from tltrace_nb.analysis.launch import caveats
from tltrace_nb.analysis.links import Links, links
from tltrace_nb.analysis.ranges import NO_RANGES, Ranges, cells, numbered, ranges_of
from tltrace_nb.analysis.spans import Axis, Ints, groups, ordinal
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.core.cells import category, masked

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tltrace_nb.core.trace import Trace

VIA = ("entry", "thread", "dag", "barrier")
_ENTRY, _THREAD, _DAG, _BARRIER = range(4)


@dataclass(frozen=True, slots=True)
class _Edges:
    """Dependencies: ``dst`` could not end before ``arrival``, for which ``src`` had to end (-1: nobody)."""

    src: Ints
    dst: Ints
    arrival: Ints
    via: Ints


def critical_path(trace: Trace, *, barriers: str | Iterable[str] = ()) -> Table:
    """The chain that bounds each CTA, and the slack of every range; see ``columns.CRITICAL_PATH`` and the module.

    ``barriers``: names (or patterns with ``*``) of ranges around CTA-wide barriers: the i-th on each thread ends when
    the last thread has begun its i-th. Ranges that never ended are left out. Raises ``ValueError`` for a name that no
    event has.

    >>> chain = trace.critical_path().query("critical and cta == 0").sort_values("step")
    """
    events = trace.events
    every = ranges_of(events, ended=True)
    wanted = numbered(events, barriers, "barriers")
    arrows = links(trace, every)
    notes = [*caveats(trace), *arrows.notes]
    if not len(every):
        notes.append(NO_RANGES)
    elif not trace.table.flows and not wanted and every.threads > every.ctas:
        notes.append(
            "no arrows (trace.dag) and no barriers= say which thread waited for which: the chain stays on the thread "
            "whose range ends last"
        )
    rank = _ranks(every)
    previous = _previous(every.thread[rank])
    others = _others(every, rank, previous, arrows, wanted)
    binder, arrival, via, slack = _solve(every, rank, previous, others)

    start = np.maximum(every.start[rank], arrival)
    gap = start - np.where(binder < 0, 0, arrival)
    critical, step = _walk(every.cta[rank], binder)
    back = np.argsort(rank, kind="stable")  # from the order of ends to that of the events
    rows = every.row[rank][back]
    values: dict[str, Any] = cells(events, rows, ("cta", "thread", "name", "role", "lane", "payload", "start", "end"))
    values |= {
        "event": rows.astype(np.int32),
        "critical": critical[back],
        "step": masked(step[back].astype(np.int32), ~critical[back]),
        "on_path": np.where(critical, every.end[rank] - start, 0)[back],
        "gap": np.where(critical, gap, 0)[back],
        "via": category(VIA, [0, 1, 2, 3], via[back]),
        "slack": slack[back],
    }
    return table("critical_path", columns.CRITICAL_PATH, values, notes)


def _ranks(every: Ranges) -> Ints:
    """The ranges that enclose no other, by CTA and then by end: every dependency leads from an earlier to a later."""
    leaf = np.flatnonzero(~every.encloses)
    axis = Axis.of(every.ctas, every.start, every.end)
    return leaf[np.lexsort((every.start[leaf], axis.at(every.home[leaf], every.end[leaf])))]


def _previous(thread: Ints) -> Ints:
    """For each range the one before it on its thread, -1 for the first."""
    by_thread = np.argsort(thread, kind="stable")
    follows = thread[by_thread][1:] == thread[by_thread][:-1]
    previous = np.full(len(thread), -1, np.int64)
    previous[by_thread[1:][follows]] = by_thread[:-1][follows]
    return previous


def _others(every: Ranges, rank: Ints, previous: Ints, arrows: Links, barriers: list[int]) -> _Edges:
    """The dependencies on other threads, in positions of ``rank``, by destination and then arrival."""
    number = np.full(len(every), -1, np.int64)
    number[rank] = np.arange(len(rank))
    src, dst = number[arrows.src], number[arrows.dst]
    arrival, via = every.end[arrows.src], np.full(len(src), _DAG)
    if barriers:
        last, waiting = _barriers(every, rank, barriers)
        src, dst = np.concatenate([src, previous[last]]), np.concatenate([dst, waiting])
        arrival = np.concatenate([arrival, every.start[rank][last]])
        via = np.concatenate([via, np.full(len(last), _BARRIER)])
    forward = np.flatnonzero(src < dst)
    order = forward[np.lexsort((arrival[forward], dst[forward]))]
    return _Edges(src[order], dst[order], arrival[order], via[order])


def _barriers(every: Ranges, rank: Ints, names: list[int]) -> tuple[Ints, Ints]:
    """For each range at a barrier that was not the last to arrive: the one that was, and itself."""
    mine = np.flatnonzero(np.isin(every.name[rank], names))
    mine = mine[np.lexsort((every.start[rank][mine], every.name[rank][mine], every.thread[rank][mine]))]
    on_thread, _ = groups(every.thread[rank][mine], every.name[rank][mine])
    turn = ordinal(on_thread, np.arange(len(mine)))
    meeting, meetings = groups(every.home[rank][mine], every.name[rank][mine], turn)
    order = np.lexsort((every.start[rank][mine], meeting))
    last = np.zeros(meetings, np.int64)
    last[meeting[order]] = mine[order]  # the last writer of each is the last to arrive
    # A barrier ends for nobody before the last arrival; where it seems to, the names do not match.
    waiting = (last[meeting] != mine) & (every.end[rank][mine] >= every.start[rank][last[meeting]])
    return last[meeting][waiting], mine[waiting]


def _solve(every: Ranges, rank: Ints, previous: Ints, others: _Edges) -> tuple[Ints, Ints, Ints, Ints]:
    """Per range: what binds it (-1: nothing), when that was done, how, and the range's slack."""
    cta, end = every.cta[rank], every.end[rank]
    binder, how = previous.copy(), np.where(previous >= 0, _THREAD, _ENTRY)
    bound = np.where(previous >= 0, end[previous], 0)
    # Of the others the last for each destination counts, unless its own thread was later.
    latest = np.concatenate([others.dst[1:] != others.dst[:-1], [True]])[: len(others.dst)]
    src, dst, arrival, via = (each[latest] for each in (others.src, others.dst, others.arrival, others.via))
    binds = arrival >= bound[dst]
    dst = dst[binds]
    binder[dst], bound[dst], how[dst] = src[binds], arrival[binds], via[binds]

    last = np.concatenate([cta[1:] != cta[:-1], [True]])[: len(cta)]
    finish = np.repeat(end[last], np.diff(np.flatnonzero(np.concatenate([[True], last]))))
    slack = (finish - end).tolist()
    early = (bound - np.where(previous >= 0, end[previous], 0)).tolist()
    other = list(
        zip(others.src.tolist(), (bound[others.dst] - others.arrival).tolist(), others.dst.tolist(), strict=True)
    )
    before = previous.tolist()
    for i in range(len(before) - 1, -1, -1):  # from the last range to the first, whose followers are then done
        own = slack[i]
        if (link := before[i]) >= 0 and own + early[i] < slack[link]:
            slack[link] = own + early[i]
        while other and other[-1][2] == i:
            link, room, _ = other.pop()
            if link >= 0 and own + room < slack[link]:
                slack[link] = own + room
    return binder, bound, how, np.array(slack, np.int64)


def _walk(cta: Ints, binder: Ints) -> tuple[Any, Ints]:
    """Which ranges are on their CTA's chain, and as which link, counted from the entry."""
    count = len(cta)
    critical, step = np.zeros(count, np.bool_), np.zeros(count, np.int64)
    if not count:
        return critical, step
    before = binder.tolist()
    for end in np.flatnonzero(np.concatenate([cta[1:] != cta[:-1], [True]])).tolist():
        chain = [end]
        while (link := before[chain[-1]]) >= 0:
            chain.append(link)
        critical[chain] = True
        step[chain] = np.arange(len(chain) - 1, -1, -1)
    return critical, step


def figure(result: Table) -> go.Figure:
    """Per name the chain's cycles in it and in front of it, on average over the CTAs, and its least slack."""
    ctas = max(result["cta"].nunique(), 1)
    chain = result[result["critical"]]
    rows = chain.groupby("name", observed=True)[["on_path", "gap"]].sum() / ctas
    slack = result.groupby("name", observed=True)["slack"].median()
    rows = rows.assign(all=rows.sum(axis=1)).sort_values("all", ascending=False)
    shown = rows.iloc[:MOST_BARS]
    labels = [str(name) for name in shown.index]
    hover = [
        f"{name}: {r.on_path:,.0f} cycles of the chain in it, {r.gap:,.0f} in front of it\n"
        f"median slack {slack[name]:,.0f} cycles"
        for name, r in zip(shown.index, shown.itertuples(), strict=True)
    ]
    traces = [
        bars(labels, shown["on_path"].tolist(), colors(labels), hover, "in the range"),
        bars(labels, shown["gap"].tolist(), "#d9dde2", hover, "in front of it, unmarked"),
    ]
    free = [str(name) for name in slack.index if name not in rows.index]
    notes = [f"never on the chain: {', '.join(free[:8])}{' …' if len(free) > 8 else ''}"] if free else []
    return chart(
        result, traces, f"What bounds a CTA, mean of {ctas:,}", x="cycles of the chain", height=160 + 26 * len(shown),
        yaxis=DOWN, barmode="stack", notes=[*notes, *most(len(rows), "names")],
    )  # fmt: skip
