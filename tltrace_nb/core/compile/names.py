"""The names in a kernel that are tracing's: an author's own that would stand for them are refused.

In: a PrimFunc as its author built it. Out: nothing, or a ``NameTakenError``; and the CUDA sources that it imports.

What tracing adds to the text of a kernel names ``threadIdx``, the type ``uint`` and things that begin with ``__tlt_``.
TileLang keeps an author's names where it can, and a name in a kernel hides the one outside of it.
"""

from __future__ import annotations

import re
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx

from tltrace_nb.base.errors import NameTakenError
from tltrace_nb.core.compile.device import PREFIX
from tltrace_nb.core.compile.ir import post_order_visit, walk
from tltrace_nb.core.compile.numbering import strip

IMPORT = "pragma_import_c"
"""Annotation in which a block has CUDA source to import (``T.import_source``)."""

_HIDING = ("threadIdx", "uint")
_IN_SOURCES = re.compile(r"\b__(?:tlt|TLT)_\w+|^[ \t]*#[ \t]*define[ \t]+(?:blockIdx|threadIdx)\b", re.MULTILINE)


def imported_sources(func: Any) -> list[str]:
    """The CUDA sources that the blocks of a PrimFunc import."""
    return [
        str(s.annotations[IMPORT]) for s, _ in walk(func.body) if isinstance(s, tirx.SBlock) and IMPORT in s.annotations
    ]


def refuse_names(func: Any) -> None:
    """Raise ``NameTakenError`` for a kernel in which a name of tracing's would stand for something else."""
    kernel = str(func.attrs["global_symbol"])
    for name in sorted({kernel, *_names(strip(func))}):
        if name in _HIDING or name.startswith(PREFIX):
            raise NameTakenError(
                f"kernel {kernel}: {name!r} is a name that the traced kernel needs for itself; rename it in the kernel"
            )
    for text in imported_sources(func):
        if found := _IN_SOURCES.search(text):
            line = text[: found.start()].count("\n") + 1
            raise NameTakenError(
                f"kernel {kernel}: line {line} of the source that it imports has {found[0].strip()!r}, which the "
                "traced kernel needs for itself; give it another name"
            )


def _names(func: Any) -> set[str]:
    """The names of a kernel's parameters, variables, buffers and the functions that it calls."""
    found = {str(p.name) for p in func.params} | {str(b.name) for b in func.buffer_map.values()}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Var):
            found.add(str(node.name))
        elif isinstance(node, (tirx.BufferLoad, tirx.BufferStore)):
            found.add(str(node.buffer.name))
        elif isinstance(node, tirx.Call) and "call_" in str(getattr(node.op, "name", "")):
            found.add(str(getattr(node.args[0], "value", "")))

    for statement, _ in walk(func.body):
        if isinstance(statement, tirx.SBlock):
            found.update(str(buffer.name) for buffer in statement.alloc_buffers)
        elif isinstance(statement, tirx.For):
            found.add(str(statement.loop_var.name))
    post_order_visit(func.body, visit)
    return found
