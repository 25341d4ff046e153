"""Which bytes of shared memory a wgmma reads, as its matrix descriptors say.

In: a descriptor's start, layout and strides, and the instruction's shape. Out: spans of bytes. The layouts are those of
PTX ISA, "Shared memory matrix layout": a matrix is made of atoms of eight rows, each of 128, 64, 32 or, without a
swizzle, 16 bytes. Whole atoms are given: swizzling spreads what one instruction reads over them.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace
from typing import Any

_ROW_BYTES = {0: 16, 1: 128, 2: 64, 3: 32}
"""Bytes of a row of an atom by the descriptor's layout: none, and the swizzles of 128, 64 and 32 bytes."""
_ROWS = 8
_K_BYTES = 32
"""What an instruction takes of K, whatever the type."""
UNIT = 16
"""Bytes in which descriptors count."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A matrix in shared memory: ``start``, one for all threads or each one's, and strides, in bytes."""

    start: Any
    layout: int
    leading: int
    stride: int

    def moved(self, by: Any) -> Descriptor:
        """The same further on, by so many bytes."""
        return replace(self, start=self.start + by)


@functools.lru_cache(maxsize=4096)
def spans(matrix: Descriptor, rows: int, along_k: bool, item_bytes: int) -> tuple[tuple[int, int], ...]:
    """The bytes, (begin, end), of so many rows or columns of a matrix; ``along_k``: its rows run along K."""
    width = _ROW_BYTES[matrix.layout]
    size = _ROWS * width
    if along_k:
        across, over = rows // _ROWS, max(1, _K_BYTES // width)
        steps = matrix.stride, matrix.leading
    else:
        across, over = max(1, rows * item_bytes // width), max(1, _K_BYTES // item_bytes // _ROWS)
        steps = (matrix.stride, matrix.leading) if matrix.layout == 0 else (matrix.leading, matrix.stride)
    first = matrix.start if matrix.layout == 0 else matrix.start // size * size
    begins = sorted({first + i * steps[0] + j * steps[1] for i, j in itertools.product(range(across), range(over))})
    joined: list[tuple[int, int]] = []
    for begin in begins:
        if joined and joined[-1][1] >= begin:
            joined[-1] = joined[-1][0], begin + size
        else:
            joined.append((begin, begin + size))
    return tuple(joined)
