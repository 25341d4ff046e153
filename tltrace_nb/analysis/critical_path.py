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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import DOWN, MOST_BARS, bars, chart, colors, most
from tltrace_nb.analysis.launch import caveats
from tltrace_nb.analysis.links import NO_LINKS, Links, links, links_notes
from tltrace_nb.analysis.parts import Part, each, joined, parts
from tltrace_nb.analysis.ranges import NO_RANGES, Ranges, cells, numbered, ranges_of
from tltrace_nb.analysis.spans import Array, Axis, Ints, ascending, by_number, groups, ordinal
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.base.checks import checked, names
from tltrace_nb.data.cells import category, masked
from tltrace_nb.data.trace_data import a_trace

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from tltrace_nb.data.trace_data import TraceData

VIA = ("entry", "thread", "dag", "barrier")
_ENTRY, _THREAD, _DAG, _BARRIER = range(4)

TOGETHER = 8
"""Parts whose CTAs are walked side by side: as many as stay in a processor's cache."""
FEW = 16
"""CTAs below which a loop over their ranges is faster than arrays that are as short."""


@dataclass(frozen=True, slots=True)
class _Edges:
    """Dependencies: ``dst`` could not end before ``arrival``, for which ``src`` had to end (-1: nobody)."""

    src: Ints
    dst: Ints
    arrival: Ints
    via: Ints


@checked(trace=a_trace, barriers=names)
def critical_path(trace: TraceData, *, barriers: str | Iterable[str] = ()) -> Table:
    """The chain that bounds each CTA, and the slack of every range; see ``columns.CRITICAL_PATH`` and the module.

    ``barriers``: names (or patterns with ``*``) of ranges around CTA-wide barriers: the i-th on each thread ends when
    the last thread has begun its i-th. Ranges that never ended are left out. Raises ``ValueError`` for a name that no
    event has.

    >>> chain = trace.critical_path().query("critical and cta == 0").sort_values("step")
    """
    wanted = numbered(trace.events, barriers, "barriers")
    several = parts(trace)
    together = [several[first : first + TOGETHER] for first in range(0, len(several), TOGETHER)]
    done = each(lambda some: _of_parts(some, bool(trace.table.flows), wanted), together)
    notes = [*caveats(trace), *links_notes([found.arrows for _, facts in done for found in facts])]
    threads, ctas = (sum(getattr(found, of) for _, facts in done for found in facts) for of in ("threads", "ctas"))
    if not ctas:
        notes.append(NO_RANGES)
    elif not trace.table.flows and not wanted and threads > ctas:
        notes.append(
            "no arrows (trace.dag) and no barriers= say which thread waited for which: the chain stays on the thread "
            "whose range ends last"
        )
    rows = [of_part for of_parts, _ in done for of_part in of_parts]
    del done
    return table("critical_path", columns.CRITICAL_PATH, joined(rows), notes)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is said of a part: its arrows, without their ends, and how many threads and CTAs it has."""

    arrows: Links
    threads: int
    ctas: int


def _of_parts(parts: Sequence[Part], linked: bool, barriers: list[int]) -> tuple[list[dict[str, Any]], list[_Facts]]:
    """The result for the events of some parts, each by column."""
    bound, facts = zip(*(_of_part(part, linked, barriers) for part in parts), strict=True)
    ends = np.cumsum([len(part.rank) for part in bound])[:-1]
    found = zip(parts, bound, *(np.split(of, ends) for of in (_slack(bound), _walk(bound))), strict=True)
    return [_rows(part.events, *of_part) for part, *of_part in found], list(facts)


@dataclass(frozen=True, slots=True)
class _Bound:
    """The ranges of a part that enclose no other, by CTA and end, and what binds each. Sources are positions in it.

    ``rank`` is the row in the part, ``end`` the range's own; ``sizes`` are the ranges of each CTA. ``binder`` was done
    at ``arrival``, ``how`` it binds; ``previous`` is the range before on the thread, which came ``early`` by so much.
    ``others`` are the dependencies on other threads, by destination; each came ``room`` cycles before what binds.
    """

    rank: Ints
    sizes: Ints
    end: Ints
    binder: Array
    arrival: Ints
    how: Array
    previous: Array
    early: Ints
    src: Ints
    dst: Ints
    room: Ints


def _of_part(part: Part, linked: bool, barriers: list[int]) -> tuple[_Bound, _Facts]:
    every = ranges_of(part.events, ended=True)
    arrows = links(part, every) if linked else NO_LINKS
    rank = _ranks(every)
    previous = _previous(every.thread[rank])
    others = _others(every, rank, previous, arrows, barriers)
    end = every.end[rank]
    binder, arrival, how = _binders(end, previous, others)
    bound = _Bound(
        rank=every.row[rank],
        sizes=np.bincount(every.home[rank], minlength=every.ctas),
        end=end,
        binder=binder.astype(np.int32),
        arrival=arrival,
        how=how.astype(np.int8),
        previous=previous.astype(np.int32),
        early=arrival - np.where(previous >= 0, end[previous], 0),
        src=others.src,
        dst=others.dst,
        room=arrival[others.dst] - others.arrival,
    )
    return bound, _Facts(replace(arrows, src=NO_LINKS.src, dst=NO_LINKS.dst), every.threads, every.ctas)


def _rows(events: pd.DataFrame, bound: _Bound, slack: Ints, step: Array) -> dict[str, Any]:
    """The result for the events of a part, by column."""
    critical = step >= 0
    start = np.maximum(events["start"].to_numpy()[bound.rank], bound.arrival)
    gap = start - np.where(bound.binder < 0, 0, bound.arrival)
    back = ascending(bound.rank, len(events))  # from the order of ends to that of the events
    rows, critical = bound.rank[back], critical[back]
    values: dict[str, Any] = cells(events, rows, ("cta", "thread", "name", "role", "lane", "payload", "start", "end"))
    values |= {
        "event": events.index[rows].to_numpy(np.int32),
        "critical": critical,
        "step": masked(np.maximum(step[back], 0), ~critical),
        "on_path": np.where(critical, (bound.end - start)[back], 0),
        "gap": np.where(critical, gap[back], 0),
        "via": category(VIA, [0, 1, 2, 3], bound.how[back]),
        "slack": slack[back],
    }
    return {column: values[column] for column in columns.CRITICAL_PATH}


def _ranks(every: Ranges) -> Ints:
    """The ranges that enclose no other, by CTA and then by end: every dependency leads from an earlier to a later."""
    leaf = np.flatnonzero(~every.encloses)
    place = Axis.of(every.ctas, every.start, every.end).at(every.home[leaf], every.end[leaf])
    order = np.argsort(place, kind="stable")
    same = np.diff(place[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    order[tied] = order[tied][np.lexsort((every.start[leaf][order[tied]], place[order[tied]]))]
    return leaf[order]


def _previous(thread: Ints) -> Ints:
    """For each range the one before it on its thread, -1 for the first."""
    by_thread = by_number(thread)
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


def _binders(end: Ints, previous: Ints, others: _Edges) -> tuple[Ints, Ints, Ints]:
    """Per range: what binds it (-1: nothing), when that was done, and how."""
    binder, how = previous.copy(), np.where(previous >= 0, _THREAD, _ENTRY)
    bound = np.where(previous >= 0, end[previous], 0)
    # Of the others the last for each destination counts, unless its own thread was later.
    latest = np.concatenate([others.dst[1:] != others.dst[:-1], [True]])[: len(others.dst)]
    src, dst, arrival, via = (each[latest] for each in (others.src, others.dst, others.arrival, others.via))
    binds = arrival >= bound[dst]
    dst = dst[binds]
    binder[dst], bound[dst], how[dst] = src[binds], arrival[binds], via[binds]
    return binder, bound, how


def _slack(parts: Sequence[_Bound]) -> Ints:
    """The slack of every range, by the ranges' places in all parts.

    From the last range of a CTA to its first, whose followers are then done: of all CTAs at once, as long as there are
    many, then one by one.
    """
    sizes, last, offsets = _places(parts)
    # One place more than there are ranges: what nobody binds writes there, as -1.
    slack = np.append(np.concatenate([part.end for part in parts]), 0)
    np.subtract(np.repeat(slack[last], sizes), slack[:-1], out=slack[:-1])
    previous = _moved([part.previous for part in parts], offsets)
    early, room = (np.concatenate([getattr(part, of) for part in parts]) for of in ("early", "room"))
    src, dst = (_moved([getattr(part, of) for part in parts], offsets) for of in ("src", "dst"))
    turn = last[np.searchsorted(last, dst)] - dst
    by_turn = by_number(turn)
    bounds = np.searchsorted(turn[by_turn], np.arange(int(sizes.max(initial=0)) + 1))
    tied, late, ahead = src[by_turn], dst[by_turn], room[by_turn]
    longest = np.argsort(-sizes, kind="stable")
    many = len(sizes) - np.searchsorted(sizes[longest][::-1], np.arange(1, len(bounds)), side="left")
    turns = int((many >= FEW).sum())
    latest = last[longest]
    for i in range(turns):
        at = latest[: many[i]] - i
        link = previous[at]
        slack[link] = np.minimum(slack[link], slack[at] + early[at])
        edges = slice(bounds[i], bounds[i + 1])
        np.minimum.at(slack, tied[edges], slack[late[edges]] + ahead[edges])
    for cta in longest[: many[turns] if turns < len(many) else 0].tolist():
        begin, end = int(last[cta] - sizes[cta] + 1), int(last[cta] - turns + 1)
        mine = slice(*np.searchsorted(dst, [begin, end]).tolist())
        own, before, lead = (of[begin:end].tolist() for of in (slack, np.maximum(previous - begin, -1), early))
        ends = (of[mine].tolist() for of in (np.maximum(src - begin, -1), room, dst - begin))
        slack[begin:end] = _one_by_one(own, before, lead, list(zip(*ends, strict=True)))
    return slack[:-1]


def _one_by_one(
    slack: list[int], previous: list[int], early: list[int], others: list[tuple[int, int, int]]
) -> list[int]:
    """The slack of the ranges of one CTA, in which ``others`` are source, room and destination."""
    for i in range(len(slack) - 1, -1, -1):
        own = slack[i]
        if (link := previous[i]) >= 0 and own + early[i] < slack[link]:
            slack[link] = own + early[i]
        while others and others[-1][2] == i:
            link, room, _ = others.pop()
            if link >= 0 and own + room < slack[link]:
                slack[link] = own + room
    return slack


def _walk(parts: Sequence[_Bound]) -> Array:
    """As which link, counted from the entry, each range is on its CTA's chain; -1 where it is not on it."""
    _, last, offsets = _places(parts)
    binder = _moved([part.binder for part in parts], offsets)
    step = np.full(len(binder), -1, np.int32)
    at, steps = last, 0
    while len(at) >= FEW:
        step[at] = steps
        steps += 1
        at = binder[at]
        at = at[at >= 0]
    for link in at.tolist():
        here = steps
        while link >= 0:
            step[link] = here
            here, link = here + 1, int(binder[link])
    # So far they are counted from the last, which is on the chain of every CTA.
    critical = np.flatnonzero(step >= 0)
    home = np.searchsorted(last, critical)
    length = np.zeros(len(last), np.int32)
    np.maximum.at(length, home, step[critical])
    step[critical] = length[home] - step[critical]
    return step


def _places(parts: Sequence[_Bound]) -> tuple[Ints, Ints, Ints]:
    """Of every CTA the ranges and the place of the last, and of every part the place of the first."""
    sizes = np.concatenate([part.sizes for part in parts])
    sizes = sizes[sizes > 0]
    lengths = np.array([len(part.rank) for part in parts])
    return sizes, np.cumsum(sizes) - 1, np.cumsum(lengths) - lengths


def _moved(positions: Sequence[Array], offsets: Ints) -> Ints:
    """Positions in parts as places in all; -1 stays."""
    return np.concatenate([np.where(of >= 0, of + by, -1) for of, by in zip(positions, offsets, strict=True)])


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
