"""Whether a traced device function is the bare one but for what tracing adds.

In: two device functions behind the last pass that plans (``schedule.planned``), or the host functions that call them.
Out: a yes or a no, and the traced function without what tracing adds.

Tracing adds: calls of ``__tlt_`` functions, the cursor, the parameters ``slots`` and those that payloads alone read,
the helper text, and guards and loops that hold nothing but records. A guard that is closed and opened again around a
record counts as one guard, where its condition depends on the thread alone.
"""

from __future__ import annotations

from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx
from tvm.ir import Op, structural_equal

from tltrace_nb.core.compile import device
from tltrace_nb.core.compile.ir import Expr, Stmt, flatten, op_name, post_order_visit, rebuild, sequence

IMPORT = "pragma_import_c"
"""Attribute with CUDA text that a kernel imports."""


def same(traced: Any, bare: Any) -> bool:
    """Whether two device functions are the same but for what tracing adds to the first."""
    return bool(structural_equal(without_tracing(traced, bare), without_tracing(bare, bare), map_free_vars=True))


def same_host(traced: Any, bare: Any, kernels: dict[str, tuple[Any, Any]]) -> bool:
    """Whether two host functions are the same but for the arguments that tracing adds to the calls of ``kernels``.

    ``kernels`` are the traced and the bare device function by name. What they are called with must fit the one that
    runs, tensor maps above all.
    """

    def calls(host: Any, which: int) -> Any:
        def visit(statement: Stmt) -> Stmt:
            if is_assumption(statement):
                return visit(statement.body)
            call = statement.value if isinstance(statement, tirx.Evaluate) else None
            pair = kernels.get(str(getattr(getattr(call, "op", None), "name_hint", "")))
            if call is None or pair is None:
                return rebuild(statement, visit)
            kept = {str(parameter.name) for parameter in pair[1].params}
            args = [a for a, p in zip(call.args, pair[which].params, strict=True) if str(p.name) in kept]
            name = tirx.StringImm(str(call.op.name_hint))
            return tirx.Evaluate(tirx.Call("int32", Op.get("tirx.call_extern"), [name, *args]))

        return tirx.PrimFunc([], visit(host.body))

    return bool(structural_equal(calls(traced, 0), calls(bare, 1), map_free_vars=True))


def without_tracing(func: Any, bare: Any) -> Any:
    """The device function without what tracing adds, adjacent equal guards joined, and without its attributes."""
    kept = {str(parameter.name) for parameter in bare.params}
    return tirx.PrimFunc([p for p in func.params if str(p.name) in kept], untraced(func.body), func.ret_type)


def untraced(statement: Stmt) -> Stmt:
    """A statement without what tracing adds; a no-op if tracing has added all of it."""
    if is_tracing(statement):
        return sequence([])
    if isinstance(statement, tirx.AttrStmt) and statement.attr_key == IMPORT:
        return _import(statement, untraced(statement.body))
    if is_assumption(statement):
        return untraced(statement.body)
    visited = rebuild(statement, untraced)
    if isinstance(visited, tirx.SeqStmt):
        return sequence(_joined(flatten(visited)))
    if isinstance(visited, tirx.IfThenElse):
        return _without_empty_branch(visited)
    if isinstance(visited, (tirx.For, tirx.While, tirx.AttrStmt)) and not flatten(visited.body):
        return sequence([])
    return visited


def is_tracing(statement: Stmt) -> bool:
    """Whether tracing has added a statement that has no others in it."""
    if isinstance(statement, (tirx.AllocBuffer, tirx.DeclBuffer)):
        return str(statement.buffer.name).startswith(device.PREFIX)
    return op_name(statement).startswith(device.PREFIX)


def is_assumption(statement: Stmt) -> bool:
    """Whether a statement only tells the compiler what to assume of the slots."""
    assumes = isinstance(statement, tirx.AttrStmt) and statement.attr_key == "tl.assume"
    return assumes and device.PREFIX in str(getattr(statement.value, "value", ""))


def on_thread_alone(condition: Expr) -> bool:
    """Whether a condition depends on variables alone, or elects a thread, so that no statement under it changes it."""
    stable = True

    def visit(node: Any) -> None:
        nonlocal stable
        if isinstance(node, (tirx.BufferLoad, tirx.ProducerLoad)):
            stable = False
        if isinstance(node, tirx.Call):
            stable = stable and getattr(node.op, "name", "") in _STABLE

    post_order_visit(condition, visit)
    return stable


_STABLE = {"tl.tl_shuffle_elect", "tirx.bitwise_and", "tirx.bitwise_or", "tirx.bitwise_xor", "tirx.shift_right"}


def without_helper(statement: Stmt) -> str:
    """The text that an import statement imports besides the helper."""
    return str(statement.value.value).replace(device.HELPER, "")


def _import(statement: Stmt, body: Stmt) -> Stmt:
    text = without_helper(statement)
    if not text:
        return body
    return tirx.AttrStmt(statement.node, IMPORT, tirx.StringImm(text), body)


def _without_empty_branch(guard: Stmt) -> Stmt:
    then, other = flatten(guard.then_case), flatten(guard.else_case)
    if not then and not other:
        return sequence([])
    return tirx.IfThenElse(guard.condition, sequence(then), sequence(other) if other else None)


def _joined(statements: list[Stmt]) -> list[Stmt]:
    """The statements with neighbouring guards of one condition made one."""
    result: list[Stmt] = []
    for statement in statements:
        if result and _one_guard(result[-1], statement):
            first = result.pop()
            inner = untraced(sequence([first.then_case, statement.then_case]))
            statement = tirx.IfThenElse(first.condition, inner, None)
        result.append(statement)
    return result


def _one_guard(a: Stmt, b: Stmt) -> bool:
    return (
        isinstance(a, tirx.IfThenElse)
        and isinstance(b, tirx.IfThenElse)
        and a.else_case is None
        and b.else_case is None
        and on_thread_alone(a.condition)
        and bool(structural_equal(a.condition, b.condition))
    )
