"""``trace.lower``: a recording kernel for a plain ``@tilelang.jit``, which will run its whole pipeline over it again.

In: a PrimFunc with markers. Out: the PrimFunc scheduled and instrumented, with ``slots`` as its last parameter.

A second scheduling of a scheduled kernel changes nothing for most kernels. Where it would, the kernel is refused here, with
``@trace.jit`` as the way: that one resumes TileLang's pipeline instead of starting it again.
"""

from __future__ import annotations

from typing import Any

from tvm.ir import structural_equal

from tltrace_nb.core.errors import PlacementError
from tltrace_nb.core.lowering import prepare, table_rows
from tltrace_nb.core.options import TraceOptions
from tltrace_nb.core.placement import without_anchors
from tltrace_nb.core.schedule import resolve_target, schedule

_PASS_CONFIGS = "tilelang_pass_configs"


def lower(func: Any, options: TraceOptions, pass_configs: dict[str, Any] | None) -> Any:
    """The recording PrimFunc; errors as ``lowering.prepare``, and ``PlacementError`` for kernels named above."""
    own = dict(func.attrs[_PASS_CONFIGS]) if _PASS_CONFIGS in (func.attrs or {}) else {}
    configs = {**own, **(pass_configs or {})}
    target = resolve_target()
    with target:
        lowering = prepare(func, target, options, configs)
        name = lowering.marked.name
        if table_rows(lowering.table) is None:
            raise PlacementError(
                f"kernel {name}: its grid is known only at run time, so nothing can pass slots of the right size to a plain "
                "@tilelang.jit kernel; build it with @trace.jit, or choose CTAs with trace.enable(ctas=...)"
            )
        recording = lowering.instrument(schedule(lowering.anchored, target, configs))
        scheduled_again = schedule(recording, target, configs)
    if not structural_equal(without_anchors(scheduled_again), without_anchors(recording), map_free_vars=True):
        raise PlacementError(
            f"kernel {name}: TileLang would schedule the recording kernel a second time and change it; build it with "
            "@trace.jit, which resumes TileLang's schedule instead"
        )
    return recording
