"""See inside a TileLang GPU kernel, in the notebook where it was written.

``from tltrace_nb import trace`` is the whole surface for kernel authors. Nothing heavy is imported here: TileLang,
torch, pandas and plotly are loaded when first used, so a saved trace opens where only pandas is installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tltrace_nb._version import __version__
from tltrace_nb.core.api import trace

if TYPE_CHECKING:
    from tltrace_nb import datasets
    from tltrace_nb.analysis.compare import compare
    from tltrace_nb.base.errors import TraceError
    from tltrace_nb.core.compile.markers import AnnoToken, RangeScope, close_range, open_range
    from tltrace_nb.core.loading import load
    from tltrace_nb.core.profile import profile
    from tltrace_nb.core.trace import Trace
    from tltrace_nb.data.rows import FlowEdge, Instant, Slice, compute_flows
    from tltrace_nb.data.sites import EventKind
    from tltrace_nb.explorer.explorer import explore
    from tltrace_nb.widget.timeline import Timeline

_HOME = {
    "AnnoToken": "core.compile.markers",
    "EventKind": "data.sites",
    "FlowEdge": "data.rows",
    "Instant": "data.rows",
    "RangeScope": "core.compile.markers",
    "Slice": "data.rows",
    "Timeline": "widget.timeline",
    "Trace": "core.trace",
    "TraceError": "base.errors",
    "close_range": "core.compile.markers",
    "compare": "analysis.compare",
    "compute_flows": "data.rows",
    "explore": "explorer.explorer",
    "load": "core.loading",
    "open_range": "core.compile.markers",
    "profile": "core.profile",
}

__all__ = [
    "AnnoToken",
    "EventKind",
    "FlowEdge",
    "Instant",
    "RangeScope",
    "Slice",
    "Timeline",
    "Trace",
    "TraceError",
    "__version__",
    "close_range",
    "compare",
    "compute_flows",
    "datasets",
    "explore",
    "load",
    "open_range",
    "profile",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return importlib.import_module("tltrace_nb.datasets")
    if name in _HOME:
        return getattr(importlib.import_module(f"tltrace_nb.{_HOME[name]}"), name)
    raise AttributeError(f"module 'tltrace_nb' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext tltrace_nb``: register the magics."""
    from tltrace_nb.magic import TraceMagics

    shell.register_magics(TraceMagics)
