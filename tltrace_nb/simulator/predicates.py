"""Predicates of blocks, written out as branches before anything else looks at them.

In: the body of a launch. Out: the same body, in which a block that has a predicate (``T.where``) stands in an ``if``,
as TileLang's ``LowerOpaqueBlock`` puts it. TileLang's software pipeline makes such blocks: an iteration that is moved
out of a loop is under the condition that the loop comes to it.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import Stmt, rebuild, span_of


def as_branches(statement: Stmt) -> Stmt:
    """The statement without predicates of blocks."""
    inner: Any = rebuild(statement, as_branches)
    if not isinstance(inner, tirx.SBlockRealize) or _is_true(inner.predicate):
        return inner
    always = tirx.SBlockRealize(inner.iter_values, tirx.IntImm("bool", 1), inner.block, span_of(inner))
    return tirx.IfThenElse(inner.predicate, always, None, span_of(inner))


def _is_true(e: Any) -> bool:
    return isinstance(e, tirx.IntImm) and bool(e.value)
