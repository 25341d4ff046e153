"""Types of four bits: two elements to a byte in the caller's tensors, the lower half first; one to a byte in here.

In: a caller's bytes, or elements. Out: the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tltrace_nb.simulator.memory import Array

PACKED = ("int4", "uint4", "float4_e2m1fn")
"""TIR's names of the types that are packed in tensors."""


def unpacked(raw: Array, dtype: np.dtype[Any]) -> Array:
    """Elements of bytes: the last axis becomes twice as long."""
    bits = raw.view(np.uint8)
    codes = np.stack([bits & 15, bits >> 4], axis=-1).reshape(*bits.shape[:-1], -1)
    return codes.view(dtype)


def pack(raw: Array, elements: Array) -> None:
    """Replace bytes by elements."""
    codes = elements.view(np.uint8) & 15
    raw.view(np.uint8)[...] = codes[..., ::2] | (codes[..., 1::2] << 4)
