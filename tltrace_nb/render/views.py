"""The views of a trace: which rows a timeline has, which lane each is in, and what its colour says.

In: a trace. Out: a frame with the columns of ``Trace.events``, and the columns that make a lane.

* ``thread``: a lane per CTA, thread and lane name;
* ``cta``: a lane per CTA, its threads over each other;
* ``name``: a lane per name;
* ``sm``: a lane per SM, on it the CTAs as they came and went, a row per place, the wave as payload; one empty lane for
  all SMs that never had a CTA.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.data.cells import category, masked
from tltrace_nb.data.columns import EVENTS
from tltrace_nb.render.options import Color, View

if TYPE_CHECKING:
    import numpy.typing as npt

    from tltrace_nb.data.trace_data import TraceData

LANES: Mapping[View, tuple[str, ...]] = {
    "thread": ("cta", "thread", "lane"),
    "cta": ("cta",),
    "name": ("name",),
    "sm": ("sm",),
}
"""The columns that make a lane."""
PARTS = ("rank", "launch")
"""Columns that tell of several traces whose a row is."""

NO_PLACE = "view='sm': this trace does not tell on which SM, and when, its CTAs ran; trace.occupancy().notes says why"


def lanes_of(events: pd.DataFrame, view: View) -> list[str]:
    """The columns that make a lane of ``events``; with several ranks or launches, these come first."""
    return [*(column for column in PARTS if column in events), *LANES[view]]


def on_one_axis(events: pd.DataFrame) -> bool:
    """Whether an axis in ns says more than the cycles of a CTA: for events of several CTAs, or of several ranks."""
    return events["cta"].nunique() > 1 or ("rank" in events and events["rank"].nunique() > 1)


def ctas_as_events(trace: TraceData) -> pd.DataFrame:
    """The CTAs whose SM and time are known, as rows with the columns of ``Trace.events`` and their ``place`` on the SM.

    The name is the kernel's, the payload the CTA's wave. Raises ``ValueError`` where no CTA has both.
    """
    from tltrace_nb.analysis.waves import ctas_in_waves

    ctas = ctas_in_waves(trace).sort_values(["sm", "place", "start_ns"], ignore_index=True)
    if ctas.empty:
        raise ValueError(NO_PLACE)
    count = len(ctas)
    wave = masked(ctas["wave"].to_numpy(np.int64), np.zeros(count, np.bool_))
    one = {"kind": "range", "group": "default", "lane": "SM", "source": trace.table.source}
    kept = ("cta", "block_x", "block_y", "block_z", "sm", "duration", "start_ns")
    cells: dict[str, Any] = {column: ctas[column] for column in kept}
    cells |= {column: category([value], [0], np.zeros(count, np.int8)) for column, value in one.items()}
    cells |= {
        "role": category([], [], None).take(np.full(count, -1), allow_fill=True),
        "name": ctas["kernel"],
        "thread": 0,
        "warp": 0,
        "start": 0,
        "end": ctas["duration"],
        "duration_ns": ctas["end_ns"] - ctas["start_ns"],
        "payload": wave,
        "payload_end": wave,
        "payload_raw": ctas["wave"].astype("uint32"),
        "depth": np.int16(0),
        "parent": masked(np.zeros(count, np.int32), np.ones(count, np.bool_)),
        "truncated": False,
    }
    return pd.DataFrame({column: cells[column] for column in EVENTS}).assign(place=ctas["place"])


def idle_sms(trace: TraceData) -> list[int]:
    """The SMs of the trace's GPU that never had a CTA; none where they are not known, or not all CTAs recorded."""
    from tltrace_nb.analysis.launch import gpu_of

    gpu, used = gpu_of(trace.meta), trace.ctas["sm"]
    if gpu is None or not trace.whole or used.isna().any():
        return []
    return sorted(set(range(gpu.sms)) - set(used))


def shades(trace: TraceData, events: pd.DataFrame, color: Color) -> npt.NDArray[np.float64] | None:
    """A number per row of ``events`` that its colour shows, NaN where there is none; ``None`` for colour by name.

    The payload at the begin, the duration in cycles, or the wave of the row's CTA.
    """
    if color == "name":
        return None
    if color == "wave":
        from tltrace_nb.analysis.waves import ctas_in_waves

        waves = ctas_in_waves(trace).set_index("cta")["wave"]
        return events["cta"].map(waves).to_numpy(np.float64)
    values: Any = events[color].astype("Float64").to_numpy(np.float64, na_value=np.nan)
    return np.asarray(values)
