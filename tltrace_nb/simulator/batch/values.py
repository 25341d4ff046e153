"""Arithmetic of generated code for many CTAs, where it differs from that of one (``simulator.values``).

In: numbers, or arrays whose last axis is that of the CTAs. Out: the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tltrace_nb.simulator.batch.memory import Disagreement, Memory, OneByOneError
from tltrace_nb.simulator.errors import SimulationError
from tltrace_nb.simulator.memory import Array, Mask, converted
from tltrace_nb.simulator.values import UPDATES

Part = tuple[Any, int, int]
"""Start, extent and axis of the loop variable (or -1) of an index; the start may differ from CTA to CTA."""


def by_cta(value: Array) -> Array:
    """What all threads of a CTA agree on; else it is an error."""
    if value.ndim < 2:
        return value
    flat = value.reshape(-1, value.shape[-1])
    if (flat != flat[:1]).any():
        raise SimulationError("threads that work together disagree")
    found: Array = flat[0]
    return found


def uniform(value: Any) -> Any:
    """A number on which all lanes of all CTAs agree. Raises ``Disagreement`` where CTAs do not."""
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    value = by_cta(value)
    if (value != value[0]).any():
        raise Disagreement(value)
    return value[0].item() if value.dtype.kind in "iub" else value[0]


def agreed(condition: Any) -> bool:
    """A condition on which all lanes of all CTAs agree. Raises ``Disagreement`` where CTAs do not."""
    return bool(uniform(np.asarray(condition, bool)))


def nonzero(divisor: Any) -> Any:
    """A divisor that all threads of a CTA share."""
    if not np.all(divisor):
        raise ZeroDivisionError
    return divisor


def narrowed(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number for each CTA, which meets lanes of a type: it takes theirs, as Python's numbers do."""
    if np.ndim(value) != 1 or value.dtype == dtype or value.dtype.kind not in "iu":
        return value
    found = value.astype(dtype)
    if (found != value).any():
        raise OverflowError
    return found


def axis(extent: int, position: int, rank: int, start: int = 0) -> Array:
    """The values of one variable of a parallel loop nest, along its own axis."""
    return np.arange(start, start + extent, dtype=np.int32).reshape((-1,) + (1,) * (rank - position))


def cell(view: Memory, mask: Mask, index: tuple[Any, ...]) -> Any:
    """The element at an index that all threads of a CTA have in common."""
    return view.cell(mask, *index)


def sliced(view: Memory, mask: Mask, parts: tuple[Part, ...], rank: int) -> Any:
    """Load with indices that each are a number, or a number plus one loop variable."""
    starts, extents = _box(parts)
    if not view.covers(starts, extents):
        return view.gather(mask, *(_index(p, rank) for p in parts))
    if mask is not True and (view.valid is not None or view.owners is not None):
        return view.gather(mask, *(_index(p, rank) for p in parts))
    return _oriented(view.box(starts, extents), parts, rank)


def put_sliced(
    view: Memory, value: Any, mask: Mask, parts: tuple[Part, ...], rank: int, shape: tuple[int, ...]
) -> None:
    """Store with such indices; every loop variable that is longer than 1 is among them."""
    used = {where for _, _, where in parts if where >= 0}
    free = any(n > 1 and d not in used for d, n in enumerate(shape[:-1]))
    starts, extents = _box(parts)
    value = converted(value, view.a.dtype)
    if free or not view.covers(starts, extents):
        view.scatter(np.broadcast_to(value, shape), mask, *(_index(p, rank) for p in parts))
        return
    if mask is True:
        view.fill_box(starts, extents, _boxed(value, parts, shape))
        return
    part = view.part(starts, extents)
    if part is None:
        _put_some(view, value, mask, parts, shape)
        return
    np.copyto(_oriented(part[0], parts, rank), value, where=mask)
    if part[1] is not None:
        np.copyto(_oriented(part[1], parts, rank), True, where=mask)


def _put_some(view: Memory, value: Any, mask: Mask, parts: tuple[Part, ...], shape: tuple[int, ...]) -> None:
    """Store in the lanes of a mask, in CTAs where it has all of them as a rectangle."""
    lanes = np.broadcast_to(mask, shape)
    whole = lanes.all(axis=tuple(range(lanes.ndim - 1)))
    value = np.broadcast_to(value, shape)
    for chosen, is_whole in ((whole, True), (~whole, False)):
        if not chosen.any():
            continue
        some = Memory(
            view.a, view.name, view.ctas[chosen], view.own, view.guarded, view.valid, view.fallback, view.owners
        ) if not view.own else None  # fmt: skip
        if some is None:
            view.scatter(value, mask, *(_index(p, len(shape) - 1) for p in parts))
            return
        here = tuple((s[chosen] if isinstance(s, np.ndarray) else s, e, w) for s, e, w in parts)
        mine = value[..., chosen]
        if is_whole:
            starts, extents = _box(here)
            some.fill_box(starts, extents, _boxed(mine, here, mine.shape))
        else:
            some.scatter(mine, lanes[..., chosen], *(_index(p, len(shape) - 1) for p in here))


def _box(parts: tuple[Part, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    return tuple(p[0] for p in parts), tuple(extent if where >= 0 else 1 for _, extent, where in parts)


def _index(part: Part, rank: int) -> Any:
    start, extent, where = part
    return start if where < 0 else axis(extent, where, rank) + start


def _oriented(a: Array, parts: tuple[Part, ...], rank: int) -> Array:
    """Rectangles, the CTAs first, with the axes of the loops and the CTAs last."""
    a = a[(slice(None), *(slice(None) if where >= 0 else 0 for _, _, where in parts))]
    axes = [where for _, _, where in parts if where >= 0]
    a = a.transpose(*(1 + axes.index(d) for d in sorted(axes)), 0)
    if len(axes) == rank:
        return a
    return a[tuple(slice(None) if d in axes else None for d in range(rank))]


def _boxed(value: Any, parts: tuple[Part, ...], shape: tuple[int, ...]) -> Any:
    """A value of a nest as rectangles, the CTAs first."""
    if np.ndim(value) == 0:
        return value
    axes = [where for _, _, where in parts if where >= 0]
    wide = np.broadcast_to(value, (*shape[:-1], np.shape(value)[-1]))
    wide = wide[tuple(slice(None) if d in axes else 0 for d in range(len(shape) - 1))]
    order = sorted(axes)
    wide = wide.transpose(len(axes), *(order.index(d) for d in axes))
    return wide[(slice(None), *(slice(None) if where >= 0 else None for _, _, where in parts))]


def atomic(view: Memory, op: str, value: Any, mask: Mask, lanes: tuple[int, ...], returns: bool, *index: Any) -> None:
    """Read, change, write in a CTA's own memory, once for every lane of the mask, in order of the lanes."""
    if returns or not view.own:
        raise OneByOneError("atomics between CTAs, or whose order tells")
    view.update(UPDATES[op], value, mask, lanes, index)
