"""What changed between two traces, and whether it is more than noise.

In: two traces, or two lists of repeated runs. Out: a :class:`~tltrace_nb.analysis.table.Table` with ``columns.COMPARE``
and a one-line ``verdict`` in its ``attrs``.

Ranges are matched by name, payload and track (CTA, thread, lane), the i-th with the i-th where several are alike; only
those of all runs count. Where fewer than half have a partner, as between two grids, names are compared as a whole.

The noise comes from the repeated runs: each run gives one mean per row, and Student's test says how likely their
difference is without a change. Few runs tell a row's own variance badly, so the rows lend each other what they have in
common (``student.moderated``). Of one run each, the CTAs stand in for runs, in pairs: what differs from run to run as a
whole is then not in the noise, and the notes say so. A row is ``changed`` when, over all rows (Bonferroni), the chance
is below ``CHANCE``, and the change is at least ``least``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import DOWN, GREY, MOST_BARS, RED, bars, chart, most
from tltrace_nb.analysis.launch import caveats
from tltrace_nb.analysis.matching import BY, Matched, match
from tltrace_nb.analysis.spans import Array, Ints
from tltrace_nb.analysis.student import moderated, two_sided
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.base.checks import checked, file, number, one_of, wrong
from tltrace_nb.base.numbers import duration
from tltrace_nb.data.trace_data import TraceData
from tltrace_nb.data.tracefile import files_at, read_trace

if TYPE_CHECKING:
    import plotly.graph_objects as go

By = Literal["name", "payload", "track"]

OUTSIDE = 0.1
"""Relative change of a launch that is spoken of although no range changed; its noise is not known."""
CHANCE = 0.01
"""Of calling anything changed when nothing is, in one comparison."""
NAMED = 3
"""Names in a verdict."""


Runs = TraceData | str | os.PathLike[str] | Sequence[TraceData | str | os.PathLike[str]]
"""A trace, the file of one, a folder of those of repeated runs, or a list of traces and files."""


def _runs(name: str, value: Any) -> list[TraceData]:
    """The traces of one side."""
    may = "a Trace, a .tltrace file, a folder with those of repeated runs, or a list of traces and files"
    if isinstance(value, str | os.PathLike):
        return [TraceData(*read_trace(each)) for each in files_at(Path(file(name, value)))]
    if isinstance(value, TraceData):
        return [value]
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        wrong(name, value, may, TypeError)
    if not value:
        wrong(name, value, f"at least one trace: {may}")
    return [run for place, each in enumerate(value) for run in _runs(f"{name}[{place}]", each)]


@checked(by=one_of(BY), least=number(0, "a share of the duration, such as 0.02, and not negative"))
def compare(a: Runs, b: Runs, *, by: By = "name", least: float = 0.02) -> Table:
    """What is faster or slower in ``b`` than in ``a``, by name, by name and payload, or by name, thread and lane.

    ``a`` and ``b`` are traces, ``.tltrace`` files, folders with those of repeated runs, or lists of traces and files of
    repeated runs (``trace.run(..., repeat=5)``), two of each at least for the noise between runs to be known.
    ``least``: the smallest relative change that counts. The columns are ``columns.COMPARE``;
    ``result.attrs["verdict"]`` says it in a line. Raises ``ValueError`` for another ``by``, a negative ``least``,
    and an empty list, ``TypeError`` for values of another type, and what ``load`` raises.

    >>> compare(before, after).attrs["verdict"]
    """
    runs_a, runs_b = _runs("a", a), _runs("b", b)
    notes = _notes(runs_a, runs_b)
    repeated = len(runs_a) > 1 and len(runs_b) > 1
    matched = match([*runs_a, *runs_b], len(runs_a), by, not repeated, notes)
    found = _differences(matched, len(runs_a), len(runs_b), notes)
    found["p"] = np.minimum(found["p"] * max(len(found), 1), 1)
    found["changed"] = (found["p"] < CHANCE) & ((found["ratio"] - 1).abs() >= least)
    order = np.lexsort((-(found["ratio"] - 1).abs().fillna(0), ~found["changed"]))
    found = found.iloc[order].reset_index(drop=True)
    result = table("compare", columns.COMPARE, found, notes)
    result.attrs["verdict"] = _verdict(result, least) + _spans(runs_a, runs_b, bool(result["changed"].any()))
    return result


def _differences(matched: Matched, runs_a: int, runs_b: int, notes: list[str]) -> pd.DataFrame:
    """One line per row: counts, means, ratio, its standard error, and the chance of it in this row alone."""
    count, runs = len(matched.keys), runs_a + runs_b
    number, total = matched.number, matched.total
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / number
        mean_a, mean_b = mean[:, :runs_a].mean(axis=1), mean[:, runs_a:].mean(axis=1)
        scale = np.maximum(mean_a, 1)  # a range of no duration changes by cycles
        if runs_a > 1 and runs_b > 1:
            squares = ((mean[:, :runs_a] - mean_a[:, None]) ** 2).sum(axis=1)
            squares += ((mean[:, runs_a:] - mean_b[:, None]) ** 2).sum(axis=1)
            variance, degrees = moderated(squares / (runs - 2) / scale**2, runs - 2)
            error = np.sqrt(variance * (1 / runs_a + 1 / runs_b)) * scale
            freedom = np.full(count, degrees)
        else:
            notes.append(
                "of one side there is one run: the noise is taken from the spread over CTAs, and what differs from "
                "run to run (clocks, memory, neighbours) is not in it: pass lists of repeated runs"
            )
            error, freedom = _over_ctas(matched)
        t = np.where(mean_b == mean_a, 0, np.abs(mean_b - mean_a) / error)
    lines = matched.keys.assign(
        matched=number.min(axis=1, initial=np.iinfo(np.int64).max) if runs else 0,
        only_a=matched.only_a,
        only_b=matched.only_b,
        mean_a=mean_a,
        mean_b=mean_b,
        difference=mean_b - mean_a,
        ratio=1 + (mean_b - mean_a) / scale,
        noise=error / scale,
        p=two_sided(t, freedom),
    )
    if (freedom < 1).any():
        notes.append("rows with one range on each side have no noise to compare with: they never count as changed")
    return lines


def _over_ctas(matched: Matched) -> tuple[Array, Ints]:
    """Standard error and degrees of freedom from the spread over CTAs; over single ranges where there is one CTA."""
    count, row_of, side_of, value = len(matched.keys), matched.cell_row, matched.cell_side, matched.cell_value
    variance, freedom = np.zeros(count), np.zeros(count, np.int64)
    for which in (0,) if matched.paired else (0, 1):
        mine = row_of[side_of == which]
        values = value[side_of == which]
        n = np.bincount(mine, minlength=count)
        mean = np.bincount(mine, values, count) / n
        squares = np.bincount(mine, (values - mean[mine]) ** 2, count)
        variance += squares / np.maximum(n - 1, 1) / n
        freedom += np.maximum(n - 1, 0)
    return np.sqrt(variance), freedom


def _notes(runs_a: Sequence[TraceData], runs_b: Sequence[TraceData]) -> list[str]:
    notes = [note for trace in (*runs_a, *runs_b) for note in caveats(trace)]
    kernels = [sorted({trace.table.kernel for trace in runs}) for runs in (runs_a, runs_b)]
    if kernels[0] != kernels[1]:
        notes.append(
            f"different kernels, {', '.join(kernels[0])} and {', '.join(kernels[1])}: only names in both are compared"
        )
    places = [sorted({f"{t.meta.gpu or 'unknown'} ({t.meta.device})" for t in runs}) for runs in (runs_a, runs_b)]
    if places[0] != places[1]:
        notes.append(
            f"different devices, {', '.join(places[0])} and {', '.join(places[1])}: cycles are compared, not time"
        )
    return notes


def _verdict(result: Table, least: float) -> str:
    changed = result[result["changed"]]
    compared = int(result["ratio"].notna().sum())
    if not compared:
        return "nothing to compare: the traces have no range of the same name"
    if changed.empty:
        return f"no range changed beyond the noise, in {compared:,} rows (changes below {least:.0%} do not count)"
    parts = []
    for word, rows in (("slower", changed[changed["ratio"] > 1]), ("faster", changed[changed["ratio"] < 1])):
        if len(rows):
            named = [
                f"{_label(row)} ({row.ratio - 1:+.1%}, {row.mean_a:,.0f} → {row.mean_b:,.0f} cycles)"
                for row in _lines(rows.iloc[:NAMED])
            ]
            more = f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else ""
            parts.append(f"{word} in {', '.join(named)}{more}")
    return f"b is {'; '.join(parts)}; {compared - len(changed):,} rows unchanged"


def _lines(rows: pd.DataFrame) -> list[Any]:
    return list(rows.itertuples())


def _label(row: Any) -> str:
    label = f"{str(row.name)!r}"
    if not pd.isna(row.payload):
        label += f" {row.payload}"
    if not pd.isna(row.thread):
        label += f" on t{row.thread} {row.lane}"
    return label


def _spans(runs_a: Sequence[TraceData], runs_b: Sequence[TraceData], explained: bool) -> str:
    """How long the launches took, in ns where the clocks are known, else the longest CTA's cycles.

    Where that changed by ``OUTSIDE`` and no range did (``explained``), it says where to look.
    """
    known = all(trace.ctas["clock_ghz"].notna().all() and len(trace.ctas) for trace in (*runs_a, *runs_b))
    if known:
        a, b = (np.mean([t.ctas["end_ns"].max() - t.ctas["start_ns"].min() for t in runs]) for runs in (runs_a, runs_b))
        text = f". The launch: {duration(a)} → {duration(b)}"
    else:
        a, b = (np.mean([t.ctas["duration"].max() if len(t.ctas) else 0 for t in runs]) for runs in (runs_a, runs_b))
        text = f". The longest CTA: {a:,.0f} → {b:,.0f} cycles"
    if explained or not a > 0 or abs(b / a - 1) < OUTSIDE:
        return text
    return f"{text} ({b / a - 1:+.0%}): not in the ranges, but between them, in their number, or in how the CTAs ran"


def figure(result: Table) -> go.Figure:
    """The change of each row in percent, with its standard error; the changed ones stand out."""
    rows = result.dropna(subset=["ratio"]).iloc[:MOST_BARS]
    hover = [
        f"{_label(row)}: {row.mean_a:,.1f} → {row.mean_b:,.1f} cycles, {row.ratio - 1:+.2%} ± {row.noise:.2%}\n"
        f"{row.matched:,} ranges matched, {row.only_a:,} only in a, {row.only_b:,} only in b\n"
        f"{'changed' if row.changed else 'within the noise, or too little to count'}"
        for row in _lines(rows)
    ]
    labels = [_label(row).replace("'", "") for row in _lines(rows)]
    bar = bars(labels, (rows["ratio"] - 1).tolist(), [RED if c else GREY for c in rows["changed"]], hover)
    bar["error_x"] = {"type": "data", "array": rows["noise"].fillna(0).tolist(), "thickness": 1}
    height = 160 + 24 * len(rows)
    notes = [str(result.attrs.get("verdict", "")), *most(len(result), "rows")]
    drawing = chart(result, [bar], "b compared with a", x="change of the mean", height=height, yaxis=DOWN, notes=notes)
    return drawing.update_layout(xaxis_tickformat="+.1%")
