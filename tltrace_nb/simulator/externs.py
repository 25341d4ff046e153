"""Functions that a kernel calls by their names in CUDA, as operations, before anything else looks at them.

In: the body of a launch. Out: the same body, in which ``T.call_extern("float32", "__expf", x)`` is ``T.exp(x)``, and
``T.dp4a`` a store of the sum that it makes. A function of the author's stays, and is refused later.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import Stmt, ir_transform, span_of

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
    return ir_transform(body, None, _operation, ["tirx.Call", "tirx.Evaluate"])


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
