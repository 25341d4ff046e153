"""What the views read: of a trace, of many gathered, or of a frame that looks like one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pandas as pd


class MetaLike(Protocol):
    """What the views read of ``Trace.meta``."""

    @property
    def kernel(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def gpu(self) -> str | None: ...
    @property
    def slowdown(self) -> tuple[float, float] | None: ...


class TraceLike(Protocol):
    """What the views read of a ``Trace``: frames as the documentation of ``Trace`` describes them."""

    @property
    def events(self) -> pd.DataFrame: ...
    @property
    def ctas(self) -> pd.DataFrame: ...
    @property
    def flows(self) -> pd.DataFrame: ...
    @property
    def losses(self) -> pd.DataFrame: ...
    @property
    def meta(self) -> MetaLike: ...
