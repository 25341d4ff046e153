"""Arithmetic of the generated code: masks, intrinsics, conversions, shuffles, on numbers and on arrays of lanes alike.

In: values of one thread group: a Python or NumPy number where all lanes agree, else an array. Out: the same. These are
the names that generated code may use, besides those of its thread group.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tltrace_nb.simulator.errors import SimulationError
from tltrace_nb.simulator.memory import Array, Mask, View, converted


def both(mask: Mask, condition: Any) -> Mask:
    """The lanes of a mask in which a condition holds: ``True`` for all, ``False`` for none."""
    if np.ndim(condition) == 0:
        return mask if condition else False
    if mask is not True:
        condition = np.logical_and(condition, mask)
    if condition.all():
        return True
    return condition if condition.any() else False


def without(mask: Mask, gone: Mask) -> Mask:
    """The lanes of a mask that are not among others."""
    if gone is True:
        return False
    if gone is False:
        return mask
    return both(mask, np.logical_not(gone))


def agreed(condition: Any) -> bool:
    """A condition on which all threads of a thread group must agree."""
    if np.ndim(condition) == 0:
        return bool(condition)
    first = bool(condition.flat[0])
    if (np.asarray(condition, dtype=bool) != first).any():
        raise SimulationError("threads that work together on tiles or barriers disagree on a condition")
    return first


def uniform(value: Any) -> Any:
    """A number on which all lanes must agree."""
    if np.ndim(value) == 0:
        return value
    first = value.flat[0]
    if (value != first).any():
        raise SimulationError("threads that work together disagree on an operand")
    return first.item() if first.dtype.kind in "iub" else first


def whole(mask: Mask) -> None:
    """Tile operators need all threads of the thread group."""
    if mask is not True:
        raise SimulationError("a tile operator is reached by some threads of its thread group only")


def choose(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``."""
    if np.ndim(condition) == 0:
        return a if condition else b
    return np.where(condition, a, b)


def negated(x: Any) -> Any:
    """Logical not."""
    return np.logical_not(x) if isinstance(x, np.ndarray) else not x


def least(a: Any, b: Any) -> Any:
    """The smaller; a NaN gives way, as on the device."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return np.fmin(a, b)


def most(a: Any, b: Any) -> Any:
    """The larger; a NaN gives way, as on the device."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return np.fmax(a, b)


def quotient(a: Any, b: Any) -> Any:
    """Integer division that truncates."""
    if isinstance(a, int) and isinstance(b, int):
        return int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b)) if b else 0
    return (np.sign(a) * np.sign(b)) * (np.abs(a) // np.abs(b))


def remainder(a: Any, b: Any) -> Any:
    """Remainder of ``quotient``."""
    return a - quotient(a, b) * b


def wrapped(x: Any, dtype: np.dtype[Any]) -> Any:
    """An integer brought back into its type's range; arrays have wrapped by themselves."""
    return converted(x, dtype)


def apply(f: Callable[..., Any], dtype: np.dtype[Any], *xs: Any) -> Any:
    """A function of floats, computed and returned in a type."""
    result = f(*(x if isinstance(x, (np.ndarray, np.generic)) else dtype.type(x) for x in xs))
    return result if result.dtype in (dtype, np.bool_) else result.astype(dtype)


def reinterpreted(x: Any, source: np.dtype[Any], dtype: np.dtype[Any]) -> Any:
    """The same bits as another type."""
    value = np.asarray(converted(x, source), source).view(dtype)
    return value if value.ndim else value[()]


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return (1.0 / np.sqrt(np.asarray(x, np.float32))).astype(np.asarray(x).dtype)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def erf(x: Any) -> Any:
    """The error function."""
    return np.vectorize(math.erf, otypes=[np.float64])(np.asarray(x, np.float64)).astype(np.asarray(x).dtype)[()]


def directed(f: Callable[..., Any], mode: str, dtype: np.dtype[Any], *xs: Any) -> Any:
    """A function of floats, computed in float64 and rounded: to nearest (rn), to zero (rz), up (ru) or down (rd)."""
    exact = np.asarray(f(*(np.asarray(x, np.float64) for x in xs)))
    near = exact.astype(dtype)
    back = near.astype(np.float64)
    over = (back > exact) & ((mode == "rd") | ((mode == "rz") & (exact > 0)))
    under = (back < exact) & ((mode == "ru") | ((mode == "rz") & (exact < 0)))
    low, high = (np.nextafter(near, dtype.type(end)) for end in (-np.inf, np.inf))
    return np.where(over, low, np.where(under, high, near))[()]


def fused(a: Any, b: Any, c: Any) -> Any:
    """a * b + c."""
    return a * b + c


def quantified(kind: str, values: Any) -> Any:
    """Whether all or any of the elements along the last axis are true."""
    found = {"all": np.all, "any": np.any}[kind](values, axis=-1)
    return bool(found) if found.size == 1 else found


def axis(extent: int, position: int, rank: int, start: int = 0) -> Array:
    """The values of one variable of a parallel loop nest, along its own axis."""
    return np.arange(start, start + extent, dtype=np.int32).reshape((-1,) + (1,) * (rank - 1 - position))


def sliced(view: View, mask: Mask, parts: tuple[tuple[int, int, int], ...], rank: int) -> Any:
    """Load with indices that each are a number, or a number plus one loop variable: a view where it can be.

    ``parts`` are (start, extent, axis of the loop variable or -1).
    """
    whole_box = True
    key: list[Any] = []
    for (start, extent, where), n in zip(parts, view.a.shape, strict=True):
        if start < 0 or start + (extent if where >= 0 else 1) > n:
            whole_box = False
        key.append(start if where < 0 else slice(start, start + extent))
    if not whole_box or (view.valid is not None and not view.valid[tuple(key)].all()):
        return view.gather(mask, *(_index(p, rank) for p in parts))
    view.note(True, tuple(start for start, _, _ in parts))
    return _oriented(view.a[tuple(key)], parts, rank)


def put_sliced(
    view: View, value: Any, mask: Mask, parts: tuple[tuple[int, int, int], ...], rank: int, shape: tuple[int, ...]
) -> None:
    """Store with such indices; every loop variable that is longer than 1 is among them."""
    inside = mask is True
    key: list[Any] = []
    for (start, extent, where), n in zip(parts, view.a.shape, strict=True):
        if start < 0 or start + (extent if where >= 0 else 1) > n:
            inside = False
        key.append(start if where < 0 else slice(start, start + extent))
    used = {where for _, _, where in parts if where >= 0}
    if not inside or any(n > 1 and d not in used for d, n in enumerate(shape)):
        view.scatter(np.broadcast_to(value, shape), mask, *(_index(p, rank) for p in parts))
        return
    value = converted(value, view.a.dtype)
    view.note(True, tuple(start for start, _, _ in parts), value)
    at = tuple(key)
    _oriented(view.a[at], parts, rank)[...] = value
    if view.valid is not None:
        view.valid[at] = True


def _index(part: tuple[int, int, int], rank: int) -> Any:
    start, extent, where = part
    return start if where < 0 else axis(extent, where, rank, start)


def _oriented(a: Array, parts: tuple[tuple[int, int, int], ...], rank: int) -> Array:
    """The axes of a slice brought to those of the loops."""
    axes = [where for _, _, where in parts if where >= 0]
    if axes != sorted(axes):
        a = a.transpose(sorted(range(len(axes)), key=axes.__getitem__))
        axes.sort()
    if len(axes) == rank:
        return a
    shape = iter(a.shape)
    return a.reshape([next(shape) if d in axes else 1 for d in range(rank)])


UPDATES: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "or": np.bitwise_or,
    "and": np.bitwise_and,
}


def atomic(view: View, op: str, value: Any, mask: Mask, lanes: tuple[int, ...], returns: bool, *index: Any) -> Any:
    """Read, change, write, once for every lane of the mask, in order of the lanes."""
    index = tuple(np.broadcast_to(i, lanes) for i in index)
    inside = np.broadcast_to(True if mask is True else mask, lanes).copy()
    for i, n in zip(index, view.a.shape, strict=True):
        inside &= (i >= 0) & (i < n)
    value = np.broadcast_to(np.asarray(converted(value, view.a.dtype)), lanes)
    view.note(inside, index, value)
    if view.valid is not None:
        where = tuple(i[inside] for i in index)
        if op != "exch" and not view.zeroed:
            view.check_written(True, where)
        view.valid[where] = True
    if not returns:
        if inside.all():
            UPDATES[op].at(view.a, index, value)
        else:
            UPDATES[op].at(view.a, tuple(i[inside] for i in index), value[inside])
        return None
    before = np.zeros(lanes, view.a.dtype)
    for lane in zip(*np.nonzero(inside), strict=True):
        at = tuple(i[lane] for i in index)
        before[lane] = view.a[at]
        view.a[at] = value[lane] if op == "exch" else UPDATES[op](view.a[at], value[lane])
    return before
