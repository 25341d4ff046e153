"""Which threads go the same way: the thread groups of a launch.

In: the body of a launch. Out: :class:`ThreadGroups`: the threads of each, which branches send whole thread groups one
way or the other, and which fragments each thread group has for itself. Threads form one thread group if no condition on
thread indices alone tells them apart around something that threads do together (tile operators, waits, parallel loops),
and none tells whole warps apart around a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx

from tltrace_nb.base.gpus import WARP
from tltrace_nb.core.compile.active_threads import LaunchShape
from tltrace_nb.core.compile.device import CURSOR
from tltrace_nb.core.compile.ir import Expr, Stmt, children, op_name, post_order_visit, substitute, walk
from tltrace_nb.simulator.uniformity import PARALLEL, Varying

_WAITING = (
    "tileop", "mbarrier_wait", "allreduce", "storage_sync", "wait_group", "wait_wgmma", "warpgroup_wait",
    "cluster_sync", "sync_grid", "cluster_wait",
)  # fmt: skip

Evaluate = Callable[[Expr, dict[Any, str], dict[str, Any]], Any]
"""Evaluates an expression, given names for its variables and the values of the names; ``None`` if it cannot."""


class ThreadGroups:
    """The thread groups of a launch; ``ids`` are the linear ids of each one's threads, ascending."""

    def __init__(self, shape: LaunchShape, evaluate: Evaluate):
        self._shape, self._evaluate = shape, evaluate
        self._varying = Varying(shape)
        self._binds = {s.var: s.value for s, _ in walk(shape.body) if isinstance(s, tirx.Bind)}
        self.ids = self._partition()

    def waits(self, s: Stmt) -> bool:
        """Whether something inside is done by threads together."""
        for inner, _ in walk(s):
            if isinstance(inner, tirx.For) and inner.kind == PARALLEL:
                return True
            name = op_name(inner)
            if not name.endswith("tma_copy") and any(part in name for part in _WAITING):
                return True
        return False

    def split(self, condition: Expr) -> tuple[bool, ...] | None:
        """For a condition on thread indices alone: its truth in every thread group."""
        truth = self._truth(condition)
        if truth is None:
            return None
        found = []
        for thread_group in self.ids:
            answers = {bool(truth[t]) for t in thread_group}
            if len(answers) != 1:
                return None
            found.append(answers.pop())
        return tuple(found)

    def is_split(self, s: Any) -> bool:
        """Whether a branch sends whole thread groups one way or the other, where threads do things together."""
        apart = any(self.waits(case) for case in children(s)) or self._parts_warps(s)
        return apart and self.split(s.condition) is not None

    def _parts_warps(self, s: Any) -> bool:
        """Whether a branch sends whole warps into loops: those take time, and the other warps do not wait for it."""
        if not any(isinstance(inner, (tirx.For, tirx.While)) for case in children(s) for inner, _ in walk(case)):
            return False
        truth = self._truth(s.condition)
        if truth is None:
            return False
        return all(len(np.unique(truth[i : i + WARP].astype(bool))) == 1 for i in range(0, len(truth), WARP))

    def _partition(self) -> tuple[tuple[int, ...], ...]:
        count = self._shape.threads
        keys: list[tuple[bool, ...]] = [()] * count
        for s, _ in walk(self._shape.body):
            if not isinstance(s, tirx.IfThenElse):
                continue
            leaves = any(op_name(inner).endswith("thread_return") for inner, _ in walk(s))
            if not leaves and not any(self.waits(case) for case in children(s)) and not self._parts_warps(s):
                continue
            if leaves and not self.waits(self._shape.body):
                continue
            truth = self._truth(s.condition)
            if truth is not None:
                keys = [(*key, bool(t)) for key, t in zip(keys, truth, strict=True)]
        groups: dict[tuple[bool, ...], list[int]] = {}
        for thread, key in enumerate(keys):
            groups.setdefault(key, []).append(thread)
        return tuple(sorted(tuple(g) for g in groups.values()))

    def _truth(self, condition: Expr) -> Any:
        """A condition on thread indices alone in every thread; ``None`` if it depends on anything else."""
        for _ in range(8):
            bound = {v: self._binds[v] for v in _variables(condition) if v in self._binds}
            if not bound:
                break
            condition = substitute(condition, bound)
        threads = {v for v in self._shape.thread_vars if isinstance(v, tirx.Var)}
        if not self._varying(condition) or any(v not in threads for v in _variables(condition)):
            return None
        loads: list[Any] = []
        post_order_visit(condition, lambda n: loads.append(n) if isinstance(n, tirx.BufferLoad) else None)
        if loads:
            return None
        ids = np.arange(self._shape.threads, dtype=np.int32)
        x, y, _ = self._shape.block
        lanes = (ids % x, ids // x % y, ids // (x * y))
        names = {v: f"a{i}" for i, v in enumerate(self._shape.thread_vars) if isinstance(v, tirx.Var)}
        scope = {f"a{i}": v for i, v in enumerate(lanes)} | {"c": _Threads(ids)}
        answer = self._evaluate(condition, names, scope)
        return None if answer is None else np.broadcast_to(answer, ids.shape)

    def private(self) -> frozenset[Any]:
        """Data of fragments of which every thread group has its own: thread groups use them apart from each other."""
        used: dict[Any, set[tuple[int, ...]]] = {}
        everyone = tuple(range(len(self.ids)))

        def visit(s: Stmt, here: tuple[int, ...]) -> None:
            if isinstance(s, tirx.IfThenElse) and (truth := self.split(s.condition)) is not None:
                visit(s.then_case, tuple(i for i in here if truth[i]))
                if s.else_case is not None:
                    visit(s.else_case, tuple(i for i in here if not truth[i]))
                return
            if isinstance(s, (tirx.BufferStore, tirx.Evaluate, tirx.Bind)):
                for data in accesses(s):
                    used.setdefault(data, set()).add(here)
            for child in children(s):
                visit(child, here)

        visit(self._shape.body, everyone)
        apart = {d for d, sets in used.items() if any(not set(a) & set(b) for a in sets for b in sets if a and b)}
        return frozenset(apart)


@dataclass(frozen=True)
class _Threads:
    ids: Any


def _variables(e: Expr) -> list[Any]:
    found: list[Any] = []
    post_order_visit(e, lambda n: found.append(n) if isinstance(n, tirx.Var) else None)
    return found


def accesses(s: Stmt) -> list[Any]:
    """The data of every buffer access inside, once per access."""
    found: list[Any] = []

    def visit(n: Any) -> None:
        if isinstance(n, (tirx.BufferLoad, tirx.BufferStore)) and str(n.buffer.name) != CURSOR:
            found.append(n.buffer.data)

    post_order_visit(s, visit)
    return found
