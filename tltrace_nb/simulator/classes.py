"""Which CTAs of a launch do the same, but for addresses and for what their payloads say.

In: the body of a launch, its grid, the values of its scalars, the arrays of its parameters. Out: :class:`Classes`, or
``None`` where CTAs differ in what cannot be told before they run: what a kernel has written, or what other CTAs do.

What decides is every condition, loop bound, extent, barrier and parity. CTAs are alike in which all these depend on
the same values: those of the largest parts of an expression, through variables and registers, that depend on block and
thread indices and on memory that stays as it is, and can be worked out for every CTA. A payload that is linear in the
block indices is the same but for its shift; any other decides like a condition.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tilelang import tvm
from tvm import tirx

from tltrace_nb.core.compile.active_threads import LaunchShape, arithmetic
from tltrace_nb.core.compile.device import ENTER, LEAVE, RECORD
from tltrace_nb.core.compile.ir import Expr, Stmt, is_region, op_name, post_order_visit, substitute, walk
from tltrace_nb.core.compile.swizzle import is_swizzle
from tltrace_nb.data.rasterised import block_indices
from tltrace_nb.simulator.intrinsics import FLOOR_DIVISION, FLOOR_REMAINDER, LOAD
from tltrace_nb.simulator.memory import Array
from tltrace_nb.simulator.uniformity import LOCAL_SCOPES, PARALLEL
from tltrace_nb.simulator.unwritten import stored

_AT_ONCE = 1 << 22
"""Values of an expression, over CTAs and threads, that are worked out together."""
_MOST_TURNS = 256
"""Iterations for which a condition is worked out."""
_HELPERS: dict[str, Callable[[Any, Any], Any]] = {FLOOR_DIVISION: np.floor_divide, FLOOR_REMAINDER: np.mod}
"""Functions of the device helper, which are as Python's."""
_TOGETHER = ("cluster", "sync_grid")
"""In the names of operators by which CTAs wait for each other."""
_POINTERS = ("tl.access_ptr", "tirx.address_of")
"""Calls that give a place in memory, which decides nothing."""
_OUTSIDE = ("atomic", "rng", "clock", "timer", "smid", "call_extern", "allreduce")
"""In the names of calls whose value does not follow from a CTA's indices."""


@dataclass(frozen=True)
class Shift:
    """How the payload of a marker differs from CTA to CTA: the factors of the block indices, modulo 2^32."""

    factors: tuple[int, int, int]
    mapped: bool


@dataclass(frozen=True)
class Classes:
    """The class of every CTA, and the payloads that differ, by site; ``blocks`` as hardware has them, and as mapped."""

    of: Array
    shifts: dict[int, Shift]
    blocks: tuple[Array, Array]

    @property
    def count(self) -> int:
        """How many classes there are."""
        return int(self.of.max()) + 1

    def shift(self, site: int, ctas: Array) -> Array:
        """What is added to the payloads of a site in these CTAs, modulo 2^32."""
        found = self.shifts[site]
        blocks = self.blocks[found.mapped][:, ctas]
        return np.asarray(sum(f * b for f, b in zip(found.factors, blocks, strict=True)), np.int64) & 0xFFFFFFFF


def classes(
    shape: LaunchShape, grid: tuple[int, int, int], scalars: dict[Any, int], arrays: dict[Any, Array]
) -> Classes | None:
    """The classes of the CTAs of a launch; ``arrays`` are those of its parameters, by their data."""
    if math.prod(shape.cluster) > 1:
        return None
    try:
        with np.errstate(all="ignore"):
            return _Finder(shape, grid, scalars, arrays).found()
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """Something decides that does not follow from a CTA's indices."""


class _Finder:
    """The work of ``classes``."""

    def __init__(
        self, shape: LaunchShape, grid: tuple[int, int, int], scalars: dict[Any, int], arrays: dict[Any, Array]
    ):
        self._shape = shape
        written = stored(shape.body)
        self._kept = {data: array for data, array in arrays.items() if data not in written}
        self._count = math.prod(grid)
        numbers = np.arange(self._count)
        hardware = block_indices(numbers, grid, None)
        pattern = shape.rasterisation
        if pattern is not None and not pattern.known:
            raise _UnknownError
        self._blocks = hardware, hardware if pattern is None else block_indices(numbers, grid, pattern)
        self._axes = {var: axis for axis, var in enumerate(shape.block_vars) if isinstance(var, tirx.Var)}
        self._bound: dict[Any, Expr] = {s.var: s.value for s, _ in walk(shape.body) if isinstance(s, tirx.Bind)}
        self._loops = {s.loop_var: turns for s, _ in walk(shape.body) if (turns := _turns(s))}
        self._scalars = scalars
        lanes, (x, y, _) = np.arange(shape.threads), shape.block
        places = (lanes % x, lanes // x % y, lanes // (x * y))
        self._threads = {v: p for v, p in zip(shape.thread_vars, places, strict=True) if isinstance(v, tirx.Var)}
        self._first = np.zeros((3, 1, 1), np.int64)
        self._given: dict[Any, set[_Part]] = {}
        self._opaque: set[Any] = set()
        self._registers()

    def found(self) -> Classes:
        """All of them."""
        columns: dict[tuple[_Part, bool], Array] = {}
        shifts: dict[int, Shift] = {}

        def decides(e: Any, mapped: bool) -> None:
            for part in self._parts(e):
                if (key := (part, mapped)) not in columns:
                    columns[key] = self._values(part, mapped)

        for s, above in walk(self._shape.body):
            mapped = any(is_swizzle(a) for a in above)
            if (record := self._record(s)) is not None:
                site, payload = record
                shift = self._linear(payload)
                if shift is None:
                    decides(payload, mapped)
                elif any(shift):
                    shifts[site] = Shift(shift, mapped)
            nested = any(isinstance(a, tirx.For) and a.kind == PARALLEL for a in above)
            for e in _deciding(s, nested):
                decides(e, mapped)
        if not columns:
            return Classes(np.zeros(self._count, np.int64), shifts, self._blocks)
        _, of = np.unique(np.stack([*columns.values()]), axis=1, return_inverse=True)
        return Classes(np.ravel(of), shifts, self._blocks)

    # ---- what an expression depends on

    def _registers(self) -> None:
        """What decides the contents of registers: all that is stored in them, and whether it is."""
        stores: list[tuple[Any, list[Any]]] = []
        for s, above in walk(self._shape.body):
            if isinstance(s, tirx.BufferStore) and str(s.buffer.scope()) in LOCAL_SCOPES:
                self._given.setdefault(s.buffer.data, set())
                around = [e for a in above for e in _deciding(a, False)]
                stores.append((s.buffer.data, [s.value, *s.indices, *around]))
            elif isinstance(s, tirx.Evaluate) and isinstance(s.value, tirx.Call):
                self._opaque |= _written(s.value)
        size = -1
        while size != (size := sum(map(len, self._given.values())) + len(self._opaque)):
            for data, given in stores:
                try:
                    for e in given:
                        self._given[data] |= self._parts(e)
                except _UnknownError:
                    self._opaque.add(data)

    def _parts(self, e: Any) -> set[_Part]:
        """The parts of an expression whose values decide its own. Raises ``_UnknownError``."""
        if isinstance(e, (int, float, tirx.IntImm, tirx.FloatImm)):
            return set()
        if isinstance(e, tirx.Var) and e in self._bound:
            return self._parts(self._bound[e])
        if self._value(e, self._first) is not None:
            return {_Part(e)} if any(v in self._axes for v in _variables(self._whole(e))) else set()
        if isinstance(e, tirx.Var):
            return set()  # a loop's, which goes on the same in all CTAs that are alike
        if str(e.dtype) == "bool" and (found := self._in_every_turn(e)):
            return set().union(*map(self._parts, found))
        if (memory := _memory(e)) is not None:
            data, indices = memory
            if data not in self._kept and (data not in self._given or data in self._opaque):
                raise _UnknownError
            return self._given.get(data, set()).union(*(self._parts(index) for index in indices))
        return set().union(*(self._parts(operand) for operand in _operands(e)))

    def _in_every_turn(self, e: Expr) -> list[Expr]:
        """A condition in all iterations of the loops around it; empty where they are too many or not known."""
        whole = self._whole(e)
        found = [whole]
        for var in dict.fromkeys(v for v in _variables(whole) if v in self._loops):
            turns = self._loops[var]
            if len(turns) * len(found) > _MOST_TURNS:
                return []
            found = [substitute(each, {var: tirx.const(turn, str(var.dtype))}) for each in found for turn in turns]
        return found if self._value(found[0], self._first) is not None and len(found) > 1 else []

    def _values(self, part: _Part, mapped: bool) -> Array:
        """The class of every CTA by the values of a part."""
        some = max(1, _AT_ONCE // self._shape.threads)
        rows = []
        for first in range(0, self._count, some):
            blocks = self._blocks[mapped][:, first : first + some, None]
            values = self._value(part.expression, blocks)
            wide = np.broadcast_to(values, (blocks.shape[1], np.shape(values)[-1] if np.ndim(values) else 1))
            rows.append(np.ascontiguousarray(wide).view(np.uint8))
        _, of = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
        return np.ravel(of)

    def _value(self, e: Any, blocks: Array) -> Any:
        """An expression in CTAs of these block indices, and their threads; ``None`` if it depends on anything else."""
        match e:
            case int() | tirx.IntImm():
                return int(e)
            case tirx.Cast():
                return self._value(e.value, blocks)
            case tirx.Not():
                inner = self._value(e.a, blocks)
                return None if inner is None else np.logical_not(inner)
            case tirx.Var():
                if e in self._axes:
                    return blocks[self._axes[e]]
                if e in self._bound:
                    return self._value(self._bound[e], blocks)
                return self._scalars.get(e, self._threads.get(e))
        if (memory := _memory(e)) is not None:
            data, indices = memory
            at = [self._value(index, blocks) for index in indices]
            if data not in self._kept or any(index is None for index in at):
                return None
            return _loaded(self._kept[data], at)
        found = arithmetic(e)
        if isinstance(e, tirx.Call) and e.args and (helper := _HELPERS.get(_text(e.args[0]))) is not None:
            found = helper, list(e.args[1:])
        if found is None:
            return None
        function, operands = found
        values = [self._value(operand, blocks) for operand in operands]
        return None if any(value is None for value in values) else function(*values)

    def _whole(self, e: Any) -> Any:
        """An expression with what its variables are bound to."""
        while used := {v: self._bound[v] for v in _variables(e) if v in self._bound}:
            e = substitute(e, used)
        return e

    # ---- payloads

    def _record(self, s: Stmt) -> tuple[int, Expr] | None:
        """The site and the payload of a marker."""
        if not op_name(s).startswith(RECORD):
            return None
        return int(s.value.args[3]), s.value.args[4]

    def _linear(self, payload: Any) -> tuple[int, int, int] | None:
        """The factors of the block indices in a payload; ``None`` where they are not constant."""
        if not self._parts(payload):
            return 0, 0, 0
        if str(payload.dtype) not in ("int32", "uint32", "int64", "uint64"):
            return None
        whole = self._whole(payload)
        axes = [v for v in self._axes if v in _variables(whole)]
        if any(_memory(n) is not None for n in _nodes(whole)):
            return None
        parts = tvm.arith.detect_linear_equation(whole, axes)
        if len(parts) != len(axes) + 1 or not all(isinstance(p, tirx.IntImm) for p in parts[:-1]):
            return None
        factors = [0, 0, 0]
        for var, part in zip(axes, parts, strict=False):
            factors[self._axes[var]] = int(part)
        return factors[0], factors[1], factors[2]


class _Part:
    """A part of an expression; equal to another that looks the same."""

    __slots__ = ("expression",)

    def __init__(self, expression: Expr):
        self.expression = expression

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Part) and bool(tvm.ir.structural_equal(self.expression, other.expression))

    def __hash__(self) -> int:
        return int(tvm.ir.structural_hash(self.expression))


def _turns(s: Stmt) -> range:
    """The values of a loop's variable; none where they are not constant, or the loop is no serial one."""
    if not isinstance(s, tirx.For) or s.kind == PARALLEL or s.step is not None:
        return range(0)
    if not (isinstance(s.min, tirx.IntImm) and isinstance(s.extent, tirx.IntImm)):
        return range(0)
    return range(int(s.min), int(s.min) + int(s.extent))


def _deciding(s: Stmt, nested: bool) -> Iterator[Any]:
    """The expressions of a statement that decide what a CTA does; ``nested``: inside of T.Parallel."""
    match s:
        case tirx.IfThenElse():
            if not nested:  # all iterations take their time, whatever is stored
                yield s.condition
        case tirx.While():
            yield s.condition
        case tirx.For():
            yield from (s.min, s.extent)
        case tirx.AssertStmt():
            yield s.condition
        case tirx.Evaluate() if isinstance(s.value, tirx.Call):
            name, args = op_name(s), list(s.value.args)
            if any(part in name for part in _TOGETHER):
                raise _UnknownError
            if name == ENTER:
                yield args[4]
            elif name.startswith(RECORD):
                yield from args[5:]
            elif name != LEAVE and "atomic" not in name:
                for arg in (*args, *_barriers(s.value)):
                    yield from _parts(arg)
        case tirx.BufferStore() if "atomic" in str(s.value):
            raise _UnknownError


def _parts(arg: Any) -> Iterator[Any]:
    """What an argument of an operator decides: extents of a region, but not its place; the place of a barrier."""
    if is_region(arg):
        yield from arg.args[1:]
    elif isinstance(arg, tirx.BufferLoad):
        if "barrier" in str(arg.buffer.scope()):
            yield from arg.indices
    elif not isinstance(arg, (tirx.StringImm, str)) and getattr(getattr(arg, "op", None), "name", "") not in _POINTERS:
        yield arg


def _barriers(call: Any) -> list[Any]:
    return [note for note in dict(call.annotations or {}).values() if isinstance(note, tirx.BufferLoad)]


def _written(call: Any) -> set[Any]:
    """The data of registers that a call may write: those that it has a pointer to, or that it names as its result."""
    places = [
        n.args[0] for n in _nodes(call) if getattr(getattr(n, "op", None), "name", "") in _POINTERS or is_region(n)
    ]
    if "allreduce" in str(call.op.name):
        places.append(call.args[3])
    loads = [p for p in places if isinstance(p, tirx.BufferLoad)]
    return {load.buffer.data for load in loads if str(load.buffer.scope()) in LOCAL_SCOPES}


def _memory(e: Any) -> tuple[Any, list[Any]] | None:
    """The data and the indices of a load."""
    if isinstance(e, tirx.BufferLoad):
        return e.buffer.data, list(e.indices)
    if isinstance(e, tirx.Call) and e.args and _text(e.args[0]) == LOAD:
        return e.args[1].args[1], [e.args[2]]
    return None


def _text(e: Any) -> str:
    """A constant string; empty for anything else."""
    return str(e.value) if isinstance(e, tirx.StringImm) else ""


def _loaded(array: Array, at: list[Any]) -> Any:
    """Elements of an array, 0 outside of it; a single index is a flat one."""
    array = array.reshape(-1) if len(at) == 1 else array
    inside = functools.reduce(np.logical_and, [(i >= 0) & (i < n) for i, n in zip(at, array.shape, strict=True)])
    clipped = tuple(np.clip(i, 0, n - 1) for i, n in zip(at, array.shape, strict=True))
    return np.where(inside, array[clipped], 0)


def _operands(e: Any) -> list[Any]:
    """What an expression consists of. Raises ``_UnknownError`` where its value does not follow from that."""
    if isinstance(e, tirx.Call):
        name = str(getattr(e.op, "name", ""))
        helper = name != "tirx.call_pure_extern" or _text(e.args[0]) in _HELPERS
        if not helper or any(part in name for part in _OUTSIDE):
            raise _UnknownError
        return [arg for arg in e.args if not isinstance(arg, tirx.StringImm)]
    fields = ("a", "b", "value", "condition", "true_value", "false_value", "base", "stride", "lanes")
    found = [getattr(e, field) for field in fields if hasattr(e, field)]
    if not found:
        raise _UnknownError
    return found


def _nodes(e: Any) -> list[Any]:
    found: list[Any] = []
    if not isinstance(e, (int, float)):
        post_order_visit(e, found.append)
    return found


def _variables(e: Any) -> list[Any]:
    return [n for n in _nodes(e) if isinstance(n, tirx.Var)]
