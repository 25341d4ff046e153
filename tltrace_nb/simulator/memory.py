"""Memory of the virtual GPU: host tensors as arrays, buffers as views of storage, registers by lane.

In: the caller's tensors; the buffers of a launch. Out: :class:`View` (global, shared, fragments) and
:class:`Registers` (``local`` scopes), which the generated code loads from and stores to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tltrace_nb.simulator.errors import MemoryAccessError, UnwrittenError

Array = npt.NDArray[Any]
Mask = Any
"""``True`` for every lane, ``False`` for none, else an array of truth values."""

_EXTENSIONS: dict[str, Any] = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
    "custom[float4_e2m1_unpacked]": ml_dtypes.float4_e2m1fn,
    "int4": ml_dtypes.int4,
    "uint4": ml_dtypes.uint4,
    "custom[tfloat32]": np.float32,
    "handle": np.uint64,
}
_LIMITS = {
    np.dtype(ml_dtypes.float8_e4m3fn): 448.0,
    np.dtype(ml_dtypes.float8_e5m2): 57344.0,
    np.dtype(ml_dtypes.float4_e2m1fn): 6.0,
}


def dtype_of(name: str) -> np.dtype[Any] | None:
    """The NumPy type that holds a TIR type, ``None`` where there is none."""
    if name in _EXTENSIONS:
        known: np.dtype[Any] = np.dtype(_EXTENSIONS[name])
        return known
    try:
        found: np.dtype[Any] = np.dtype(name)
    except TypeError:
        return None
    return found if found.kind in "biuf" else None


def as_array(value: Any) -> Array:
    """A caller's tensor as an array that shares its memory: NumPy, or torch on the CPU."""
    if isinstance(value, np.ndarray):
        return value
    import torch

    if not isinstance(value, torch.Tensor):
        raise TypeError(f"expected a NumPy array or a torch tensor, got {type(value).__name__}")
    if value.device.type != "cpu":
        raise TypeError(f"the virtual GPU takes tensors of the CPU, got one on {value.device}; pass tensor.cpu()")
    name = str(value.dtype).removeprefix("torch.")
    if name == "float4_e2m1fn_x2":
        return np.asarray(value.detach().view(torch.uint8).numpy())
    if name not in _EXTENSIONS:
        return np.asarray(value.detach().numpy())
    wide = {1: torch.uint8, 2: torch.int16}[value.element_size()]
    return np.asarray(value.detach().view(wide).numpy()).view(_EXTENSIONS[name])


def as_tensor(array: Array) -> Any:
    """An array as a torch tensor of the CPU that shares its memory."""
    import torch

    name = str(array.dtype)
    if name not in _EXTENSIONS:
        return torch.from_numpy(array)
    plain = array.view({1: np.uint8, 2: np.int16}[array.dtype.itemsize])
    return torch.from_numpy(plain).view(getattr(torch, name))


def converted(values: Any, dtype: np.dtype[Any]) -> Any:
    """Values in another type as CUDA converts them: integers wrap, 8-bit floats saturate.

    Floats become integers by way of 32 or 64 bits, in which they are truncated and saturate; NaN is 0.
    """
    if isinstance(values, np.ndarray) and values.dtype == dtype:
        return values
    if dtype.kind in "iu" and _is_float(values):
        values = _truncated(np.asarray(values, np.float64), dtype)
        return values.astype(dtype) if values.ndim else values.astype(dtype).item()
    limit = _LIMITS.get(dtype)
    if limit is not None:
        values = np.clip(np.asarray(values, dtype=np.float32), -limit, limit)
    if isinstance(values, np.ndarray):
        return values.astype(dtype)
    if dtype.kind in "iu":
        number = int(values)
        bits = 8 * dtype.itemsize
        number &= (1 << bits) - 1
        return number - (1 << bits) if dtype.kind == "i" and number >> (bits - 1) else number
    if dtype.kind == "b":
        return bool(values)
    return dtype.type(values)


def _is_float(values: Any) -> bool:
    return isinstance(values, float) or getattr(getattr(values, "dtype", None), "kind", "i") not in "biu"


def _truncated(values: Array, dtype: np.dtype[Any]) -> Array:
    """Floats as integers of 32 or 64 bits, of the sign that the type has."""
    wide = np.iinfo(np.dtype(f"{dtype.kind}{max(4, dtype.itemsize)}"))
    over, under = values >= wide.max, values <= wide.min
    inside = np.where(over | under | np.isnan(values), 0.0, values).astype(wide.dtype)
    found: Array = np.where(over, wide.dtype.type(wide.max), np.where(under, wide.dtype.type(wide.min), inside))
    return found


class View:
    """A buffer as the kernel sees it: an array, and what an access outside of it or before its first write means.

    ``guarded``: TileLang guards accesses to it, so that loads outside give ``fallback`` and stores are dropped.
    ``valid`` tells which elements have been written, ``None`` where nobody asks; ``zeroed``: atomics may start from
    elements that were not, as in outputs that were allocated. ``log`` is told of every place that is accessed, and of
    what is stored there if ``told`` says so; ``None`` where nobody asks.
    """

    __slots__ = ("a", "fallback", "guarded", "log", "name", "told", "valid", "zeroed")

    def __init__(
        self,
        a: Array,
        name: str,
        guarded: bool = False,
        valid: Array | None = None,
        fallback: Any = 0,
        zeroed: bool = False,
        log: Callable[[Any], None] | None = None,
        told: bool = False,
    ):
        self.a = a
        self.name = name
        self.guarded = guarded
        self.valid = valid
        self.fallback = fallback
        self.zeroed = zeroed
        self.log = log
        self.told = told

    def note(self, mask: Mask, index: tuple[Any, ...], *values: Any) -> None:
        """Tell the log of an access to the places of an index in the lanes of a mask."""
        if self.log is None:
            return
        for part in (*index, *(values if self.told else ())):
            if mask is not True:
                part, here = np.broadcast_arrays(part, mask)
                part = part[here]
            self.log(part)

    def neighbours(self, count: int, *index: int) -> Array:
        """So many elements from a uniform index on, in order of memory."""
        start = int(np.ravel_multi_index(index, self.a.shape))
        return self.a.reshape(-1)[start : start + count]

    # ---- one element

    def get(self, *index: int) -> Any:
        """The element at a uniform index; integers come as Python's."""
        self.note(True, index)
        for i, n in zip(index, self.a.shape, strict=True):
            if not 0 <= i < n:
                return self._outside(index, "reads")
        if self.valid is not None and not self.valid[index]:
            raise self._unwritten(index, False)
        value = self.a[index]
        return value.item() if value.dtype.kind in "iub" else value

    def put(self, value: Any, *index: int) -> None:
        """Store one element."""
        self.note(True, index, value)
        for i, n in zip(index, self.a.shape, strict=True):
            if not 0 <= i < n:
                self._outside(index, "writes")
                return
        self.a[index] = converted(value, self.a.dtype)
        if self.valid is not None:
            self.valid[index] = True

    # ---- lanes

    def at(self, position: Any) -> Any:
        """The elements at flat positions, 0 outside: what the device helper loads as payloads."""
        flat = self.a.reshape(-1)
        inside = (np.asarray(position) >= 0) & (np.asarray(position) < flat.size)
        values = np.where(inside, flat[np.clip(position, 0, max(flat.size - 1, 0))], np.zeros((), flat.dtype))
        return values if values.ndim else values[()]

    def gather(self, mask: Mask, *index: Any) -> Any:
        """The elements at an index that differs from lane to lane; lanes without mask give anything."""
        self.note(mask, index)
        index, inside = self._clipped(mask, index, "reads")
        if self.valid is not None:
            self.check_written(mask if inside is None else inside & mask, index)
        values = self.a[index]
        return values if inside is None else np.where(inside, values, np.asarray(self.fallback, values.dtype))

    def check_written(self, mask: Mask, index: tuple[Any, ...]) -> None:
        """Raise ``MemoryAccessError`` where lanes of a mask are about to read what nothing has written."""
        if self.valid is None:
            return
        written = self.valid[index]
        if mask is not True:
            written = written | ~np.asarray(mask)
        if not written.all():
            raise self._unwritten(index, written)

    def scatter(self, value: Any, mask: Mask, *index: Any) -> None:
        """Store by lane; where lanes meet the last one stays."""
        index, inside = self._clipped(mask, index, "writes")
        chosen = mask if inside is None else inside if mask is True else np.logical_and(mask, inside)
        value = converted(value, self.a.dtype)
        if chosen is not True:
            shape = np.broadcast_shapes(np.shape(chosen), *(np.shape(i) for i in index), np.shape(value))
            chosen = np.broadcast_to(chosen, shape)
            index = tuple(np.broadcast_to(i, shape)[chosen] for i in index)
            value = np.broadcast_to(value, shape)[chosen] if np.ndim(value) else value
        elif np.ndim(value):
            shape = np.broadcast_shapes(*(np.shape(i) for i in index), np.shape(value))
            index = tuple(np.broadcast_to(i, shape) for i in index)
        self.note(True, index, value)
        self.a[index] = value
        if self.valid is not None:
            self.valid[index] = True

    # ---- boxes

    def box(self, starts: tuple[int, ...], extents: tuple[int, ...]) -> Array:
        """A rectangle of the buffer; what lies outside of a guarded buffer is the fallback."""
        self.note(True, starts)
        key = tuple([slice(s, s + e) for s, e in zip(starts, extents, strict=True)])
        for s, e, n in zip(starts, extents, self.a.shape, strict=True):
            if s < 0 or s + e > n:
                return self._partial(starts, extents)
        if self.valid is not None:
            self._check_box(key)
        return np.asarray(self.a[key])

    def updated_box(self, starts: tuple[int, ...], extents: tuple[int, ...]) -> Array:
        """A rectangle as ``box``, about to be updated by atomics."""
        if self.zeroed and self.valid is not None:
            self.valid[self._overlap(starts, extents)[0]] = True
        return self.box(starts, extents)

    def fill_box(self, starts: tuple[int, ...], extents: tuple[int, ...], values: Any) -> None:
        """Write a rectangle; what lies outside of a guarded buffer is dropped."""
        self.note(True, starts)
        key = tuple([slice(s, s + e) for s, e in zip(starts, extents, strict=True)])
        for s, e, n in zip(starts, extents, self.a.shape, strict=True):
            if s < 0 or s + e > n:
                if not self.guarded:
                    self._outside(starts, "writes")
                inner, outer = self._overlap(starts, extents)
                values = np.broadcast_to(values, extents)[outer]
                self.note(True, (), values)
                self.a[inner] = values
                if self.valid is not None:
                    self.valid[inner] = True
                return
        self.note(True, (), values)
        self.a[key] = values
        if self.valid is not None:
            self.valid[key] = True

    def _partial(self, starts: tuple[int, ...], extents: tuple[int, ...]) -> Array:
        if not self.guarded:
            self._outside(starts, "reads")
        inner, outer = self._overlap(starts, extents)
        if self.valid is not None:
            self._check_box(inner)
        values = np.full(extents, self.fallback, self.a.dtype)
        values[outer] = self.a[inner]
        return values

    def _overlap(self, starts: Any, extents: Any) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        inner, outer = [], []
        for s, e, n in zip(starts, extents, self.a.shape, strict=True):
            low, high = min(max(s, 0), n), max(min(s + e, n), 0)
            high = max(high, low)
            inner.append(slice(low, high))
            outer.append(slice(min(max(low - s, 0), e), min(max(low - s, 0), e) + high - low))
        return tuple(inner), tuple(outer)

    def _clipped(self, mask: Mask, index: tuple[Any, ...], what: str) -> tuple[tuple[Any, ...], Any]:
        inside: Any = None
        clipped = []
        for i, n in zip(index, self.a.shape, strict=True):
            i = np.asarray(i)
            if i.size and (i.min() < 0 or i.max() >= n):
                here = (i >= 0) & (i < n)
                inside = here if inside is None else inside & here
                i = np.clip(i, 0, max(n - 1, 0))
            clipped.append(i)
        if inside is not None and not self.guarded:
            bad = ~inside if mask is True else np.logical_and(mask, ~inside)
            if bad.any():
                lane = tuple(int(k[0]) for k in np.nonzero(np.atleast_1d(bad)))
                where = tuple(int(np.broadcast_to(i, np.shape(bad))[lane] if np.ndim(bad) else i) for i in index)
                self._outside(where, what)
        return tuple(clipped), inside

    def _outside(self, index: Any, what: str) -> Any:
        if self.guarded:
            return self.fallback
        raise MemoryAccessError(f"{what} {self.name}{[int(i) for i in index]}, outside of shape {list(self.a.shape)}")

    def _check_box(self, box: tuple[slice, ...]) -> None:
        assert self.valid is not None
        written = self.valid[box]
        if not written.all():
            grid = np.ix_(*(np.arange(s.start, s.stop) for s in box))
            raise self._unwritten(grid, written)

    def _unwritten(self, index: Any, written: Any) -> MemoryAccessError:
        """The error about the first element among those of an index that is not written."""
        first = np.argmin(np.ravel(written))
        element = [int(np.ravel(np.broadcast_to(i, np.shape(written)))[first]) for i in index]
        kind = MemoryAccessError if self.zeroed else UnwrittenError
        return kind(
            f"reads {self.name}{element} before anything was written there; write it first (T.clear, T.fill, T.copy)"
        )


class Registers:
    """A ``local`` buffer: one small array in every lane, kept once as long as all lanes hold the same."""

    __slots__ = ("a", "lanes", "name", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], lanes: tuple[int, ...], name: str):
        self.a = np.zeros((1,) * len(lanes) + shape, dtype)
        self.lanes = lanes
        self.shape = shape
        self.name = name

    def get(self, *index: Any) -> Any:
        """The element of every lane; one number where all lanes hold the same."""
        if any(isinstance(i, np.ndarray) for i in index):
            self._spread()
            return self.a[(*self._lane_index(), *self._clipped(index)[0])]
        self._check(index)
        value = self.a[(..., *index)]
        if value.size == 1 and self.a.size == math.prod(self.shape):
            one = value.reshape(())[()]
            return one.item() if one.dtype.kind in "iub" else one
        return value.copy()

    def put(self, value: Any, mask: Mask, *index: Any) -> None:
        """Store in the lanes of the mask."""
        value = converted(value, self.a.dtype)
        if any(isinstance(i, np.ndarray) for i in index):
            self._spread()
            clipped, inside = self._clipped(index)
            key = (*self._lane_index(), *clipped)
            self.a[key] = np.where(np.logical_and(mask, inside), value, self.a[key])
            return
        self._check(index)
        if np.ndim(value) or mask is not True:
            self._spread()
        if mask is True:
            self.a[(..., *index)] = value
        else:
            part = self.a[(..., *index)]
            self.a[(..., *index)] = np.where(mask, value, part)

    def neighbours(self, count: int, *index: int) -> Array:
        """So many elements of every lane from a uniform index on."""
        start = int(np.ravel_multi_index(index, self.shape))
        rank = len(self.lanes)
        found: Array = self.a.reshape((*self.a.shape[:rank], -1))[..., start : start + count]
        return found if math.prod(found.shape[:rank]) > 1 else found.reshape(-1)

    def by_lane(self) -> Array:
        """The elements of every lane, ``[lanes, elements]``, which may be changed."""
        self._spread()
        return self.a.reshape(math.prod(self.lanes), -1)

    def fill(self, values: Any) -> None:
        """Store the same array in every lane."""
        self.a[...] = values

    def _check(self, index: tuple[Any, ...]) -> None:
        for i, n in zip(index, self.shape, strict=True):
            if not 0 <= i < n:
                raise MemoryAccessError(f"accesses {self.name}{[int(k) for k in index]}, outside of {list(self.shape)}")

    def _clipped(self, index: tuple[Any, ...]) -> tuple[list[Array], Array]:
        """Indices of lanes brought inside, and which were: TileLang turns ``if c: r[i] = x`` into a choice of ``x``
        or ``r[i]``, and then lanes without the condition touch places that they never meant."""
        wide = [np.broadcast_to(i, self.lanes) for i in index]
        inside = np.ones(self.lanes, bool)
        for i, n in zip(wide, self.shape, strict=True):
            inside &= (i >= 0) & (i < n)
        return [np.clip(i, 0, n - 1) for i, n in zip(wide, self.shape, strict=True)], inside

    def _spread(self) -> None:
        wide = (*self.lanes, *self.shape)
        if self.a.shape != wide:
            self.a = np.broadcast_to(self.a, wide).copy()

    def _lane_index(self) -> list[Any]:
        rank = len(self.lanes)
        return [np.arange(n).reshape((-1,) + (1,) * (rank - 1 - d)) for d, n in enumerate(self.lanes)]
