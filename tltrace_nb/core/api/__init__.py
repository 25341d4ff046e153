"""``trace``: the namespace that kernel authors use.

In: marks in a kernel, a switch, a compiled kernel. Out: traces. A module for each group of methods:

- ``tracing``: ``enable``, ``disable``, ``tracing``, ``enabled``, ``output``, ``options``;
- ``marks``, inside a kernel: ``group``, ``range``, ``range_start``, ``range_end``, ``record``, ``dag``;
- ``builds``: ``jit``, ``auto``, and for a plain ``@tilelang.jit`` ``out_idx``, ``finalize``, ``lower``, ``strip``;
- ``runs``: ``run``, ``simulate``, ``overhead``, ``decode``, ``dump``, ``export_html``;
- ``launches``: ``last``, ``history``, ``since``, ``clear``, ``show``, ``gather``.

TileLang is imported by the first call that needs it.
"""

from __future__ import annotations

from tltrace_nb.core.api.builds import Builds
from tltrace_nb.core.api.marks import Marks
from tltrace_nb.core.api.runs import Runs


class TraceSwitch(Marks, Builds, Runs):
    """The ``trace`` namespace; use the instance of that name."""


trace = TraceSwitch()
"""The instance: ``from tltrace_nb import trace``."""
