"""Functions that a kernel calls by their names in CUDA, as operations, before anything else looks at them.

In: the body of a launch. Out: the same body, in which ``T.call_extern("float32", "__expf", x)`` is ``T.exp(x)``, and
``T.dp4a`` a store of the sum that it makes. A function of the author's stays, and gets its pointers to registers in one
form, ``T.address_of`` an element.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import Stmt, ir_transform, post_order_visit, span_of
from tltrace_nb.simulator.intrinsics import OTHER_TRACERS, PRINTS
from tltrace_nb.simulator.uniformity import LOCAL_SCOPES

_EXTERN = ("tirx.call_extern", "tirx.call_pure_extern")
_SAME = (
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh", "sinh",
    "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2", "pow", "erf", "hypot", "fabs", "floor", "ceil",
    "trunc", "fmod", "copysign", "nextafter", "ldexp", "nearbyint",
)  # fmt: skip
"""Functions of CUDA's mathematical API whose operations have the same name; those of floats end in f."""
_FAST = ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "pow")
"""Of these, the ones that have a fast form, as ``__expf``."""
_OPERATIONS = {
    **{name: f"tirx.{name}" for name in _SAME},
    **{f"{name}f": f"tirx.{name}" for name in _SAME},
    **{f"__{name}f": f"tirx.{name}" for name in _FAST},
    "rintf": "tirx.nearbyint", "rint": "tirx.nearbyint", "fma": "tirx.fma", "fmaf": "tirx.fma",
    "__frsqrt_rn": "tl.ieee_frsqrt",
}  # fmt: skip
_EXPRESSIONS = {"fmaxf": tirx.Max, "fminf": tirx.Min, "fmax": tirx.Max, "fmin": tirx.Min, "__fdividef": tirx.Div}
_DP4A = "DP4A"
_NEIGHBOURS = 4
"""Products that ``DP4A`` sums."""


def as_operations(body: Stmt) -> Stmt:
    """The body without the functions of CUDA that are known."""
    body = ir_transform(body, None, _operation, ["tirx.Call", "tirx.Evaluate"])
    registers: dict[Any, Any] = {}

    def note(node: Any) -> None:
        if isinstance(node, (tirx.BufferLoad, tirx.BufferStore)) and str(node.buffer.scope()) in LOCAL_SCOPES:
            registers.setdefault(node.buffer.data, node.buffer)

    def pointed(node: Any) -> Any:
        if not (name := _function(node)) or name.startswith(("__tlt_", PRINTS, *OTHER_TRACERS)):
            return None
        args = [node.args[0], *(_address(arg, registers) for arg in node.args[1:])]
        return tirx.Call(node.dtype, node.op, args, node.annotations)

    post_order_visit(body, note)
    return ir_transform(body, None, pointed, ["tirx.Call"])


def _address(arg: Any, registers: dict[Any, Any]) -> Any:
    """A pointer to the registers of a thread as the address of an element; any other argument as it is."""
    data, offset = arg, 0
    if str(getattr(getattr(arg, "op", None), "name", "")) == "tirx.tvm_access_ptr":
        data, offset = arg.args[1:3]
    buffer = registers.get(data) if isinstance(data, tirx.Var) else None
    if buffer is None or (len(buffer.shape) > 1 and not (isinstance(offset, (int, tirx.IntImm)) and int(offset) == 0)):
        return arg
    first = [*(tirx.IntImm("int32", 0) for _ in buffer.shape[1:]), offset]
    return tirx.address_of(tirx.BufferLoad(buffer, first))


def _operation(node: Any) -> Any:
    """What replaces an expression or a statement; ``None`` where it stays."""
    if isinstance(node, tirx.Evaluate):
        return _sum_of_products(node) if _function(node.value) == _DP4A else None
    name, given = _function(node), list(node.args[1:])
    if name in _OPERATIONS:
        return tirx.call_intrin(node.dtype, _OPERATIONS[name], *given)
    if name in _EXPRESSIONS:
        return _EXPRESSIONS[name](*given)
    return None


def _function(e: Any) -> str:
    """The function that an expression calls by name, empty if none."""
    if not isinstance(e, tirx.Call) or str(getattr(e.op, "name", "")) not in _EXTERN:
        return ""
    return str(e.args[0].value)


def _sum_of_products(statement: Any) -> Any:
    """``DP4A(a, b, c)`` of TileLang's: c += the products of four neighbours of a and b."""
    a, b, c = (pointer.args[0] for pointer in statement.value.args[1:])
    total = c
    for i in range(_NEIGHBOURS):
        x, y = (tirx.Cast(c.dtype, tirx.BufferLoad(e.buffer, [*e.indices[:-1], e.indices[-1] + i])) for e in (a, b))
        total = total + x * y
    return tirx.BufferStore(c.buffer, total, c.indices, None, span_of(statement))
