"""What of a device function a race check has to execute: synchronisation, accesses to watched memory, and what decides
where they are and whether they happen.

In: the body, and which statements have such an effect of their own. Out: :class:`Slice`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import Expr, Stmt, children, post_order_visit


class Slice:
    """``needed`` are the data of buffers, and the variables, whose values are computed."""

    def __init__(self, body: Stmt, acts: Callable[[Stmt], bool], asks: Callable[[Stmt], Iterable[Expr]]):
        """``acts``: whether a statement synchronises or accesses watched memory, ``asks``: what it evaluates then."""
        self.needed: set[Any] = set()
        self._acts, self._asks = acts, asks
        self._matter: dict[Stmt, bool] = {}
        self._leaves: dict[Stmt, bool] = {}
        size = -1
        while size != len(self.needed):
            size = len(self.needed)
            self._matter.clear()
            self.matters(body)

    def matters(self, s: Stmt) -> bool:
        """Whether anything inside has to be executed."""
        if s not in self._matter:
            self._matter[s] = self._visit(s)
        return self._matter[s]

    def is_needed(self, s: Stmt) -> bool:
        """Whether a store or a binding is one whose value is needed."""
        return (isinstance(s, tirx.BufferStore) and s.buffer.data in self.needed) or (
            isinstance(s, tirx.Bind) and s.var in self.needed
        )

    def _visit(self, s: Stmt) -> bool:
        inside = [self.matters(child) for child in children(s)]
        match s:
            case tirx.IfThenElse() | tirx.While():
                if any(inside):
                    self._need(s.condition)
            case tirx.For():
                if any(inside):
                    self._need(s.min)
                    self._need(s.extent)
            case tirx.BufferStore() | tirx.Bind() | tirx.Evaluate():
                if s not in self._leaves:
                    self._leaves[s] = self._acts(s)
                if self._leaves[s]:
                    for e in self._asks(s):
                        self._need(e)
                if self.is_needed(s):
                    self._need(s.value)
                    for e in s.indices if isinstance(s, tirx.BufferStore) else ():
                        self._need(e)
                return self._leaves[s] or self.is_needed(s)
        return any(inside)

    def _need(self, e: Expr) -> None:
        def visit(node: Any) -> None:
            if isinstance(node, tirx.BufferLoad):
                self.needed.add(node.buffer.data)
            elif isinstance(node, tirx.Var):
                self.needed.add(node)

        if not isinstance(e, (int, float)):
            post_order_visit(e, visit)
