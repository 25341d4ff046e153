"""Walking and rebuilding TIR statements, with the ancestors in hand.

In: a statement and a function on its children. Out: the same statement around the new children. TVM's own
``ir_transform`` tells a visitor nothing of where it is, and where a marker stands is what this package is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import tilelang
from tvm import tirx
from tvm.tirx.stmt_functor import ir_transform, post_order_visit, substitute

from tltrace_nb.base.words import cell_of
from tltrace_nb.core.compile.upstream import get_stmt_span, span_to_location

Stmt = Any
Expr = Any

_TILELANG = Path(tilelang.__file__).parent

ROOT_BLOCK = "tilelang_root"
"""Name that TileLang gives to the block around a kernel's body."""


REGION = "tl.region"
"""TileLang's operator for a part of a buffer: a load of its first element, how it is used, and its extents."""
READ, WRITTEN = 1, 2
"""Bits of how a region is used."""


def is_region(value: Any) -> bool:
    """Whether an argument of an operator is a region."""
    return isinstance(value, tirx.Call) and getattr(value.op, "name", "") == REGION


def flatten(statement: Stmt | None) -> list[Stmt]:
    """The statements of a body in order, nested sequences opened up; ``None`` and no-ops vanish."""
    if statement is None or _is_nop(statement):
        return []
    if isinstance(statement, tirx.SeqStmt):
        return [inner for outer in statement.seq for inner in flatten(outer)]
    return [statement]


def sequence(statements: Iterable[Stmt]) -> Stmt:
    """One statement out of any number; none gives a no-op."""
    flat = [inner for outer in statements for inner in flatten(outer)]
    if not flat:
        return tirx.Evaluate(tirx.IntImm("int32", 0))
    return flat[0] if len(flat) == 1 else tirx.SeqStmt(flat)


def children(statement: Stmt) -> list[Stmt]:
    """The statements directly inside this one."""
    match statement:
        case tirx.SeqStmt():
            return list(statement.seq)
        case tirx.IfThenElse():
            return [s for s in (statement.then_case, statement.else_case) if s is not None]
        case tirx.SBlockRealize():
            return [statement.block]
        case tirx.For() | tirx.While() | tirx.AttrStmt() | tirx.SBlock():
            return [statement.body]
        case _:
            return []


def rebuild(statement: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
    """The statement with every direct child replaced by ``change(child)``."""
    s = statement
    match s:
        case tirx.SeqStmt():
            return sequence(change(inner) for inner in s.seq)
        case tirx.IfThenElse():
            then = change(s.then_case)  # in program order: a visitor may count
            return tirx.IfThenElse(s.condition, then, None if s.else_case is None else change(s.else_case), span_of(s))
        case tirx.For():
            return tirx.For(
                s.loop_var, s.min, s.extent, s.kind, change(s.body), s.thread_binding, s.annotations, s.step, span_of(s)
            )
        case tirx.While():
            return tirx.While(s.condition, change(s.body), span_of(s))
        case tirx.AttrStmt():
            return tirx.AttrStmt(s.node, s.attr_key, s.value, change(s.body), span_of(s))
        case tirx.SBlockRealize():
            return tirx.SBlockRealize(s.iter_values, s.predicate, change(s.block), span_of(s))
        case tirx.SBlock():
            return with_block(s, body=change(s.body))
        case _:
            return s


def with_block(block: Stmt, **changed: Any) -> Stmt:
    """The block with some of its fields replaced."""
    fields = {
        name: getattr(block, name)
        for name in (
            "iter_vars",
            "reads",
            "writes",
            "name_hint",
            "body",
            "init",
            "alloc_buffers",
            "match_buffers",
            "annotations",
        )
    }
    fields["span"] = span_of(block)
    return tirx.SBlock(**{**fields, **changed})


def span_of(node: Any) -> Any:
    """Where in the source a statement comes from; ``None`` for expressions and where TileLang recorded nothing."""
    return get_stmt_span(node) if isinstance(node, tirx.Stmt) else None


def source_of(statement: Stmt) -> str:
    """``file:line`` of the author's code that a statement comes from, as ``shown_source``; empty where it is unknown.

    TileLang's own files do not count: the body of ``T.reduce_max`` is written in one.
    """
    place = span_to_location(get_stmt_span(statement))
    if place is None or Path(place[0]).is_relative_to(_TILELANG):
        return ""
    return shown_source(*place)


def shown_source(file: str, line: int) -> str:
    """``file:line``, the file relative to the current folder, or its bare name if it is elsewhere.

    A cell of a notebook is ``In [3]``: the file that its kernel takes for it has a name that nobody knows.
    """
    if cell := cell_of(file):
        return f"{cell}:{line}"
    path = Path(file)
    try:
        shown = path.relative_to(Path.cwd())
    except (ValueError, OSError):  # OSError: the current folder has been removed
        shown = Path(path.name)
    return f"{shown}:{line}"


def walk(statement: Stmt, above: tuple[Stmt, ...] = ()) -> Iterator[tuple[Stmt, tuple[Stmt, ...]]]:
    """Every statement in program order, each with its ancestors, outermost first."""
    yield statement, above
    for inner in children(statement):
        yield from walk(inner, (*above, statement))


def uses(expression: Expr, variables: Sequence[Any]) -> bool:
    """Whether any of the variables occurs in the expression."""
    found = False

    def visit(node: Any) -> None:
        nonlocal found
        found = found or (isinstance(node, tirx.Var) and any(node.same_as(v) for v in variables))

    post_order_visit(expression, visit)
    return found


def buffer_loads(expression: Expr) -> list[Any]:
    """The ``BufferLoad`` nodes of an expression."""
    found: list[Any] = []
    post_order_visit(expression, lambda n: found.append(n) if isinstance(n, tirx.BufferLoad) else None)
    return found


def loads(expression: Expr) -> list[Any]:
    """The buffers that an expression reads."""
    return [load.buffer for load in buffer_loads(expression)]


def op_name(statement: Stmt) -> str:
    """Name of the operator (or extern function) that an ``Evaluate`` calls, else the empty string."""
    if not isinstance(statement, tirx.Evaluate) or not isinstance(statement.value, tirx.Call):
        return ""
    call = statement.value
    name = str(getattr(call.op, "name", ""))
    if name.endswith("call_extern") and isinstance(call.args[0], tirx.StringImm):
        return str(call.args[0].value)
    return name


def _is_nop(statement: Stmt) -> bool:
    return isinstance(statement, tirx.Evaluate) and isinstance(statement.value, tirx.IntImm)


__all__ = [
    "ROOT_BLOCK",
    "Expr",
    "Stmt",
    "buffer_loads",
    "children",
    "flatten",
    "ir_transform",
    "loads",
    "op_name",
    "post_order_visit",
    "rebuild",
    "sequence",
    "shown_source",
    "source_of",
    "substitute",
    "uses",
    "walk",
    "with_block",
]
