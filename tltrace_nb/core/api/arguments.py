"""Checks of the arguments that only ``trace`` takes: PrimFuncs, compiled kernels, rows."""

from __future__ import annotations

from typing import Any

from tltrace_nb.base.checks import a, listed, wrong


def a_primfunc(name: str, value: Any) -> Any:
    """A PrimFunc."""
    from tvm import tirx

    if not isinstance(value, tirx.PrimFunc):
        wrong(name, value, "a PrimFunc, as T.prim_func makes it", TypeError)
    return value


def rows_or_trace(name: str, value: Any) -> Any:
    """A trace, or some of its rows."""
    from tltrace_nb.data.rows import Instant, Slice

    if hasattr(value, "to_html") and hasattr(value, "table"):
        return value
    may = "a Trace, or some of its rows"
    return listed(a((Slice, Instant), may), may)(name, value)


def a_kernel(name: str, value: Any) -> Any:
    """What a builder compiled, or what it compiled that from."""
    if not hasattr(value, "prim_func") and type(value).__name__ != "PrimFunc":
        wrong(name, value, "a compiled kernel", TypeError)
    return value
