"""Tensors to run a kernel on, made from its signature.

In: a PrimFunc. Out: NumPy arrays of the shapes and types of its inputs. Floats are normal, integers of 8 bits and fewer
uniform, truth values true; wider integers may be indices or lengths and are zero. The same kernel gets the same arrays.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx

from tltrace_nb.simulator.memory import Array, dtype_of
from tltrace_nb.simulator.packed import PACKED

SEED = 0
Signature = tuple[tuple[str, tuple[int, ...], str], ...]
"""Name, shape and type of each input."""


def signature_of(func: Any, outputs: Collection[int]) -> Signature:
    """The inputs of a PrimFunc: its parameters but those at ``outputs``.

    Raises ``ValueError`` for a scalar, and for a shape that the kernel leaves open: nobody knows what to pass there.
    """
    found = []
    for position, parameter in enumerate(func.params):
        if position in outputs:
            continue
        if parameter not in func.buffer_map:
            raise ValueError(_unknown(func, str(parameter.name), "is a scalar"))
        buffer = func.buffer_map[parameter]
        if not all(isinstance(extent, int | tirx.IntImm) for extent in buffer.shape):
            raise ValueError(_unknown(func, str(buffer.name), f"has the shape {list(buffer.shape)}"))
        found.append((str(buffer.name), tuple(int(extent) for extent in buffer.shape), str(buffer.dtype)))
    return tuple(found)


def arrays(signature: Signature) -> list[Array]:
    """Arrays for these inputs."""
    random = np.random.default_rng(SEED)
    return [_array(random, shape, dtype) for _, shape, dtype in signature]


def _array(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype in PACKED:
        return random.integers(0, 256, (*shape[:-1], shape[-1] // 2), np.uint8).view(
            np.uint8 if dtype == "uint4" else np.int8
        )
    kind = dtype_of(dtype)
    if kind is None:
        return np.zeros(shape, np.uint8)
    if kind.kind == "b":
        return np.ones(shape, kind)
    if kind.kind in "iu":
        if kind.itemsize > 1:
            return np.zeros(shape, kind)
        return random.integers(0, 256, shape, np.uint8).view(kind)
    return random.standard_normal(shape, np.float32).astype(kind)


def _unknown(func: Any, name: str, what: str) -> str:
    kernel = func.attrs["global_symbol"]
    return (
        f"kernel {kernel}: {name} {what}, so its inputs cannot be made up; pass explore(..., inputs=), tensors or a "
        "function that makes them from the parameters"
    )
