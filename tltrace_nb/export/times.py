"""Cycles of a CTA as times of a file: whole and never negative.

In: a trace. Out: :class:`Times`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

if TYPE_CHECKING:
    from tltrace_nb.data.trace_data import TraceData

FAR = float(2**62)
"""Times beyond it, which only damaged clocks give, are written as it."""


@dataclass(frozen=True, eq=False)
class Times:
    """The clocks of a trace. ``unit`` is ns where that of every CTA was measured, else cycles.

    Per CTA of ``ctas``: ``ghz``, and ``offset``, its entry in ns. ``zero``: what is taken from every time, so that the
    first event is at 0 or later.
    """

    unit: Literal["ns", "cycles"]
    ctas: pd.Index[Any]
    ghz: npt.NDArray[np.float64]
    offset: npt.NDArray[np.float64]
    zero: int

    @classmethod
    def of(cls, trace: TraceData) -> Times:
        """The clocks of the CTAs that have events."""
        clock = trace.ctas.drop_duplicates("cta").set_index("cta")
        ghz, offset = (clock[column].to_numpy(np.float64) for column in ("clock_ghz", "start_ns"))
        events = trace.events
        known = bool(pd.Index(events["cta"].unique()).isin(clock.index[~(np.isnan(ghz) | np.isnan(offset))]).all())
        times = cls("ns" if known else "cycles", clock.index, ghz, offset, 0)
        first = times.at(events["cta"].to_numpy(), events["start"].to_numpy())
        return cls(times.unit, clock.index, ghz, offset, min(0, int(first.min(initial=0))))

    def at(self, cta: npt.NDArray[Any], cycles: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The time of so many cycles after the entry of each CTA.

        By the same formula as that of ``data.decode``, so rounding to whole ns never makes neighbours overlap.
        """
        if self.unit == "cycles":
            return cycles.astype(np.int64) - self.zero
        place = self.ctas.get_indexer(pd.Index(cta))
        ns = cycles / self.ghz[place] + self.offset[place]
        return np.rint(np.clip(ns, -FAR, FAR)).astype(np.int64) - self.zero

    def has(self, cta: int) -> bool:
        """Whether a time of this CTA can be told."""
        place = self.ctas.get_indexer(pd.Index([cta]))[0]
        return bool(place >= 0 and (self.unit == "cycles" or np.isfinite(self.ghz[place] + self.offset[place])))
