"""What a kernel reads and writes, in which of its author's ranges: what a check asks of the place of a marker.

In: a PrimFunc with markers. Out: one :class:`Access` for each buffer that a statement reads or writes, in its order.
A trace has the times of a range, and not what it encloses: a range around a barrier can take as long as the right one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx

from tltrace_nb.core.compile.carried import is_marker, with_markers
from tltrace_nb.core.compile.ir import READ, WRITTEN, Stmt, buffer_loads, children, is_region, post_order_visit
from tltrace_nb.core.compile.markers import Flow, read_marker
from tltrace_nb.data.sites import EventKind

_ARITHMETIC = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Div)


@dataclass(frozen=True, slots=True)
class Access:
    """One buffer that a statement reads or writes.

    ``indices``: as written; ``shape``: of the buffer; ``ranges``: the names of those that are open; ``computed``: what
    is written is the result of floating-point arithmetic; ``operator``: the tile operator, "gemm", "copy", …, if any;
    ``dtype``: of the buffer's elements.
    """

    buffer: str
    scope: str
    written: bool
    indices: tuple[str, ...]
    shape: tuple[str, ...]
    ranges: frozenset[str]
    computed: bool = False
    operator: str = ""
    dtype: str = ""

    @property
    def shared(self) -> bool:
        """Whether the buffer is in shared memory."""
        return self.scope.startswith("shared")


def parameters(func: Any) -> list[str]:
    """The names of the kernel's tensors, in the order of its arguments."""
    return [str(func.buffer_map[each].name) for each in func.params if each in func.buffer_map]


def accesses(func: Any) -> list[Access]:
    """All accesses of a kernel, in program order; loops are gone through once."""
    return list(_of(with_markers(func).body, {}))


def calls(func: Any) -> list[str]:
    """The names of what a kernel calls, in program order; loops are gone through once."""
    found: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Call):
            name = str(getattr(node.op, "name", "")).removeprefix("tirx.").removeprefix("tl.")
            inner = node.args[0] if node.args else None
            found.append(str(inner.value) if isinstance(inner, tirx.StringImm) and "call" in name else name)

    post_order_visit(func.body, visit)
    return found


def _of(statement: Stmt, ranges: dict[int, str]) -> Iterator[Access]:
    if is_marker(statement):
        marker, _ = read_marker(statement)
        if isinstance(marker, Flow):
            return
        if marker.kind == EventKind.RANGE_BEGIN:
            ranges[marker.range] = marker.name
        elif marker.kind == EventKind.RANGE_END:
            ranges.pop(marker.range, None)
        return
    inside = frozenset(ranges.values())
    for expression in _read(statement):
        for load in buffer_loads(expression):
            yield _access(load, False, inside)
    match statement:
        case tirx.BufferStore():
            yield _access(statement, True, inside, _computed(statement.value))
        case tirx.Evaluate(value=tirx.Call() as call):
            yield from _operator(call, inside)
    for child in children(statement):
        yield from _of(child, ranges)


def _read(statement: Stmt) -> list[Any]:
    """The expressions that a statement only reads."""
    match statement:
        case tirx.BufferStore():
            return [statement.value, *statement.indices]
        case tirx.Bind():
            return [statement.value]
        case tirx.IfThenElse() | tirx.While():
            return [statement.condition]
        case tirx.For():
            return [statement.min, statement.extent]
        case _:
            return []


def _operator(call: Any, inside: frozenset[str]) -> Iterator[Access]:
    """A tile operator's regions; of another call, what its first argument addresses is written (an atomic)."""
    if any(is_region(argument) for argument in call.args):
        for argument in call.args:
            if is_region(argument):
                load, how = argument.args[0], int(argument.args[1])
                for bit, written in ((READ, False), (WRITTEN, True)):
                    if how & bit:
                        yield _access(load, written, inside, operator=str(call.op.name).rpartition(".")[2])
        return
    for position, argument in enumerate(call.args):
        found = buffer_loads(argument)
        for load in found:
            yield _access(load, position == 0 and load.same_as(found[-1]), inside)


def _access(node: Any, written: bool, inside: frozenset[str], computed: bool = False, operator: str = "") -> Access:
    buffer = node.buffer
    indices, shape = (tuple(map(str, each)) for each in (node.indices, buffer.shape))
    name, scope, dtype = map(str, (buffer.name, buffer.scope(), buffer.dtype))
    return Access(name, scope, written, indices, shape, inside, computed, operator, dtype)


def _computed(value: Any) -> bool:
    found = False

    def visit(node: Any) -> None:
        nonlocal found
        found = found or (isinstance(node, _ARITHMETIC) and "float" in str(node.dtype))

    post_order_visit(value, visit)
    return found
