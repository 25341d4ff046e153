"""What tile operators do to the memory of many CTAs; ``simulator.tiles`` does it to that of one.

In: memory, and rectangles of it as (starts, extents), which may begin elsewhere in every CTA. Out: the memory changed,
as if the CTAs had done it one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tltrace_nb.simulator import tiles
from tltrace_nb.simulator.batch.memory import Memory, Starts
from tltrace_nb.simulator.batch.values import uniform
from tltrace_nb.simulator.memory import Array, as_tensor, converted

Box = tuple[Memory, Starts, tuple[Any, ...]]


def read(box: Box) -> Array:
    """The elements of a rectangle in each CTA."""
    memory, starts, _ = box
    return memory.box(starts, extents(box))


def write(box: Box, values: Any) -> None:
    """Replace the elements of a rectangle in each CTA, converting them."""
    memory, starts, _ = box
    if values.dtype == np.float32 and memory.a.dtype == np.float16:
        values = torch.from_numpy(np.ascontiguousarray(values)).half().numpy()  # ten times as fast as NumPy
    memory.fill_box(starts, extents(box), converted(values, memory.a.dtype))


def extents(box: Box) -> tuple[int, ...]:
    """How long a rectangle is."""
    return tuple([e if type(e) is int else int(uniform(e)) for e in box[2]])


def move(target: Box, source: Box) -> None:
    """Copy a rectangle; axes of length 1 may be missing on either side."""
    values, wanted = read(source), extents(target)
    if values.shape[1:] != wanted:
        values = _matched(values, wanted)
    write(target, values)


def fill(target: Box, value: Any) -> None:
    """Set every element."""
    memory, starts, _ = target
    sizes = extents(target)
    value = np.asarray(converted(value, memory.a.dtype), memory.a.dtype)
    memory.fill_box(starts, sizes, np.broadcast_to(value, (1, *sizes)))


def product(a: Box, b: Box, c: Box, transpose_a: bool, transpose_b: bool, clear: bool) -> None:
    """c (+)= a @ b in every CTA, in the types of the product of one."""
    kind = c[0].a.dtype
    wide = torch.float32 if kind.itemsize <= 4 and kind.kind not in "iu" else torch.float64
    left, right = (as_tensor(tiles.plain(_matrix(read(box)))).to(wide) for box in (a, b))
    left, right = (x.mT if flipped else x for x, flipped in ((left, transpose_a), (right, transpose_b)))
    count, sizes = len(c[0].ctas), extents(c)
    left, right = (x.expand(count, -1, -1) for x in (left, right))
    if uniform(clear):
        write(c, torch.bmm(left, right).numpy().reshape(count, *sizes))
        return
    old = read(c)
    if old.dtype == np.float32:
        sums = torch.from_numpy(old.reshape(count, left.shape[1], -1)).baddbmm_(left, right).numpy()
        if not np.shares_memory(sums, old):
            write(c, sums.reshape(count, *sizes))
        return
    write(c, torch.bmm(left, right).numpy().reshape(count, *sizes) + old)


def reduce(source: Box, target: Box, kind: str, dim: int, clear: bool, nan: bool = False) -> None:
    """Reduce along one axis of the source, into or onto the target."""
    values, sizes = read(source), extents(target)
    combine, values = tiles.reduction(kind, values, target[0].a.dtype, nan)
    result = combine.reduce(values, axis=dim + 1 if dim >= 0 else dim)
    result = result.reshape(len(result), *sizes)
    write(target, result if clear else combine(read(target), result))


def scan(source: Box, target: Box, kind: str, dim: int, reverse: bool) -> None:
    """Running sum or maximum along one axis."""
    values, axis = read(source), dim + 1 if dim >= 0 else dim
    if reverse:
        values = np.flip(values, axis)
    result = (np.add if kind == "cumsum" else np.fmax).accumulate(values, axis=axis)
    write(target, np.flip(result, axis) if reverse else result)


def transpose(source: Box, target: Box) -> None:
    """Exchange the last two axes."""
    values = np.swapaxes(read(source), -1, -2)
    write(target, values.reshape(len(values), *extents(target)))


def _matrix(values: Array) -> Array:
    count, shape = len(values), values.shape[1:]
    if len(shape) < 2:
        return values.reshape(count, 1, -1)
    rows, columns = shape[-2:]
    if values[0].size != rows * columns:  # the unit axes stand elsewhere
        rows, columns = (e for e in shape if e > 1)
    return values.reshape(count, rows, columns)


def _matched(values: Array, wanted: tuple[int, ...]) -> Array:
    count = len(values)
    bare, long = ([e for e in shape if e != 1] for shape in (values.shape[1:], wanted))
    if bare == long:
        return values.reshape(count, *wanted)
    if values[0].size < np.prod(wanted):
        missing = (1,) * (len(wanted) - len(bare))
        return np.broadcast_to(values.reshape(count, *missing, *bare), (count, *wanted))
    # The region of the larger side is cut to the smaller one, axis by axis from the last.
    cut = values.reshape(count, *bare)[(slice(None), *(slice(0, e) for e in long))]
    return np.asarray(cut).reshape(count, *wanted)
