"""How full the SMs were: CTAs and warps resident on each, over time.

In: a trace. Out: a :class:`~tltrace_nb.analysis.table.Table` with ``columns.OCCUPANCY``. A CTA is resident from its
first thread's first instruction to its last thread's last; what the hardware needs before and after is not seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import GREY, RED, chart, label, thinned
from tltrace_nb.analysis.launch import LaunchFacts, caveats, gpu_of, launches
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.base.checks import checked, optional, whole
from tltrace_nb.data.cells import masked
from tltrace_nb.data.trace_data import a_trace

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tltrace_nb.base.gpus import Gpu
    from tltrace_nb.data.trace_data import TraceData

FAR_NS = 3600e9
"""No launch takes an hour."""


@checked(trace=a_trace, registers=optional(whole(0)), shared=optional(whole(0)))
def occupancy(
    trace: TraceData, *, registers: int | None = None, shared: int | None = None, gpu: str | Gpu | None = None
) -> Table:
    """Resident CTAs and warps per SM over time, and what the SM could have held; see ``columns.OCCUPANCY``.

    ``registers`` (per thread) and ``shared`` (bytes per CTA) are needed for the theoretical limit where the trace does
    not know them; ``gpu`` where its GPU is none of the models. The limit is that of ``base.gpus.occupancy``.
    SMs without a CTA have a row of their own where the GPU is known and all CTAs were traced.
    """
    model = gpu_of(trace.meta, gpu)
    facts, notes = launches(trace, model, registers, shared)
    notes += caveats(trace)
    ctas, lacking = placed(trace)
    notes += lacking
    parts = [_launch(ctas[ctas["kernel"] == each.kernel], each, model, every_sm=trace.whole) for each in facts]
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(columns.OCCUPANCY))
    whole["kernel"] = pd.Categorical(whole["kernel"], [each.kernel for each in facts])
    return table("occupancy", columns.OCCUPANCY, whole, notes)


def placed(trace: TraceData) -> tuple[pd.DataFrame, list[str]]:
    """The CTAs whose SM and time are known, and what is said of the others."""
    ctas = trace.ctas
    timed = ctas["start_ns"].notna() & ctas["end_ns"].notna() & ctas["clock_ghz"].notna()
    somewhere = ctas["sm"] >= 0
    notes = []
    if not somewhere.all():
        notes.append(
            f"{int((~somewhere).sum()):,} CTAs have no SM id: left out, since nobody knows whom they ran beside"
        )
    if not timed.all():
        notes.append(
            f"{int((~timed).sum()):,} CTAs were too short for the GPU's global timer to give their clock rate: left "
            "out, since their cycles cannot be placed beside those of other SMs"
        )
    middle = ctas.loc[timed, "start_ns"].median()
    near = ((ctas[["start_ns", "end_ns"]] - middle).abs() < FAR_NS).all(axis=1)
    if (timed & ~near).any():
        notes.append(
            f"{int((timed & ~near).sum()):,} CTAs lie more than an hour from the others: their clocks are damaged, and "
            "they are left out"
        )
    return ctas[timed & somewhere & near], notes


def _launch(ctas: pd.DataFrame, facts: LaunchFacts, gpu: Gpu | None, *, every_sm: bool) -> pd.DataFrame:
    """The rows of one launch."""
    sm, start, end = (ctas[column].to_numpy() for column in ("sm", "start_ns", "end_ns"))
    first, last = start.min(initial=np.inf), end.max(initial=-np.inf)
    seen = np.unique(sm).astype(np.int32)
    if every_sm and gpu is not None and len(seen) and seen[-1] < gpu.sms:
        seen = np.arange(gpu.sms, dtype=np.int32)
    # An exit counts before an entry at the same time; the launch's own ends open and close each SM's row.
    where = np.concatenate([seen, sm, sm, seen])
    time = np.concatenate([np.full(len(seen), first), end, start, np.full(len(seen), last)])
    step = np.repeat([0, -1, 1, 0], [len(seen), len(sm), len(sm), len(seen)])
    kind = np.repeat([0, 1, 2, 3], [len(seen), len(sm), len(sm), len(seen)])
    order = np.lexsort((kind, time, where))
    where, time, resident = where[order], time[order], np.cumsum(step[order])
    same = (where[1:] == where[:-1]) & (time[1:] > time[:-1])
    row = np.flatnonzero(same)
    # Stretches of the same number side by side are one.
    new = np.concatenate([[True], (resident[row][1:] != resident[row][:-1]) | (where[row][1:] != where[row][:-1])])
    head = np.flatnonzero(new[: len(row)])
    begin, until = time[row][head], time[row + 1][np.concatenate([head[1:] - 1, [len(row) - 1]])[: len(head)]]
    count = resident[row][head].astype(np.int32)
    limit = facts.limit
    unknown = np.full(len(head), limit is None)
    most = gpu.max_warps if gpu is not None else 1
    return pd.DataFrame(
        {
            "kernel": facts.kernel,
            "sm": where[row][head].astype(np.int32),
            "start_ns": begin,
            "end_ns": until,
            "duration_ns": until - begin,
            "ctas": count,
            "warps": count * np.int32(facts.warps),
            "limit_ctas": masked(np.full(len(head), limit.ctas if limit else 0, np.int32), unknown),
            "limit_warps": masked(np.full(len(head), limit.warps if limit else 0, np.int32), unknown.copy()),
            "achieved": masked(count * facts.warps / most, np.full(len(head), gpu is None)),
            "theoretical": masked(np.full(len(head), limit.fraction if limit else 0.0), unknown.copy()),
        }
    )


def figure(result: Table) -> go.Figure:
    """Warps resident per SM, on average over the SMs and on the fullest, over time, and the limit."""
    points = np.unique(np.concatenate([result["start_ns"].to_numpy(), result["end_ns"].to_numpy()]))
    sms = max(result["sm"].nunique(), 1)
    change = pd.concat(
        [
            pd.Series(result["warps"].to_numpy(), result["start_ns"].to_numpy()),
            pd.Series(-result["warps"].to_numpy(), result["end_ns"].to_numpy()),
        ]
    )
    total = change.groupby(level=0).sum().reindex(points, fill_value=0).cumsum().to_numpy() / sms
    keep = thinned(len(points))
    traces = [
        {
            "type": "scatter", "mode": "lines", "name": f"mean of {sms:,} SMs", "line": {"shape": "hv", "width": 2},
            "fill": "tozeroy", "x": points[keep].tolist(), "y": total[keep].tolist(),
            "hovertemplate": "%{y:.1f} warps at %{x:,.0f} ns",
        }
    ]  # fmt: skip
    title = "Warps resident per SM"
    if len(result):
        span = float(result["duration_ns"].sum())
        mean = float((result["warps"] * result["duration_ns"]).sum()) / span
        title += f": {mean:.1f} on average, {int(result['warps'].max())} at most"
        limits = result[["start_ns", "end_ns", "limit_warps", "kernel"]].dropna()
        for kernel, rows in limits.groupby("kernel", observed=True):
            limit = int(rows["limit_warps"].iloc[0])
            traces.append(
                {
                    "type": "scatter", "mode": "lines", "name": label(f"limit of {kernel}: {limit} warps"),
                    "line": {"dash": "dash", "color": RED if limit else GREY},
                    "x": [float(rows["start_ns"].min()), float(rows["end_ns"].max())], "y": [limit, limit],
                    "hoverinfo": "name",
                }
            )  # fmt: skip
    return chart(
        result,
        traces,
        title,
        x="ns since the first CTA's entry",
        y="warps",
        yaxis={"rangemode": "tozero", "title": {"text": "warps"}},
    )
