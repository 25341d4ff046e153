"""How fragments lie in the registers of their threads, as TileLang's own layout inference has it.

In: a scheduled PrimFunc and its target. Out: :class:`Spread` by the data of each fragment, which tells ``costing`` over
how many threads a reduction goes, and which sectors of global memory a warp touches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tilelang
from tilelang import tvm
from tvm import tirx

from tltrace_nb.base.gpus import WARP
from tltrace_nb.core.compile.active_threads import arithmetic
from tltrace_nb.core.compile.ir import walk
from tltrace_nb.simulator.costs import LINE_BYTES, SECTOR_BYTES, VECTOR_BYTES
from tltrace_nb.simulator.memory import Array

_ANNOTATION = "layout_map"


@dataclass(frozen=True, slots=True)
class Traffic:
    """A fragment on its way to or from global memory: bytes of the sectors that its warps touch.

    ``accesses``: of one thread, one after the other. ``scattered``: less than half of each line touched is used.
    """

    bytes: int
    accesses: int
    scattered: bool


@dataclass(frozen=True, eq=False)
class Spread:
    """One fragment. ``threads`` holds the thread of every element (of its first copy), in the fragment's shape.

    ``values``: elements that one thread holds; ``copies``: threads that hold the same element.
    """

    threads: Array
    values: int
    copies: int
    _traffic: dict[float, Traffic] = field(default_factory=dict, repr=False)

    @property
    def workers(self) -> int:
        """Threads that hold the fragment."""
        return self.values and self.threads.size * self.copies // self.values

    def sharing(self, axis: int) -> int:
        """Threads that hold parts of one row along an axis."""
        return len(np.unique(self._rows(axis)[0]))

    def rows(self, axis: int) -> int:
        """Rows along an axis of which one thread holds parts."""
        rows = self._rows(axis)
        return int(np.count_nonzero((rows == rows[0, 0]).any(axis=1)))

    def traffic(self, item_bytes: float) -> Traffic:
        """What moves it from or to global memory, if its rows are far apart there.

        A thread moves up to 16 bytes at a time, of neighbours in a row.
        """
        if item_bytes not in self._traffic:
            self._traffic[item_bytes] = self._touch(item_bytes)
        return self._traffic[item_bytes]

    def _touch(self, item_bytes: float) -> Traffic:
        columns = self.threads.shape[-1]
        by_row = self.threads.reshape(-1, columns)
        width = _vector(by_row, max(1, int(VECTOR_BYTES / item_bytes)))
        first = by_row[:, ::width].ravel()
        row, column = np.divmod(np.arange(first.size), columns // width)
        turn = np.empty(first.size, np.int64)  # the how manieth access of its thread
        order = np.argsort(first, kind="stable")
        starts = np.r_[0, np.flatnonzero(np.diff(first[order])) + 1]
        turn[order] = np.arange(first.size) - np.repeat(starts, np.diff(np.r_[starts, first.size]))
        at = column * width * item_bytes

        def places(size: int) -> int:
            pieces = math.ceil(width * item_bytes / size)
            return len(np.unique(np.stack([first // WARP, turn, row, at // size]), axis=1).T) * pieces

        lines = places(LINE_BYTES) * LINE_BYTES
        scattered = self.threads.size * item_bytes < lines / 2
        return Traffic(places(SECTOR_BYTES) * SECTOR_BYTES, int(turn.max()) + 1, scattered)

    def _rows(self, axis: int) -> Array:
        return np.moveaxis(self.threads, axis, -1).reshape(-1, self.threads.shape[axis])


def spreads(func: Any, target: Any) -> Mapping[Any, Spread]:
    """The layouts of a scheduled PrimFunc's fragments, by the data of their buffers.

    One that is written in operations not known here is left out, for only times hang on it. TileLang's own errors pass
    through: the kernel could not be compiled for a GPU either.
    """
    with target:
        module = tilelang.transform.LayoutInference()(tvm.IRModule({func.attrs["global_symbol"]: func}))
    (inferred,) = module.functions.values()
    found: dict[Any, Spread] = {}
    for statement, _ in walk(inferred.body):
        if isinstance(statement, tirx.SBlock):
            for buffer, layout in dict(statement.annotations.get(_ANNOTATION, {})).items():
                fixed = all(isinstance(e, tirx.IntImm) for e in layout.get_input_shape())
                spread = spread_of(layout) if fixed and hasattr(layout, "thread") else None
                if spread is not None:
                    found[getattr(buffer, "data", buffer)] = spread
    return found


def spread_of(layout: Any) -> Spread | None:
    """What a ``tilelang.layout.Fragment`` of fixed extents says; ``None`` where it cannot be worked out."""
    shape = tuple(int(e) for e in layout.get_input_shape())
    # TileLang names the axes _i, _j, _k and so on, and the copies _rep.
    axes = {f"_{chr(ord('i') + axis)}": places for axis, places in enumerate(np.indices(shape))}
    try:
        threads = np.broadcast_to(_value(layout.thread, {**axes, "_rep": 0}), shape)
    except LookupError:
        return None
    values = math.prod(int(e) for e in layout.get_output_shape())
    return Spread(threads, values, max(1, int(layout.get_thread_size()) * values // math.prod(shape)))


def _value(e: Any, known: dict[str, Any]) -> Any:
    """An index expression of a layout, over arrays of its variables; ``LookupError`` where it has anything else."""
    if isinstance(e, (int, tirx.IntImm)):
        return int(e)
    if isinstance(e, tirx.Var):
        return known[str(e.name)]
    if isinstance(e, tirx.Cast):
        return _value(e.value, known)
    found = arithmetic(e)
    if found is None:
        raise LookupError(f"{type(e).__name__} in a layout")
    function, operands = found
    return function(*(_value(operand, known) for operand in operands))


def _vector(threads: Array, most: int) -> int:
    """How many neighbours in a row every thread holds, a power of two up to ``most``."""
    width = 1
    while width * 2 <= most and threads.shape[1] % (width * 2) == 0:
        groups = threads.reshape(len(threads), -1, width * 2)
        if not (groups == groups[..., :1]).all():
            break
        width *= 2
    return width
