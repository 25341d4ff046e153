"""The arguments of a run, checked against the kernel's parameters.

In: a scheduled PrimFunc, the caller's tensors, ``out_idx``. Out: :class:`Bound`. Every message names the kernel and the
parameter, says what was expected and what came, and what to do.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tvm import tirx
from tvm.arith import detect_linear_equation

from tltrace_nb.base.checks import short, whole
from tltrace_nb.core.compile.ir import substitute
from tltrace_nb.simulator.memory import Array, as_array, as_tensor, dtype_of
from tltrace_nb.simulator.packed import PACKED, pack, unpacked
from tltrace_nb.simulator.statements import variables
from tltrace_nb.simulator.storage import number


@dataclass(frozen=True, slots=True)
class Bound:
    """Arrays by their buffers' data, scalars by their variables, and the outputs that were allocated, in order.

    ``written`` tells of each element of those outputs whether the kernel has written it: on a GPU they hold anything.
    ``packed``: the caller's bytes, and the array of their elements, of those whose types are packed.
    """

    arrays: dict[Any, Array] = field(default_factory=dict)
    written: dict[Any, Array] = field(default_factory=dict)
    scalars: dict[Any, Any] = field(default_factory=dict)
    outputs: list[Any] = field(default_factory=list)
    packed: list[tuple[Array, Array]] = field(default_factory=list)

    def pack(self) -> None:
        """Bring what the kernel has done to elements of packed types back into the caller's bytes."""
        for raw, elements in self.packed:
            pack(raw, elements)


def left_unwritten(bound: Bound) -> str:
    """Which outputs the kernel has written from their begin, but not to their end along some axis; empty for none.

    So it is where a grid or a loop is rounded down. Outputs that are written here and there may be meant so.
    """
    found = []
    for data, flat in bound.written.items():
        written = flat.reshape(bound.arrays[data].shape)
        if written.any() and not written.all():
            reached = tuple(int(places.max()) + 1 for places in written.nonzero())
            if written[tuple(slice(end) for end in reached)].all():
                part = ", ".join(f":{end}" for end in reached)
                found.append(
                    f"of {data.name}, whose shape is {list(written.shape)}, only {data.name}[{part}] is written"
                )
    return "; ".join(found)


def bind(name: str, func: Any, inputs: Sequence[Any], out_idx: Sequence[int] | int | None) -> Bound:
    """Check the arguments of a kernel and allocate, zeroed, what ``out_idx`` names.

    ``out_idx``: positions as ``tilelang.compile`` takes them; ``None``: the trailing parameters without an input.
    Raises ``TypeError`` and ``ValueError``.
    """
    return _Binder(name, func).bind(inputs, out_idx)


class _Binder:
    def __init__(self, name: str, func: Any):
        self._name = name
        self._params = list(func.params[:-1])  # the last are the slots
        self._buffers = func.buffer_map
        self._bound = Bound()

    def bind(self, inputs: Sequence[Any], out_idx: Sequence[int] | int | None) -> Bound:
        made = self._made(len(inputs), out_idx)
        taken = [param for i, param in enumerate(self._params) if i not in made]
        if len(taken) != len(inputs):
            number = f"{len(taken)} input{'' if len(taken) == 1 else 's'}"
            hint = "; outputs that it is to make are named in out_idx" if not made and len(inputs) < len(taken) else ""
            names = ", ".join(map(self._label, taken))
            raise TypeError(f"kernel {self._name} takes {number} ({names}), got {len(inputs)}{hint}")
        for param, value in zip(taken, inputs, strict=True):
            if param in self._buffers:
                self._take(self._buffers[param], value)
            else:
                self._bound.scalars[param] = self._scalar(param, value)
        arrays = [v for v in inputs if not isinstance(v, numbers.Number)]
        as_torch = not arrays or any(not isinstance(v, np.ndarray) for v in arrays)
        for i in sorted(made):
            self._make(self._params[i], as_torch)
        return self._bound

    def _made(self, given: int, out_idx: Sequence[int] | int | None) -> list[int]:
        """Positions of the parameters to allocate."""
        count = len(self._params)
        if out_idx is None:
            return list(range(given, count))
        try:
            several = out_idx if isinstance(out_idx, Sequence) else [out_idx]
            positions = [whole(-count)("out_idx", each) for each in several]
        except (TypeError, ValueError):
            positions = [count]
        made = [i % count for i in positions if -count <= i < count]
        if len(set(made)) != len(positions):
            known = ", ".join(f"{i} {self._label(p)}" for i, p in enumerate(self._params))
            raise ValueError(
                f"kernel {self._name}: out_idx={short(out_idx)}; give positions of parameters, each once: {known}; "
                "negative ones count from the end"
            )
        return made

    def _take(self, buffer: Any, value: Any) -> None:
        what = f"kernel {self._name}: {buffer.name}"
        scalars = self._bound.scalars
        try:
            array = as_array(value)
        except TypeError as error:
            raise TypeError(f"{what}: {error}") from None
        wanted = dtype_of(str(buffer.dtype))
        if wanted is not None and array.dtype != wanted and str(buffer.dtype) in PACKED:
            if array.dtype.kind not in "iu" or array.dtype.itemsize != 1:
                raise TypeError(f"{what} is {buffer.dtype}, two elements to a byte, got {array.dtype}; pass int8")
            array = self._unpacked(array, wanted)
        elif wanted is not None and array.dtype != wanted:
            if not _same_bits(array.dtype, wanted):
                raise TypeError(f"{what} is {buffer.dtype}, got {array.dtype}; convert it, or build the kernel for it")
            array = array.view(wanted)
        if array.ndim != len(buffer.shape):
            raise ValueError(
                f"{what} has {len(buffer.shape)} dimensions, {list(buffer.shape)}, got shape {list(array.shape)}"
            )
        strides = [s // array.dtype.itemsize for s in array.strides]
        for extent, actual in zip((*buffer.shape, *buffer.strides), (*array.shape, *strides), strict=False):
            _solve(extent, int(actual), scalars)
        shape = [self._number(e, what) for e in buffer.shape]
        if list(array.shape) != shape:
            fixed = ", ".join(f"{v.name} = {scalars[v]}" for v in buffer.shape if v in scalars)
            raise ValueError(
                f"{what} has the shape {shape}{f' ({fixed})' if fixed else ''}, got {list(array.shape)}; pass a tensor "
                "of that shape, or build the kernel for this one"
            )
        expected = [self._number(e, what) for e in buffer.strides] or _compact(shape)
        if array.size and any(n > 1 and s != e for n, s, e in zip(shape, strides, expected, strict=True)):
            raise ValueError(f"{what} has the strides {expected}, got {strides}; pass {buffer.name}.contiguous()")
        self._bound.arrays[buffer.data] = array

    def _scalar(self, param: Any, value: Any) -> Any:
        dtype = str(param.dtype)
        whole = not dtype.startswith(("float", "bfloat"))
        fits = isinstance(value, numbers.Integral if whole else numbers.Real)
        if not fits:
            raise TypeError(
                f"kernel {self._name}: {param.name} is a scalar of the type {dtype}, got {type(value).__name__}; pass "
                f"{'an int' if whole else 'a float'}"
            )
        return int(value) if whole else float(value)

    def _make(self, param: Any, as_torch: bool) -> None:
        if param not in self._buffers:
            raise TypeError(f"kernel {self._name}: {param.name} is a scalar, which is no output; pass its value")
        buffer = self._buffers[param]
        shape = tuple(self._number(e, f"kernel {self._name}: {buffer.name}") for e in buffer.shape)
        dtype = dtype_of(str(buffer.dtype)) or np.dtype(np.uint8)
        if str(buffer.dtype) in PACKED:
            raw = np.zeros((*shape[:-1], shape[-1] // 2), np.uint8 if str(buffer.dtype) == "uint4" else np.int8)
            given, array = raw, self._unpacked(raw, dtype)
        else:
            given = array = np.zeros(shape, dtype)
        self._bound.arrays[buffer.data] = array
        self._bound.written[buffer.data] = np.zeros(array.size, bool)
        self._bound.outputs.append(as_tensor(given) if as_torch else given)

    def _unpacked(self, raw: Array, dtype: np.dtype[Any]) -> Array:
        elements = unpacked(raw, dtype)
        self._bound.packed.append((raw, elements))
        return elements

    def _number(self, extent: Any, what: str) -> int:
        try:
            return number(extent, self._bound.scalars)
        except ValueError:
            raise ValueError(
                f"{what}: its extent {extent} does not follow from the inputs before it; pass that tensor yourself"
            ) from None

    def _label(self, param: Any) -> str:
        return str(self._buffers[param].name if param in self._buffers else param.name)


def _solve(extent: Any, actual: int, scalars: dict[Any, Any]) -> None:
    """Find the one unknown variable of a linear extent."""
    unknown = [v for v in variables(extent) if v not in scalars]
    if len(unknown) != 1:
        return
    known = {v: tirx.const(n, str(v.dtype)) for v, n in scalars.items()}
    factor, rest = (number(e, {}) for e in detect_linear_equation(substitute(extent, known), unknown) or (0, 0))
    if factor and (actual - rest) % factor == 0:
        scalars[unknown[0]] = (actual - rest) // factor


def _same_bits(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether integers may stand for a type: of the same size, and NumPy itself has no such floats."""
    plain = wanted in (np.float16, np.float32, np.float64)
    return given.itemsize == wanted.itemsize and given.kind in "iu" and not plain


def _compact(shape: list[int]) -> list[int]:
    """Strides of rows that follow each other, in elements."""
    return [int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape))]
