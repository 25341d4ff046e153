"""Integers as bits, on numbers and on arrays of lanes alike; generated code may use these names.

In: an integer type and values of it. Out: 32-bit integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tltrace_nb.simulator.memory import converted


def popcount(dtype: np.dtype[Any], x: Any) -> Any:
    """Bits set."""
    return np.bitwise_count(_bits(dtype, x)).astype(np.int32)[()]


def leading_zeros(dtype: np.dtype[Any], x: Any) -> Any:
    """Zeros above the highest bit that is set."""
    return (8 * dtype.itemsize - _length(_bits(dtype, x))).astype(np.int32)[()]


def first_set(dtype: np.dtype[Any], x: Any) -> Any:
    """Place of the lowest bit that is set, from 1; 0 if none is."""
    bits = _bits(dtype, x)
    return _length(bits & (~bits + np.uint64(1))).astype(np.int32)[()]


def nth_set(_: np.dtype[Any], x: Any, base: Any, offset: Any) -> Any:
    """``__fns``: place of the n-th bit of 32 that is set from a base on, downwards for a negative n; else all ones."""

    def find(word: int, start: int, n: int) -> int:
        if n == 0:
            return start if word >> start & 1 else 0xFFFFFFFF
        places = range(start, 32) if n > 0 else range(start, -1, -1)
        hits = [i for i in places if word >> i & 1]
        return hits[abs(n) - 1] if len(hits) >= abs(n) else 0xFFFFFFFF

    return np.vectorize(find, otypes=[np.uint32])(*(np.asarray(v, np.int64) for v in (x, base, offset)))[()]


def _bits(dtype: np.dtype[Any], x: Any) -> Any:
    return np.asarray(converted(x, dtype), dtype).view(f"u{dtype.itemsize}").astype(np.uint64)


def _length(bits: Any) -> Any:
    """Bits up to the highest that is set."""
    count = np.zeros(np.shape(bits), np.int32)
    for step in (32, 16, 8, 4, 2, 1):
        high = (bits >> np.uint64(step)) > 0
        count += np.where(high, step, 0)
        bits = np.where(high, bits >> np.uint64(step), bits)
    return count + (bits > 0)
