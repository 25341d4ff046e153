"""Tile operators on registers of single threads, written out element by element before anything else looks at them.

In: the body of a launch. Out: the same body, in which ``T.fill``, ``T.copy`` and ``T.reduce`` of ``local`` buffers are
loops of loads and stores: each thread does them for itself, at places that may depend on the thread.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import Expr, Stmt, is_region, op_name, rebuild, sequence, span_of
from tltrace_nb.core.compile.upstream import stamp_stmt_spans
from tltrace_nb.simulator.uniformity import LOCAL_SCOPES

_COMBINE = {"sum": lambda a, b: a + b, "max": tirx.max, "min": tirx.min}
_START = {"sum": lambda dtype: tirx.const(0, dtype), "max": tirx.min_value, "min": tirx.max_value}
_KNOWN = ("fill", "copy", "reduce")


def written_out(statement: Stmt) -> Stmt:
    """The statement without tile operators on registers; those of unknown kinds stay and are refused later."""
    name = op_name(statement).removeprefix("tl.tileop.")
    if name in _KNOWN and any(_is_local(arg) for arg in statement.value.args):
        loops = {"fill": _fill, "copy": _copy, "reduce": _reduce}[name](statement.value)
        if loops is None:
            return statement
        stamp_stmt_spans(loops, span_of(statement))
        return loops
    return rebuild(statement, written_out)


def _is_local(arg: Any) -> bool:
    box = _box(arg)
    return box is not None and str(box[0].buffer.scope()) in LOCAL_SCOPES


def _box(arg: Any) -> tuple[Any, list[Expr]] | None:
    """(first element, extents) of a region."""
    if isinstance(arg, tirx.BufferLoad):
        return arg, [tirx.IntImm("int32", 1)] * len(arg.indices)
    if is_region(arg):
        return arg.args[0], list(arg.args[2:])
    return None


def _loops(extents: list[Expr]) -> list[Any]:
    return [tirx.Var(f"e{i}", "int32") for i in range(len(extents))]


def _nest(variables: list[Any], extents: list[Expr], body: Stmt) -> Stmt:
    for variable, extent in reversed(list(zip(variables, extents, strict=True))):
        body = tirx.For(variable, tirx.IntImm("int32", 0), extent, tirx.ForKind.SERIAL, body)
    return body


def _at(first: Any, offsets: list[Any]) -> list[Expr]:
    return [index + offset for index, offset in zip(first.indices, offsets, strict=True)]


def _store(first: Any, offsets: list[Any], value: Expr) -> Stmt:
    dtype = str(first.buffer.dtype)
    return tirx.BufferStore(
        first.buffer, value if str(value.dtype) == dtype else tirx.Cast(dtype, value), _at(first, offsets)
    )


def _fill(call: Any) -> Stmt | None:
    target = _box(call.args[0])
    assert target is not None
    variables = _loops(target[1])
    return _nest(variables, target[1], _store(target[0], variables, call.args[1]))


def _copy(call: Any) -> Stmt | None:
    source, target = _box(call.args[0]), _box(call.args[1])
    if source is None or target is None:
        return None
    variables = _loops(target[1])
    bare = [v for v, e in zip(variables, target[1], strict=True) if not _is_one(e)]
    long = [not _is_one(e) for e in source[1]]
    if sum(long) != len(bare):
        return None
    rest = iter(bare)
    offsets = [next(rest) if is_long else tirx.IntImm("int32", 0) for is_long in long]
    value = tirx.BufferLoad(source[0].buffer, _at(source[0], offsets))
    return _nest(variables, target[1], _store(target[0], variables, value))


def _reduce(call: Any) -> Stmt | None:
    source, target = _box(call.args[0]), _box(call.args[1])
    kind, dim = str(call.args[2].value), int(call.args[3])
    if source is None or target is None or kind not in _COMBINE or int(dict(call.annotations).get("nan_propagate", 0)):
        return None
    variables = _loops(source[1])
    kept = variables[:dim] + variables[dim + 1 :]
    if len(target[1]) == len(variables):
        kept = [*variables[:dim], tirx.IntImm("int32", 0), *variables[dim + 1 :]]
    elif len(target[1]) != len(kept):
        kept = [tirx.IntImm("int32", 0)] * len(target[1])
    dtype = str(target[0].buffer.dtype)
    before = tirx.BufferLoad(target[0].buffer, _at(target[0], kept))
    value = tirx.BufferLoad(source[0].buffer, _at(source[0], variables))
    combined = _COMBINE[kind](before, value if str(value.dtype) == dtype else tirx.Cast(dtype, value))
    steps = [_nest(variables, source[1], _store(target[0], kept, combined))]
    if bool(call.args[4].value):
        start = _START[kind](dtype)
        free = _loops(target[1])
        steps.insert(0, _nest(free, target[1], _store(target[0], free, start)))
    return sequence(steps)


def _is_one(e: Expr) -> bool:
    return isinstance(e, tirx.IntImm) and int(e) == 1
