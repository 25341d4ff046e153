"""What a nest of T.Parallel loops touches: sectors of global memory, lines in L1, banks of shared memory.

In: the accesses of a nest to memory, and the extents of its loops. Out: work per iteration. Threads take iterations in
order, neighbours along the innermost loop together as far as 16 bytes go. What several accesses load comes from L2
once, for L1 keeps it meanwhile; but a warp looks up every line for each access. Accesses whose place depends on more
than indices count as coalesced and free of bank conflicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx

from tltrace_nb.base.gpus import WARP
from tltrace_nb.core.compile.active_threads import arithmetic
from tltrace_nb.core.compile.ir import Expr
from tltrace_nb.simulator.costs import LINE_BYTES, SECTOR_BYTES, VECTOR_BYTES, Unit
from tltrace_nb.simulator.memory import Array
from tltrace_nb.simulator.traffic import BANK_BYTES, BANKS

_MOST = 1 << 16
"""Iterations of a nest whose places are looked at."""

Amounts = dict[tuple[Unit, str], float]


@dataclass(frozen=True)
class Access:
    """One load or store of an element in a nest."""

    buffer: Any
    way: str
    indices: tuple[Expr, ...]
    item_bytes: float

    @property
    def is_global(self) -> bool:
        """Whether it goes to global memory."""
        return str(self.buffer.scope()) == "global"


def touched(accesses: list[Access], loops: dict[Any, int], mapped: bool) -> Amounts:
    """The work of one iteration. ``loops``: the extents by variable, outermost first, empty where one is not constant.

    ``mapped``: a fragment decides which thread takes which iteration.
    """
    amounts: Amounts = {}

    def add(unit: Unit, way: str, amount: float) -> None:
        amounts[unit, way] = amounts.get((unit, way), 0.0) + amount

    count = int(np.prod([*loops.values()])) if loops else 0
    sectors: dict[Any, list[Array]] = {}
    for access in accesses:
        places = None if mapped or not 0 < count <= _MOST else _places(access, loops)
        if not access.is_global:
            words = access.item_bytes if places is None else _words(places, access.item_bytes)
            add(Unit.SHARED, "", words)
        elif places is None:
            add(Unit.GLOBAL, access.way, access.item_bytes)
        else:
            warps = _by_warp(places, access.item_bytes, [*loops.values()][-1])
            lines = sum(len(np.unique(warp)) for warp in warps // LINE_BYTES) * LINE_BYTES
            if access.way == "load":
                sectors.setdefault(access.buffer.data, []).append(np.unique(places // SECTOR_BYTES))
            else:
                moved = sum(len(np.unique(warp)) for warp in warps // SECTOR_BYTES) * SECTOR_BYTES
                scattered = count * access.item_bytes < lines / 2
                add(Unit.GLOBAL, "scatter" if scattered else "store", moved / count)
            add(Unit.SHARED, "line", lines / count)
    for found in sectors.values():
        add(Unit.GLOBAL, "load", len(np.unique(np.concatenate(found))) * SECTOR_BYTES / count)
    return amounts


def _places(access: Access, loops: dict[Any, int]) -> Array | None:
    """Byte addresses of an access in all iterations, from the buffer's start on; ``None`` where they are not known."""
    axes = np.indices(tuple(loops.values())).reshape(len(loops), -1)
    known = dict(zip(loops, axes, strict=True))
    strides = list(access.buffer.strides)
    flat: Any = np.zeros(axes.shape[1], np.int64)
    for axis, index in enumerate(access.indices):
        value = _value(index, known)
        stride = _stride(access.buffer, strides, axis)
        if value is None or stride is None:
            return None
        flat = flat + value * stride
    return np.asarray(flat * access.item_bytes, np.int64)


def _stride(buffer: Any, strides: list[Any], axis: int) -> int | None:
    if strides:
        return int(strides[axis]) if isinstance(strides[axis], tirx.IntImm) else None
    rest = buffer.shape[axis + 1 :]
    return int(np.prod([int(e) for e in rest])) if all(isinstance(e, tirx.IntImm) for e in rest) else None


def _value(e: Any, known: dict[Any, Array]) -> Any:
    """An index in all iterations, with zero for other variables; ``None`` where it depends on memory."""
    if isinstance(e, (int, tirx.IntImm)):
        return int(e)
    if isinstance(e, tirx.Var):
        return known.get(e, 0)
    if isinstance(e, tirx.Cast):
        return _value(e.value, known)
    found = arithmetic(e)
    if found is None:
        return None
    function, operands = found
    values = [_value(operand, known) for operand in operands]
    return None if any(value is None for value in values) else function(*values)


def _by_warp(places: Array, item_bytes: float, innermost: int) -> Array:
    """The addresses, a row for what a warp accesses at a time."""
    width = 1
    most = max(1, int(VECTOR_BYTES / item_bytes))
    rows = places.reshape(-1, innermost)
    if innermost > 1 and (np.diff(rows, axis=1) == item_bytes).all():
        while width * 2 <= most and innermost % (width * 2) == 0 and not (rows[:, 0] % (width * 2 * item_bytes)).any():
            width *= 2
    size = WARP * width
    whole = np.resize(places, -(-len(places) // size) * size)
    return whole.reshape(-1, size)


def _words(places: Array, item_bytes: float) -> float:
    """Bytes that the banks could have moved meanwhile: more, where lanes ask one bank for several words."""
    if (np.diff(places[:WARP]) == item_bytes).all():
        return item_bytes
    words = np.resize(places, -(-len(places) // WARP) * WARP).reshape(-1, WARP) // BANK_BYTES
    passes = sum(int(np.bincount(np.unique(warp) % BANKS).max()) for warp in words)
    return max(item_bytes, passes * BANKS * BANK_BYTES / len(places))
