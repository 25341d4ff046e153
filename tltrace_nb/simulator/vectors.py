"""Vector statements, written out element by element before anything else looks at them.

In: the body of a launch. Out: the same body, in which a store of a vector is a store of each of its elements, a vector
variable is one for each element, an array of vectors has one dimension more, and ``ldg``, ``stg``, ``lds``, ``sts`` are
loads and stores of elements. All elements are computed before the first is stored.
"""

from __future__ import annotations

from typing import Any

from tvm import DataType, tirx
from tvm.arith import Analyzer
from tvm.ir import Op

from tltrace_nb.core.compile.ir import Expr, Stmt, post_order_visit, rebuild, sequence, span_of, walk

_WORD = 32
_LOADS = tuple(f"tl.ld{where}{bits}" for where in "gs" for bits in (32, 64, 128, 256))
_STORES = tuple(f"tl.st{where}{bits}" for where in "gs" for bits in (32, 64, 128, 256))
_PAIRS = {"tl.add2": tirx.Add, "tl.sub2": tirx.Sub, "tl.mul2": tirx.Mul, "tl.max2": tirx.Max, "tl.min2": tirx.Min}
_RENAMED = {"tl.fma2": "tl.fma", "tl.abs2": "tirx.fabs", "tl.max2_nan": "tl.max_nan", "tl.min2_nan": "tl.min_nan"}
_BINARY = (
    tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod, tirx.Min, tirx.Max, tirx.EQ,
    tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.And, tirx.Or,
)  # fmt: skip


def by_element(body: Stmt, func: Any) -> Stmt:
    """The body of a launch of a PrimFunc without vectors; what is of an unknown kind stays and is refused later."""
    buffers = {buffer.data: buffer for buffer in func.buffer_map.values()}
    for s, _ in walk(func.body):
        for buffer in s.alloc_buffers if isinstance(s, tirx.SBlock) else ():
            buffers[buffer.data] = buffer
    return _Elements(buffers).statement(body)


def lanes_of(e: Expr) -> int:
    """Elements of a value."""
    return 1 if isinstance(e, (int, float)) or str(e.dtype) == "handle" else int(DataType(str(e.dtype)).lanes)


class _UnknownKindError(Exception):
    """Something that has no elements that are known."""


class _Elements:
    def __init__(self, buffers: dict[Any, Any]):
        self._buffers = buffers
        self._parts: dict[Any, list[Any]] = {}
        self._arrays: dict[Any, Any] = {}

    # ---- statements

    def statement(self, s: Stmt) -> Stmt:
        """A statement without vectors."""
        try:
            match s:
                case tirx.Bind() if lanes_of(s.value) > 1:
                    return self._bind(s)
                case tirx.Bind() if _has_vectors(s.value):
                    return tirx.Bind(s.var, self.lane(s.value, 0), span_of(s))
                case tirx.BufferStore() if _has_vectors(s.value, *s.indices):
                    return self._store(s)
                case tirx.Evaluate() if str(getattr(getattr(s.value, "op", None), "name", "")) in _STORES:
                    return self._stored(s.value)
                case tirx.IfThenElse() if _has_vectors(s.condition):
                    s = tirx.IfThenElse(self.lane(s.condition, 0), s.then_case, s.else_case, span_of(s))
        except _UnknownKindError:
            return s
        return rebuild(s, self.statement)

    def _bind(self, s: Any) -> Stmt:
        elements = self._lanes(s.value)
        names = [tirx.Var(f"{s.var.name}_{k}", str(e.dtype)) for k, e in enumerate(elements)]
        self._parts[s.var] = names
        return sequence(tirx.Bind(v, e, span_of(s)) for v, e in zip(names, elements, strict=True))

    def _store(self, s: Any) -> Stmt:
        count = max(lanes_of(e) for e in (s.value, *s.indices))
        values: list[Any] = [self.lane(s.value, k) for k in range(count)]
        buffer, places = s.buffer, [[self.lane(i, k) for i in s.indices] for k in range(count)]
        if DataType(str(s.buffer.dtype)).lanes > 1:
            buffer, places = self._of_elements(s.buffer), [self._element_of(s, k) for k in range(count)]
        names = [tirx.Var(f"e{k}", str(v.dtype)) for k, v in enumerate(values)] if count > 1 else []
        steps = [tirx.Bind(n, v, span_of(s)) for n, v in zip(names, values, strict=False)]
        stores = zip(names or values, places, strict=True)
        return sequence([*steps, *(tirx.BufferStore(buffer, v, p, None, span_of(s)) for v, p in stores)])

    def _of_elements(self, buffer: Any) -> Any:
        """An array of vectors as one of their elements, which has them as its last dimension."""
        if str(buffer.scope()) == "global":  # a tensor of the caller's, whose shape is another one
            raise _UnknownKindError
        if buffer not in self._arrays:
            shape = (*buffer.shape, int(DataType(str(buffer.dtype)).lanes))
            name, scope = str(buffer.name), str(buffer.scope())
            self._arrays[buffer] = tirx.decl_buffer(shape, _element(buffer), name, data=buffer.data, scope=scope)
        return self._arrays[buffer]

    def _element_of(self, access: Any, k: int) -> list[Any]:
        """The indices of an element of a vector in an array of vectors."""
        if any(lanes_of(i) > 1 for i in access.indices):
            raise _UnknownKindError
        return [*(self.lane(i, 0) for i in access.indices), tirx.IntImm("int32", k)]

    def _stored(self, call: Any) -> Stmt:
        """``stg`` and ``sts``: words of 32 bits as elements of the buffer."""
        buffer, start = self._pointer(call.args[0])
        words = self._lanes(call.args[1])
        dtype = str(buffer.dtype)
        count = len(words) * _WORD // DataType(dtype).bits
        stores = sequence(tirx.BufferStore(buffer, _cut(words, k, dtype), [start + k]) for k in range(count))
        return stores if len(call.args) < 3 else tirx.IfThenElse(self.lane(call.args[2], 0), stores, None)

    # ---- expressions

    def _lanes(self, e: Expr) -> list[Any]:
        return [self.lane(e, k) for k in range(lanes_of(e))]

    def lane(self, e: Expr, k: int) -> Any:
        """One element of an expression; a scalar is its own."""
        if isinstance(e, (int, float)) or not (lanes_of(e) > 1 or _has_vectors(e)):
            return e
        match e:
            case tirx.Ramp():
                return e.base + e.stride * k
            case tirx.Broadcast():
                return self.lane(e.value, 0)
            case tirx.Shuffle():
                given = [element for vector in e.vectors for element in self._lanes(vector)]
                return given[int(e.indices[k])]
            case tirx.Var() if e in self._parts:
                return self._parts[e][k]
            case tirx.Cast():
                return tirx.Cast(_element(e), self.lane(e.value, k))
            case tirx.BufferLoad() if DataType(str(e.buffer.dtype)).lanes == 1:
                return tirx.BufferLoad(e.buffer, [self.lane(i, k) for i in e.indices])
            case tirx.BufferLoad():
                return tirx.BufferLoad(self._of_elements(e.buffer), self._element_of(e, k))
            case tirx.Call():
                return self._call(e, k)
            case tirx.Not():
                return tirx.Not(self.lane(e.a, k))
            case tirx.Select():
                return tirx.Select(*(self.lane(x, k) for x in (e.condition, e.true_value, e.false_value)))
        if isinstance(e, _BINARY):
            return type(e)(self.lane(e.a, k), self.lane(e.b, k))
        raise _UnknownKindError

    def _call(self, e: Any, k: int) -> Any:
        name = str(getattr(e.op, "name", ""))
        if name in _LOADS:
            return self._loaded(e, k)
        if name == "tirx.reinterpret":
            return _cut(self._lanes(e.args[0]), k, _element(e))
        args = [self.lane(a, k) for a in e.args]
        if name in _PAIRS:
            return _PAIRS[name](*args)
        return tirx.Call(_element(e), Op.get(_RENAMED[name]) if name in _RENAMED else e.op, args, e.annotations)

    def _loaded(self, call: Any, k: int) -> Any:
        """``ldg`` and ``lds``: one word of 32 bits out of the buffer's elements, 0 where the predicate is false."""
        buffer, start = self._pointer(call.args[0])
        bits = DataType(str(buffer.dtype)).bits
        first = start + k * _WORD // bits
        elements = [tirx.BufferLoad(buffer, [first + i]) for i in range(max(1, _WORD // bits))]
        word = _cut(elements, k * _WORD % bits // _WORD, "uint32")
        if len(call.args) < 2:
            return word
        return tirx.if_then_else(self.lane(call.args[1], 0), word, tirx.const(0, "uint32"))

    def _pointer(self, e: Any) -> tuple[Any, Expr]:
        """(buffer of one dimension, position) of a pointer."""
        name = str(getattr(getattr(e, "op", None), "name", ""))
        if name == "tirx.tvm_access_ptr" and e.args[1] in self._buffers:
            return _flat(self._buffers[e.args[1]]), self.lane(e.args[2], 0)
        if name in ("tl.access_ptr", "tirx.address_of") and isinstance(e.args[0], tirx.BufferLoad):
            load = e.args[0]
            position: Any = tirx.IntImm("int32", 0)
            for index, extent in zip(load.indices, load.buffer.shape, strict=True):
                position = position * extent + self.lane(index, 0)
            return _flat(load.buffer), position
        raise _UnknownKindError


def _flat(buffer: Any) -> Any:
    """The same memory as a buffer of one dimension."""
    size: Any = 1
    for extent, stride in reversed(list(zip(buffer.shape, buffer.strides or buffer.shape, strict=True))):
        if len(buffer.strides) and not Analyzer().can_prove_equal(stride, size):
            raise _UnknownKindError
        size = size * extent
    return tirx.decl_buffer((size,), str(buffer.dtype), str(buffer.name), data=buffer.data, scope=str(buffer.scope()))


def _element(e: Any) -> str:
    """The type of a vector's elements."""
    dtype = str(e.dtype)
    lanes = int(DataType(dtype).lanes)
    return dtype if lanes == 1 else dtype.removesuffix(f"x{lanes}")


def _cut(parts: list[Any], k: int, dtype: str) -> Any:
    """Element ``k`` of some values seen as elements of another type."""
    ours, bits = (int(DataType(d).bits) for d in (str(parts[0].dtype), dtype))
    if ours == bits:
        return _reinterpreted(parts[k], dtype)
    if ours > bits:
        whole = _reinterpreted(parts[k * bits // ours], f"uint{ours}")
        shifted = tirx.shift_right(whole, tirx.const(k * bits % ours, f"uint{ours}"))
        return _reinterpreted(tirx.Cast(f"uint{bits}", shifted), dtype)
    count = bits // ours
    joined: Any = tirx.const(0, f"uint{bits}")
    for i, part in enumerate(parts[k * count : (k + 1) * count]):
        wide = tirx.Cast(f"uint{bits}", _reinterpreted(part, f"uint{ours}"))
        joined = tirx.bitwise_or(joined, tirx.shift_left(wide, tirx.const(i * ours, f"uint{bits}")))
    return _reinterpreted(joined, dtype)


def _reinterpreted(e: Any, dtype: str) -> Any:
    return e if str(e.dtype) == dtype else tirx.reinterpret(dtype, e)


def _has_vectors(*expressions: Any) -> bool:
    """Whether vectors, or loads of words, occur in some expressions."""
    found = False

    def visit(node: Any) -> None:
        nonlocal found
        if isinstance(node, tirx.PrimExpr) and not isinstance(node, tirx.StringImm):
            found = found or lanes_of(node) > 1
        found = found or str(getattr(getattr(node, "op", None), "name", "")) in _LOADS

    for e in expressions:
        if not isinstance(e, (int, float)):
            post_order_visit(e, visit)
    return found
