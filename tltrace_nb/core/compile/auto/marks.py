"""Automatic markers: what an author would write around every operator of a kernel that has none.

In: the unscheduled PrimFunc and :class:`AutoOptions`. Out: the PrimFunc with placeholder statements, as
``compile.markers`` leaves them, around the operators that were asked for. The rest of the way is that of any marker.

The payload is the variable of the innermost loop, the source line that which TileLang noted for the statement. An
operator that stands directly in a range of the author's is the author's: it gets none. The barriers that TileLang's
scheduler will add are not there yet: markers for them stand beside the operators (``markers.Over``), and those beside
which it adds none are taken out again by ``compile.auto.fallback``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx

from tltrace_nb.core.compile.anchors import is_leaf, is_pipelined
from tltrace_nb.core.compile.auto.names import Operator, joined, operator
from tltrace_nb.core.compile.auto.options import AutoOptions
from tltrace_nb.core.compile.auto.source import sources_of
from tltrace_nb.core.compile.auto.sync import BLOCK, awaited
from tltrace_nb.core.compile.carried import is_marker, with_markers
from tltrace_nb.core.compile.ir import Stmt, children, flatten, rebuild, sequence, walk
from tltrace_nb.core.compile.markers import (
    DEFAULT_LANE,
    Flow,
    Group,
    Marker,
    Over,
    flow_statement,
    marker_statement,
    payload_expression,
    read_marker,
)
from tltrace_nb.core.compile.numbering import DATA_PARALLEL, is_launch
from tltrace_nb.data.sites import EventKind


def mark(func: Any, options: AutoOptions) -> Any:
    """The PrimFunc with automatic markers. Where it has markers of the author's, those stay and are not doubled."""
    func = with_markers(func)
    inside = [(s, above) for s, above in walk(func.body) if any(map(is_launch, above))]
    ranges = [found.range for found in (_marker_of(s) for s, _ in inside) if found is not None]
    found = [(operator(s), _innermost_loop(above)) for s, above in inside]
    marking = _Marking(
        options,
        fillings=tuple((buffer, loop, copy) for copy, loop in found if copy is not None for buffer in copy.fills),
        pipelined=any(is_pipelined(s) for s, _ in inside),
        numbers=itertools.count(max(ranges, default=-1) + 1),
    )
    return func.with_body(marking.outside(func.body))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a statement stands: its innermost loop, whether that loop is hot, and the source line."""

    loop: Any = None
    hot: bool = False
    source: str = ""

    def inside(self, statement: Stmt) -> _Place:
        if not _is_loop(statement):
            return self
        return replace(self, loop=statement, hot=is_pipelined(statement) or _innermost_loop(_below(statement)) is None)


@dataclass(frozen=True, slots=True)
class _Marking:
    options: AutoOptions
    fillings: tuple[tuple[Any, Any, Operator], ...]
    """The shared buffers that copies fill from global memory, each with the innermost loop around the copy, and it."""
    pipelined: bool
    numbers: Iterator[int]

    def outside(self, statement: Stmt) -> Stmt:
        """A statement around the kernel launches, or one of them."""
        if not is_launch(statement):
            return rebuild(statement, self.outside)
        place = _Place(source=sources_of([statement], "")[0])
        return rebuild(statement, lambda body: self._body(body, place))

    def _body(self, statement: Stmt, place: _Place) -> Stmt:
        statements = flatten(statement)
        authored = _authored(statements)
        sources = sources_of(statements, place.source)
        units = enumerate(zip(_with_barriers(statements), sources, strict=True))
        return sequence(
            self._unit(unit, replace(place, source=source), authored=i in authored) for i, (unit, source) in units
        )

    def _unit(self, unit: list[Stmt], place: _Place, authored: bool) -> Stmt:
        """One statement of a body, marked, and what belongs to it."""
        if not unit:
            return sequence([])
        statement, *barrier = unit
        inner = place.inside(statement)
        marked = statement if is_leaf(statement) else rebuild(statement, lambda body: self._body(body, inner))
        whole = sequence([marked, *barrier])
        found = operator(statement)
        return whole if authored or found is None else self._around(whole, found, place)

    def _around(self, statement: Stmt, found: Operator, place: _Place) -> Stmt:
        front, back = self._edges(found, place)
        if self.pipelined and found.kind not in ("loop", "wait", "arrive"):
            front, back = [*self._waits(found, place), *front], [*back, *self._arrivals(found, place)]
        return sequence([*front, statement, *back])

    def _edges(self, found: Operator, place: _Place) -> tuple[list[Stmt], list[Stmt]]:
        """The markers in front of an operator and behind it."""
        if not self.options.wants(found.kind, found.name):
            return [], []
        pipelined_loop = found.kind == "loop" and found.name.startswith("pipeline")
        cheap = pipelined_loop or (found.kind == "copy" and found.touches_global)
        if cheap or not self._costs(found.kind, found.name, place):
            begin, end = self._range(found.name, place)
            return [begin], [end]
        is_product = found.kind == "gemm"
        is_wait = found.kind == "wait" and not found.ends_product  # reading a clock behind a product is what costs
        if self.options.light:
            front = self._instant(found.name, place) if is_product else []
            return front, self._ready(found.name, place) if is_wait else []
        begin, end = self._range(found.name, place, full=not (is_product or is_wait))
        return [begin], [end]

    def _waits(self, found: Operator, place: _Place) -> list[Stmt]:
        """Markers of the scheduler's waits in front of an operator: for what it reads, or for room to fill."""
        awaited = self._awaited(found)
        if found.fills:
            name = f"wait free {joined(found.fills)}"
        else:
            name = f"wait {joined(awaited)}" if awaited else f"wait before {found.name}"
        if not self.options.wants("wait", name):
            return []
        ready = bool(awaited) and not found.fills
        costs = self._costs("wait", name, place)
        if costs and self.options.light:
            return self._ready(name, place, Over.WAITS) if ready else []
        return [*self._range(name, place, Over.WAITS, full=costs and not ready), *self._flows(awaited, name)]

    def _ready(self, wait: str, place: _Place, over: Over = Over.STATEMENTS) -> list[Stmt]:
        """The instant in place of a wait: its end."""
        name = wait.replace("wait", "ready", 1)
        return self._instant(name, place, over) if self.options.wants("wait", name) else []

    def _flows(self, awaited: list[Any], wait: str) -> list[Stmt]:
        """Arrows from the copies that fill the awaited buffers to the wait for them."""
        copies = [copy for buffer in awaited for _, copy in self._filled_by(buffer)]
        marked = dict.fromkeys(copy.name for copy in copies if self.options.wants("copy", copy.name))
        return [flow_statement(Flow(copy, wait, automatic=True)) for copy in marked]

    def _arrivals(self, found: Operator, place: _Place) -> list[Stmt]:
        """Markers of the scheduler's arrivals behind an operator."""
        released = [b for b in found.reads if any(_same(loop, place.loop) for loop, _ in self._filled_by(b))]
        name = f"arrive {joined(released or found.fills) or f'after {found.name}'}"
        costs = self._costs("arrive", name, place)
        if not self.options.wants("arrive", name) or (costs and self.options.light):
            return []
        return self._range(name, place, Over.ARRIVALS, full=costs)

    def _awaited(self, found: Operator) -> list[Any]:
        return [buffer for buffer in found.reads if self._filled_by(buffer)]

    def _filled_by(self, buffer: Any) -> list[tuple[Any, Operator]]:
        """The copies that fill a buffer from global memory, each behind its innermost loop."""
        return [(loop, copy) for other, loop, copy in self.fillings if other.same_as(buffer)]

    def _costs(self, kind: str, name: str, place: _Place) -> bool:
        """Whether the light set has something cheaper here, or nothing."""
        return place.hot and not self.options.names(kind, name)

    def _range(self, name: str, place: _Place, over: Over = Over.STATEMENTS, *, full: bool = False) -> list[Stmt]:
        """A range; ``full``: the light set has nothing in its place."""
        number = next(self.numbers)
        kinds = (EventKind.RANGE_BEGIN, EventKind.RANGE_END)
        return [_placeholder(kind, name, place, over, number, full=full) for kind in kinds]

    def _instant(self, name: str, place: _Place, over: Over = Over.STATEMENTS) -> list[Stmt]:
        return [_placeholder(EventKind.INSTANT, name, place, over, next(self.numbers))]


def _placeholder(kind: EventKind, name: str, place: _Place, over: Over, number: int, *, full: bool = False) -> Stmt:
    iteration = getattr(place.loop, "loop_var", None)
    if iteration is not None and str(iteration.dtype) in ("int64", "uint64"):
        iteration = tirx.Cast("int32", iteration)
    payload, payload_type = payload_expression(iteration, name)
    marker = Marker(
        kind, name, DEFAULT_LANE, Group(), payload_type, place.source, number, automatic=True, over=over, full=full
    )
    return marker_statement(marker, payload)


def _with_barriers(statements: list[Stmt]) -> list[list[Stmt]]:
    """The statements one by one, but a barrier of the block directly behind another wait goes with that one.

    TileLang adds a barrier to a wait for ``cp.async`` that none follows directly.
    """
    units: list[list[Stmt]] = [[statement] for statement in statements]
    for i, (before, statement) in enumerate(itertools.pairwise(statements)):
        if awaited(statement) == BLOCK and awaited(before) not in (None, BLOCK):
            units[i].append(statement)
            units[i + 1] = []
    return units


def _authored(statements: list[Stmt]) -> set[int]:
    """The positions in a sequence that stand between the begin and the end of one of its ranges."""
    begins: dict[int, int] = {}
    found: set[int] = set()
    for i, statement in enumerate(statements):
        marker = _marker_of(statement)
        if marker is not None and marker.kind is EventKind.RANGE_BEGIN:
            begins[marker.range] = i
        elif marker is not None and marker.range in begins:
            found |= set(range(begins[marker.range] + 1, i))
    return found


def _marker_of(statement: Stmt) -> Marker | None:
    if not is_marker(statement):
        return None
    found, _ = read_marker(statement)
    return None if isinstance(found, Flow) else found


def _is_loop(statement: Stmt) -> bool:
    if isinstance(statement, tirx.For):
        return statement.thread_binding is None and statement.kind not in DATA_PARALLEL
    return isinstance(statement, tirx.While)


def _below(statement: Stmt) -> list[Stmt]:
    return [inner for child in children(statement) for inner, _ in walk(child)]


def _innermost_loop(statements: Iterable[Stmt]) -> Any:
    """The last loop among the statements, ``None`` if none is one."""
    return next((s for s in reversed(tuple(statements)) if _is_loop(s)), None)


def _same(a: Any, b: Any) -> bool:
    return a is b is None or (a is not None and b is not None and bool(a.same_as(b)))
