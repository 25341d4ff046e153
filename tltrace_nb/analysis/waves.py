"""The waves of a launch: how CTAs took each other's slots on the SMs, and what that left empty.

In: a trace. Out: a :class:`~tltrace_nb.analysis.table.Table` per wave, per SM or per launch.

An SM has *CTA slots*, as many as it holds CTAs at once. A CTA that takes a place that was never used is of wave 0; one
that takes the place of another is of the wave after. Of several free slots the one that was left first is taken.

Where not all CTAs recorded, who took whose slot is not seen. Then waves are those of a block scheduler that dispatches
CTAs in their order, a GPU full at a time, and what SMs did between recorded CTAs is not told.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import DOWN, MOST_BARS, bars, chart, label, most
from tltrace_nb.analysis.launch import LaunchFacts, caveats, gpu_of, launches
from tltrace_nb.analysis.occupancy import placed
from tltrace_nb.analysis.spans import union
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.base.checks import checked, one_of, optional, whole
from tltrace_nb.base.numbers import duration
from tltrace_nb.data.trace_data import a_trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    import plotly.graph_objects as go

    from tltrace_nb.base.gpus import Gpu
    from tltrace_nb.data.trace_data import TraceData

By = Literal["wave", "sm", "launch"]
_SCHEMAS = {"wave": columns.WAVES, "sm": columns.WAVES_BY_SM, "launch": columns.WAVES_BY_LAUNCH}

_X = "ns since the first CTA's entry"

_UNSEEN = ("filled", "busy_ns", "idle_ns", "tail_ns", "tail", "idle", "imbalance")
"""What is not known where not all CTAs recorded."""
TIMER_STEP_NS = 32.0
"""Two CTAs of one SM that overlap by no more than a step of the H200's global timer (measured) ran one after the other:
their ends are not known better."""


@checked(trace=a_trace, by=one_of(("wave", "sm", "launch")), registers=optional(whole(0)), shared=optional(whole(0)))
def waves(
    trace: TraceData,
    by: By = "wave",
    *,
    registers: int | None = None,
    shared: int | None = None,
    gpu: str | Gpu | None = None,
) -> Table:
    """The waves of each launch, by wave, by SM or as a whole; see ``columns.WAVES``, ``_BY_SM``, ``_BY_LAUNCH``.

    Places are those of ``occupancy`` where its limit is exact, else the most CTAs that were seen on one SM at once, and
    SMs those of the GPU's model, else those seen. ``registers``, ``shared`` and ``gpu`` are as for ``occupancy``.
    Raises ``ValueError`` for another ``by``.
    """
    model = gpu_of(trace.meta, gpu)
    facts, notes = launches(trace, model, registers, shared)
    ctas, lacking = placed(trace)
    notes += [*caveats(trace), *lacking]
    parts = []
    for each, mine, sms, places in _in_waves(trace, facts, ctas, model):
        if each.limit is None or not each.exact:
            notes.append(
                f"{each.kernel}: how many CTAs an SM could hold is not known, so it counts as {places // sms}, the "
                "most that were seen at once"
            )
        total = len(mine) if trace.whole else each.ctas
        rows = {"wave": _by_wave(mine, places), "sm": _by_sm(mine), "launch": _by_launch(mine, sms, places, total)}
        told = rows[by] if trace.whole else rows[by].assign(**{name: np.nan for name in _UNSEEN if name in rows[by]})
        parts.append(told.assign(kernel=each.kernel))
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(_SCHEMAS[by]))
    whole["kernel"] = pd.Categorical(whole["kernel"], [each.kernel for each in facts])
    return table("waves", _SCHEMAS[by], whole, notes, by=by)


def ctas_in_waves(trace: TraceData) -> pd.DataFrame:
    """Per CTA whose SM and time are known: its row of ``Trace.ctas``, with ``place`` (on its SM) and ``wave``."""
    ctas, _ = placed(trace)
    model = gpu_of(trace.meta)
    facts, _ = launches(trace, model)
    parts = [mine for _, mine, _, _ in _in_waves(trace, facts, ctas, model)]
    return pd.concat(parts).sort_index() if parts else ctas.assign(place=0, wave=0)


def _in_waves(
    trace: TraceData, facts: list[LaunchFacts], ctas: pd.DataFrame, gpu: Gpu | None
) -> Iterator[tuple[LaunchFacts, pd.DataFrame, int, int]]:
    """Each launch that has CTAs: those with their ``place`` and ``wave``, the SMs of the GPU, and its CTA slots."""
    first = 0
    for each in facts:
        mine = ctas[ctas["kernel"] == each.kernel]
        if len(mine):
            where = _places(mine, each.limit.ctas if each.limit and each.exact else None)
            sms, per_sm = _size(mine, where, each, gpu)
            if not trace.whole:
                where["wave"] = ((mine["cta"].to_numpy() - first) // (sms * per_sm)).astype(np.int32)
            yield each, mine.assign(**where), sms, sms * per_sm
        first += each.ctas


def idle_stretches(ctas: pd.DataFrame) -> pd.DataFrame:
    """When SMs that had a CTA had none, within each launch: cta, start, end (cycles) and idle_ns, a row per stretch.

    ``ctas`` are rows of :func:`ctas_in_waves`. Times count from the entry of the CTA that left last, or before an SM's
    first CTA from the entry of that one. A stretch of no more than a step of the timer is none.
    """
    found: list[tuple[int, float, float, float]] = []

    def note(cta: int, since_entry: float, stretch: float, ghz: float) -> None:
        if stretch > TIMER_STEP_NS:
            found.append((cta, since_entry * ghz, (since_entry + stretch) * ghz, stretch))

    for _, launch in ctas.groupby("kernel", observed=True):
        first, last = launch["start_ns"].min(), launch["end_ns"].max()
        for _, mine in launch.sort_values("start_ns").groupby("sm"):
            rows = mine[["cta", "start_ns", "end_ns", "clock_ghz"]].itertuples(index=False, name=None)
            cta, entry, exit_, ghz = next(rows)
            note(cta, first - entry, entry - first, ghz)
            for following in rows:
                note(cta, exit_ - entry, following[1] - exit_, ghz)
                if following[2] > exit_:
                    cta, entry, exit_, ghz = following
            note(cta, exit_ - entry, last - exit_, ghz)
    table = pd.DataFrame(found, columns=["cta", "start", "end", "idle_ns"]).round({"start": 0, "end": 0})
    return table.astype({"cta": "int32", "start": "int64", "end": "int64", "idle_ns": "float64"})


def _places(ctas: pd.DataFrame, limit: int | None) -> dict[str, npt.NDArray[np.int32]]:
    """The place and the wave of each CTA of one launch. An SM has at most ``limit`` places."""
    order = np.lexsort((ctas["start_ns"].to_numpy(), ctas["sm"].to_numpy()))
    sms, starts, ends = (ctas[column].to_numpy()[order].tolist() for column in ("sm", "start_ns", "end_ns"))
    place, wave = [0] * len(order), [0] * len(order)
    left: list[tuple[float, int, int]] = []  # per place of this SM: when its last CTA leaves, its number, its waves
    current = None
    for i, (sm, start, end) in enumerate(zip(sms, starts, ends, strict=True)):
        if sm != current:
            current, left = sm, []
        if left and (left[0][0] <= start + TIMER_STEP_NS or len(left) == limit):
            _, place[i], before = heapq.heappop(left)
            wave[i] = before + 1
        else:
            place[i] = len(left)
        heapq.heappush(left, (end, place[i], wave[i]))
    found = {"place": np.empty(len(order), np.int32), "wave": np.empty(len(order), np.int32)}
    found["place"][order], found["wave"][order] = place, wave
    return found


def _size(
    ctas: pd.DataFrame, where: dict[str, npt.NDArray[np.int32]], facts: LaunchFacts, gpu: Gpu | None
) -> tuple[int, int]:
    """SMs of the GPU, and places of each."""
    seen = int(ctas["sm"].nunique())
    sms = gpu.sms if gpu is not None and ctas["sm"].max() < gpu.sms else seen
    exact = facts.limit is not None and facts.exact
    return sms, facts.limit.ctas if exact and facts.limit else int(where["place"].max()) + 1


def _by_wave(ctas: pd.DataFrame, places: int) -> pd.DataFrame:
    groups = ctas.assign(spent=ctas["end_ns"] - ctas["start_ns"]).groupby("wave")
    rows = pd.DataFrame(
        {
            "ctas": groups.size().astype("int32"),
            "sms": groups["sm"].nunique().astype("int32"),
            "filled": groups.size() / places,
            "start_ns": groups["start_ns"].min(),
            "end_ns": groups["end_ns"].max(),
            "duration_ns": groups["end_ns"].max() - groups["start_ns"].min(),
            "mean_ns": groups["spent"].mean(),
            "longest_ns": groups["spent"].max(),
        }
    ).reset_index()
    # The mean of equal times may come out longer than they are, in its last bit.
    excess = (rows["longest_ns"] - rows["mean_ns"]).clip(lower=0)
    return rows.assign(imbalance=excess / rows["mean_ns"].where(rows["mean_ns"] > 0))


def _by_sm(ctas: pd.DataFrame) -> pd.DataFrame:
    groups = ctas.groupby("sm")
    first, last = ctas["start_ns"].min(), ctas["end_ns"].max()
    busy = _busy(ctas)
    rows = pd.DataFrame(
        {
            "ctas": groups.size().astype("int32"),
            "waves": (groups["wave"].max() + 1).astype("int32"),
            "start_ns": groups["start_ns"].min(),
            "end_ns": groups["end_ns"].max(),
            "busy_ns": busy,
            # What was rounded may be longer than the launch by a step.
            "idle_ns": (last - first - busy).clip(lower=0),
            "tail_ns": last - groups["end_ns"].max(),
        }
    ).reset_index()
    mean = rows["busy_ns"].mean()
    return rows.assign(imbalance=rows["busy_ns"] / (mean if mean > 0 else np.nan) - 1)


def _by_launch(ctas: pd.DataFrame, sms: int, places: int, total: int) -> pd.DataFrame:
    """``total``: CTAs of the launch, recorded or not."""
    first, last = ctas["start_ns"].min(), ctas["end_ns"].max()
    leave = ctas.groupby("sm")["end_ns"].max()
    busy = _busy(ctas)
    span = last - first
    # An SM that never got a CTA is out of them from the beginning.
    tail = last - (leave.min() if len(leave) == sms else first)
    full = -(-total // places)
    number = int(ctas["wave"].max()) + 1 if total == len(ctas) else full
    return pd.DataFrame(
        {
            "ctas": [len(ctas)],
            "sms": np.int32(sms),
            "places": np.int32(places),
            "waves": np.int32(number),
            "ideal_waves": total / places,
            "quantisation_loss": 1 - total / (places * full),
            "start_ns": first,
            "end_ns": last,
            "duration_ns": span,
            "tail_ns": tail,
            "tail": tail / span if span > 0 else np.nan,
            "idle": max(0.0, 1 - busy.sum() / (sms * span)) if span > 0 else np.nan,
            "imbalance": busy.max() / busy.mean() - 1 if busy.mean() > 0 else np.nan,
        }
    )


def _busy(ctas: pd.DataFrame) -> pd.Series[float]:
    """Per SM the ns in which at least one CTA was resident."""
    sms, number = np.unique(ctas["sm"].to_numpy(), return_inverse=True)
    first = float(ctas["start_ns"].min())
    # In steps of 2^-10 ns, far below what the timer tells, integers add up without loss.
    start, end = (
        np.round((ctas[column].to_numpy() - first) * 1024).astype(np.int64) for column in ("start_ns", "end_ns")
    )
    stride = int(end.max()) + 2
    covered = union(start + number * stride, end + number * stride)
    busy = np.bincount(covered.start // stride, covered.length, len(sms)) / 1024
    return pd.Series(busy, pd.Index(sms, name="sm"))


def figure(result: Table) -> go.Figure:
    """Per wave its CTAs' spread in time and how full it is; per SM its busy and idle time; per launch the losses."""
    return {"wave": _waves_figure, "sm": _sm_figure, "launch": _launch_figure}[result.attrs["by"]](result)


def _waves_figure(result: Table) -> go.Figure:
    rows = result.iloc[:MOST_BARS]
    several = result["kernel"].nunique() > 1
    labels = [f"{row.kernel}, wave {row.wave}" if several else f"wave {row.wave}" for row in rows.itertuples()]
    hover = [
        f"{row.ctas:,} CTAs on {row.sms:,} SMs{_filled(row.filled, ' of the CTA slots')}\n"
        f"longest CTA {duration(row.longest_ns)}, mean {duration(row.mean_ns)}"
        for row in rows.itertuples()
    ]
    bar = bars(labels, rows["duration_ns"].tolist(), "#56b4e9", hover)
    bar |= {
        "base": rows["start_ns"].tolist(),
        "text": [f"{row.ctas:,} CTAs{_filled(row.filled)}" for row in rows.itertuples()],
        "textposition": "inside",
        "insidetextanchor": "middle",
    }
    title = "Waves, from the first CTA's entry to the last one's exit"
    return chart(result, [bar], title, x=_X, height=180 + 26 * len(rows), yaxis=DOWN, notes=most(len(result), "waves"))


def _filled(share: Any, of: str = "") -> str:
    """How full a wave is, behind its CTAs; nothing where that is not known."""
    return f", {share:.0%}{of}" if not np.isnan(share) else ""


def _sm_figure(result: Table) -> go.Figure:
    between = (result["idle_ns"] - result["tail_ns"]).clip(lower=0)
    parts = (
        ("busy", result["busy_ns"], "#0072b2"),
        ("idle", between, "#999999"),
        ("tail", result["tail_ns"], "#e69f00"),
    )
    traces = [
        {
            "type": "bar",
            "name": name,
            "x": result["sm"].tolist(),
            "y": values.tolist(),
            "marker": {"color": color},
            "hovertemplate": f"SM %{{x}}: {name} %{{y:,.0f}} ns",
        }
        for name, values, color in parts
    ]
    return chart(result, traces, "Time of each SM", x="SM", y="ns", barmode="stack")


def _launch_figure(result: Table) -> go.Figure:
    traces = [
        {
            "type": "bar",
            "name": name.replace("_", " "),
            "x": [label(str(kernel)) for kernel in result["kernel"]],
            "y": result[name].tolist(),
            "hovertemplate": "%{y:.1%}",
        }
        for name in ("quantisation_loss", "tail", "idle", "imbalance")
    ]
    title = "What the launch left empty"
    if len(result) == 1:
        row = result.iloc[0]
        title += f": {row['ctas']:,} CTAs, {row['places']:,} CTA slots, {row['waves']} waves"
    return chart(result, traces, title, barmode="group").update_layout(yaxis_tickformat=".0%")
