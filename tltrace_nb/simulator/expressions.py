"""TIR expressions as Python expressions over lanes.

In: an expression, where it stands (:class:`Place`). Out: Python text that, evaluated in a thread group's generator,
gives a number or an array of lanes. What must be evaluated under a condition becomes statements before it. The
operations are counted on the way (``costing.Tally``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.device import ROW
from tltrace_nb.core.compile.ir import Expr
from tltrace_nb.simulator.costs import Unit
from tltrace_nb.simulator.intrinsics import (
    BITS,
    BY_BLOCK,
    BY_WARP,
    FLOOR_DIVISION,
    FLOOR_REMAINDER,
    HARDWARE_BLOCK,
    IDENTITY,
    INFIX,
    INTEGER,
    LOAD,
    SHUFFLES,
    SIMPLE,
    SPECIAL,
)
from tltrace_nb.simulator.uniformity import LOCAL_SCOPES
from tltrace_nb.simulator.writing import Place, Writer

_AFFINE = ("Add", "Sub", "Mul")
"""Arithmetic on the indices of an element, which compilers do once for all elements of a thread."""
_RANDOM = 20
"""Instructions of a random number: a quarter of ten rounds (estimate)."""
_DEEP = 80
"""Parentheses of an expression whose value gets a name; Python's parser takes 200 in one another."""
_DIVISION = 5
"""Instructions of an integer division by a constant: a long product, its high half, shifts, for the rest a product."""


class Expressions:
    """The expression part of a program's writer."""

    def __init__(self, writer: Writer):
        self._w = writer

    def __call__(self, e: Expr, place: Place) -> str:
        """The expression's text, never nested more deeply than Python's parser takes."""
        text = self._text(e, place)
        return text if text.count("(") < _DEEP else self._w.assign(text)

    def _text(self, e: Expr, place: Place) -> str:
        if isinstance(e, (int, float)):
            return repr(e)
        kind = type(e).__name__
        if kind in ("IntImm", "FloatImm"):
            value = e.value
            if str(e.dtype) == "bool":
                return str(bool(value))
            return f"({value!r})" if math.isfinite(value) else f"float('{value}')"
        if kind == "Var":
            return self._w.variable(e)
        if kind in INFIX:
            return self._infix(kind, e, place)
        method: Callable[[Any, Place], str] | None = getattr(self, f"_{kind.lower()}", None)
        if method is None:
            raise self._w.unsupported(f"expressions of the kind {kind}", e)
        if "x" in str(e.dtype).removeprefix("float8_e8m0"):
            raise self._w.unsupported(f"values of the vector type {e.dtype}", e)
        return method(e, place)

    def index(self, indices: Any, place: Place) -> str:
        """Indices as the items of a tuple, each with a comma after it."""
        count = self._w.tally.work.copy()
        text = "".join(f"{self(i, place)}, " for i in indices)
        if not any(u in (Unit.GLOBAL, Unit.SHARED) for u, _ in self._w.tally.work - count):
            self._w.tally.work = count  # addresses are mostly computed once and kept
        return text

    def linear(self, e: Expr, place: Place) -> tuple[str, int] | None:
        """(text of the uniform part, axis of the one loop variable or -1) of an index; ``None`` for other forms."""
        if isinstance(e, (int, float)) or not self._w.varying(e):
            return self(e, place), -1
        if isinstance(e, tirx.Var):
            axis = next((d for d, v in enumerate(place.grid) if v is not None and v.same_as(e)), None)
            return None if axis is None else (self._w.starts[e], axis)
        if isinstance(e, (tirx.Add, tirx.Sub)):
            a, b = self.linear(e.a, place), self.linear(e.b, place)
            if a is None or b is None or (a[1] >= 0 and b[1] >= 0) or (isinstance(e, tirx.Sub) and b[1] >= 0):
                return None
            return f"({a[0]} {INFIX[type(e).__name__]} {b[0]})", max(a[1], b[1])
        return None

    def parts(self, indices: Any, place: Place) -> str | None:
        """Indices for ``values.sliced``, if each has at most one loop variable and none comes twice."""
        if not place.grid:
            return None
        found = [self.linear(i, place) for i in indices]
        axes = [f[1] for f in found if f is not None and f[1] >= 0]
        if None in found or len(set(axes)) != len(axes) or not axes:
            return None
        text = "".join(f"({f[0]}, {f'n{place.nest}_{f[1]}' if f[1] >= 0 else 1}, {f[1]}), " for f in found if f)
        return f"({text})"

    def shape(self, place: Place) -> str:
        """The shape of the lanes."""
        if place.grid:
            return "(" + "".join(f"n{place.nest}_{d}, " for d in range(len(place.grid))) + ")"
        return "(c.n, )"

    # ---- one method per kind of node

    def _infix(self, kind: str, e: Any, place: Place) -> str:
        dtype = str(e.a.dtype)
        operations = _DIVISION if kind in ("FloorDiv", "FloorMod") and not _is_power_of_two(e.b) else 1
        narrow = dtype.startswith(("float16", "bfloat16", "float8"))
        if not (place.grid and dtype.startswith("int") and kind in _AFFINE and self._is_plain(e)):
            fused = kind in ("Add", "Sub") and "float" in dtype and not place.grid and self._multiplies(e)
            self._w.tally.add(Unit.CUDA, 0 if fused else operations, "" if narrow else dtype)
        text = f"({self(e.a, place)} {INFIX[kind]} {self(e.b, place)})"
        wraps = dtype.startswith("uint") or (dtype.startswith("int") and not self._w.varying(e) and self._w.is_data(e))
        if wraps and kind in _AFFINE:  # numbers that all lanes share are Python's; indices stay in their range
            return f"wrapped({text}, {self._w.dtype(dtype, e)})"
        return text

    def _multiplies(self, e: Any) -> bool:
        """Whether one of the operands is a product, with which compilers do a sum at once."""
        return any(isinstance(operand, tirx.Mul) for operand in (e.a, e.b))

    def _cast(self, e: Any, place: Place) -> str:
        source, target = str(e.value.dtype), str(e.dtype)
        if notes := [k for k, v in dict(getattr(e, "annotations", None) or {}).items() if str(v) != "rn"]:
            raise self._w.unsupported(f"casts with {' and '.join(map(str, notes))}", e)
        inner = self(e.value, place)
        if source.startswith("int") and target.startswith("int") and int(target[3:]) >= int(source[3:]):
            return inner if not self._w.varying(e.value) else f"converted({inner}, {self._w.dtype(target, e)})"
        floats = source.startswith(("float", "bfloat")) and target.startswith(("float", "bfloat"))
        steps = 2 if source.endswith("int8") and not target.endswith(("8", "32")) else 1  # by way of an int32
        self._w.tally.add(Unit.CUDA, steps, "" if floats else "int32")
        return f"converted({inner}, {self._w.dtype(target, e)})"

    def _min(self, e: Any, place: Place) -> str:
        self._w.tally.add(Unit.CUDA, 1)
        return f"least({self(e.a, place)}, {self(e.b, place)})"

    def _max(self, e: Any, place: Place) -> str:
        self._w.tally.add(Unit.CUDA, 1)
        return f"most({self(e.a, place)}, {self(e.b, place)})"

    def _div(self, e: Any, place: Place) -> str:
        a, b = self(e.a, place), self(e.b, place)
        if str(e.dtype).startswith(("int", "uint")):
            self._w.tally.add(Unit.CUDA, 8, "int32")
            return f"quotient({a}, {b})"
        self._w.tally.add(Unit.CUDA, 27)
        self._w.tally.add(Unit.SFU, 1)
        return f"apply(np.divide, {self._w.dtype(str(e.dtype), e)}, {a}, {b})"

    def _mod(self, e: Any, place: Place) -> str:
        self._w.tally.add(Unit.CUDA, 8, "int32")
        return f"remainder({self(e.a, place)}, {self(e.b, place)})"

    def _not(self, e: Any, place: Place) -> str:
        return f"negated({self(e.a, place)})"

    def _and(self, e: Any, place: Place) -> str:
        return self._choice(e.a, e.b, tirx.IntImm("bool", 0), place)

    def _or(self, e: Any, place: Place) -> str:
        return self._choice(e.a, tirx.IntImm("bool", 1), e.b, place)

    def _select(self, e: Any, place: Place) -> str:
        return self._choice(e.condition, e.true_value, e.false_value, place)

    def _bufferload(self, e: Any, place: Place) -> str:
        scope = str(e.buffer.scope())
        name = self._w.buffer(e.buffer, e)
        if scope in LOCAL_SCOPES:
            return f"{name}.get({self.index(e.indices, place)})"
        self._w.count_access(e.buffer, "load", e.indices, bool(place.grid))
        if not any(self._w.varying(i) for i in e.indices):
            return f"{name}.get({self.index(e.indices, place)})"
        parts = self.parts(e.indices, place)
        if parts is not None:
            return f"sliced({name}, {place.mask}, {parts}, {len(place.grid)})"
        return f"{name}.gather({place.mask}, {self.index(e.indices, place)})"

    def _call(self, e: Any, place: Place) -> str:
        name = str(getattr(e.op, "name", "")).removeprefix("tirx.").removeprefix("tl.")
        dtype = str(e.dtype)
        if name == "if_then_else":
            condition, a, b = e.args
            return self._choice(condition, a, b, place)
        if name in BITS:
            self._w.tally.add(Unit.CUDA, 1, "int32")
            text = f"({self(e.args[0], place)} {BITS[name]} {self(e.args[1], place)})"
            return f"wrapped({text}, {self._w.dtype(dtype, e)})" if name == "shift_left" else text
        if name == "bitwise_not":
            return f"wrapped(~{self(e.args[0], place)}, {self._w.dtype(dtype, e)})"
        if name in SPECIAL or name in SIMPLE:
            special = name in SPECIAL
            self._w.tally.add(Unit.SFU if special else Unit.CUDA, 1)
            kind = self._w.dtype(str(e.args[0].dtype), e)
            values, rounding = _without_rounding(e.args)
            args = ", ".join(self(a, place) for a in values)
            does = (SPECIAL if special else SIMPLE)[name]
            return (
                f"apply({does}, {kind}, {args})"
                if rounding == "rn"
                else f"directed({does}, {rounding!r}, {kind}, {args})"
            )
        if name == "infinity":
            return "float('inf')"
        if name == "reinterpret":
            source = self._w.dtype(str(e.args[0].dtype), e)
            return f"reinterpreted({self(e.args[0], place)}, {source}, {self._w.dtype(dtype, e)})"
        if name in INTEGER:
            self._w.tally.add(Unit.CUDA, 1, "int32")
            kind = self._w.dtype(str(e.args[0].dtype), e)
            return f"{INTEGER[name]}({kind}, {', '.join(self(a, place) for a in e.args)})"
        if name == "large_uint_imm":
            return repr(int(e.args[0]) + (int(e.args[1]) << 32))
        if name == "clamp":
            x, low, high = (self(a, place) for a in e.args)
            return f"least(most({x}, {low}), {high})"
        if name in IDENTITY:
            return self(e.args[0], place)
        if name in ("all_of", "any_of"):
            buffer, indices = self._w.tiles.atomics.pointer(e.args[0])
            self._w.count_access(buffer, "load")
            if any(self._w.varying(i) for i in indices):
                raise self._w.unsupported(f"{name} at a place that depends on the thread", e)
            found = f"{self._w.buffer(buffer, e)}.neighbours({int(e.args[1])}, {self.index(indices, place)})"
            return f"quantified({name[:3]!r}, {found})"
        if name == "call_pure_extern":
            return self._helper(e, place)
        if name == "call_extern":
            return self._w.calls.value(e, place)
        if name in ("fma", "ieee_fmaf"):
            values, rounding = _without_rounding(e.args)
            given = ", ".join(self(x, place) for x in values)
            return f"directed(fused, {rounding!r}, {self._w.dtype(dtype, e)}, {given})"
        return self._threads(name, e, place)

    def _helper(self, e: Any, place: Place) -> str:
        """Functions of ``compile.device``: what payloads are made of, and the hardware's block index."""
        name = str(e.args[0].value)
        if name in HARDWARE_BLOCK:
            return f"c.cta.block[{HARDWARE_BLOCK[name]}]"
        if name in (FLOOR_DIVISION, FLOOR_REMAINDER):
            a, b = (self(x, place) for x in e.args[1:])
            return f"({a} {'//' if name == FLOOR_DIVISION else '%'} {b})"
        if name == ROW:
            return f"c.recorder.row({self(e.args[1], place)})"
        if name == LOAD:
            buffer = self._w.parameter(e.args[1].args[1], e)
            self._w.count_access(buffer, "load", [e.args[2]])
            return f"{self._w.buffer(buffer, e)}.at({self(e.args[2], place)})"
        return self._w.calls.value(e, place)

    def _threads(self, name: str, e: Any, place: Place) -> str:
        """Intrinsics that ask who is executing, or that talk to other threads."""
        if place.grid and not name.startswith("atomic"):
            raise self._w.unsupported(f"{name} inside of T.Parallel", e)
        if name in SHUFFLES:
            _, value, amount, width = e.args[:4]
            self._w.tally.add(Unit.SHARED, 4, "shuffle")
            got = f"shuffled(c.ids, {SHUFFLES[name]!r}, {self(value, place)}, {self(amount, place)}, {int(width)})"
            return self._w.assign(got)
        if name in BY_WARP:
            got = f"by_warp(c.ids, {BY_WARP[name]!r}, {self(e.args[-1], place)}, {place.mask})"
            return self._w.assign(got)
        if name in ("rng_rand", "rng_rand_float"):
            how = str(e.args[0].value) if name == "rng_rand_float" else "next"
            if str(e.dtype) not in ("uint32", "float32"):
                raise self._w.unsupported(f"random numbers of the type {e.dtype}", e)
            self._w.tally.add(Unit.CUDA, _RANDOM, "int32")
            return self._w.assign(f"c.random.{how}({place.mask})")
        if name == "activemask":
            return self._w.assign(f"by_warp(c.ids, 'ballot', True, {place.mask})")
        if name in BY_BLOCK:
            if len(self._w.thread_groups.ids) > 1:
                raise self._w.unsupported(f"{name} in a kernel with warp roles", e)
            value = self._w.assign(self(e.args[0], place))
            self._w.line(f"yield c.sync(0, 0, {place.mask})")
            return self._w.assign(f"by_block({BY_BLOCK[name]}, c.n, {value}, {place.mask})")
        if name == "get_lane_idx":
            return f"(c.ids % {_product(e.args, (32,))})"
        if name in ("get_warp_idx", "get_warp_idx_sync"):
            return f"(c.ids // {_product(e.args, (32,))})"
        if name == "get_warp_group_idx":
            return f"(c.ids // {_product(e.args, (32, 4))})"
        if name == "tl_shuffle_elect":
            extent = int(e.args[0])
            return f"(c.ids % {extent} == 0)" if extent else "(c.ids == 0)"
        if name == "block_rank_in_cluster":
            return "c.rank"
        if name.startswith("atomic_"):
            text = self._w.tiles.atomics(name, e, place)
            if text is not None:
                return self._w.assign(text)
        raise self._w.unsupported(f"the operation {name}", e)

    def _choice(self, condition: Expr, a: Expr, b: Expr, place: Place) -> str:
        """One of two values; each is evaluated only in the lanes that take it."""
        asked = self._w.assign(self(condition, place))
        if self._is_plain(a) and self._is_plain(b):
            return f"choose({asked}, {self(a, place)}, {self(b, place)})"
        taken = self._w.temporary()
        if not self._w.varying(condition):
            for test, value in ((f"if {asked}", a), ("else", b)):
                with self._w.block(test):
                    self._w.line(f"{taken} = {self(value, place)}")
            return taken
        return self.by_mask(asked, a, b, place)

    def by_mask(self, asked: str, a: Expr, b: Expr, place: Place) -> str:
        """One of two values in every lane."""
        results = []
        for test, value in ((f"both({place.mask}, {asked})", a), (f"without({place.mask}, {asked})", b)):
            result = self._w.temporary()
            mask = self._w.assign(test)
            self._w.line(f"{result} = 0")
            with self._w.block(f"if {mask} is not False"):
                self._w.line(f"{result} = {self(value, place.under(mask))}")
            results.append(result)
        self._w.tally.add(Unit.CUDA, 1)
        return f"choose({asked}, {', '.join(results)})"

    def _is_plain(self, e: Expr) -> bool:
        """Whether an expression reads no memory, calls nothing of the author's, and waits for nobody."""
        plain = True

        def visit(node: Any) -> None:
            nonlocal plain
            name = str(getattr(getattr(node, "op", None), "name", ""))
            plain = plain and not isinstance(node, tirx.BufferLoad) and "if_then_else" not in name
            plain = plain and not ("extern" in name and not str(node.args[0].value).startswith("__tlt_"))
            plain = plain and not any(part in name for part in ("sync", "atomic", "shuffle", "ballot", "reduce", "rng"))
            plain = plain and not isinstance(
                node, (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod, tirx.And, tirx.Or)
            )

        tirx.stmt_functor.post_order_visit(e, visit)
        return plain


def _without_rounding(args: Any) -> tuple[list[Expr], str]:
    """The operands of an IEEE intrinsic, and its rounding mode: rn, rz, ru, rd."""
    modes = [str(a.value) for a in args if isinstance(a, tirx.StringImm)]
    return [a for a in args if not isinstance(a, tirx.StringImm)], (modes or ["rn"])[0]


def _product(args: Any, default: tuple[int, ...]) -> int:
    """The product of constant arguments; those that are missing have their default."""
    given = tuple(int(a) for a in args)
    return math.prod((*given, *default[len(given) :]))


def _is_power_of_two(e: Expr) -> bool:
    return isinstance(e, tirx.IntImm) and int(e) > 0 and int(e) & (int(e) - 1) == 0
