"""What threads tell each other: shuffles, votes, reductions of a warp or a block; generated code may use these names.

In: the values of a thread group's threads, and which of them take part. Out: the values that the threads get.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tltrace_nb.base.gpus import WARP
from tltrace_nb.simulator.memory import Array, Mask


def shuffled(threads: Array, kind: str, value: Any, amount: Any, width: int) -> Any:
    """Warp shuffles; ``threads`` are the linear ids of the thread group's threads, ascending."""
    value = np.broadcast_to(value, threads.shape)
    lane = threads % WARP
    base = lane // width * width
    if kind == "xor":
        source = lane ^ amount
    elif kind == "down":
        source = np.where(lane + amount < base + width, lane + amount, lane)
    elif kind == "up":
        source = np.where(lane - amount >= base, lane - amount, lane)
    else:
        source = base + amount % width
    wanted = threads - lane + np.where(source < base + width, source, lane)
    found = np.searchsorted(threads, wanted).clip(0, len(threads) - 1)
    return value[np.where(threads[found] == wanted, found, np.arange(len(threads)))]


def over_threads(combine: Any, value: Any, condition: Any, block: tuple[int, int, int], axes: tuple[int, ...]) -> Any:
    """A value of all threads along some axes of the block (z, y, x), in each of them."""
    lanes = np.broadcast_to(value, (block[0] * block[1] * block[2],)).reshape(block)
    if np.ndim(condition) or not condition:
        neutral = {np.add: 0, np.fmax: -np.inf, np.fmin: np.inf}[combine]
        lanes = np.where(np.broadcast_to(condition, lanes.size).reshape(block), lanes, neutral).astype(lanes.dtype)
    for axis in axes:
        lanes = combine.reduce(lanes, axis=axis, keepdims=True)
    return np.broadcast_to(lanes, block).reshape(-1).copy()


def by_block(combine: Any, count: int, value: Any, mask: Mask) -> Any:
    """A predicate of all active threads of a CTA, as one number."""
    chosen = np.broadcast_to(value, (count,))[np.broadcast_to(True if mask is True else mask, (count,))]
    return int(combine(chosen))


_WARP_REDUCTIONS: dict[str, Any] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
    "bitand": np.bitwise_and.reduce,
    "bitor": np.bitwise_or.reduce,
}


def by_warp(threads: Array, kind: str, value: Any, mask: Mask) -> Any:
    """A value of every warp from its active lanes, in all its lanes: sum, max, min, any, all, bitand, bitor, ballot.

    ``match`` gives each lane the lanes that hold the same, ``match_all`` the active lanes if all hold the same.
    """
    value = np.broadcast_to(value, threads.shape)
    active = np.broadcast_to(True if mask is True else mask, threads.shape)
    result = np.zeros(threads.shape, np.uint64 if kind in ("ballot", "match", "match_all") else value.dtype)
    for warp in np.unique(threads // WARP):
        members = threads // WARP == warp
        chosen = members & active
        if not chosen.any():
            continue
        if kind == "ballot":
            bits = sum(1 << int(t % WARP) for t, v in zip(threads[chosen], value[chosen], strict=True) if v)
            result[members] = bits
        elif kind.startswith("match"):
            lanes = np.left_shift(np.uint64(1), (threads[chosen] % WARP).astype(np.uint64))
            same = value[chosen][:, None] == value[chosen][None, :]
            result[chosen] = np.where(same, lanes, np.uint64(0)).sum(axis=1, dtype=np.uint64)
            if kind == "match_all" and not same.all():
                result[chosen] = 0
        else:
            result[members] = _WARP_REDUCTIONS[kind](value[chosen])
    return result
