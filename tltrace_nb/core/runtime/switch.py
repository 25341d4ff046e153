"""What the runtime asks of the ``trace`` switch: whether to trace, how, where, and whom to tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tltrace_nb.core.compile.options import TraceOptions
    from tltrace_nb.core.runtime.launch import TracedLaunch


class Switch(Protocol):
    """The switch as kernels see it; ``core.api.TraceSwitch`` is one."""

    @property
    def enabled(self) -> bool: ...
    @property
    def options(self) -> TraceOptions: ...
    @property
    def device(self) -> str: ...
    def model(self) -> str | None: ...
    def captured(self, launch: TracedLaunch) -> None: ...
