"""Automatic markers: what an author would write around every operator of a kernel that has none.

In: the unscheduled PrimFunc and :class:`AutoOptions`. Out: the PrimFunc with placeholder statements, as
``core.markers`` leaves them, around the operators that were asked for. The rest of the way is that of any marker.

The payload is the variable of the innermost loop, the source line that which TileLang noted for the statement. An
operator that stands directly in a range of the author's is the author's: it gets none. The barriers that TileLang's
scheduler will add are not there yet: markers for them stand beside the operators (``markers.Over``), and those beside
which it adds none are taken out again by ``core.autosettle``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tilelang
from tilelang.ir import get_stmt_span
from tvm import tirx

from tltrace_nb.core.anchors import is_leaf, is_pipelined
from tltrace_nb.core.autonames import Operator, joined, operator
from tltrace_nb.core.autooptions import AutoOptions
from tltrace_nb.core.ir import Stmt, children, flatten, rebuild, sequence, walk
from tltrace_nb.core.markers import (
    DEFAULT_LANE,
    Flow,
    Group,
    Marker,
    Over,
    is_marker,
    marker_statement,
    payload_expression,
    read_marker,
    source_line,
)
from tltrace_nb.core.numbering import is_launch
from tltrace_nb.core.sites import EventKind

_LIBRARY = Path(tilelang.__file__).parent


def mark(func: Any, options: AutoOptions) -> Any:
    """The PrimFunc with automatic markers. Where it has markers of the author's, those stay and are not doubled."""
    inside = [s for s, above in walk(func.body) if any(map(is_launch, above))]
    ranges = [found.range for found in map(_marker_of, inside) if found is not None]
    loads = [found.fills for found in map(operator, inside) if found is not None]
    marking = _Marking(
        options,
        filled=tuple(buffer for buffers in loads for buffer in buffers),
        pipelined=any(map(is_pipelined, inside)),
        numbers=itertools.count(max(ranges, default=-1) + 1),
    )
    return func.with_body(marking.outside(func.body))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a statement stands: its innermost loop's variable, whether that loop is hot, and the source line."""

    iteration: Any = None
    hot: bool = False
    source: str = ""

    def inside(self, statement: Stmt) -> _Place:
        here = replace(self, source=_source(statement) or self.source)
        if isinstance(statement, tirx.While):
            return replace(here, iteration=None, hot=_is_innermost(statement))
        if isinstance(statement, tirx.For) and statement.thread_binding is None:
            return replace(here, iteration=statement.loop_var, hot=is_pipelined(statement) or _is_innermost(statement))
        return here


@dataclass(frozen=True, slots=True)
class _Marking:
    options: AutoOptions
    filled: tuple[Any, ...]
    """The shared buffers that copies fill from global memory."""
    pipelined: bool
    numbers: Iterator[int]

    def outside(self, statement: Stmt) -> Stmt:
        """A statement around the kernel launches."""
        if is_launch(statement):
            return rebuild(statement, lambda body: self.body(body, _Place(source=_source(statement))))
        return rebuild(statement, self.outside)

    def body(self, statement: Stmt, place: _Place) -> Stmt:
        """A body in a launch, marked."""
        statements = flatten(statement)
        authored = _authored(statements)
        return sequence(
            inner if i in authored and is_leaf(inner) else self._statement(inner, place, authored=i in authored)
            for i, inner in enumerate(statements)
        )

    def _statement(self, statement: Stmt, place: _Place, authored: bool) -> Stmt:
        if is_marker(statement):
            return statement
        inner = place.inside(statement)
        marked = statement if is_leaf(statement) else rebuild(statement, lambda body: self.body(body, inner))
        found = None if authored else operator(statement)
        return marked if found is None else self._around(marked, found, replace(place, source=inner.source))

    def _around(self, statement: Stmt, found: Operator, place: _Place) -> Stmt:
        front, back = self._edges(found, place)
        if self.pipelined and found.kind not in ("loop", "wait", "arrive"):
            awaits, arrives = self._waits(found, place), self._arrivals(found, place)
            return sequence([*awaits, *front, statement, *back, *arrives])
        return sequence([*front, statement, *back])

    def _edges(self, found: Operator, place: _Place) -> tuple[list[Stmt], list[Stmt]]:
        """The markers in front of an operator and behind it."""
        if not self.options.wants(found.kind, found.name):
            return [], []
        if self._lightly(found.kind, found.name, place):
            if found.kind == "gemm":
                return self._instant(found.name, place), []
            if found.kind == "wait":
                return [], self._instant(found.name.replace("wait", "ready", 1), place)
            pipelined_loop = found.kind == "loop" and found.name.startswith("pipeline")
            if not pipelined_loop and not (found.kind == "copy" and found.touches_global):
                return [], []
        begin, end = self._range(found.name, place)
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
        if self._lightly("wait", name, place):
            return self._instant(f"ready {joined(awaited)}", place, Over.WAITS) if awaited else []
        return self._range(name, place, Over.WAITS)

    def _arrivals(self, found: Operator, place: _Place) -> list[Stmt]:
        """Markers of the scheduler's arrivals behind an operator."""
        awaited = self._awaited(found)
        name = f"arrive {joined(awaited or found.fills) or f'after {found.name}'}"
        if not self.options.wants("arrive", name) or self._lightly("arrive", name, place):
            return []
        return self._range(name, place, Over.ARRIVALS)

    def _awaited(self, found: Operator) -> list[Any]:
        return [buffer for buffer in found.reads if any(buffer.same_as(other) for other in self.filled)]

    def _lightly(self, kind: str, name: str, place: _Place) -> bool:
        return place.hot and self.options.light and not self.options.names(kind, name)

    def _range(self, name: str, place: _Place, over: Over = Over.STATEMENTS) -> list[Stmt]:
        number = next(self.numbers)
        kinds = (EventKind.RANGE_BEGIN, EventKind.RANGE_END)
        return [_placeholder(kind, name, place, over, number) for kind in kinds]

    def _instant(self, name: str, place: _Place, over: Over = Over.STATEMENTS) -> list[Stmt]:
        return [_placeholder(EventKind.INSTANT, name, place, over, next(self.numbers))]


def _placeholder(kind: EventKind, name: str, place: _Place, over: Over, number: int) -> Stmt:
    iteration = place.iteration
    if iteration is not None and str(iteration.dtype) in ("int64", "uint64"):
        iteration = tirx.Cast("int32", iteration)
    payload, payload_type = payload_expression(iteration, name)
    marker = Marker(
        kind, name, DEFAULT_LANE, Group(), payload_type, place.source, number, automatic=True, over=over
    )
    return marker_statement(marker, payload)


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


def _is_innermost(loop: Stmt) -> bool:
    inside = [s for child in children(loop) for s, _ in walk(child)]
    serial = (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED)
    return not any(isinstance(s, tirx.While) or (isinstance(s, tirx.For) and s.kind in serial) for s in inside)


def _source(statement: Stmt) -> str:
    """Where the author wrote a statement; empty where TileLang noted nothing, or a place in itself."""
    span = get_stmt_span(statement)
    if span is None:
        return ""
    file = str(span.source_name.name)
    return "" if _LIBRARY in Path(file).parents else source_line(file, int(span.line))
