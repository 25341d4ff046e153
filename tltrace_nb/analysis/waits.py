"""Who waited for whom, and how long.

In: a trace. Out: a :class:`~tltrace_nb.analysis.table.Table` with ``columns.WAITS``, or one row per wait.

Which ranges are waits must come from the trace or from its reader:

* *names*: ranges that the caller calls waits, as a marker around a barrier, or ``"wait *"`` for automatic ones. All of
  such a range is blocked time. What was held up is the next range on its thread; the producer is the source of an
  arrow to the wait, else of an arrow to what was held up.
* *arrows* (``dag``), where there are no names: the destination's thread was blocked from when it had ended what came
  before until the source ended, as far as the destination had not ended itself. Of several arrows the last counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import DOWN, MOST_BARS, bars, chart, colors, most
from tltrace_nb.analysis.launch import caveats
from tltrace_nb.analysis.links import NO_LINKS, Links, links, links_notes
from tltrace_nb.analysis.parts import Part, joined, parts
from tltrace_nb.analysis.parts import each as apply
from tltrace_nb.analysis.ranges import NO_RANGES, Ranges, cells, numbered, ranges_of, renamed
from tltrace_nb.analysis.spans import Axis, Ints
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.base.checks import checked, flag
from tltrace_nb.base.checks import names as names_
from tltrace_nb.data.trace_data import a_trace

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tltrace_nb.data.trace_data import TraceData

_BY = ["name", "barrier", "producer", "role"]


@dataclass(frozen=True, slots=True)
class _Waits:
    """Positions in a :class:`Ranges`: what was held up, the wait itself, whom it was for (-1: not told); and times."""

    held: Ints
    barrier: Ints
    producer: Ints
    start: Ints
    end: Ints
    unexplained: Ints


@checked(trace=a_trace, names=names_, each=flag)
def waits(trace: TraceData, names: str | Iterable[str] = (), *, each: bool = False) -> Table:
    """Blocked time by what waited, barrier and producer; see ``columns.WAITS``, and the module for what counts.

    ``names``: the ranges that are waits, patterns with ``*`` allowed; none: the arrows tell. ``each``: one row per
    wait, ``columns.WAITS_EACH``. Raises ``ValueError`` for a name that no event has.

    >>> trace.waits("wait *")
    >>> trace.waits(each=True).query("blocked > 500")
    """
    wanted = numbered(trace.events, names, "names")
    done = apply(lambda part: _of_part(part, bool(trace.table.flows), wanted), parts(trace))
    notes = [*caveats(trace), *links_notes([arrows for _, arrows, _ in done])]
    if not any(ranges for ranges, _, _ in done):
        notes.append(NO_RANGES)
    elif wanted:
        if not trace.table.flows:
            notes.append("no arrows (trace.dag) were declared: for whom the waits were is not told")
    elif not trace.table.flows:
        notes.append(
            "which ranges are waits is not told: pass names=, such as names='wait *', or declare trace.dag(src, dst) "
            "in the kernel"
        )
    else:
        notes.append(
            "a source counts as done when its range ended: around an asynchronous copy that is its issue, and what the "
            "copy took after it is unexplained here"
        )
    rows = pd.DataFrame(joined([rows for _, _, rows in done]), copy=False)
    if each:
        return table("waits", columns.WAITS_EACH, rows, notes)
    return table("waits", columns.WAITS, _summed(rows, int(trace.ctas["duration"].sum())), notes)


def _of_part(part: Part, linked: bool, wanted: list[int]) -> tuple[int, Links, dict[str, Any]]:
    """How many ranges a part has, its arrows, and its waits by column."""
    found = ranges_of(part.events, ended=True)
    arrows = links(part, found) if linked else NO_LINKS
    waited = _named(found, arrows, wanted) if wanted else _told(found, arrows)
    return len(found), arrows, _each(part.events, found, waited)


def _neighbours(found: Ranges, leaf: Ints, of: Ints) -> tuple[Ints, Ints]:
    """On the same thread, among ``leaf``: the last range that ended, and the first that started after, -1 for none."""
    axis = Axis.of(found.threads, found.start, found.end)
    start, end = axis.at(found.thread, found.start), axis.at(found.thread, found.end)
    by_end, by_start = leaf[np.argsort(end[leaf], kind="stable")], leaf[np.argsort(start[leaf], kind="stable")]
    before = np.searchsorted(end[by_end], start[of], side="right") - 1
    after = np.searchsorted(start[by_start], end[of], side="left")
    previous = np.where(before >= 0, by_end[np.maximum(before, 0)], -1)
    following = np.where(after < len(leaf), by_start[np.minimum(after, len(leaf) - 1)], -1)
    return tuple(np.where((n >= 0) & (found.thread[n] == found.thread[of]), n, -1) for n in (previous, following))  # type: ignore[return-value]


def _binding(found: Ranges, arrows: Links) -> tuple[Ints, Ints]:
    """The destinations of arrows, once each, and of each the source that ended last."""
    order = np.lexsort((found.end[arrows.src], arrows.dst))
    src, dst = arrows.src[order], arrows.dst[order]
    last = np.concatenate([dst[1:] != dst[:-1], [True]]) if len(dst) else np.zeros(0, np.bool_)
    return src[last], dst[last]


def _told(found: Ranges, arrows: Links) -> _Waits:
    src, dst = _binding(found, arrows)
    if not len(dst):
        return _Waits(dst, dst, dst, dst, dst, dst)
    previous, _ = _neighbours(found, np.flatnonzero(~found.encloses), dst)
    free = np.where(previous >= 0, found.end[previous], 0)
    until = np.clip(found.end[src], free, found.end[dst])
    late = np.maximum(found.start[dst] - until, 0)
    return _Waits(dst, np.full(len(dst), -1), src, free, until, late)


def _named(found: Ranges, arrows: Links, wanted: list[int]) -> _Waits:
    mine = np.flatnonzero(np.isin(found.name, wanted))
    if not len(mine):
        return _Waits(mine, mine, mine, mine, mine, mine)
    work = np.flatnonzero(~found.encloses & ~np.isin(found.name, wanted))
    held = _neighbours(found, work, mine)[1] if len(work) else np.full(len(mine), -1)
    src, dst = _binding(found, arrows)
    source = np.full(len(found) + 1, -1, np.int64)  # the last stands for "none"
    source[dst] = src
    producer = np.where(source[mine] >= 0, source[mine], source[held])
    # An arrow from a range that ended before the wait began explains nothing of it, yet tells whom it was for.
    since = np.where(producer >= 0, found.end[producer], found.end[mine])
    late = np.clip(found.end[mine] - np.maximum(since, found.start[mine]), 0, None)
    return _Waits(held, mine, producer, found.start[mine], found.end[mine], late)


def _each(events: pd.DataFrame, found: Ranges, waited: _Waits) -> dict[str, Any]:
    """One row per wait, by row of the events."""
    own = np.where(waited.barrier >= 0, waited.barrier, waited.held)
    order = np.argsort(found.row[own], kind="stable")
    rows = found.row[own][order]
    name = np.append(found.name, -1)
    values: dict[str, Any] = cells(events, rows, ("cta", "thread", "role", "payload"))
    values |= {
        column: renamed(events["name"].cat.categories, name[at][order])
        for column, at in (("name", waited.held), ("barrier", waited.barrier), ("producer", waited.producer))
    }
    values |= {
        "event": events.index[rows].to_numpy(np.int32),
        "start": waited.start[order],
        "end": waited.end[order],
        "blocked": (waited.end - waited.start)[order],
        "unexplained": waited.unexplained[order],
    }
    return {column: values[column] for column in columns.WAITS_EACH}


def _summed(rows: pd.DataFrame, time: int) -> pd.DataFrame:
    grouped = rows.groupby(_BY, observed=True, dropna=False, sort=False)
    blocked = grouped["blocked"]
    summed = pd.DataFrame(
        {
            "count": blocked.size(),
            "total": blocked.sum(),
            "mean": blocked.mean(),
            "p99": blocked.quantile(0.99),
            "longest": blocked.max(),
            "share": blocked.sum() / max(time, 1),
            "unexplained": grouped["unexplained"].sum(),
        }
    ).reset_index()
    for column in _BY:
        summed[column] = summed[column].astype(rows[column].dtype)
    return summed.sort_values("total", ascending=False, kind="stable", ignore_index=True)


def figure(result: Table) -> go.Figure:
    """Blocked cycles by what waited, for whom, at which barrier."""
    rows = result if "total" in result else _summed(pd.DataFrame(result), 1)
    shown = rows.iloc[:MOST_BARS]
    labels, hover = [], []
    for row in shown.itertuples():
        parts = [str(part) for part in (row.barrier, row.name) if isinstance(part, str)]
        labels.append(" → ".join(parts) + (f" (for {row.producer})" if isinstance(row.producer, str) else ""))
        hover.append(
            f"{row.count:,} waits, {row.total:,} cycles blocked\n"
            f"mean {row.mean:,.0f}, p99 {row.p99:,.0f}, longest {row.longest:,}\n"
            f"{row.unexplained:,} cycles after the producer had ended"
        )
    names = [str(row.barrier if isinstance(row.barrier, str) else row.name) for row in shown.itertuples()]
    bar = bars(labels, shown["total"].tolist(), colors(names), hover)
    return chart(
        result, [bar], "Who waited for whom", x="cycles blocked, all CTAs", height=150 + 28 * len(shown), yaxis=DOWN,
        notes=most(len(rows), "waits"),
    )  # fmt: skip
