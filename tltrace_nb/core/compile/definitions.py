"""Which stores reach a marker: the values that a variable may have there, told apart by where they were stored.

In: a body with ``__tlt_site`` statements. Out: for each of them in program order, for each buffer of the kernel's that
is written, the numbers of the operators whose stores may be in it. Operators are numbered as ``compile.anchors``
numbers them, so the author's kernel and the scheduled one can be compared: a payload whose variable is reached by other
stores than in the author's kernel has another value there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.anchors import is_leaf, written_buffers
from tltrace_nb.core.compile.holds import CONSUMER, PRODUCER, ROLE_SCOPE
from tltrace_nb.core.compile.ir import Stmt, children, op_name, walk
from tltrace_nb.core.compile.jumps import OUT_OF_KERNEL, OUT_OF_LOOP
from tltrace_nb.core.compile.numbering import is_site

UNSET = -1
"""The number of no operator: the variable may never have been set."""

Reaching = dict[Any, frozenset[int]]
"""For each buffer, by ``data``, the operators whose stores may be in it; a buffer that is not in it is unset."""

Number = Callable[[Stmt], int | None]
"""The number of an operator; ``None`` for the scheduler's own, whose variables no payload reads."""


def reaching(body: Stmt, number: Number, role: str | None = None) -> list[Reaching | None]:
    """For each site in program order what reaches it; ``None`` where nobody comes, as the kernel has returned.

    ``role``: the way of that role's threads, past the branches of the other.
    """
    follower = _Follower(number, role)
    follower.visit(body, {})
    return follower.found


@dataclass(slots=True)
class _Follower:
    number: Number
    role: str | None
    found: list[Reaching | None] = field(default_factory=list)
    jumps: list[list[Reaching]] = field(default_factory=list)
    """For each loop around, innermost last, what the variables are where its iterations are left."""

    def visit(self, statement: Stmt, state: Reaching | None) -> Reaching | None:
        """What reaches the place behind a statement: ``None`` if nobody does."""
        if is_site(statement):
            self.found.append(state)
            return state
        if is_leaf(statement):
            return self._leaf(statement, state)
        if isinstance(statement, (tirx.For, tirx.While)) and getattr(statement, "thread_binding", None) is None:
            return self._loop(statement, state)
        if isinstance(statement, tirx.IfThenElse):
            then = self.visit(statement.then_case, state)
            return _joined(then, state if statement.else_case is None else self.visit(statement.else_case, state))
        if isinstance(statement, tirx.AttrStmt) and statement.attr_key == ROLE_SCOPE and self.role is not None:
            return self._own_branch(statement.body, state)
        for child in children(statement):
            state = self.visit(child, state)
        return state

    def _own_branch(self, branch: Stmt, state: Reaching | None) -> Reaching | None:
        if not isinstance(branch, tirx.IfThenElse):
            return self.visit(branch, state)
        behind = state
        for role, case in zip((PRODUCER, CONSUMER), children(branch), strict=False):
            if role == self.role:
                behind = self.visit(case, state)
            else:
                self.visit(case, None)
        return behind

    def _leaf(self, statement: Stmt, state: Reaching | None) -> Reaching | None:
        name = op_name(statement)
        if name in OUT_OF_KERNEL:
            return None
        if name in OUT_OF_LOOP:
            if state is not None and self.jumps:
                self.jumps[-1].append(state)
            return None
        number = self.number(statement)
        if state is None or number is None:
            return state
        after = dict(state)
        for inner, _ in walk(statement):
            for buffer in written_buffers(inner):
                whole = isinstance(statement, tirx.BufferStore) and all(int(e) == 1 for e in buffer.shape)
                before = frozenset() if whole else after.get(buffer.data, frozenset([UNSET]))
                after[buffer.data] = before | {number}
        return after

    def _loop(self, statement: Any, state: Reaching | None) -> Reaching | None:
        head, sites = state, len(self.found)
        while True:
            self.jumps.append([])
            end = self.visit(statement.body, head)
            left = self.jumps.pop()
            for each in left:
                end = _joined(end, each)
            next_head = _joined(head, end)
            if next_head == head:
                return _joined(state, end)
            head = next_head
            del self.found[sites:]


def _joined(a: Reaching | None, b: Reaching | None) -> Reaching | None:
    """What reaches a place that is come to on two ways."""
    if a is None or b is None:
        return a if b is None else b
    nothing = frozenset([UNSET])
    return {data: a.get(data, nothing) | b.get(data, nothing) for data in [*a, *(d for d in b if d not in a)]}
