"""Which line of the author's source each statement of a device function comes from.

In: the scheduled kernel, and the device functions that TileLang's passes made of it. Out: lines by statement. The
passes drop most lines, so they run once more with a note of its line around each statement; what they make then has the
same accesses in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import Stmt, op_name, rebuild, source_of, walk
from tltrace_nb.simulator.uniformity import PARALLEL

_KEY = "tlt_line"


def noted(func: Any, line_of: Callable[[Stmt], str]) -> Any:
    """The scheduled kernel with a note of its line around each operator, store and parallel loop."""

    def visit(s: Stmt) -> Stmt:
        leaf = isinstance(s, (tirx.Evaluate, tirx.BufferStore)) or (isinstance(s, tirx.For) and s.kind == PARALLEL)
        if not leaf:
            return rebuild(s, visit)
        line = line_of(s)
        return tirx.AttrStmt(tirx.StringImm(""), _KEY, tirx.StringImm(line), s) if line else s

    return func.with_body(visit(func.body))


def device_lines(functions: Sequence[Any], with_notes: Sequence[Any]) -> dict[Stmt, str]:
    """The lines of the statements of device functions, given the same functions made of the noted kernel."""
    found: dict[Stmt, str] = {}
    for function, other in zip(functions, with_notes, strict=True):
        plain, noted_ = _leaves(function), _leaves(other)
        same = [_kind(s) for s, _ in plain] == [_kind(s) for s, _ in noted_]
        for i, (statement, above) in enumerate(plain):
            line = source_of(statement) or (_note(noted_[i][1]) if same else "")
            found[statement] = line or next((source_of(s) for s in reversed(above) if source_of(s)), "")
    return found


def _leaves(function: Any) -> list[tuple[Stmt, tuple[Stmt, ...]]]:
    """The statements that hold no others, without those that the passes add between them."""
    kinds = (tirx.Evaluate, tirx.BufferStore)
    return [(s, above) for s, above in walk(function.body) if isinstance(s, kinds) and "sync" not in op_name(s)]


def _kind(s: Stmt) -> str:
    return op_name(s) or str(s.buffer.name if isinstance(s, tirx.BufferStore) else "")


def _note(above: tuple[Stmt, ...]) -> str:
    """The line that is noted around a statement."""
    notes = (str(s.value.value) for s in reversed(above) if isinstance(s, tirx.AttrStmt) and s.attr_key == _KEY)
    return next(notes, "")
