"""What views, analyses and exports read of a trace: its frames, whoever has them.

Out: :class:`Frames`, and :class:`TraceLike`, which a :class:`~tltrace_nb.data.trace_data.TraceData` is as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tltrace_nb.base.numbers import count

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.data.tracefile import TraceMeta


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames without slots, with the columns of ``data.columns``: of a part of a trace, of rows, of several traces."""

    events: pd.DataFrame
    ctas: pd.DataFrame
    flows: pd.DataFrame
    losses: pd.DataFrame
    meta: TraceMeta

    def __repr__(self) -> str:
        of = f" of {self.meta.kernel}" if self.meta.kernel else ""
        return f"{count(len(self.events), 'event')}{of}, {count(self.events['cta'].nunique(), 'CTA')}"


class TraceLike(Protocol):
    """What has the frames of a trace."""

    @property
    def events(self) -> pd.DataFrame: ...
    @property
    def ctas(self) -> pd.DataFrame: ...
    @property
    def flows(self) -> pd.DataFrame: ...
    @property
    def losses(self) -> pd.DataFrame: ...
    @property
    def meta(self) -> TraceMeta: ...
