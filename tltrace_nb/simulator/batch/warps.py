"""What threads tell each other, in many CTAs; ``simulator.warps`` has it for one.

In: values whose last axis is that of the CTAs. Out: the same. Reductions go over the threads of one CTA in the order in
which they go there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tltrace_nb.base.gpus import WARP
from tltrace_nb.simulator import warps
from tltrace_nb.simulator.batch.memory import OneByOneError
from tltrace_nb.simulator.memory import Array, Mask

_REDUCTIONS: dict[str, Any] = {"sum": np.sum, "max": np.max, "min": np.min, "any": np.any, "all": np.all}


def shuffled(threads: Array, kind: str, value: Any, amount: Any, width: int) -> Any:
    """Warp shuffles, by as much in all CTAs."""
    if np.ndim(amount) > 1 and np.shape(amount)[-1] == 1:
        amount = amount[:, 0]
    if np.ndim(amount) > 1 or (np.ndim(amount) == 1 and len(amount) != len(threads)):
        raise OneByOneError("CTAs shuffle by different amounts")
    numbers = np.arange(len(threads))
    return _by_thread(threads, value)[warps.shuffled(threads[:, 0], kind, numbers, amount, width)]


def over_threads(combine: Any, value: Any, condition: Any, block: tuple[int, int, int], axes: tuple[int, ...]) -> Any:
    """A value of all threads along some axes of the block (z, y, x), in each of them."""
    count = block[0] * block[1] * block[2]
    lanes = np.broadcast_to(value, (count, np.shape(value)[-1] if np.ndim(value) else 1))
    if np.ndim(condition) or not condition:
        neutral = {np.add: 0, np.fmax: -np.inf, np.fmin: np.inf}[combine]
        lanes = np.where(condition, lanes, neutral).astype(lanes.dtype)
    first = np.ascontiguousarray(lanes.T).reshape(-1, *block)
    for axis in axes:
        first = combine.reduce(first, axis=axis + 1, keepdims=True)
    return np.broadcast_to(first, (len(first), *block)).reshape(len(first), -1).T.copy()


def by_block(combine: Any, count: int, value: Any, mask: Mask) -> Any:
    """A predicate of all threads of a CTA, as one number for each."""
    if mask is not True:
        raise OneByOneError("threads have left their block")
    lanes = np.broadcast_to(value, (count, np.shape(value)[-1] if np.ndim(value) else 1))
    return combine(lanes, axis=0).astype(np.int32)


def by_warp(threads: Array, kind: str, value: Any, mask: Mask) -> Any:
    """A value of every warp, in all its lanes: sum, max, min, any, all."""
    if mask is not True or kind not in _REDUCTIONS or len(threads) % WARP or threads[0, 0] % WARP:
        raise OneByOneError(f"a warp's {kind}")
    lanes = np.ascontiguousarray(_by_thread(threads, value).T)
    found = _REDUCTIONS[kind](lanes.reshape(len(lanes), -1, WARP), axis=2)
    return found.astype(lanes.dtype).repeat(WARP, axis=1).T


def _by_thread(threads: Array, value: Any) -> Array:
    return np.broadcast_to(value, (len(threads), np.shape(value)[-1] if np.ndim(value) else 1))
