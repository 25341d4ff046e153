"""What all launches of one kernel and shape have in common, worked out once.

In: a lowering, the arguments of a call. Out: the shape of the call, and the plan of all launches of that shape.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from tvm import tirx
from tvm.arith import Analyzer

from tltrace_nb.core.compile.ir import ROOT_BLOCK, Expr, walk
from tltrace_nb.core.compile.lowering import Lowering
from tltrace_nb.core.runtime.launch import LaunchPlan, Shape
from tltrace_nb.data.left_out import slots_rows
from tltrace_nb.data.sites import rows_at
from tltrace_nb.data.slots import slots_bytes

SHAPES = 1024
"""Shapes of one kernel whose plans are kept."""


class LaunchPlanner:
    """Plans the launches of one kernel: its shape read off the arguments, and the plan for that shape, made once."""

    def __init__(self, lowering: Lowering, outputs: Sequence[int]) -> None:
        self._lowering = lowering
        self._symbols = _symbols(lowering, frozenset(outputs))
        self._extents = _first_extents(self._symbols.values())
        self._always_launched = _always_launched(lowering.anchored)
        self.plan = functools.lru_cache(maxsize=SHAPES)(self._plan)
        """The plan for a shape."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the numbers in a shape."""
        return tuple(self._symbols)

    def shape(self, inputs: Sequence[Any]) -> Shape:
        """The values of the kernel's symbolic extents, and of the scalars that its grid depends on."""
        try:
            return tuple([inputs[argument].shape[axis] for argument, axis in self._extents])
        except (AttributeError, IndexError, TypeError):  # an argument is None, a scalar, or missing
            return tuple(_value(places, inputs) for places in self._symbols.values())

    def _plan(self, shape: Shape) -> LaunchPlan:
        named = {name: tirx.const(value, "int32") for name, value in zip(self._symbols, shape, strict=True)}

        def number(e: Expr) -> int:
            values = {v: named[str(v.name)] for v in _variables(e) if str(v.name) in named}
            return int(Analyzer().simplify(tirx.stmt_functor.substitute(e, values)) if values else e)

        grids = tuple((number(x), number(y), number(z)) for x, y, z in self._lowering.grids)
        table = self._lowering.table
        rows = slots_rows(table, grids)
        written = self._always_launched and rows == rows_at(table, grids)
        threads = min((math.prod(launch.block) for launch in table.launches), default=0)
        written = written and all(writer.thread < threads for writer in table.writers)
        writers, words = (int(extent) for extent in self._lowering.slots.shape[1:])
        nbytes = slots_bytes(rows, len(table.writers), table.capacity)
        return LaunchPlan(grids, (rows, writers, words), nbytes, zeroed=not written)


def _symbols(lowering: Lowering, outputs: frozenset[int]) -> dict[str, tuple[tuple[int, int, int], ...]]:
    """Each symbolic extent, and each scalar that a grid depends on: places (argument, axis, factor) that tell it.

    The axis of a scalar is -1. An extent of a type below a byte is told by a tensor of bytes: hence the factor.
    """
    func = lowering.anchored
    taken = [p for i, p in enumerate(func.params[:-1]) if i not in outputs]
    wanted = {str(v.name) for grid in lowering.grids for e in grid for v in _variables(e)}
    found: dict[str, list[tuple[int, int, int]]] = {}
    for argument, parameter in enumerate(taken):
        buffer = func.buffer_map.get(parameter)
        if buffer is None:
            if str(parameter.name) in wanted:
                found.setdefault(str(parameter.name), []).append((argument, -1, 1))
            continue
        bits = int(buffer.dtype.bits) * int(buffer.dtype.lanes)
        for axis, extent in enumerate(buffer.shape):
            if isinstance(extent, tirx.Var):
                factor = 8 // bits if bits < 8 and axis == len(buffer.shape) - 1 else 1
                found.setdefault(str(extent.name), []).append((argument, axis, factor))
    return {name: tuple(sorted(places, key=lambda place: place[2])) for name, places in found.items()}


def _first_extents(symbols: Iterable[tuple[tuple[int, int, int], ...]]) -> list[tuple[int, int]]:
    """Argument and axis of each symbol's first place; where one needs more than that, a place that no call has."""
    first = [places[0] for places in symbols]
    simple = all(axis >= 0 and factor == 1 for _, axis, factor in first)
    return [(argument, axis) for argument, axis, _ in first] if simple else [(sys.maxsize, 0)]


def _value(places: tuple[tuple[int, int, int], ...], inputs: Sequence[Any]) -> int:
    """The value of a symbol: the first place whose argument was given tells it."""
    for argument, axis, factor in places:
        value = inputs[argument]
        if value is not None:
            return int(value if axis < 0 else value.shape[axis] * factor)
    raise ValueError("no argument tells the value of a symbolic extent")


def _always_launched(func: Any) -> bool:
    """Whether every kernel of the PrimFunc is launched in every call, whatever its arguments."""

    def may_skip(outer: Any) -> bool:
        loop = isinstance(outer, tirx.For) and outer.thread_binding is None
        return loop or isinstance(outer, (tirx.IfThenElse, tirx.While))

    return not any(
        may_skip(outer)
        for statement, above in walk(func.body)
        if isinstance(statement, tirx.SBlock) and statement.name_hint == ROOT_BLOCK
        for outer in above
    )


def _variables(e: Any) -> list[Any]:
    found: list[Any] = []
    tirx.stmt_functor.post_order_visit(e, lambda node: found.append(node) if isinstance(node, tirx.Var) else None)
    return found
