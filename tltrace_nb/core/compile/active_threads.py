"""Kernel launches as the scheduled IR has them, and which threads of a block reach a statement.

In: a scheduled PrimFunc. Out: :class:`LaunchShape`, :class:`ActiveThreads`.

Which threads reach a statement is worked out from the conditions around it that depend on thread indices alone, by
evaluating them for every thread of the block. A condition on anything else may hold for every thread.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx
from tvm.arith import Analyzer
from tvm.ir import Range

from tltrace_nb.base.gpus import WARP
from tltrace_nb.core.compile.ir import ROOT_BLOCK, Expr, Stmt, buffer_loads, substitute, uses, walk
from tltrace_nb.core.compile.swizzle import rasterisation
from tltrace_nb.data.sites import Rasterisation

Lanes = npt.NDArray[Any]

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "Min": np.minimum,
    "Max": np.maximum,
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
}
_BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "tirx.bitwise_and": np.bitwise_and,
    "tirx.bitwise_or": np.bitwise_or,
    "tirx.bitwise_xor": np.bitwise_xor,
    "tirx.shift_right": np.right_shift,
    "tirx.shift_left": np.left_shift,
}
_THREADS_PER = {
    "tl.get_lane_idx": 0,
    "tl.get_warp_idx": WARP,
    "tl.get_warp_idx_sync": WARP,
    "tl.get_warp_group_idx": 4 * WARP,
}
"""Threads that share the index which an intrinsic gives; 0 for the lane's own."""


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """A kernel launch as the scheduled IR has it: index variables and extents, x, y, z; the author's block extents;
    CTAs of a cluster."""

    block_vars: tuple[Any, ...]
    grid: tuple[Expr, ...]
    thread_vars: tuple[Any, ...]
    block: tuple[int, int, int]
    author_block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    body: Stmt
    rasterisation: Rasterisation | None = None

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return math.prod(self.block)

    def thread_id(self) -> Expr:
        """The linear id of the executing thread, x fastest."""
        return _linear(self.thread_vars, self.block)


def launches(func: Any) -> list[LaunchShape]:
    """The kernel launches of a scheduled PrimFunc, in program order."""
    found = []
    for statement, above in walk(func.body):
        if isinstance(statement, tirx.SBlock) and statement.name_hint == ROOT_BLOCK:
            found.append(_launch(statement, above))
    return found


def arithmetic(e: Expr) -> tuple[Callable[[Any, Any], Any], list[Expr]] | None:
    """NumPy's function for a binary expression, and its operands; ``None`` for other expressions."""
    if isinstance(e, tirx.Call):
        function = _BITWISE.get(str(getattr(e.op, "name", "")))
        return None if function is None else (function, list(e.args))
    function = _BINARY.get(type(e).__name__)
    return None if function is None else (function, [e.a, e.b])


class ActiveThreads:
    """Expressions and conditions for every thread of a block, as far as thread indices decide them.

    ``values``, where a method takes them, are what variables and local buffers (by ``data``) hold: arrays over the
    threads; anything else is unknown.
    """

    def __init__(self, launch: LaunchShape):
        self._count = launch.threads
        lanes = np.arange(self._count)
        x, y, _ = launch.block
        values = (lanes % x, lanes // x % y, lanes // (x * y))
        self._known: dict[Any, Lanes] = dict(zip(launch.thread_vars, values, strict=True))
        self._analyzer = analyzer_of(launch)
        by_axis = dict(zip("xyz", values, strict=True))
        for statement, _ in walk(launch.body):
            if _is_thread_binding(statement):
                self._known[statement.loop_var] = by_axis[str(statement.thread_binding.thread_tag)[-1]]
            elif isinstance(statement, tirx.Bind):
                value = self.evaluate(statement.value)
                if value is not None:
                    self._known[statement.var] = value

    def of(self, statement: Stmt, above: tuple[Stmt, ...]) -> frozenset[int]:
        """The threads that the conditions around a statement may let come to it."""
        alive = np.ones(self._count, dtype=bool)
        for outer, inner in itertools.pairwise((*above, statement)):
            if isinstance(outer, tirx.IfThenElse):
                alive &= self.branch(outer, inner.same_as(outer.then_case))
        return frozenset(np.flatnonzero(alive).tolist())

    def branch(self, statement: Any, then: bool) -> Lanes:
        """The threads that may take a branch of an ``if``."""
        return self.may(statement.condition, then)

    def may(self, e: Expr, want: bool, values: Mapping[Any, Any] | None = None) -> Lanes:
        """The threads in which a condition may turn out as wanted."""
        if isinstance(e, tirx.Not):
            return self.may(e.a, not want, values)
        if isinstance(e, (tirx.And, tirx.Or)):
            a, b = self.may(e.a, want, values), self.may(e.b, want, values)
            both_must = isinstance(e, tirx.And) == want
            return a & b if both_must else a | b
        value = self.evaluate(e, values)
        if value is None:
            return self._possible(e if want else tirx.Not(e))
        truth = np.broadcast_to(np.asarray(value, dtype=bool), (self._count,))
        return truth if want else ~truth

    def leads(self, condition: Expr, want: bool, alive: Lanes) -> Lanes:
        """The first of the threads alive, if the condition turns out as wanted in it wherever it does in any thread."""
        found = np.zeros(self._count, bool)
        if not alive.any() or buffer_loads(condition):
            return found
        first = int(np.argmax(alive))
        wanted = condition if want else tirx.Not(condition)
        here = {v: tirx.IntImm(str(v.dtype), int(lanes[first])) for v, lanes in self._known.items() if np.ndim(lanes)}
        with self._analyzer.constraint_scope(self._analyzer.simplify(wanted)):
            found[first] = self._analyzer.can_prove(substitute(wanted, here))
        return found

    def _possible(self, condition: Expr) -> Lanes:
        """The threads for which a condition holds in some CTA, or for which that cannot be told."""
        varying = {v: lanes for v, lanes in self._known.items() if np.ndim(lanes) and uses(condition, [v])}
        if not varying:
            return np.ones(self._count, dtype=bool)

        def impossible(thread: int) -> bool:
            here = {v: tirx.IntImm(str(v.dtype), int(lanes[thread])) for v, lanes in varying.items()}
            return bool(self._analyzer.can_prove(tirx.Not(substitute(condition, here))))

        return np.array([not impossible(thread) for thread in range(self._count)])

    def evaluate(self, e: Expr, values: Mapping[Any, Any] | None = None) -> Any:
        """The value in every thread, or ``None`` where it depends on more than thread indices and ``values``."""
        if isinstance(e, (tirx.IntImm, int)):
            return int(e)
        if isinstance(e, (tirx.Var, tirx.BufferLoad)):
            key = e if isinstance(e, tirx.Var) else e.buffer.data
            held = None if values is None else values.get(key)
            if held is None:
                return self._known.get(e) if isinstance(e, tirx.Var) else None
            return held if isinstance(held, np.ndarray) else None
        if isinstance(e, tirx.Cast):
            return self.evaluate(e.value, values)
        if isinstance(e, tirx.Not):
            inner = self.evaluate(e.a, values)
            return None if inner is None else np.logical_not(inner)
        if isinstance(e, tirx.Call) and getattr(e.op, "name", "") in _THREADS_PER and not e.args:
            lanes = np.arange(self._count)
            per = _THREADS_PER[e.op.name]
            return lanes // per if per else lanes % WARP
        found = arithmetic(e)
        if found is None:
            return None
        function, operands = found
        a, b = (self.evaluate(operand, values) for operand in operands)
        return None if a is None or b is None else function(a, b)


def _launch(block: Stmt, above: tuple[Stmt, ...]) -> LaunchShape:
    extents: dict[str, tuple[Any, Expr]] = {}
    for statement in above:
        if isinstance(statement, tirx.AttrStmt) and statement.attr_key == "thread_extent":
            extents[str(statement.node.thread_tag)] = (statement.node.var, statement.value)
    one = tirx.IntImm("int32", 1)
    grid = [extents.get(f"blockIdx.{axis}", (tirx.IntImm("int32", 0), one)) for axis in "xyz"]
    block_extents = [extents.get(f"threadIdx.{axis}", (tirx.IntImm("int32", 0), one)) for axis in "xyz"]
    hardware = tuple(int(extent) for _, extent in block_extents)
    author = tuple(int(e) for e in block.annotations.get("tl.launch_threads", hardware))
    x, y, z = (*author, 1, 1)[:3]
    cx, cy, cz = (*(int(n) for n in block.annotations.get("cluster_dims", ())), 1, 1, 1)[:3]
    return LaunchShape(
        tuple(var for var, _ in grid),
        tuple(extent for _, extent in grid),
        tuple(var for var, _ in block_extents),
        (hardware[0], hardware[1], hardware[2]),
        (x, y, z),
        (cx, cy, cz),
        block.body,
        rasterisation(block),
    )


def _is_thread_binding(statement: Stmt) -> bool:
    binding = statement.thread_binding if isinstance(statement, tirx.For) else None
    return binding is not None and str(binding.thread_tag).startswith("threadIdx")


def analyzer_of(launch: LaunchShape) -> Analyzer:
    """One that knows the ranges of block and thread indices."""
    analyzer = Analyzer()
    for var, extent in (
        *zip(launch.block_vars, launch.grid, strict=True),
        *zip(launch.thread_vars, launch.block, strict=True),
    ):
        if isinstance(var, tirx.Var):
            analyzer.bind(var, Range(0, extent))
    return analyzer


def _linear(variables: tuple[Any, ...], extents: tuple[Any, ...]) -> Expr:
    x, y, z = variables
    return Analyzer().simplify(x + extents[0] * (y + extents[1] * z))
