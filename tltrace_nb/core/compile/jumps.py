"""A range ends where control leaves it: at its end, and at every ``break``, ``continue`` and return out of it.

In: a PrimFunc with placeholder statements. Out: the same with an end in front of each such jump for every range that
the jump leaves, innermost first. The ends bear the range's payload and are marked ``leaving``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.carried import is_marker
from tltrace_nb.core.compile.ir import Stmt, flatten, op_name, rebuild, sequence, walk
from tltrace_nb.core.compile.markers import Flow, Marker, marker_statement, read_marker
from tltrace_nb.data.sites import EventKind

OUT_OF_LOOP = frozenset({"tirx.break_loop", "tirx.continue_loop", "tl.loop_break"})
"""Operations that leave an iteration of the innermost loop, or the loop."""
OUT_OF_KERNEL = frozenset({"tirx.thread_return"})
"""Operations that end a thread."""

_Open = tuple[Marker, Any]
"""The begin of a range, and its payload."""


def close_at_jumps(func: Any) -> Any:
    """The PrimFunc with the ranges ended that a jump leaves; the same object where none does."""
    if not any(_is_jump(statement) for statement, _ in walk(func.body)):
        return func
    return func.with_body(_visit(func.body, (), ()))


def _visit(statement: Stmt, in_loop: tuple[_Open, ...], around: tuple[_Open, ...]) -> Stmt:
    """``in_loop``: the open ranges that the innermost loop around the statement has begun; ``around``: the others."""
    if isinstance(statement, tirx.SeqStmt) or _is_jump(statement) or is_marker(statement):
        return _sequence(flatten(statement), in_loop, around)
    if isinstance(statement, tirx.While) or (isinstance(statement, tirx.For) and statement.thread_binding is None):
        return rebuild(statement, lambda body: _visit(body, (), (*around, *in_loop)))
    return rebuild(statement, lambda body: _visit(body, in_loop, around))


def _sequence(statements: list[Stmt], in_loop: tuple[_Open, ...], around: tuple[_Open, ...]) -> Stmt:
    ended = {marker.range for marker in map(_marker_of, statements) if marker and marker.kind is EventKind.RANGE_END}
    result = []
    for i, statement in enumerate(statements):
        marker = _marker_of(statement)
        if marker is not None and marker.kind is EventKind.RANGE_BEGIN and _ends_within(marker, statements[i:], ended):
            in_loop = (*in_loop, (marker, read_marker(statement)[1]))
        elif marker is not None and marker.kind is EventKind.RANGE_END:
            in_loop = tuple(each for each in in_loop if each[0].range != marker.range)
        if _is_jump(statement):
            left = in_loop if op_name(statement) in OUT_OF_LOOP else (*around, *in_loop)
            result += [_end(*each) for each in reversed(left)]
            result.append(statement)
        else:
            result.append(statement if marker else _visit(statement, in_loop, around))
    return sequence(result)


def _ends_within(begin: Marker, statements: list[Stmt], ended: set[int]) -> bool:
    """Whether a range that begins in a body is ended in it, at whatever depth."""
    if begin.range in ended:
        return True
    inner = (_marker_of(s) for statement in statements for s, _ in walk(statement))
    return any(m is not None and m.kind is EventKind.RANGE_END and m.range == begin.range for m in inner)


def _end(begin: Marker, payload: Any) -> Stmt:
    return marker_statement(replace(begin, kind=EventKind.RANGE_END, leaving=True), payload)


def _marker_of(statement: Stmt) -> Marker | None:
    if not is_marker(statement):
        return None
    found, _ = read_marker(statement)
    return None if isinstance(found, Flow) else found


def _is_jump(statement: Stmt) -> bool:
    return op_name(statement) in OUT_OF_LOOP | OUT_OF_KERNEL
