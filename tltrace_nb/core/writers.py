"""Who records: the threads that can reach a marker, and the one of them that writes.

In: the scheduled PrimFunc with ``__tlt_site`` statements. Out: the writers of each launch, and for each statement the
threads that must record there.

Which threads reach a statement is worked out from the conditions around it that depend on thread indices alone, by
evaluating them for every thread of the block. A condition on anything else may hold for every thread.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm import tirx
from tvm.arith import Analyzer, ConstIntBound
from tvm.ir import Range

from tltrace_nb.core.anchors import MarkedKernel, is_site, site_id
from tltrace_nb.core.errors import MarkerError
from tltrace_nb.core.ir import ROOT_BLOCK, Expr, Stmt, op_name, substitute, uses, walk
from tltrace_nb.core.markers import Group
from tltrace_nb.core.placement import ROLE_SCOPE
from tltrace_nb.core.sites import ENTRY_POINT, Writer

PRODUCER, CONSUMER = "producer", "consumer"

_WARP = 32
_Lanes = npt.NDArray[Any]

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "Min": np.minimum,
    "Max": np.maximum,
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
_BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "tirx.bitwise_and": np.bitwise_and,
    "tirx.bitwise_or": np.bitwise_or,
    "tirx.bitwise_xor": np.bitwise_xor,
    "tirx.shift_right": np.right_shift,
    "tirx.shift_left": np.left_shift,
}
_THREADS_PER = {
    "tl.get_lane_idx": 0,
    "tl.get_warp_idx": _WARP,
    "tl.get_warp_idx_sync": _WARP,
    "tl.get_warp_group_idx": 4 * _WARP,
}
"""Threads that share the index which an intrinsic gives; 0 for the lane's own."""


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """A kernel launch as the scheduled IR has it: index variables and extents, x, y, z; the author's block extents."""

    block_vars: tuple[Any, ...]
    grid: tuple[Expr, ...]
    thread_vars: tuple[Any, ...]
    block: tuple[int, int, int]
    author_block: tuple[int, int, int]
    body: Stmt

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return math.prod(self.block)

    def thread_id(self) -> Expr:
        """The linear id of the executing thread, x fastest."""
        return _linear(self.thread_vars, self.block)

    def cta_id(self) -> Expr:
        """The linear id of the executing CTA, x fastest."""
        return _linear(self.block_vars, self.grid)


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """One ``__tlt_site`` statement: the threads that record there; ``exclusive`` if no other writer passes by."""

    threads: frozenset[int]
    exclusive: bool


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The plans of a launch's site statements in program order; ``bound``: a writer's records at most, if known."""

    records: tuple[RecordPlan, ...]
    bound: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Who records in a PrimFunc: its writers, the same in all its launches, and what each launch records."""

    writers: tuple[Writer, ...]
    launches: tuple[LaunchPlan, ...]


def launches(func: Any) -> list[LaunchShape]:
    """The kernel launches of a scheduled PrimFunc, in program order."""
    found = []
    for statement, above in walk(func.body):
        if isinstance(statement, tirx.SBlock) and statement.name_hint == ROOT_BLOCK:
            found.append(_launch(statement, above))
    return found


def plan(shapes: list[LaunchShape], marked: MarkedKernel) -> Plan:
    """Choose the writers of a PrimFunc.

    Raises ``MarkerError`` for a group whose lead is no thread of the author's block.
    """
    drafts = [_Draft.of(shape, marked) for shape in shapes]
    groups: dict[int, str] = {}
    roles: dict[int, str | None] = {}
    for draft in drafts:
        for thread, group in draft.groups.items():
            groups.setdefault(thread, group)
            roles[thread] = roles.get(thread) or draft.roles.of(thread)
    if not groups:
        groups, roles = {0: ENTRY_POINT}, {0: None}
    writers = tuple(Writer(i, groups[t], roles[t], t) for i, t in enumerate(sorted(groups)))
    return Plan(writers, tuple(draft.against(frozenset(groups)) for draft in drafts))


@dataclass(frozen=True, slots=True)
class _Draft:
    """One launch: for each site statement the threads that reach it, those that write there, and how often at most."""

    roles: _Roles
    reached: list[frozenset[int]]
    chosen: list[frozenset[int]]
    times: list[int | None]
    groups: dict[int, str]

    @classmethod
    def of(cls, launch: LaunchShape, marked: MarkedKernel) -> _Draft:
        reach = _Reach(launch)
        draft = cls(_roles(launch, reach), [], [], [], {})
        author_threads = math.prod(launch.author_block)
        shift = launch.threads - author_threads if draft.roles.automatic else 0
        for statement, above in walk(launch.body):
            if not is_site(statement):
                continue
            site = marked.sites[site_id(statement)]
            group = marked.groups[site.id]
            if group.lead >= author_threads:
                raise MarkerError(
                    f"kernel {marked.name}, {site.source}: group {group.name!r} has lead={group.lead}, but the block "
                    f"has {author_threads} threads; give a lead below {author_threads}"
                )
            threads = reach.of(statement, above)
            chosen = _choose(group, threads, shift, draft.roles.producer)
            draft.reached.append(threads)
            draft.chosen.append(chosen)
            draft.times.append(_trip_count(above, launch))
            for thread in chosen:
                draft.groups.setdefault(thread, group.name)
        return draft

    def against(self, everyone: frozenset[int]) -> LaunchPlan:
        """The plan, given the writers of all launches."""
        records = (RecordPlan(c, (r & everyone) <= c) for r, c in zip(self.reached, self.chosen, strict=True))
        totals: dict[int, int | None] = {}
        for chosen, times in zip(self.chosen, self.times, strict=True):
            for thread in chosen:
                known = totals.get(thread, 0)
                totals[thread] = None if times is None or known is None else known + times
        counts = [n for n in totals.values() if n is not None]
        return LaunchPlan(tuple(records), max(counts, default=0) if len(counts) == len(totals) else None)


@dataclass(frozen=True, slots=True)
class _Roles:
    producer: frozenset[int]
    consumer: frozenset[int]
    automatic: bool

    def of(self, thread: int) -> str | None:
        return PRODUCER if thread in self.producer else CONSUMER if thread in self.consumer else None


class _Reach:
    """The threads that reach a statement, given its ancestors."""

    def __init__(self, launch: LaunchShape):
        self._count = launch.threads
        lanes = np.arange(self._count)
        x, y, _ = launch.block
        values = (lanes % x, lanes // x % y, lanes // (x * y))
        self._known: dict[Any, _Lanes] = dict(zip(launch.thread_vars, values, strict=True))
        self._analyzer = _analyzer(launch)
        by_axis = dict(zip("xyz", values, strict=True))
        for statement, _ in walk(launch.body):
            if _is_thread_binding(statement):
                self._known[statement.loop_var] = by_axis[str(statement.thread_binding.thread_tag)[-1]]
            elif isinstance(statement, tirx.Bind):
                value = self.evaluate(statement.value)
                if value is not None:
                    self._known[statement.var] = value

    def of(self, statement: Stmt, above: tuple[Stmt, ...]) -> frozenset[int]:
        alive = np.ones(self._count, dtype=bool)
        for outer, inner in itertools.pairwise((*above, statement)):
            if isinstance(outer, tirx.IfThenElse):
                alive &= self.branch(outer, inner.same_as(outer.then_case))
        return frozenset(np.flatnonzero(alive).tolist())

    def branch(self, statement: Any, then: bool) -> _Lanes:
        return self._may(statement.condition, then)

    def _may(self, e: Expr, want: bool) -> _Lanes:
        """The threads in which a condition may turn out as wanted."""
        if isinstance(e, tirx.Not):
            return self._may(e.a, not want)
        if isinstance(e, (tirx.And, tirx.Or)):
            a, b = self._may(e.a, want), self._may(e.b, want)
            both_must = isinstance(e, tirx.And) == want
            return a & b if both_must else a | b
        value = self.evaluate(e)
        if value is None:
            return self._possible(e if want else tirx.Not(e))
        truth = np.broadcast_to(np.asarray(value, dtype=bool), (self._count,))
        return truth if want else ~truth

    def _possible(self, condition: Expr) -> _Lanes:
        """The threads for which a condition holds in some CTA, or for which that cannot be told."""
        varying = {v: lanes for v, lanes in self._known.items() if np.ndim(lanes) and uses(condition, [v])}
        if not varying:
            return np.ones(self._count, dtype=bool)

        def impossible(thread: int) -> bool:
            here = {v: tirx.IntImm(str(v.dtype), int(lanes[thread])) for v, lanes in varying.items()}
            return bool(self._analyzer.can_prove(tirx.Not(substitute(condition, here))))

        return np.array([not impossible(thread) for thread in range(self._count)])

    def evaluate(self, e: Expr) -> Any:
        """The value in every thread, or ``None`` where it depends on more than thread indices."""
        if isinstance(e, (tirx.IntImm, int)):
            return int(e)
        if isinstance(e, tirx.Var):
            return next((value for var, value in self._known.items() if var.same_as(e)), None)
        if isinstance(e, tirx.Cast):
            return self.evaluate(e.value)
        if isinstance(e, tirx.Not):
            inner = self.evaluate(e.a)
            return None if inner is None else np.logical_not(inner)
        if isinstance(e, (tirx.And, tirx.Or)):
            return self._logic(e)
        if isinstance(e, tirx.Call) and getattr(e.op, "name", "") in _THREADS_PER and not e.args:
            lanes = np.arange(self._count)
            per = _THREADS_PER[e.op.name]
            return lanes // per if per else lanes % _WARP
        if isinstance(e, tirx.Call) and getattr(e.op, "name", "") in _BITWISE:
            function, operands = _BITWISE[e.op.name], list(e.args)
        elif type(e).__name__ in _BINARY:
            function, operands = _BINARY[type(e).__name__], [e.a, e.b]
        else:
            return None
        a, b = (self.evaluate(operand) for operand in operands)
        return None if a is None or b is None else function(a, b)

    def _logic(self, e: Any) -> Any:
        a, b = self.evaluate(e.a), self.evaluate(e.b)
        if isinstance(e, tirx.Or):
            return None if a is None or b is None else np.logical_or(a, b)
        return None if a is None or b is None else np.logical_and(a, b)


def _launch(block: Stmt, above: tuple[Stmt, ...]) -> LaunchShape:
    extents: dict[str, tuple[Any, Expr]] = {}
    for statement in above:
        if isinstance(statement, tirx.AttrStmt) and statement.attr_key == "thread_extent":
            extents[str(statement.node.thread_tag)] = (statement.node.var, statement.value)
    one = tirx.IntImm("int32", 1)
    grid = [extents.get(f"blockIdx.{axis}", (tirx.IntImm("int32", 0), one)) for axis in "xyz"]
    block_extents = [extents.get(f"threadIdx.{axis}", (tirx.IntImm("int32", 0), one)) for axis in "xyz"]
    hardware = tuple(int(extent) for _, extent in block_extents)
    author = tuple(int(e) for e in block.annotations.get("tl.launch_threads", hardware))
    x, y, z = (*author, 1, 1)[:3]
    return LaunchShape(
        tuple(var for var, _ in grid),
        tuple(extent for _, extent in grid),
        tuple(var for var, _ in block_extents),
        (hardware[0], hardware[1], hardware[2]),
        (x, y, z),
        block.body,
    )


def _choose(group: Group, threads: frozenset[int], shift: int, producer: frozenset[int]) -> frozenset[int]:
    """The threads of ``threads`` that write for a group. ``shift`` maps the author's thread ids to a consumer's."""
    if not threads:
        return frozenset()
    if group.per == "thread":
        return threads
    if group.per == "warp":
        warps = {t // _WARP for t in threads}
        leads = {w: w * _WARP + group.lead % _WARP for w in warps}
        return frozenset(leads[w] if leads[w] in threads else min(t for t in threads if t // _WARP == w) for w in warps)
    lead = group.lead if threads <= producer else group.lead + shift
    return frozenset([lead if lead in threads else min(threads)])


def _roles(launch: LaunchShape, reach: _Reach) -> _Roles:
    """Producer and consumer threads: TileLang's own split, else an author's split on the thread index.

    An author's branch that multiplies is the consumer, one that only copies the producer.
    """
    for statement, _ in walk(launch.body):
        if isinstance(statement, tirx.AttrStmt) and statement.attr_key == ROLE_SCOPE:
            branch = statement.body
            if isinstance(branch, tirx.IfThenElse):
                truth = reach.branch(branch, True)
                automatic = launch.threads != math.prod(launch.author_block)
                return _Roles(_ids(truth), _ids(~truth), automatic)
    producer: frozenset[int] = frozenset()
    consumer: frozenset[int] = frozenset()
    for statement, above in walk(launch.body):
        if not isinstance(statement, tirx.IfThenElse) or reach.evaluate(statement.condition) is None:
            continue
        for case, then in ((statement.then_case, True), (statement.else_case, False)):
            threads = reach.of(statement, above) & _ids(reach.branch(statement, then))
            work = {op_name(s).rsplit(".", 1)[-1] for s, _ in walk(case)} if case is not None else set()
            if any("gemm" in name or "mma" in name for name in work):
                consumer |= threads
            elif any("copy" in name for name in work):
                producer |= threads
    split = bool(producer and consumer) and not producer & consumer
    return _Roles(producer, consumer, False) if split else _Roles(frozenset(), frozenset(), False)


def _is_thread_binding(statement: Stmt) -> bool:
    binding = statement.thread_binding if isinstance(statement, tirx.For) else None
    return binding is not None and str(binding.thread_tag).startswith("threadIdx")


def _ids(truth: _Lanes) -> frozenset[int]:
    return frozenset(np.flatnonzero(truth).tolist())


def _trip_count(above: tuple[Stmt, ...], launch: LaunchShape) -> int | None:
    """How often a statement runs at most; ``None`` where no constant bounds it."""
    analyzer = _analyzer(launch)
    times = 1
    for statement in above:
        if isinstance(statement, tirx.While):
            return None
        if isinstance(statement, tirx.For) and statement.thread_binding is None:
            most = analyzer.const_int_bound(statement.extent).max_value
            if most == ConstIntBound.POS_INF or most >= 2**31 - 1:
                return None
            times *= max(int(most), 0)
            analyzer.bind(statement.loop_var, Range(statement.min, statement.extent))
    return times


def _analyzer(launch: LaunchShape) -> Analyzer:
    """One that knows the ranges of block and thread indices."""
    analyzer = Analyzer()
    for var, extent in (
        *zip(launch.block_vars, launch.grid, strict=True),
        *zip(launch.thread_vars, launch.block, strict=True),
    ):
        if isinstance(var, tirx.Var):
            analyzer.bind(var, Range(0, extent))
    return analyzer


def _linear(variables: tuple[Any, ...], extents: tuple[Any, ...]) -> Expr:
    x, y, z = variables
    return Analyzer().simplify(x + extents[0] * (y + extents[1] * z))
