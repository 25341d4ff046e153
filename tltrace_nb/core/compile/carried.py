"""A kernel with markers, as it leaves its builder: a PrimFunc without them that carries the one with them.

In: a PrimFunc with placeholder statements. Out: the stripped PrimFunc, which TileLang compiles as if it had never been
marked, with the marked one in an attribute, where tracing finds it (:func:`with_markers`).

TileLang hands the PrimFunc to whoever asks: its own JIT, an autotuner, ``tilelang.compile``. None of them knows
markers, and nothing of ours is asked, so what they are given has to be compilable as it is.
"""

from __future__ import annotations

from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import IRModule, tirx
from tvm.ir import structural_equal
from tvm.s_tir.meta_schedule.database import Workload

from tltrace_nb.base.errors import MarkerError
from tltrace_nb.core.compile.ir import Stmt, rebuild, sequence, walk

MARKER = "__tlt_marker"
"""Extern name of the placeholder statements."""

_ATTRIBUTE = "tltrace_marked"
"""Holds the PrimFunc in a ``Workload``. TVM prints no PrimFunc inside the attributes of another, and TileLang names
cached kernels by their print; a type of ours could not be unpickled where this package is not loaded."""


def is_marker(statement: Any) -> bool:
    """Whether a TIR statement is one of our placeholders."""
    return (
        isinstance(statement, tirx.Evaluate)
        and isinstance(statement.value, tirx.Call)
        and len(statement.value.args) == 3
        and isinstance(statement.value.args[0], tirx.StringImm)
        and statement.value.args[0].value == MARKER
    )


def carried(func: Any) -> Any:
    """A PrimFunc with placeholders as TileLang is to see it: without them, and with itself in an attribute."""
    return strip(func).with_attr(_ATTRIBUTE, Workload(IRModule({func.attrs["global_symbol"]: func})))


def with_markers(func: Any) -> Any:
    """The PrimFunc with its placeholders in place, and the attributes that it has now.

    Raises ``MarkerError`` where the kernel was changed after it had been built, so that its markers' places are lost.
    """
    if _ATTRIBUTE not in (func.attrs or {}):
        return func
    (inside,) = func.attrs[_ATTRIBUTE].mod.functions.values()
    if not structural_equal(strip(inside).body, func.body, map_free_vars=True):
        raise MarkerError(
            f"kernel {func.attrs['global_symbol']}: it was changed after it had been built with its markers, whose "
            "places are lost; change the kernel first and mark the result with trace.auto, or build it anew"
        )
    for name, value in func.attrs.items():
        if name != _ATTRIBUTE:
            inside = inside.with_attr(name, value)
    return inside


def strip(func: Any) -> Any:
    """The PrimFunc as if it never had markers."""

    def visit(statement: Stmt) -> Stmt:
        return sequence([]) if is_marker(statement) else rebuild(statement, visit)

    if _ATTRIBUTE in (func.attrs or {}):
        func = func.without_attr(_ATTRIBUTE)
    return func.with_body(visit(func.body)) if _has_placeholders(func) else func


def has_markers(func: Any) -> bool:
    """Whether the PrimFunc has markers, in place or carried along."""
    return _ATTRIBUTE in (func.attrs or {}) or _has_placeholders(func)


def _has_placeholders(func: Any) -> bool:
    return any(is_marker(statement) for statement, _ in walk(func.body))
