"""Before scheduling: markers leave the statement list and ride on the operators they enclose.

In: a PrimFunc with placeholder statements. Out: the same kernel in which each marker that TileLang's scheduler would
trip over has become annotations on operator calls (*anchors*), and each other one a ``__tlt_site`` statement. Those are
the markers in pipelined loops, in kernels that will be split into roles, and directly in an ``if`` without ``else``.

An anchor is one annotation ``tltrace.<site>`` whose value is a tuple expression::

    (mode, guards, leaf, condition, payload, loop variable, loop variable, ...)

TileLang's passes rewrite expressions in annotations along with the operator: where a copy is moved two iterations
ahead, ``k`` in its anchor becomes ``k + 2``. The loop variables of the serial loops around the marker tell the
iterations apart, so that ``compile.placement`` never joins two of them into one range. ``guards`` counts the conditions
around the marker. A marker that rides on several operators without being around them records at that of number
``leaf`` alone, for the scheduler may put them apart; one around them has -1. A branch that holds markers and nothing
else has no operator of its own; its markers ride on what comes next, and record there under the branch's ``condition``.

Each operator also bears a :class:`Trail`, where it stood: ``tltrace.leaf`` with the tuple ``(number, loops outside of
the pipeline, condition, condition, ...)``, the conditions as ``compile.guards`` encodes them, outermost first. The
first ``guards`` of them are around the marker, the others between it and the operator, and the placed marker leaves
those.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from tvm import tirx
from tvm.arith import Analyzer
from tvm.ir import Op, Range
from tvm.tirx.expr import CallEffectKind

from tltrace_nb.base.errors import PlacementError
from tltrace_nb.core.compile.guards import decoded, encoded
from tltrace_nb.core.compile.ir import (
    WRITTEN,
    Expr,
    Stmt,
    children,
    flatten,
    is_region,
    loads,
    post_order_visit,
    rebuild,
    sequence,
    span_of,
    substitute,
    walk,
)
from tltrace_nb.core.compile.markers import Over
from tltrace_nb.core.compile.numbering import DATA_PARALLEL, MarkedKernel, is_site, site_id, site_statement
from tltrace_nb.data.sites import EventKind, Site

ANCHOR = "tltrace."
LEAF = "tltrace.leaf"
CARRIER = "__tlt_carrier"

_EXPLICIT_PIPELINE = ("tl_pipeline_order", "tl_pipeline_stage")


class Mode(IntEnum):
    """How an anchor's marker stands to its operators: around them, before the first, or after the last.

    ``WAITS`` and ``ARRIVALS``: around what the scheduler has put there, see ``markers.Over``.
    """

    AROUND = 0
    BEFORE = 1
    AFTER = 2
    WAITS = 3
    ARRIVALS = 4


_BESIDE = {Over.WAITS: Mode.WAITS, Over.ARRIVALS: Mode.ARRIVALS}


@dataclass(frozen=True, slots=True)
class Trail:
    """Where one operator stood in the author's kernel; see the module's text.

    ``outside``: how many loops are around the outermost pipelined loop around it, -1 if none is pipelined.
    """

    number: int
    outside: int
    guards: tuple[Expr, ...]

    def annotation(self) -> Expr:
        """The value of the operator's ``LEAF`` annotation."""
        ints = [tirx.IntImm("int32", self.number), tirx.IntImm("int32", self.outside)]
        return tirx.Call("handle", Op.get("tirx.tvm_tuple"), [*ints, *self.guards])

    @classmethod
    def from_annotation(cls, value: Any) -> Trail:
        """The inverse of ``annotation``."""
        number, outside, *guards = value.args
        return cls(int(number), int(outside), tuple(guards))


@dataclass(frozen=True, slots=True)
class Anchor:
    """One marker's hold on one operator; see the module's text for the fields."""

    site: int
    mode: Mode
    guards: int
    leaf: int
    condition: Expr
    payload: Expr
    loops: tuple[Expr, ...]

    def annotation(self, hidden: bool) -> tuple[str, Expr]:
        """The annotation's name and value; ``hidden``: what conditions around the operator say proves no payload."""
        payload = encoded(self.payload) if hidden and _is_provable(self.payload) else self.payload
        ints = [tirx.IntImm("int32", number) for number in (int(self.mode), self.guards, self.leaf)]
        value = tirx.Call("handle", Op.get("tirx.tvm_tuple"), [*ints, self.condition, payload, *self.loops])
        return f"{ANCHOR}{self.site}", value

    @classmethod
    def from_annotation(cls, name: str, value: Any) -> Anchor:
        """The inverse of ``annotation``."""
        mode, guards, leaf, condition, payload, *loops = value.args
        site = int(name.removeprefix(ANCHOR))
        return cls(site, Mode(int(mode)), int(guards), int(leaf), condition, decoded(payload), tuple(loops))


def attach(
    marked: MarkedKernel,
    *,
    everywhere: bool,
    peels: bool,
    carry_in_value: bool = True,
    inline_lets: bool = False,
    dead: Set[int] = frozenset(),
    producers: Set[int] = frozenset(),
) -> Any:
    """Turn the sites that the scheduler would trip over into anchors; the others stay where they are.

    ``everywhere``: anchor all of them (the whole kernel will be split into roles), not only those in pipelined loops.
    ``peels``: the scheduler takes iterations off a pipelined loop, and a marker may be lost with what it drops there.
    ``carry_in_value``: a plain store carries its anchors around the stored value, else in a statement before it.
    ``inline_lets``: payloads use the values of variables in place of the variables, for TileLang inlines a variable
    that is used once, and drops one that a marker alone uses. ``dead``: the numbers of operators that the scheduler
    drops, which carry only what is dropped with them. ``producers``: those that a producer alone runs; its warps are
    not the author's, so that a marker of every warp or thread rides on others if it can. Returns the PrimFunc; raises
    ``PlacementError`` for a marker that has no operator to ride on.
    """
    body = with_lets_inlined(marked.func.body) if inline_lets else marked.func.body
    numbers = leaf_numbers(body)
    lost, own = (frozenset(s for s, number in numbers.items() if number in given) for given in (dead, producers))
    written = frozenset(_written_in(marked.func.body))
    attacher = _Attacher(marked, carry_in_value, written, numbers, lost, own, peels)
    change = attacher.anchored if everywhere else attacher.plain
    return marked.func.with_body(change(body, _Context()))


def leaf_numbers(body: Stmt) -> dict[Stmt, int]:
    """The operators of an unscheduled body, numbered in program order."""
    numbers: dict[Stmt, int] = {}

    def visit(statement: Stmt) -> None:
        if is_leaf(statement):
            numbers.setdefault(statement, len(numbers))
            return
        for child in children(statement):
            visit(child)

    visit(body)
    return numbers


def with_lets_inlined(body: Stmt) -> Stmt:
    """A body in whose payloads variables are replaced by their values.

    Outside of pipelined loops, where nothing else checks it, that is done only where the value depends on no memory
    that the kernel writes.
    """
    written = _written_in(body)

    def visit(statement: Stmt, values: dict[Any, Expr], pipelined: bool) -> Stmt:
        if is_site(statement):
            return site_statement(site_id(statement), substitute(statement.value.args[2], values))
        if isinstance(statement, tirx.Bind) and not is_leaf(statement):
            steady = not any(buffer.data in written for buffer in loads(statement.value))
            if pipelined or steady:
                values[statement.var] = substitute(statement.value, values)
        inside = pipelined or is_pipelined(statement)
        return rebuild(statement, lambda child: visit(child, values, inside))

    return visit(body, {}, False)


def is_pipelined(statement: Stmt) -> bool:
    """Whether the statement is a loop that TileLang's scheduler will pipeline."""
    if not isinstance(statement, tirx.For):
        return False
    stages = statement.annotations.get("num_stages")
    return int(stages) > 0 if stages is not None else any(name in statement.annotations for name in _EXPLICIT_PIPELINE)


def _is_split(statement: Stmt) -> bool:
    """Whether TileLang will make one ``if`` of each statement of a body, markers among them if they were statements."""
    if not isinstance(statement, tirx.IfThenElse) or statement.else_case is not None:
        return False
    body = flatten(statement.then_case)
    return any(is_site(s) for s in body) and any(_has_leaf(s) for s in body)


@dataclass(frozen=True, slots=True)
class _Context:
    """Where a statement stands: the serial loops and the conditions above it, its open anchors."""

    loops: tuple[tirx.For, ...] = ()
    outside: int = -1
    guards: tuple[Expr, ...] = ()
    anchors: tuple[Anchor, ...] = ()


@dataclass(frozen=True, slots=True)
class _Attacher:
    marked: MarkedKernel
    carry_in_value: bool
    written: frozenset[Any]
    numbers: dict[Stmt, int]
    lost: frozenset[Stmt]
    producers: frozenset[Stmt]
    peels: bool
    """Whether the scheduler peels iterations off a pipeline: not off one that it divides into roles."""

    def carries(self, statement: Stmt) -> bool:
        """Whether a statement holds an operator that the scheduler keeps."""
        if is_leaf(statement):
            return statement not in self.lost
        return any(self.carries(child) for child in children(statement))

    def certain(self, statement: Stmt) -> bool:
        """Whether a statement surely does something: what is under a condition may be peeled away."""
        if is_leaf(statement):
            return statement not in self.lost
        if isinstance(statement, tirx.For):
            return (
                isinstance(statement.extent, tirx.IntImm) and int(statement.extent) > 0 and self.certain(statement.body)
            )
        if isinstance(statement, tirx.IfThenElse):
            return statement.else_case is not None and all(map(self.certain, children(statement)))
        return not isinstance(statement, tirx.While) and any(map(self.certain, children(statement)))

    def _nearest(self, statement: Stmt, mode: Mode, site: int) -> int:
        """The operator of a statement at which a marker in front of it, or behind it, records; -1 for one around it."""
        if mode not in (Mode.BEFORE, Mode.AFTER):
            return -1
        if is_leaf(statement):
            return self.numbers[statement]
        inner = [s for child in children(statement) for s in flatten(child) if _has_leaf(s)]
        ordered = self._preferred(inner if mode is Mode.BEFORE else inner[::-1], site)
        best = [s for s in ordered if self.certain(s)] or [s for s in ordered if self.carries(s)] or ordered
        return self._nearest(best[0], mode, site)

    def _preferred(self, statements: list[Stmt], site: int) -> list[Stmt]:
        """Those of some statements on which a marker beside them may ride, so that all who should record do."""
        if self.marked.groups[site].per == "group":
            return statements
        return [s for s in statements if self._of_author(s)] or statements

    def _of_author(self, statement: Stmt) -> bool:
        """Whether a statement holds an operator that the author's warps run, not a producer's alone."""
        return any(s in self.numbers and s not in self.producers for s, _ in walk(statement))

    def inside(self, context: _Context, statement: Stmt, child: Stmt) -> _Context:
        """Where a child of a statement stands."""
        if isinstance(statement, tirx.For) and statement.thread_binding is None:
            outermost = is_pipelined(statement) and context.outside < 0
            outside = len(context.loops) if outermost else context.outside
            return replace(context, loops=(*context.loops, statement), outside=outside)
        if isinstance(statement, tirx.While):
            return replace(context, guards=(*context.guards, encoded(None)))
        if isinstance(statement, tirx.IfThenElse):
            holds = statement.condition if child.same_as(statement.then_case) else tirx.Not(statement.condition)
            opaque = any(buffer.data in self.written for buffer in loads(holds))
            return replace(context, guards=(*context.guards, encoded(holds, opaque)))
        return context

    def plain(self, statement: Stmt, context: _Context) -> Stmt:
        """Outside pipelined loops markers stay statements, unless they would change how TileLang splits an ``if``."""
        if is_pipelined(statement) or (_is_split(statement) and self.carries(statement)):
            return self.anchored(statement, context)
        if is_site(statement) and self.marked.over[site_id(statement)] is not Over.STATEMENTS:
            return sequence([])  # here the scheduler adds nothing
        return rebuild(statement, lambda child: self.plain(child, self.inside(context, statement, child)))

    def anchored(self, statement: Stmt, context: _Context) -> Stmt:
        if isinstance(statement, tirx.SeqStmt) or is_site(statement):
            return self._sequence(flatten(statement), context)
        if is_leaf(statement):
            return self._leaf(statement, context)
        return rebuild(statement, lambda child: self.anchored(child, self.inside(context, statement, child)))

    def _sequence(self, statements: list[Stmt], context: _Context) -> Stmt:
        statements = [lifted for statement in statements for lifted in self._lift(statement)]
        carried = self._distribute(statements, context)
        return sequence(
            self.anchored(statement, replace(context, anchors=(*context.anchors, *carried.get(i, ()))))
            for i, statement in enumerate(statements)
            if not is_site(statement)
        )

    def _lift(self, statement: Stmt) -> list[Stmt]:
        """The statement, behind the sites of those of its branches that hold nothing else, under their conditions."""
        if not isinstance(statement, tirx.IfThenElse) or any(
            b.data in self.written for b in loads(statement.condition)
        ):
            return [statement]
        sites: list[Stmt] = []

        def without_bare_sites(case: Stmt | None, condition: Expr) -> Stmt | None:
            if case is None or not self._holds_only_sites(case):
                return case
            rest = []
            for inner in flatten(case):
                lifted = self._lift(inner)
                sites.extend(_under(condition, site) for site in lifted if is_site(site))
                rest += [statement for statement in lifted if not is_site(statement)]
            return sequence(rest)

        then = without_bare_sites(statement.then_case, statement.condition)
        other = without_bare_sites(statement.else_case, tirx.Not(statement.condition))
        return [*sites, tirx.IfThenElse(statement.condition, then, other, span_of(statement))]

    def _holds_only_sites(self, case: Stmt) -> bool:
        """Whether a branch holds sites, none of them in a loop, and no operator that the scheduler keeps."""
        found = [above for statement, above in walk(case) if is_site(statement)]
        in_loop = any(isinstance(outer, (tirx.For, tirx.While)) for above in found for outer in above)
        return bool(found) and not in_loop and not self.carries(case)

    def _distribute(self, statements: list[Stmt], context: _Context) -> dict[int, list[Anchor]]:
        """Which statement of a sequence carries which of the sites that stand in that sequence."""
        site_at = {i: self.marked.sites[site_id(s)] for i, s in enumerate(statements) if is_site(s)}
        work = [i for i, s in enumerate(statements) if not is_site(s) and _has_leaf(s)]
        carriers = [i for i in work if self.carries(statements[i])] or work
        position_of = {site.id: i for i, site in site_at.items()}
        end_of = {i: position_of[end] for i, end in self.marked.end_of.items() if end in position_of}
        carried: dict[int, list[Anchor]] = {}
        covered_ends: set[int] = set()
        ends_elsewhere = {
            site.id
            for site in site_at.values()
            if site.kind is EventKind.RANGE_END and site.range not in position_of and site.id not in self.marked.leaving
        }

        def put(position: int, site: int, mode: Mode) -> None:
            _, _, payload, *condition = statements[i].value.args
            always = condition[0] if condition else tirx.IntImm("bool", 1)
            leaf = self._nearest(statements[position], mode, site)
            variables = tuple(loop.loop_var for loop in context.loops)
            anchor = Anchor(site, mode, len(context.guards), leaf, always, payload, variables)
            carried.setdefault(position, []).append(anchor)

        for i, site in site_at.items():
            if (mode := _BESIDE.get(self.marked.over[site.id])) is not None:
                beside = [p for p in carriers if p > i] if mode is Mode.WAITS else [p for p in carriers if p < i][::-1]
                if beside and site.kind is not EventKind.RANGE_END:
                    put(beside[0], site.id, mode)
                continue
            if not carriers:
                raise PlacementError(
                    f"kernel {self.marked.name}, {site.source}: {site.name!r} stands in a pipelined or "
                    "warp-specialised body without any operator beside it to ride on; move it next to the work that it "
                    "is about"
                )
            if i in covered_ends:
                continue
            if site.kind is EventKind.RANGE_BEGIN and (end := end_of.get(site.id)) is not None:
                inside = [p for p in carriers if i < p < end]
                self._refuse_peeled(site, [statements[p] for p in inside], context)
                for position in inside:
                    put(position, site.id, Mode.AROUND)
                if inside:
                    covered_ends.add(end)
                    continue
            preferred = self._preferred([statements[p] for p in carriers], site.id)
            beside = [p for p in carriers if statements[p] in preferred]
            after = next((p for p in beside if p > i), None)
            before = next((p for p in reversed(beside) if p < i), None)
            # The end of an empty range stays with its begin, in front of what comes next.
            looks_back = site.id in ends_elsewhere
            if before is not None and after is not None and not looks_back:
                looks_back = not self.certain(statements[after]) and self.certain(statements[before])
            backwards = before is not None and (looks_back or after is None)
            nearest = before if backwards else after
            if nearest is not None:
                self._refuse_peeled(site, [statements[nearest]], context)
                put(nearest, site.id, Mode.AFTER if backwards else Mode.BEFORE)
        return carried

    def _refuse_peeled(self, site: Site, inside: list[Stmt], context: _Context) -> None:
        """Raise ``PlacementError`` for a marker that is gone in iterations in which the scheduler drops its work."""
        if not self.peels or context.outside < 0 or not inside or any(map(self.certain, inside)):
            return
        loops = context.loops[context.outside :]
        if any(_is_dropped(s.condition, loops) for s in inside if isinstance(s, tirx.IfThenElse)):
            raise PlacementError(
                f"kernel {self.marked.name}, {site.source}: {site.name!r} has no work to ride on but under a "
                "condition on the iteration alone, which TileLang drops from the iterations of a pipeline that do not "
                "meet it, and the marker with it; put the marker into the condition"
            )

    def _leaf(self, statement: Stmt, context: _Context) -> Stmt:
        trail = Trail(self.numbers[statement], context.outside, context.guards)
        anchors = (anchor.annotation(anchor.guards < len(context.guards)) for anchor in context.anchors)
        notes = {LEAF: trail.annotation(), **dict(anchors)}
        return _annotate_first(statement, notes, self.carry_in_value)


def _is_provable(payload: Expr) -> bool:
    """Whether a payload is a truth value, or uses one."""
    found = []
    post_order_visit(payload, lambda node: found.append(str(getattr(node, "dtype", "")) == "bool"))
    return any(found)


def _under(condition: Expr, site: Stmt) -> Stmt:
    _, _, payload, *inner = site.value.args
    return site_statement(site_id(site), payload, tirx.And(condition, inner[0]) if inner else condition)


def written_buffers(statement: Stmt) -> list[Any]:
    """The buffers that a statement itself may write; a call may write those that it gets outside of any region."""
    if isinstance(statement, tirx.BufferStore):
        return [statement.buffer]
    if not isinstance(statement, (tirx.Evaluate, tirx.Bind)) or not isinstance(statement.value, tirx.Call):
        return []
    if is_site(statement) or not is_leaf(statement):
        return []
    found: list[Any] = []
    for argument in statement.value.args:
        if not is_region(argument):
            found += loads(argument)
        elif int(argument.args[1]) & WRITTEN:
            found.append(argument.args[0].buffer)
    return found


def _written_in(body: Stmt) -> set[Any]:
    return {buffer.data for statement, _ in walk(body) for buffer in written_buffers(statement)}


def is_leaf(statement: Stmt) -> bool:
    """Whether a statement is work that a range can ride on: an operator, a store, a data-parallel loop."""
    if isinstance(statement, tirx.For):
        return statement.kind in DATA_PARALLEL
    if isinstance(statement, tirx.Evaluate):
        return isinstance(statement.value, tirx.Call) and not is_site(statement)
    if isinstance(statement, tirx.Bind):
        return isinstance(statement.value, tirx.Call) and _acts(statement.value)
    return isinstance(statement, tirx.BufferStore)


def _acts(call: Any) -> bool:
    """Whether a call does more than compute its value from what it reads."""
    effect = call.op.get_attr("TCallEffectKind") if isinstance(call.op, Op) else None
    return effect is None or int(effect) >= int(CallEffectKind.UpdateState.value)


def _has_leaf(statement: Stmt) -> bool:
    return any(is_leaf(s) for s, _ in walk(statement))


def _annotate_first(statement: Stmt, notes: dict[str, Any], in_value: bool) -> Stmt:
    """Put the annotations on the first operator call or store of a leaf."""
    if isinstance(statement, (tirx.Evaluate, tirx.Bind)):
        call = statement.value
        noted = tirx.Call(call.dtype, call.op, call.args, {**dict(call.annotations or {}), **notes})
        if isinstance(statement, tirx.Bind):
            return tirx.Bind(statement.var, noted, span_of(statement))
        return tirx.Evaluate(noted, span_of(statement))
    if isinstance(statement, tirx.BufferStore):
        if in_value:
            value = _carrier(statement.value, notes)
            return tirx.BufferStore(statement.buffer, value, statement.indices, statement.predicate, span_of(statement))
        return sequence([tirx.Evaluate(_carrier(tirx.IntImm("int32", 0), notes)), statement])
    inner = children(statement)
    first = next((i for i, s in enumerate(inner) if _has_leaf(s)), None)
    if first is None:
        return statement
    chosen = inner[first]
    return rebuild(statement, lambda child: _annotate_first(child, notes, in_value) if child.same_as(chosen) else child)


def _is_dropped(condition: Expr, loops: tuple[tirx.For, ...]) -> bool:
    """Whether a condition is known, and not always true, in an iteration of ``loops`` that is peeled or unrolled."""
    used = [] if loads(condition) else _variables(condition)
    known = [loop for variable in used for loop in loops if loop.loop_var.same_as(variable)]
    if len(known) < len(used) or not any(is_pipelined(x) or x.kind == tirx.ForKind.UNROLLED for x in known):
        return False
    analyzer = Analyzer()
    for loop in loops:
        if isinstance(loop.extent, tirx.IntImm):  # else the scheduler's own condition for its end says as much
            analyzer.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent))
    return not analyzer.can_prove(condition)


def _variables(expression: Expr) -> list[Any]:
    found: list[Any] = []
    post_order_visit(expression, lambda node: found.append(node) if isinstance(node, tirx.Var) else None)
    return found


def _carrier(value: Expr, notes: dict[str, Any]) -> Expr:
    """A pure call that stands for its argument and bears annotations; ``compile.placement`` takes it out again."""
    return tirx.Call(value.dtype, Op.get("tirx.call_pure_extern"), [tirx.StringImm(CARRIER), value], notes)
