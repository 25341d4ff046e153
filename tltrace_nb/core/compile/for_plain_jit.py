"""``trace.lower``: a recording kernel for a plain ``@tilelang.jit``, which will run its whole pipeline over it again.

In: a PrimFunc with markers. Out: the PrimFunc scheduled and instrumented, with ``slots`` as its last parameter.

A second scheduling of a scheduled kernel changes nothing for most kernels. Where it would, the kernel is refused here,
with ``@trace.jit`` as the way: that one resumes TileLang's pipeline instead of starting it again. Nor can the bare
kernel's plan be kept here (``plans``): where TileLang plans otherwise for the recording kernel, its site table has a
note.
"""

from __future__ import annotations

from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx
from tvm.ir import structural_equal

from tltrace_nb.base.errors import PlacementError
from tltrace_nb.core.compile import device
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.ir import Stmt, flatten, loads, op_name, rebuild, sequence, walk
from tltrace_nb.core.compile.lowering import prepare
from tltrace_nb.core.compile.numbering import site_statement
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.placement import without_anchors
from tltrace_nb.core.compile.plans import note_again
from tltrace_nb.core.compile.schedule import Scheduler, pass_context, resolve_target
from tltrace_nb.data.sites import table_rows


def lower(func: Any, options: TraceOptions, pass_configs: dict[str, Any] | None) -> Any:
    """The recording PrimFunc; errors as ``lowering.prepare``, and ``PlacementError`` for kernels named above."""
    configs = Compilation(pass_configs=pass_configs).of_function(func).pass_configs
    target = resolve_target()
    scheduler = Scheduler(target, configs)
    with target:
        lowering = prepare(func, scheduler, options)
        name = lowering.marked.name
        if table_rows(lowering.table) is None:
            raise PlacementError(
                f"kernel {name}: its grid is known only at run time, so nothing can pass slots of the right size to a "
                "plain @tilelang.jit kernel; build it with @trace.jit, or choose CTAs with trace.enable(ctas=...)"
            )
        recording = lowering.instrument(scheduler(lowering.anchored))
        scheduled_again = scheduler(recording)
        if not structural_equal(_skeleton(scheduled_again), _skeleton(recording), map_free_vars=True):
            raise PlacementError(
                f"kernel {name}: TileLang would schedule the recording kernel a second time and change it; build it "
                "with @trace.jit, which resumes TileLang's schedule instead"
            )
        with pass_context(configs):
            note = note_again(lowering, scheduled_again, target)
        if note:
            noted = lowering.with_note(note)
            recording = noted.instrument(scheduler(noted.anchored))
    return recording


def _skeleton(func: Any) -> Any:
    """The PrimFunc in a form that a harmless second scheduling keeps.

    Each call of ours is reduced to its function and site, since TileLang may simplify the other arguments. Each
    statement under an ``if`` without ``else`` gets an ``if`` of its own, as TileLang makes them before it joins them
    again; where the statements may change the condition this would lose records, and the ``if`` stays whole.
    Assumptions, which TileLang repeats, are dropped.
    """

    def visit(statement: Stmt) -> Stmt:
        name = op_name(statement)
        if name.startswith(device.PREFIX):
            site = int(statement.value.args[3]) if name.startswith(device.RECORD) else 0
            return site_statement(site, tirx.StringImm(name))
        if isinstance(statement, tirx.AttrStmt) and statement.attr_key == "tl.assume":
            return visit(statement.body)
        visited = rebuild(statement, visit)
        if isinstance(visited, tirx.IfThenElse) and visited.else_case is None and not _changes_condition(visited):
            return sequence(tirx.IfThenElse(visited.condition, s, None) for s in flatten(visited.then_case))
        return visited

    bare = without_anchors(func)
    return bare.with_body(visit(bare.body))


def _changes_condition(guarded: Stmt) -> bool:
    """Whether an ``if`` may write in its body what its condition reads."""
    read = {buffer.data for buffer in loads(guarded.condition)}
    for statement, _ in walk(guarded.then_case):
        if isinstance(statement, tirx.BufferStore) and statement.buffer.data in read:
            return True
        if isinstance(statement, tirx.Evaluate) and any(buffer.data in read for buffer in loads(statement.value)):
            return True
    return False
