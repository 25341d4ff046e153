"""What tile operators do to memory, with whole tiles as arrays.

In: views, and rectangles of them as (starts, extents). Out: the views changed. Nothing here knows of time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from tltrace_nb.simulator.memory import Array, View, as_tensor, converted
from tltrace_nb.simulator.packed import PACKED

Box = tuple[View, tuple[int, ...], tuple[int, ...]]
"""A view, and where in it: starts and extents."""


def read(box: Box) -> Array:
    """The elements of a rectangle."""
    view, starts, extents = box
    return view.box(starts, extents)


def write(box: Box, values: Any) -> None:
    """Replace the elements of a rectangle, converting them."""
    view, starts, extents = box
    view.fill_box(starts, extents, converted(values, view.a.dtype))


def move(target: Box, source: Box) -> None:
    """Copy a rectangle; axes of length 1 may be missing on either side."""
    values = read(source)
    extents = target[2]
    if values.shape != extents:
        values = _matched(values, extents)
    write(target, values)


def fill(target: Box, value: Any) -> None:
    """Set every element."""
    view, starts, extents = target
    view.fill_box(starts, extents, np.broadcast_to(np.asarray(converted(value, view.a.dtype), view.a.dtype), extents))


def product(a: Box, b: Box, c: Box, transpose_a: bool, transpose_b: bool, clear: bool) -> None:
    """c (+)= a @ b, accumulated in float32, in float64 for integers and doubles."""
    kind = c[0].a.dtype
    wide = torch.float32 if kind.itemsize <= 4 and kind.kind not in "iu" else torch.float64
    # torch converts halves several times faster than NumPy does
    left, right = (as_tensor(plain(_matrix(read(box)))).to(wide) for box in (a, b))
    left, right = left.T if transpose_a else left, right.T if transpose_b else right
    if clear:
        write(c, (left @ right).numpy().reshape(c[2]))
        return
    old = read(c)
    if old.dtype == np.float32:
        sums = torch.from_numpy(old.reshape(len(left), -1)).addmm_(left, right).numpy()
        if not np.shares_memory(sums, old):
            write(c, sums.reshape(c[2]))
        return
    result = (left @ right).numpy()
    write(c, result.reshape(c[2]) + old)


def sparse_product(a: Box, places: Box, b: Box, c: Box, transpose_b: bool, clear: bool) -> None:
    """c (+)= a @ b, where a holds every second element of its rows and ``places`` which, four bits to a group.

    Of four elements two are held and the bits are their two places; of 32-bit types one of two, 4 for the first and 14
    for the second (PTX ISA, "sparse matrix storage").
    """
    values, codes = _matrix(read(a)), _matrix(read(places))
    held = 1 if values.dtype.itemsize == 4 else 2
    rows, groups = len(values), values.shape[1] // held
    per_word = 2 * codes.dtype.itemsize
    words = np.repeat(codes.view(f"u{codes.dtype.itemsize}"), per_word, axis=1)[:, :groups].astype(np.int64)
    nibbles = words >> (np.arange(groups) % per_word * 4) & 15
    dense = np.zeros((rows, groups, 2 * held), values.dtype)
    line, group = np.ogrid[:rows, :groups]
    for i in range(held):
        place = nibbles >> 2 * i & 3 if held == 2 else nibbles >> 1 & 1
        dense[line, group, place] = values[:, i::held]
    flat = dense.reshape(rows, -1)
    product((View(flat, ""), (0, 0), flat.shape), b, c, False, transpose_b, clear)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Products of tiles are too small to be worth several threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


_REDUCTIONS: dict[str, Any] = {
    "sum": np.add,
    "max": np.fmax,
    "min": np.fmin,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}
REDUCTIONS = (*_REDUCTIONS, "abssum", "absmax")
"""The kinds of reductions that are known."""


_WITH_NAN: dict[str, Any] = {"max": np.maximum, "min": np.minimum}


def reduce(source: Box, target: Box, kind: str, dim: int, clear: bool, nan: bool = False) -> None:
    """Reduce along one axis of the source, into or onto the target; with ``nan``, one NaN makes the result NaN."""
    combine, values = reduction(kind, read(source), target[0].a.dtype, nan)
    # A sum is the same type's on the device, in an order that no one promises; NumPy's pairwise one is as good.
    result = combine.reduce(values, axis=dim).reshape(target[2])
    write(target, result if clear else combine(read(target), result))


def reduction(kind: str, values: Array, dtype: np.dtype[Any], nan: bool) -> tuple[Any, Array]:
    """What combines the values of a reduction, and the values as they are combined for a target of that type."""
    if kind.startswith("abs"):
        values, kind = np.abs(values), kind.removeprefix("abs")
    if values.dtype.kind not in "biu":
        values = values.astype(np.float64 if dtype.itemsize == 8 else np.float32, copy=False)
    return (_WITH_NAN if nan else _REDUCTIONS)[kind], values


def scan(source: Box, target: Box, kind: str, dim: int, reverse: bool) -> None:
    """Running sum or maximum along one axis."""
    values = read(source)
    if reverse:
        values = np.flip(values, dim)
    result = (np.add if kind == "cumsum" else np.fmax).accumulate(values, axis=dim)
    write(target, np.flip(result, dim) if reverse else result)


def transpose(source: Box, target: Box) -> None:
    """Exchange the last two axes."""
    write(target, np.swapaxes(read(source), -1, -2).reshape(target[2]))


def accumulate(target: Box, value: Any, kind: str) -> None:
    """Atomic update of a rectangle: add, max, min. ``value`` is a number or a box."""
    view, starts, extents = target
    values = _matched(read(value), extents) if isinstance(value, tuple) else np.full(extents, value)
    combine = {"add": np.add, "max": np.maximum, "min": np.minimum}[kind]
    write(target, combine(view.updated_box(starts, extents), converted(values, view.a.dtype)))


def im2col(
    image: Box, target: Box, step: int, channel_step: int, kernel: int, stride: int, dilation: int, pad: int
) -> None:
    """One tile of the matrix that a convolution multiplies: rows are output pixels, columns kernel positions."""
    view = image[0].a
    n, h, w, c = view.shape
    rows, columns = target[2][-2:]
    out_h = (h + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    out_w = (w + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    pixel = np.arange(step * rows, (step + 1) * rows)[:, None]
    depth = np.arange(channel_step * columns, (channel_step + 1) * columns)[None, :]
    y = pixel % (out_h * out_w) // out_w * stride + depth // (kernel * c) * dilation - pad
    x = pixel % out_w * stride + depth // c % kernel * dilation - pad
    batch = pixel // (out_h * out_w)
    inside = (y >= 0) & (y < h) & (x >= 0) & (x < w) & (batch < n) & (depth < kernel * kernel * c)
    values = view[batch.clip(0, n - 1), y.clip(0, h - 1), x.clip(0, w - 1), depth % c]
    write(target, np.where(inside, values, np.zeros((), view.dtype)).reshape(target[2]))


def _matrix(values: Array) -> Array:
    if values.ndim == 2:
        return values
    if values.ndim < 2:
        return values.reshape(1, -1)
    rows, columns = values.shape[-2:]
    if values.size != rows * columns:  # the unit axes stand elsewhere
        rows, columns = (e for e in values.shape if e > 1)
    return values.reshape(rows, columns)


def plain(values: Array) -> Array:
    """Types of four bits, which torch does not have, as bytes or halves."""
    name = values.dtype.name
    return values.astype(np.int8 if name.endswith("int4") else np.float16) if name in PACKED else values


def _matched(values: Array, extents: tuple[int, ...]) -> Array:
    bare = [e for e in values.shape if e != 1]
    wanted = [e for e in extents if e != 1]
    if bare == wanted:
        return values.reshape(extents)
    if values.size < np.prod(extents):
        return np.broadcast_to(values.reshape([e for e in values.shape if e != 1] or [1]), extents)
    # The region of the larger side is cut to the smaller one, axis by axis from the last.
    cut = values.reshape(bare)[tuple(slice(0, e) for e in wanted)]
    return np.asarray(cut).reshape(extents)
