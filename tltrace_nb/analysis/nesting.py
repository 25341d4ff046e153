"""What the time of a range is made of: the ranges of all CTAs by those that enclose them, as a flame graph has them.

In: a trace. Out: a :class:`~tltrace_nb.analysis.table.Table` with ``columns.NESTING``. A path is the names of ranges of
a track that enclose each other, from the outermost; ranges of all tracks that have the same path count together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import chart, colors, label
from tltrace_nb.analysis.launch import lacks
from tltrace_nb.analysis.ranges import codes
from tltrace_nb.analysis.spans import Array, Axis, union
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.base.checks import checked
from tltrace_nb.base.numbers import count
from tltrace_nb.data.trace_data import a_trace

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tltrace_nb.data.trace_data import TraceData

BETWEEN = " / "
"""Stands between the names of a path."""


@checked(trace=a_trace)
def nesting(trace: TraceData) -> Table:
    """Per path of nested ranges their number, their time, and how much of it no range inside has; ``columns.NESTING``.

    A range that never ended counts until its thread's exit.
    """
    events = trace.events
    rows = np.flatnonzero(codes(events["kind"]) == list(events["kind"].cat.categories).index("range"))
    parent = events["parent"].array.to_numpy(np.int64, na_value=-1)
    path, above, name = _paths(rows, parent, events["depth"].to_numpy(), codes(events["name"]).astype(np.int64))
    duration = events["duration"].to_numpy(np.int64)
    own = duration - _inside(events, rows, parent)
    times = {"total": duration, "self": own}
    cells = {key: np.bincount(path[rows], value[rows], len(above)).astype(np.int64) for key, value in times.items()}
    number = np.bincount(path[rows], minlength=len(above))
    names = events["name"].cat.categories
    texts: list[str] = []
    for code, up in zip(name.tolist(), above.tolist(), strict=True):
        texts.append((texts[up] + BETWEEN if up >= 0 else "") + str(names[code]))
    order = _from_the_top(above, cells["total"])
    found = pd.DataFrame(
        {
            "path": pd.Series(texts, dtype="str"),
            "name": pd.Categorical.from_codes(name, names),
            "depth": _depths(above),
            "count": number,
            **cells,
            "share": cells["self"] / max(int(cells["self"].sum()), 1),
        }
    ).iloc[order]
    cut = int(events["truncated"].sum())
    notes = lacks(trace, trace.losses, 0, len(trace.slots))
    notes += [f"{count(cut, 'range')} never ended: counted until the thread's exit"] * (cut > 0)
    return table("nesting", columns.NESTING, found.reset_index(drop=True), notes)


def _paths(rows: Array, parent: Array, depth: Array, name: Array) -> tuple[Array, Array, Array]:
    """The path of each row, and of each path, ascending with depth, the one above it (-1: none) and its last name."""
    path = np.full(len(parent), -1, np.int64)
    by_depth = rows[np.argsort(depth[rows], kind="stable")]
    bounds = np.flatnonzero(np.diff(depth[by_depth])) + 1
    above, last = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    names, known = int(name.max(initial=0)) + 1, 0
    for level in np.split(by_depth, bounds):
        up = np.where(parent[level] >= 0, path[parent[level]], -1)
        distinct, number = np.unique((up + 1) * names + name[level], return_inverse=True)
        path[level] = known + number
        known += len(distinct)
        above.append(distinct // names - 1)
        last.append(distinct % names)
    return path, np.concatenate(above), np.concatenate(last)


def _inside(events: pd.DataFrame, rows: Array, parent: Array) -> Array:
    """Per row the cycles in which a range directly inside it was open; of crossing ones those that they share once."""
    inner = rows[parent[rows] >= 0]
    start, end = (events[column].to_numpy(np.int64)[inner] for column in ("start", "end"))
    axis = Axis.of(len(events), start, end)
    spans = union(axis.at(parent[inner], start), axis.at(parent[inner], end))
    return np.bincount(axis.key(spans.start), spans.length, len(events)).astype(np.int64)


def _depths(above: Array) -> Array:
    """How many paths are above each."""
    depth = np.zeros(len(above), np.int16)
    for path, up in enumerate(above.tolist()):
        depth[path] = depth[up] + 1 if up >= 0 else 0
    return depth


def _from_the_top(above: Array, total: Array) -> list[int]:
    """Paths with those inside them behind them, of several the one with most time first."""
    inside: dict[int, list[int]] = {}
    for path in np.argsort(total, kind="stable").tolist():
        inside.setdefault(int(above[path]), []).append(path)
    order: list[int] = []
    left = inside.get(-1, [])
    while left:
        path = left.pop()
        order.append(path)
        left += inside.get(path, [])
    return order


def figure(result: Table) -> go.Figure:
    """A flame graph, from the outermost ranges down: each as wide as its time, and below it what is inside it."""
    open_: list[tuple[str, int]] = []
    parents = []
    for number, path in enumerate(result["path"]):
        while open_ and not path.startswith(open_[-1][0]):
            open_.pop()
        parents.append(str(open_[-1][1]) if open_ else "")
        open_.append((path + BETWEEN, number))
    drawing = {
        "type": "icicle",
        "ids": [str(number) for number in range(len(result))],
        "labels": [label(str(name)) for name in result["name"]],
        "parents": parents,
        "values": result["self"].tolist(),
        "branchvalues": "remainder",
        "sort": False,
        "tiling": {"orientation": "v"},
        "marker": {"colors": colors([str(name) for name in result["name"]])},
        "customdata": result[["count", "total", "self"]].to_numpy().tolist(),
        "hovertemplate": "%{label}: %{customdata[0]:,} times<br>%{customdata[1]:,} cycles, "
        "%{customdata[2]:,} of them in no range inside<extra></extra>",
    }
    rows = int(result["depth"].max()) + 1 if len(result) else 1
    return chart(result, [drawing], "Time by nesting, all CTAs", height=160 + 40 * rows)
