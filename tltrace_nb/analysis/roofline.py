"""How near a launch came to what the GPU can do: operations per byte, and which of the two roofs is the lower.

In: a trace, and its work. Out: a :class:`~tltrace_nb.analysis.table.Table` with ``columns.ROOFLINE``. The roofs are
those of the GPU's model: tensor or CUDA cores at the clock that was measured, and the peak of the device memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.analysis import columns
from tltrace_nb.analysis.charts import GREY, chart, colors, label
from tltrace_nb.analysis.launch import caveats, gpu_of
from tltrace_nb.analysis.occupancy import FAR_NS
from tltrace_nb.analysis.ranges import Ranges, numbered, ranges_of
from tltrace_nb.analysis.spans import Axis, groups, union
from tltrace_nb.analysis.table import Table, table
from tltrace_nb.base.checks import checked, number, optional, text
from tltrace_nb.base.gpus import PRESETS, Gpu, TensorRates
from tltrace_nb.data.trace_data import a_trace

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tltrace_nb.data.trace_data import TraceData

Work = float | Mapping[str, float]
"""Of the whole launch, or per range of a name."""

CUDA = "cuda"
"""The ``dtype`` of work on the CUDA cores, in float32."""
LAUNCH = "(launch)"
"""The row of the whole launch."""


def _work(name: str, value: Any) -> Any:
    """Work of the launch, or of each range of a name."""
    may = "the work of the launch, not negative, or a dictionary from names to that of one range"
    if not isinstance(value, Mapping):
        return number(0, may)(name, value)
    for of, work in value.items():
        text(name, of)
        number(0, may)(f"{name}[{of!r}]", work)
    return value


@checked(trace=a_trace, flop=optional(_work), bytes=optional(_work), dtype=text)
def roofline(
    trace: TraceData,
    *,
    flop: Work | None = None,
    bytes: Work | None = None,
    dtype: str = "fp16",
    gpu: str | Gpu | None = None,
) -> Table:
    """Achieved and attainable operations per second, for the launch and each name with work; see ``columns.ROOFLINE``.

    ``flop``, ``bytes``: of the whole launch, or a mapping from a name to what one of its ranges does, such as
    ``flop={"mma": 2 * 128 * 128 * 32}``; a multiply-add counts 2. By default they are the trace's own, where
    ``meta.work`` has them: the virtual GPU counts them. ``dtype``: what the tensor cores multiply (``"fp16"``,
    ``"bf16"``, ``"tf32"``, ``"fp8"``, ``"int8"``, ``"fp64"``), or ``"cuda"``. ``gpu``: where the trace's is no model.

    Raises ``ValueError`` for a name that no range has, another ``dtype``, negative work, and an unknown GPU.
    """
    model = gpu_of(trace.meta, gpu)
    if model is None:
        raise ValueError(
            f"the rates of {trace.meta.gpu or 'this GPU'} are not known: pass gpu=, one of {', '.join(PRESETS)}, or a "
            "tltrace_nb.base.gpus.Gpu"
        )
    ghz = float(trace.ctas["clock_ghz"].mean()) if trace.ctas["clock_ghz"].notna().any() else model.clock_ghz
    peak = _peak(model, dtype, ghz)
    notes = caveats(trace)
    own = trace.meta.work if flop is None and bytes is None else None
    if own is not None:
        flop, bytes = own
        notes.append("flop are what the virtual GPU counted, bytes those of all tensors, each read or written once")
    found = ranges_of(trace.events, ended=True)
    names = _names(flop, bytes)
    per_name = {name: tuple(_each(found, trace, work, name) for work in (flop, bytes)) for name in names}
    flops, moved = (_whole(work, [pair[i] for pair in per_name.values()]) for i, work in enumerate((flop, bytes)))
    if np.isnan(flops) and np.isnan(moved):
        notes.append("no work is declared, and none was counted: pass flop= and bytes=, of the launch or per range")
    elif np.isnan(flops) or np.isnan(moved):
        lacking = "flop" if np.isnan(flops) else "bytes"
        notes.append(f"no {lacking}= given: the intensity, and which roof is lower, is not told")
    timed = trace.ctas["clock_ghz"].notna().all() and len(trace.ctas) > 0
    if not timed:
        notes.append("the clock rate of this launch is not known, and with it how long it took")
    span = float(trace.ctas["end_ns"].max() - trace.ctas["start_ns"].min()) if timed else np.nan
    rows = [_row(LAUNCH, flops, moved, span, peak, model)]
    for name, (own_flop, own_bytes) in per_name.items():
        open_ns = _busy(trace, found, name, model.sms) if timed else np.nan
        rows.append(_row(name, own_flop, own_bytes, open_ns, peak, model))
    frame = pd.DataFrame(rows, columns=list(columns.ROOFLINE)).astype({"name": "category", "bound": "category"})
    return table("roofline", columns.ROOFLINE, frame, notes, peak=peak, bandwidth=model.hbm_bytes_per_second)


def _peak(gpu: Gpu, dtype: str, ghz: float) -> float:
    """Flop per second of all SMs."""
    rates: dict[str, float] = {each.name: getattr(gpu.tensor, each.name) for each in fields(TensorRates)}
    rates[CUDA] = gpu.cuda_flop_per_cycle
    if not rates.get(dtype):
        known = ", ".join(repr(name) for name, rate in rates.items() if rate)
        raise ValueError(f"dtype={dtype!r}: the {gpu.name} has rates for {known}")
    return float(rates[dtype] * gpu.sms * ghz * 1e9)


def _names(*works: Work | None) -> list[str]:
    return list(dict.fromkeys(name for work in works if isinstance(work, Mapping) for name in work))


def _each(found: Ranges, trace: TraceData, work: Work | None, name: str) -> float:
    """What all ranges of ``name`` do; NaN where it is not told."""
    if not isinstance(work, Mapping) or name not in work:
        return np.nan
    return _positive(work[name]) * int(np.isin(found.name, numbered(trace.events, [name], "name")).sum())


def _whole(work: Work | None, parts: list[float]) -> float:
    if work is None:
        return np.nan
    return float(np.nansum(parts)) if isinstance(work, Mapping) else _positive(work)


def _positive(work: float) -> float:
    if work < 0:
        raise ValueError(f"{work} flop or bytes: work is not negative")
    return float(work)


def _busy(trace: TraceData, found: Ranges, name: str, sms: int) -> float:
    """The ns in which ranges of ``name`` were open on an SM, as if they were on all SMs at once."""
    mine = np.isin(found.name, numbered(trace.events, [name], "name"))
    row = found.row[mine]
    # A time that is no time (damaged, or of a CTA without a clock) is left out.
    row = row[np.abs(trace.events["start_ns"].to_numpy()[row]) + trace.events["duration_ns"].to_numpy()[row] < FAR_NS]
    sm, _ = groups(trace.events["sm"].to_numpy()[row].astype(np.int64) + 1)
    start, duration = (trace.events[column].to_numpy()[row] for column in ("start_ns", "duration_ns"))
    # In steps of 2^-10 ns, far below what the timer tells, integers add up without loss.
    begin, end = (np.round(at * 1024).astype(np.int64) for at in (start, start + duration))
    axis = Axis.of(int(sm.max(initial=0)) + 1, begin, end)
    return float(union(axis.at(sm, begin), axis.at(sm, end)).length.sum()) / 1024 / sms


def _row(name: str, flop: float, moved: float, time_ns: float, peak: float, gpu: Gpu) -> dict[str, Any]:
    bandwidth = gpu.hbm_bytes_per_second
    intensity = flop / moved if moved else (np.inf if flop else np.nan)
    roof = min(peak, intensity * bandwidth) if not np.isnan(intensity) else (peak if np.isnan(moved) else np.nan)
    seconds = time_ns * 1e-9
    achieved, carried = (work / seconds if seconds > 0 else np.nan for work in (flop, moved))
    if np.isnan(flop) or not flop:  # bytes alone: the only roof is the memory's
        efficiency, roof = carried / bandwidth, bandwidth
    else:
        efficiency = achieved / roof
    bound = None if np.isnan(intensity) else "memory" if intensity * bandwidth < peak else "compute"
    return {
        "name": name,
        "flop": flop,
        "bytes": moved,
        "intensity": intensity,
        "time_ns": time_ns,
        "flop_per_second": achieved,
        "bytes_per_second": carried,
        "attainable": roof,
        "efficiency": efficiency,
        "bound": bound,
    }


def figure(result: Table) -> go.Figure:
    """Flop per second over flop per byte, both logarithmic, under the two roofs."""
    peak, bandwidth = result.attrs["peak"], result.attrs["bandwidth"]
    ridge = peak / bandwidth
    rows = result[np.isfinite(result["intensity"]) & (result["flop_per_second"] > 0)]
    left = min([ridge / 100, *(rows["intensity"] / 3)])
    right = max([ridge * 100, *(rows["intensity"] * 3)])
    names = rows["name"].astype(str).tolist()
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "roof",
            "line": {"color": GREY, "width": 2},
            "x": [left, ridge, right],
            "y": [left * bandwidth, peak, peak],
            "hoverinfo": "skip",
        }
    ]
    for name, color, row in zip(names, colors(names), rows.itertuples(), strict=True):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label(name),
                "marker": {"color": color, "size": 12},
                "x": [row.intensity],
                "y": [row.flop_per_second],
                "hovertext": f"{label(name)}: {row.flop_per_second:.3g} flop/s, {row.efficiency:.0%} of attainable<br>"
                f"{row.intensity:.3g} flop a byte, bound by {row.bound}",
                "hoverinfo": "text",
            }
        )
    drawing = chart(result, traces, "Roofline", x="flop per byte", y="flop per second", height=400)
    return drawing.update_layout(xaxis_type="log", yaxis_type="log")
