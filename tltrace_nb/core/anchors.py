"""Before scheduling: markers leave the statement list and ride on the operators they enclose.

In: a PrimFunc with placeholder statements. Out: the same kernel in which each marker that TileLang's scheduler would
trip over has become annotations on operator calls (*anchors*), and each other one a ``__tlt_site`` statement. Those are
the markers in pipelined loops, in kernels that will be split into roles, and directly in an ``if`` without ``else``.

An anchor is one annotation ``tltrace.<site>`` whose value is a tuple expression::

    (mode, guards, payload, loop variable, loop variable, ...)

TileLang's passes rewrite expressions in annotations along with the operator: where a copy is moved two iterations
ahead, ``k`` in its anchor becomes ``k + 2``. The loop variables of the serial loops around the marker tell the
iterations apart, so that ``core.placement`` never joins two of them into one range. ``guards`` counts the conditions
between the marker and the operator: the placed marker may leave so many ``if`` and no more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from tvm import tirx
from tvm.ir import Op
from tvm.tirx.expr import CallEffectKind

from tltrace_nb.core.errors import MarkerError, PlacementError, TokenError
from tltrace_nb.core.ir import (
    ROOT_BLOCK,
    Expr,
    Stmt,
    children,
    flatten,
    op_name,
    rebuild,
    sequence,
    span_of,
    substitute,
    walk,
)
from tltrace_nb.core.markers import Flow, Group, Marker, is_marker, read_marker
from tltrace_nb.core.sites import EventKind, Site

ANCHOR = "tltrace."
LEAF = "tltrace.leaf"
SITE = "__tlt_site"
CARRIER = "__tlt_carrier"

_EXPLICIT_PIPELINE = ("tl_pipeline_order", "tl_pipeline_stage")
_DATA_PARALLEL = (tirx.ForKind.PARALLEL, tirx.ForKind.VECTORIZED)


class Mode(IntEnum):
    """How an anchor's marker stands to its operators: around them, before the first, or after the last."""

    AROUND = 0
    BEFORE = 1
    AFTER = 2


@dataclass(frozen=True, slots=True)
class Anchor:
    """One marker's hold on one operator; see the module's text for the fields."""

    site: int
    mode: Mode
    guards: int
    payload: Expr
    loops: tuple[Expr, ...]

    def annotation(self) -> tuple[str, Expr]:
        """The annotation's name and value."""
        ints = [tirx.IntImm("int32", int(self.mode)), tirx.IntImm("int32", self.guards)]
        value = tirx.Call("handle", Op.get("tirx.tvm_tuple"), [*ints, self.payload, *self.loops])
        return f"{ANCHOR}{self.site}", value

    @classmethod
    def from_annotation(cls, name: str, value: Any) -> Anchor:
        """The inverse of ``annotation``."""
        mode, guards, payload, *loops = value.args
        return cls(int(name.removeprefix(ANCHOR)), Mode(int(mode)), int(guards), payload, tuple(loops))


@dataclass(frozen=True, slots=True)
class MarkedKernel:
    """A PrimFunc whose markers are numbered: each stands as ``__tlt_site(id, payload)``, in order of appearance.

    ``groups`` are the groups of the sites, site by site.
    """

    func: Any
    name: str
    sites: tuple[Site, ...]
    groups: tuple[Group, ...]
    flows: tuple[tuple[str, str], ...]


def read_sites(func: Any) -> MarkedKernel:
    """Number the markers of a PrimFunc as sites.

    Raises ``MarkerError`` for a marker where none can stand and for a range that is never ended.
    """
    kernel = str(func.attrs["global_symbol"])
    markers: list[Marker] = []
    flows: list[tuple[str, str]] = []
    launch_of: dict[int, Stmt] = {}

    def visit(statement: Stmt, above: tuple[Stmt, ...]) -> Stmt:
        if not is_marker(statement):
            return rebuild(statement, lambda child: visit(child, (*above, statement)))
        found, payload = read_marker(statement)
        if isinstance(found, Flow):
            flows.append((found.src, found.dst))
            return sequence([])
        _refuse_where_no_marker_can_stand(found, above, kernel)
        launch = next(s for s in above if _is_root(s))
        if found.kind is EventKind.RANGE_BEGIN:
            launch_of[found.range] = launch
        elif found.kind is EventKind.RANGE_END and not launch_of[found.range].same_as(launch):
            raise TokenError(
                f"kernel {kernel}, {found.source}: the range {found.name!r} is begun in one T.Kernel and ended in "
                "another; end it in the kernel that began it"
            )
        markers.append(found)
        return site_statement(len(markers) - 1, payload)

    numbered = func.with_body(visit(func.body, ()))
    begins = {m.range: i for i, m in enumerate(markers) if m.kind is EventKind.RANGE_BEGIN}
    ended = {m.range for m in markers if m.kind is EventKind.RANGE_END}
    for marker in markers:
        if marker.kind is EventKind.RANGE_BEGIN and marker.range not in ended:
            raise TokenError(
                f"kernel {kernel}, {marker.source}: the range {marker.name!r} is begun and never ended; "
                "call trace.range_end with its token"
            )
    sites = tuple(
        Site(i, m.kind, m.name, m.lane, m.group.name, m.payload, m.source, begins.get(m.range, -1))
        for i, m in enumerate(markers)
    )
    return MarkedKernel(numbered, kernel, sites, tuple(m.group for m in markers), tuple(dict.fromkeys(flows)))


def strip(func: Any) -> Any:
    """The PrimFunc as if it never had markers."""

    def visit(statement: Stmt) -> Stmt:
        return sequence([]) if is_marker(statement) else rebuild(statement, visit)

    return func.with_body(visit(func.body)) if has_markers(func) else func


def has_markers(func: Any) -> bool:
    """Whether any placeholder stands in the PrimFunc."""
    return any(is_marker(statement) for statement, _ in walk(func.body))


def attach(marked: MarkedKernel, *, everywhere: bool, carry_in_value: bool = True, inline_lets: bool = False) -> Any:
    """Turn the sites that the scheduler would trip over into anchors; the others stay where they are.

    ``everywhere``: anchor all of them (the whole kernel will be split into roles), not only those in pipelined loops.
    ``carry_in_value``: a plain store carries its anchors around the stored value, else in a statement before it.
    ``inline_lets``: payloads use no variable that a pipelined loop binds, for TileLang inlines a variable that is used
    once. Returns the PrimFunc; raises ``PlacementError`` for a marker that has no operator to ride on.
    """
    attacher = _Attacher(marked, carry_in_value)
    context = _Context()
    change = attacher.anchored if everywhere else attacher.plain
    body = with_lets_inlined(marked.func.body) if inline_lets else marked.func.body
    return marked.func.with_body(change(body, context))


def with_lets_inlined(body: Stmt) -> Stmt:
    """A body in whose payloads the variables that a pipelined loop binds are replaced by their values."""

    def visit(statement: Stmt, values: dict[Any, Expr], pipelined: bool) -> Stmt:
        if is_site(statement):
            return site_statement(site_id(statement), substitute(statement.value.args[2], values))
        if pipelined and isinstance(statement, tirx.Bind):
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
    """Where a statement stands: the serial loop variables and the number of conditions above it, its open anchors."""

    loops: tuple[Any, ...] = ()
    guards: int = 0
    anchors: tuple[Anchor, ...] = ()

    def inside(self, statement: Stmt) -> _Context:
        if isinstance(statement, tirx.For) and statement.thread_binding is None:
            return replace(self, loops=(*self.loops, statement.loop_var))
        if isinstance(statement, (tirx.IfThenElse, tirx.While)):
            return replace(self, guards=self.guards + 1)
        return self


@dataclass(frozen=True, slots=True)
class _Attacher:
    marked: MarkedKernel
    carry_in_value: bool

    def plain(self, statement: Stmt, context: _Context) -> Stmt:
        """Outside pipelined loops markers stay statements, unless they would change how TileLang splits an ``if``."""
        if is_pipelined(statement) or _is_split(statement):
            return self.anchored(statement, context)
        inner = context.inside(statement)
        return rebuild(statement, lambda child: self.plain(child, inner))

    def anchored(self, statement: Stmt, context: _Context) -> Stmt:
        if isinstance(statement, tirx.SeqStmt) or is_site(statement):
            return self._sequence(flatten(statement), context)
        if is_leaf(statement):
            return self._leaf(statement, context)
        inner = context.inside(statement)
        return rebuild(statement, lambda child: self.anchored(child, inner))

    def _sequence(self, statements: list[Stmt], context: _Context) -> Stmt:
        carried = self._distribute(statements, context)
        return sequence(
            self.anchored(statement, replace(context, anchors=(*context.anchors, *carried.get(i, ()))))
            for i, statement in enumerate(statements)
            if not is_site(statement)
        )

    def _distribute(self, statements: list[Stmt], context: _Context) -> dict[int, list[Anchor]]:
        """Which statement of a sequence carries which of the sites that stand in that sequence."""
        site_at = {i: self.marked.sites[site_id(s)] for i, s in enumerate(statements) if is_site(s)}
        carriers = [i for i, s in enumerate(statements) if not is_site(s) and _has_leaf(s)]
        position_of = {site.id: i for i, site in site_at.items()}
        end_of = {site.range: i for i, site in site_at.items() if site.kind is EventKind.RANGE_END}
        carried: dict[int, list[Anchor]] = {}
        covered_ends: set[int] = set()

        def put(position: int, site: int, mode: Mode, payload: Expr) -> None:
            carried.setdefault(position, []).append(Anchor(site, mode, context.guards, payload, context.loops))

        for i, site in site_at.items():
            payload = statements[i].value.args[2]
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
                for position in inside:
                    put(position, site.id, Mode.AROUND, payload)
                if inside:
                    covered_ends.add(end)
                    continue
            after = next((p for p in carriers if p > i), None)
            before = next((p for p in reversed(carriers) if p < i), None)
            # The end of an empty range stays with its begin, in front of what comes next.
            looks_back = site.kind is EventKind.RANGE_END and site.range not in position_of
            if before is not None and (looks_back or after is None):
                put(before, site.id, Mode.AFTER, payload)
            elif after is not None:
                put(after, site.id, Mode.BEFORE, payload)
        return carried

    def _leaf(self, statement: Stmt, context: _Context) -> Stmt:
        notes: dict[str, Any] = {LEAF: tirx.IntImm("int32", 1)}
        for anchor in context.anchors:
            name, value = replace(anchor, guards=context.guards - anchor.guards).annotation()
            notes[name] = value
        return _annotate_first(statement, notes, self.carry_in_value)


def site_statement(site: int, payload: Expr) -> Stmt:
    """The statement that stands for a marker in place: ``__tlt_site(site, payload)``."""
    return tirx.Evaluate(
        tirx.Call("handle", Op.get("tirx.call_extern"), [tirx.StringImm(SITE), tirx.IntImm("int32", site), payload])
    )


def is_site(statement: Stmt) -> bool:
    """Whether a statement is a ``__tlt_site``."""
    return op_name(statement) == SITE


def site_id(statement: Stmt) -> int:
    """The id in a ``__tlt_site`` statement."""
    return int(statement.value.args[1])


def is_leaf(statement: Stmt) -> bool:
    """Whether a statement is work that a range can ride on: an operator, a store, a data-parallel loop."""
    if isinstance(statement, tirx.For):
        return statement.kind in _DATA_PARALLEL
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
        noted = tirx.Call(call.dtype, call.op, call.args, {**dict(call.annotations or {}), **notes}, span_of(call))
        if isinstance(statement, tirx.Bind):
            return tirx.Bind(statement.var, noted, span_of(statement))
        return tirx.Evaluate(noted)
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


def _carrier(value: Expr, notes: dict[str, Any]) -> Expr:
    """A pure call that stands for its argument and bears annotations; ``core.placement`` takes it out again."""
    return tirx.Call(value.dtype, Op.get("tirx.call_pure_extern"), [tirx.StringImm(CARRIER), value], notes)


def _is_root(statement: Stmt) -> bool:
    return isinstance(statement, tirx.SBlock) and statement.name_hint == ROOT_BLOCK


def _refuse_where_no_marker_can_stand(marker: Marker, above: tuple[Stmt, ...], kernel: str) -> None:
    if not any(map(_is_root, above)):
        raise MarkerError(f"kernel {kernel}, {marker.source}: {marker.name!r} stands outside T.Kernel")
    for loop in above:
        if isinstance(loop, tirx.For) and loop.kind in _DATA_PARALLEL:
            kind = "T.Parallel" if loop.kind == tirx.ForKind.PARALLEL else "T.vectorized"
            raise PlacementError(
                f"kernel {kernel}, {marker.source}: {marker.name!r} stands inside a {kind} loop, whose iterations "
                "TileLang spreads over threads and vector lanes; put the marker around the loop"
            )
