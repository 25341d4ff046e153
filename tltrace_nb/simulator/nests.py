"""T.Parallel loop nests as lines of Python: every iteration at once, one axis of an array to a loop.

In: the outermost loop and its place. Out: its statements, once, over all iterations, and the time that they take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import Expr, walk
from tltrace_nb.simulator.costs import Unit
from tltrace_nb.simulator.fragments import Spread
from tltrace_nb.simulator.nest_traffic import touched
from tltrace_nb.simulator.statements import buffers_of
from tltrace_nb.simulator.uniformity import PARALLEL
from tltrace_nb.simulator.writing import TILE_AHEAD, Place, Writer


class Nests:
    """The parallel loops of a program's writer."""

    def __init__(self, writer: Writer):
        self._w = writer
        self._nests = 0

    def __call__(self, loop: Any, place: Place) -> None:
        """A nest of T.Parallel loops, all its iterations at once."""
        w = self._w
        if place.grid:
            self._axis(loop, place)
            return
        self._nests += 1
        rank = _depth(loop)
        inner = replace(place, grid=(None,) * rank, masks=(), nest=str(self._nests), loop=-1)
        held = w.nest_registers(loop)

        w.await_loads(buffers_of(loop))
        stored = [s.buffer for s, _ in walk(loop.body) if isinstance(s, tirx.BufferStore)]

        def write() -> None:
            extents = _extents(loop, rank)
            w.tiles.exchange(*(b for b in buffers_of(loop) if b not in stored))
            for d in range(rank):
                w.line(f"n{inner.nest}_{d} = 1")
            for buffer in held:
                lanes = "".join(f"{w.expressions(e, place)}, " for e in extents)
                w.line(f"{w.buffer(buffer, loop)} = {w.registers_text(buffer, f'({lanes})')}")
            w.nest_tally.take()
            w.nest_accesses.clear()
            self._axis(loop, inner)
            mapped = any(str(b.scope()).startswith("local") for b in buffers_of(loop))
            for (unit, way), amount in touched(w.nest_accesses, _constant(loop), mapped).items():
                w.nest_tally.add(unit, amount, way)
            work = w.nest_tally.take()
            count = w.tiles.count(extents, place) + _copies(loop, w.spreads)
            cost = f"c.lanes({w.constant(work)}, {count}, {w.warps(place)})"
            ahead = w.ahead and (Unit.GLOBAL, "load") in work
            w.line(f"yield c.later({cost}) if {w.ahead} % {TILE_AHEAD} else {cost}" if ahead else f"yield {cost}")
            for buffer in stored:
                w.tiles.wrote(buffer)

        w.tiles.together(place, write)
        w.tally.take()

    def _axis(self, loop: Any, place: Place) -> None:
        w = self._w
        if loop.step is not None:
            raise w.unsupported("T.Parallel with a step", loop)
        d = next(i for i, v in enumerate(place.grid) if v is None)
        rank = len(place.grid)
        size = f"n{place.nest}_{d}"
        start = w.assign(w.same(loop.min, place))
        w.line(f"{size} = {w.same(loop.extent, place)}")
        w.line(f"{w.define(loop.loop_var)} = axis({size}, {d}, {rank}, {start})")
        w.starts[loop.loop_var] = start
        if isinstance(loop.extent, tirx.IntImm):
            w.extents[loop.loop_var] = int(loop.extent)
        grid = (*place.grid[:d], loop.loop_var, *place.grid[d + 1 :])
        with w.block(f"if {size} > 0"):
            w.statements(loop.body, replace(place, grid=grid))
        w.line(f"{size} = 1")


def _copies(loop: Any, spreads: Mapping[Any, Spread]) -> str:
    """The factor by which threads do the same, for what they write is held by several of them."""
    stored = (s.buffer.data for s, _ in walk(loop.body) if isinstance(s, tirx.BufferStore))
    copies = max((spreads[data].copies for data in stored if data in spreads), default=1)
    return f" * {copies}" if copies > 1 else ""


def _depth(loop: Any) -> int:
    """The most parallel loops inside one another, this one counted."""
    here = int(isinstance(loop, tirx.For) and loop.kind == PARALLEL)
    deepest = 0
    for statement, above in walk(loop.body):
        if isinstance(statement, tirx.For) and statement.kind == PARALLEL:
            deepest = max(deepest, 1 + sum(isinstance(a, tirx.For) and a.kind == PARALLEL for a in above))
    return here + deepest


def _constant(loop: Any) -> dict[Any, int]:
    """The loops of a nest by variable with their extents, the outermost first; empty where they are not constant."""
    found = [loop, *(s for s, _ in walk(loop.body) if isinstance(s, tirx.For) and s.kind == PARALLEL)]
    if len(found) != _depth(loop) or not all(isinstance(s.extent, tirx.IntImm) for s in found):
        return {}
    return {s.loop_var: int(s.extent) for s in found}


def _extents(loop: Any, rank: int) -> list[Expr]:
    """Their extents, along the first way down."""
    found = [loop.extent]
    for statement, _ in walk(loop.body):
        if isinstance(statement, tirx.For) and statement.kind == PARALLEL and len(found) < rank:
            found.append(statement.extent)
    return found
