"""What the accesses of single threads touch: sectors of global memory, words in the banks of shared memory.

In: the place that a thread loads or stores, as an expression of thread indices. Out: a thread's share of what its warp
moves, in bytes. The other variables of the expression count as zero, for they move a warp as a whole; a sector that
iterations of the innermost loop come back to counts once, as caches keep it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from tvm import tirx

from tltrace_nb.base.gpus import WARP
from tltrace_nb.core.compile.active_threads import ActiveThreads, LaunchShape
from tltrace_nb.core.compile.ir import Expr, post_order_visit, substitute
from tltrace_nb.simulator.costs import FETCHED_BYTES, LINE_BYTES, SECTOR_BYTES
from tltrace_nb.simulator.memory import Array

BANKS, BANK_BYTES = 32, 4
"""Banks of shared memory, and what each serves in a cycle (guide, "Shared Memory")."""
LINE_LEAST = 48
"""Bytes that pass while the cache looks up one line for a load (calibrated: the last read of the trace ``strides``, of
1,024 lines, takes 1,137 cycles, latency included)."""
_TURNS = 16
"""Iterations of a loop that are looked at."""


class Touched:
    """The accesses of a launch, while its program is written."""

    def __init__(self, shape: LaunchShape):
        self._shape = shape
        self._reach: ActiveThreads | None = None
        self._loops: list[Any] = []

    @contextlib.contextmanager
    def turns(self, loop: Any) -> Iterator[None]:
        """Accesses within are of this loop."""
        self._loops.append(loop)
        try:
            yield
        finally:
            self._loops.pop()

    def sectors(
        self, buffer: Any, way: str, indices: list[Expr], item_bytes: float
    ) -> tuple[float, bool, float] | None:
        """Bytes of the sectors of global memory, whether less than half of each line touched is used, and more bytes
        that memory moves for a load.

        ``None`` where the place depends on more than indices. A "load" of a line takes its time whatever is used of it.
        Never less than the element: a warp whose threads load the same one takes a turn, too (as calibrated).
        """
        places = self._places(buffer, indices, item_bytes, _TURNS)
        if places is None:
            return None
        sectors, fetched, lines = (
            sum(len(np.unique(w)) for w in places // size) * size for size in (SECTOR_BYTES, FETCHED_BYTES, LINE_BYTES)
        )
        moved = max(sectors, lines / LINE_BYTES * LINE_LEAST) if way == "load" else sectors
        more = max(0.0, fetched - moved) / places.size if way == "load" else 0.0
        return max(item_bytes, moved / places.size), places.size * item_bytes < lines / 2, more

    def words(self, buffer: Any, indices: list[Expr], item_bytes: float) -> float | None:
        """Bytes that the banks of shared memory could have moved meanwhile: more, where threads ask one for several.

        Threads that ask for the same word get it at once (guide, "Shared Memory").
        """
        vector = bool(self._loops) and getattr(self._loops[-1], "kind", None) == tirx.ForKind.VECTORIZED
        places = self._places(buffer, indices, item_bytes, _TURNS if vector else 1)
        if places is None:
            return None
        words = places // BANK_BYTES
        if item_bytes > BANK_BYTES:
            words = np.concatenate([words + i for i in range(int(item_bytes) // BANK_BYTES)], axis=1)
        passes = sum(int(np.bincount(np.unique(warp) % BANKS).max()) for warp in words)
        return passes * BANKS * BANK_BYTES / places.size

    def _places(self, buffer: Any, indices: list[Expr], item_bytes: float, turns: int) -> Array | None:
        """Byte addresses from the buffer's start, a row per warp, of all threads and turns."""
        flat: Expr = tirx.IntImm("int32", 0)
        if buffer.strides and len(indices) > 1:
            for index, stride in zip(indices, buffer.strides, strict=True):
                flat = flat + index * stride
        else:
            for index, extent in zip(indices, buffer.shape if len(indices) > 1 else [1], strict=True):
                flat = flat * extent + index
        if self._reach is None:
            self._reach = ActiveThreads(self._shape)
        found = []
        for turn in self._known_turns(turns):
            value = self._reach.evaluate(substitute(flat, _zeros(flat, turn, self._reach) | turn))
            if value is None:
                return None
            found.append(np.broadcast_to(np.asarray(value, np.int64), (self._shape.threads,)))
        warps = -(-self._shape.threads // WARP)
        whole = np.stack([np.resize(threads, warps * WARP) for threads in found], axis=-1)  # a part of a warp repeats
        return np.asarray(whole.reshape(warps, -1) * item_bytes, np.int64)

    def _known_turns(self, most: int) -> list[dict[Any, Any]]:
        """The first iterations of the innermost loop, as values of its variable."""
        loop = self._loops[-1] if self._loops else None
        if most == 1 or not isinstance(loop, tirx.For) or not isinstance(loop.extent, tirx.IntImm):
            return [{}]
        kind = str(loop.loop_var.dtype)
        return [{loop.loop_var: tirx.IntImm(kind, turn)} for turn in range(min(most, max(1, int(loop.extent))))]


def _zeros(e: Expr, but: dict[Any, Any], reach: ActiveThreads) -> dict[Any, Any]:
    """Zero for every variable of an expression of which nothing is known."""
    found: dict[Any, Any] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Var) and node not in but and reach.evaluate(node) is None:
            found[node] = tirx.IntImm(str(node.dtype), 0)

    post_order_visit(e, visit)
    return found
