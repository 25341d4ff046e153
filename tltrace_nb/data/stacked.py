"""The frames of several traces under each other, with a column in front that tells whose a row is.

In: traces by number. Out: ``events``, ``ctas``, ``flows`` and ``losses``, in which row numbers are those of the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tltrace_nb.data.trace_data import TraceData


def stacked(
    traces: Mapping[int, TraceData], column: str, shift: Mapping[int, float] | None = None
) -> dict[str, pd.DataFrame]:
    """The frames by name, in ascending order of ``column``; times in ns are moved by ``shift``."""
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in ("events", "ctas", "flows", "losses")}
    base = 0
    for number in sorted(traces):
        trace, by = traces[number], shift[number] if shift else 0.0
        events = trace.events.assign(start_ns=trace.events["start_ns"] + by, parent=trace.events["parent"] + base)
        ctas = trace.ctas.assign(start_ns=trace.ctas["start_ns"] + by, end_ns=trace.ctas["end_ns"] + by)
        flows = trace.flows.assign(src=trace.flows["src"] + base, dst=trace.flows["dst"] + base)
        for name, frame in (("events", events), ("ctas", ctas), ("flows", flows), ("losses", trace.losses.copy())):
            frame.insert(0, column, np.full(len(frame), number, np.int32))
            parts[name].append(frame)
        base += len(events)
    return {name: _together(each) for name, each in parts.items()}


def _together(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames under each other; categoricals keep being categoricals, of the categories of all."""
    for column in parts[0]:
        if isinstance(parts[0][column].dtype, pd.CategoricalDtype):
            categories = parts[0][column].cat.categories
            for part in parts[1:]:
                more = part[column].cat.categories
                categories = categories.append(more.difference(categories, sort=False))
            for part in parts:
                part[column] = part[column].cat.set_categories(categories)
    return pd.concat(parts, ignore_index=True)
