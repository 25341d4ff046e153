"""Who records: the threads that can reach a marker, and the one of them that writes.

In: the scheduled PrimFunc with ``__tlt_site`` statements. Out: the writers of each launch, and for each statement the
threads that must record there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx
from tvm.arith import Analyzer, ConstIntBound
from tvm.ir import Range

from tltrace_nb.base.errors import MarkerError
from tltrace_nb.base.gpus import WARP
from tltrace_nb.core.compile.active_threads import ActiveThreads, Lanes, LaunchShape
from tltrace_nb.core.compile.arrivals import arrivals
from tltrace_nb.core.compile.holds import CONSUMER, PRODUCER, ROLE_SCOPE
from tltrace_nb.core.compile.ir import Expr, Stmt, ir_transform, op_name, walk
from tltrace_nb.core.compile.markers import Group
from tltrace_nb.core.compile.numbering import MarkedKernel, is_site, site_id, site_roles
from tltrace_nb.data.sites import ENTRY_POINT, EventKind, Writer

_UNKNOWN = 1 << 20
"""What only the run knows is taken to be this large, and twice as large, to see what depends on it."""


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """One ``__tlt_site`` statement: the threads that record there; ``exclusive`` if no other writer passes by."""

    threads: frozenset[int]
    exclusive: bool


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The plan of each of a launch's site statements; ``bound``: a writer's records at most, if known."""

    records: dict[Stmt, RecordPlan]
    bound: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Who records in a PrimFunc: its writers, the same in all its launches, and what each launch records.

    ``absent``: the sites to which no thread comes. ``undecided``: the sites, each with the thread that records there,
    to which that thread comes or not as its own data say, while others may come without it.
    """

    writers: tuple[Writer, ...]
    launches: tuple[LaunchPlan, ...]
    absent: frozenset[int]
    undecided: dict[int, int]


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
    if any(min(groups, default=shape.threads) >= shape.threads for shape in shapes):  # a CTA is there by its writers
        groups[0] = ENTRY_POINT
        roles.setdefault(0, None)
    writers = tuple(Writer(i, groups[t], roles[t], t) for i, t in enumerate(sorted(groups)))
    stops = [stop for draft in drafts for stop in draft.stops]
    certain = {stop.site for stop in stops if not stop.chosen <= stop.undecided}
    return Plan(
        writers,
        tuple(draft.against(frozenset(groups)) for draft in drafts),
        frozenset(stop.site for stop in stops) - {stop.site for stop in stops if stop.chosen},
        {stop.site: min(stop.chosen) for stop in stops if stop.chosen and stop.site not in certain},
    )


@dataclass(frozen=True, slots=True)
class _Stop:
    """One site statement: the threads that reach it, those of which data decide whether they do, and those that write
    there, and how often at most."""

    statement: Stmt
    site: int
    reached: frozenset[int]
    undecided: frozenset[int]
    chosen: frozenset[int]
    times: int | None


@dataclass(frozen=True, slots=True)
class _Draft:
    """One launch: its site statements in program order, and the group of each thread that writes."""

    roles: _Roles
    stops: list[_Stop]
    groups: dict[int, str]

    @classmethod
    def of(cls, launch: LaunchShape, marked: MarkedKernel) -> _Draft:
        draft = cls(_roles(launch, ActiveThreads(launch)), [], {})
        author_threads = math.prod(launch.author_block)
        shift = launch.threads - author_threads if draft.roles.automatic else 0
        # A producer may have more threads than the author's block; those are nobody's.
        nobody = frozenset(range(author_threads, launch.threads)) & draft.roles.producer if shift else frozenset()
        begun: dict[int, frozenset[int]] = {}
        places = ((statement, above) for statement, above in walk(launch.body) if is_site(statement))
        for (statement, above), arrival in zip(places, arrivals(launch), strict=True):
            site = marked.sites[site_id(statement)]
            group = marked.groups[site.id]
            if group.lead >= author_threads:
                raise MarkerError(
                    f"kernel {marked.name}, {site.source}: group {group.name!r} has lead={group.lead}, but the block "
                    f"has {author_threads} threads; give a lead below {author_threads}"
                )
            if site.kind is EventKind.RANGE_END:  # whoever has begun a range ends it
                chosen = begun.get(site.range, frozenset()) & arrival.threads
            else:
                parts = draft.roles.parts(arrival.threads - nobody, statement)
                chosen = frozenset().union(*(_choose(group, p, shift, draft.roles.producer) for p in parts))
                begun[site.id] = begun.get(site.id, frozenset()) | chosen
            undecided = arrival.undecided if group.per == "group" else frozenset()
            draft.stops.append(
                _Stop(statement, site.id, arrival.threads, undecided, chosen, _trip_count(above, launch))
            )
            for thread in chosen:
                draft.groups.setdefault(thread, group.name)
        return draft

    def against(self, everyone: frozenset[int]) -> LaunchPlan:
        """The plan, given the writers of all launches."""
        records = {
            stop.statement: RecordPlan(stop.chosen, (stop.reached & everyone) <= stop.chosen) for stop in self.stops
        }
        totals: dict[int, int | None] = {}
        for stop in self.stops:
            for thread in stop.chosen:
                known = totals.get(thread, 0)
                totals[thread] = None if stop.times is None or known is None else known + stop.times
        counts = [n for n in totals.values() if n is not None]
        return LaunchPlan(records, max(counts, default=0) if len(counts) == len(totals) else None)


@dataclass(frozen=True, slots=True)
class _Roles:
    producer: frozenset[int]
    consumer: frozenset[int]
    automatic: bool

    def parts(self, threads: frozenset[int], statement: Stmt) -> list[frozenset[int]]:
        """The threads that reach a site, role by role where several roles record it."""
        of = {PRODUCER: self.producer, CONSUMER: self.consumer}
        return [threads & of[role] for role in sorted(site_roles(statement))] or [threads]

    def of(self, thread: int) -> str | None:
        return PRODUCER if thread in self.producer else CONSUMER if thread in self.consumer else None


def _choose(group: Group, threads: frozenset[int], shift: int, producer: frozenset[int]) -> frozenset[int]:
    """The threads of ``threads`` that write for a group. ``shift`` maps the author's thread ids to a consumer's."""
    if not threads:
        return frozenset()
    if group.per == "thread":
        return threads
    if group.per == "warp":
        warps = {t // WARP for t in threads}
        leads = {w: w * WARP + group.lead % WARP for w in warps}
        return frozenset(leads[w] if leads[w] in threads else min(t for t in threads if t // WARP == w) for w in warps)
    lead = group.lead if threads <= producer else group.lead + shift
    return frozenset([lead if lead in threads else min(threads)])


def _roles(launch: LaunchShape, active: ActiveThreads) -> _Roles:
    """Producer and consumer threads: TileLang's own split, else an author's split on the thread index.

    An author's branch that multiplies is the consumer, one that only copies the producer.
    """
    for statement, _ in walk(launch.body):
        if isinstance(statement, tirx.AttrStmt) and statement.attr_key == ROLE_SCOPE:
            branch = statement.body
            if isinstance(branch, tirx.IfThenElse):
                truth = active.branch(branch, True)
                automatic = launch.threads != math.prod(launch.author_block)
                return _Roles(_ids(truth), _ids(~truth), automatic)
    producer: frozenset[int] = frozenset()
    consumer: frozenset[int] = frozenset()
    for statement, above in walk(launch.body):
        if not isinstance(statement, tirx.IfThenElse) or active.evaluate(statement.condition) is None:
            continue
        for case, then in ((statement.then_case, True), (statement.else_case, False)):
            threads = active.of(statement, above) & _ids(active.branch(statement, then))
            work = {op_name(s).rsplit(".", 1)[-1] for s, _ in walk(case)} if case is not None else set()
            if any("gemm" in name or "mma" in name for name in work):
                consumer |= threads
            elif any("copy" in name for name in work):
                producer |= threads
    split = bool(producer and consumer) and not producer & consumer
    return _Roles(producer, consumer, False) if split else _Roles(frozenset(), frozenset(), False)


def _ids(truth: Lanes) -> frozenset[int]:
    return frozenset(np.flatnonzero(truth).tolist())


def _trip_count(above: tuple[Stmt, ...], launch: LaunchShape) -> int | None:
    """How often a statement runs at most; ``None`` where no constant bounds it."""
    # A bound that moves with what only the run knows is none: n // 32 is not bounded by the largest int32.
    near, far = (_most_turns(above, launch, unknown) for unknown in (_UNKNOWN, 2 * _UNKNOWN))
    return near if near == far else None


def _most_turns(above: tuple[Stmt, ...], launch: LaunchShape, unknown: int) -> int | None:
    """The same if what only the run knows, dimensions and loaded values, is at most ``unknown``."""
    assumed = ConstIntBound(-unknown, unknown)
    inner = [s for s in above if isinstance(s, tirx.For) and s.thread_binding is None]
    own = {*launch.block_vars, *launch.thread_vars, *(s.loop_var for s in inner)}
    analyzer = Analyzer()

    def known(e: Expr) -> Expr:
        """The expression, of which the analyzer has been told what it does not know."""

        def visit(node: Any) -> Any:
            if node.dtype.bits < 32 or node in own:
                return None
            value = node if isinstance(node, tirx.Var) else tirx.Var("loaded", node.dtype)
            analyzer.update(value, assumed, True)
            return value

        return ir_transform(tirx.Evaluate(e), None, visit, ["tirx.Var", "tirx.BufferLoad"]).value

    for var, extent in zip((*launch.block_vars, *launch.thread_vars), (*launch.grid, *launch.block), strict=True):
        if isinstance(var, tirx.Var):
            analyzer.bind(var, Range(0, known(extent)))
    times = 1
    for statement in above:
        if isinstance(statement, tirx.While):
            return None
        if statement in inner:
            extent = known(statement.extent)
            times *= max(int(analyzer.const_int_bound(extent).max_value), 0)
            analyzer.bind(statement.loop_var, Range(known(statement.min), extent))
    return times
