"""Memory of many CTAs: what each has of its own, what all of them share, registers.

In: arrays; indices that may differ from CTA to CTA. Out: :class:`Memory` and :class:`Registers`, with the methods of
those of one CTA. Values that go in and out have the axis of the CTAs last, rectangles have it first; either may be of
length 1, and a number is the same in all threads of all CTAs.

What goes wrong for one CTA is not told here: it is an error, and then the CTAs run one by one and tell it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tltrace_nb.simulator.errors import SimulationError
from tltrace_nb.simulator.memory import Array, Mask, converted

Starts = tuple[Any, ...]
"""Where a rectangle begins: along each axis a number, or one for each CTA."""


class OneByOneError(SimulationError):
    """These CTAs cannot be run together."""


class Disagreement(Exception):  # noqa: N818 (no error: the CTAs go on in several batches)
    """CTAs that run together go different ways; ``values`` has what each decides by."""

    def __init__(self, values: Array):
        super().__init__()
        self.values = values


def windows(a: Array, lead: int, extents: tuple[int, ...]) -> Array:
    """All rectangles of an array, by where they begin; ``lead``: axes that they do not have."""
    begins = [n - e + 1 for n, e in zip(a.shape[lead:], extents, strict=True)]
    return as_strided(a, (*a.shape[:lead], *begins, *extents), (*a.strides, *a.strides[lead:]))


class Owners:
    """Which CTA has touched each element of memory that the kernel writes: no two may touch the same.

    Kept for cells of equal size, as long as all that is touched consists of whole ones; then for elements.
    """

    def __init__(self, shape: tuple[int, ...]):
        self._shape = shape
        self._cell: tuple[int, ...] = ()
        self._of = np.empty(0, np.int32)

    def claim(self, index: tuple[Array, ...], ctas: Array) -> None:
        """CTAs touch elements, one each."""
        self._divide((1,) * len(self._shape))
        self._take(self._of, index, ctas)

    def claim_boxes(self, starts: Starts, extents: tuple[int, ...], ctas: Array) -> None:
        """CTAs touch rectangles within the memory, one each."""
        if 0 in extents:
            return
        whole = all(s % e == 0 for s, e in zip(starts, extents, strict=True) if not isinstance(s, np.ndarray))
        arrays = ((s, e) for s, e in zip(starts, extents, strict=True) if isinstance(s, np.ndarray))
        whole = whole and all(not (s % e).any() for s, e in arrays)
        if not self._cell:
            self._divide(extents if whole else (1,) * len(extents))
        if not whole or any(e % c for e, c in zip(extents, self._cell, strict=True)):
            self._divide((1,) * len(extents))
        at = tuple(np.broadcast_to(s // c, ctas.shape) for s, c in zip(starts, self._cell, strict=True))
        cells = tuple(e // c for e, c in zip(extents, self._cell, strict=True))
        if math.prod(cells) == 1:
            self._take(self._of, at, ctas)
        else:
            self._take(windows(self._of, 0, cells), at, ctas.reshape(-1, *(1,) * len(cells)))

    def _divide(self, cell: tuple[int, ...]) -> None:
        """Keep smaller cells from now on."""
        if self._cell == cell:
            return
        before, old = self._of, self._cell
        self._cell = cell
        self._of = np.full([-(-n // c) for n, c in zip(self._shape, cell, strict=True)], -1, np.int32)
        if old:
            for axis, (o, c) in enumerate(zip(old, cell, strict=True)):
                before = before.repeat(o // c, axis=axis)
            self._of[...] = before[tuple(slice(n) for n in self._of.shape)]

    @staticmethod
    def _take(of: Array, index: tuple[Array, ...], ctas: Array) -> None:
        before = of[index]
        if ((before != ctas) & (before >= 0)).any():
            raise OneByOneError("CTAs touch the same memory")
        of[index] = ctas
        if (of[index] != ctas).any():
            raise OneByOneError("CTAs touch the same memory")


class Memory:
    """A buffer as some CTAs see it. ``ctas`` are their numbers, ``valid`` tells which elements have been written.

    ``own``: each has its own, along the first axis of ``a``; else all have the same, and ``owners`` are kept where the
    kernel writes. ``guarded``, ``fallback``, ``zeroed``: as those of one CTA's.
    """

    __slots__ = ("_at", "a", "ctas", "fallback", "guarded", "name", "own", "owners", "shape", "valid")

    def __init__(
        self,
        a: Array,
        name: str,
        ctas: Array,
        own: bool,
        guarded: bool = False,
        valid: Array | None = None,
        fallback: Any = 0,
        owners: Owners | None = None,
    ):
        self.a, self.name, self.ctas, self.own = a, name, ctas, own
        self.guarded, self.valid, self.fallback, self.owners = guarded, valid, fallback, owners
        self.shape = a.shape[own:]
        self._at = np.arange(len(ctas))

    # ---- elements

    def cell(self, mask: Mask, *index: Any) -> Any:
        """The element at an index that all threads of a CTA have in common; ``put`` stores one."""
        if isinstance(mask, np.ndarray) and mask.ndim > 1:
            mask = mask.any(axis=tuple(range(mask.ndim - 1)))
        value = self.gather(mask, *index)
        if value.ndim == 0:
            return value.item() if value.dtype.kind in "iub" else value[()]
        return value

    def gather(self, mask: Mask, *index: Any) -> Any:
        """The elements at an index; where the mask is not, anything."""
        return self._gather(self._at, mask, index)

    def put(self, value: Any, *index: Any) -> None:
        """Store one element in each CTA."""
        self._scatter(self._at, value, True, index)

    def scatter(self, value: Any, mask: Mask, *index: Any) -> None:
        """Store by lane; where lanes meet the last one stays."""
        self._scatter(self._at, value, mask, index)

    def _gather(self, at: Array, mask: Mask, index: tuple[Any, ...]) -> Any:
        clipped, inside = self._clipped(mask, index, "reads")
        chosen = mask if inside is None else np.logical_and(inside, mask)
        if self.owners is not None:
            self._claim(at, chosen, clipped)
        if self.valid is not None:
            key = clipped if not self.own else (0 if len(self.valid) == 1 else at, *clipped)
            if not (self.valid[key] | np.logical_not(chosen)).all():
                raise OneByOneError(f"reads {self.name} before anything was written there")
        values = self.a[(at, *clipped) if self.own else clipped]
        return values if inside is None else np.where(inside, values, np.asarray(self.fallback, values.dtype))

    def _scatter(self, at: Array, value: Any, mask: Mask, index: tuple[Any, ...]) -> None:
        index, inside = self._clipped(mask, index, "writes")
        chosen = mask if inside is None else np.logical_and(inside, mask)
        value = converted(value, self.a.dtype)
        alike = chosen is True and all(np.ndim(i) == 0 or np.shape(i)[-1] == 1 for i in index)
        shape = np.broadcast_shapes(at.shape, np.shape(chosen), *(np.shape(i) for i in index), np.shape(value))
        wide = [np.broadcast_to(i, shape) for i in (at, *index)]
        if chosen is not True:
            chosen = np.broadcast_to(chosen, shape)
            flat = tuple(i[chosen] for i in wide)
            value = np.broadcast_to(value, shape)[chosen] if np.ndim(value) else value
        else:
            flat = tuple(i.ravel() for i in wide)
            value = np.broadcast_to(value, shape).ravel() if np.ndim(value) else value
        if self.own:
            self.a[flat] = value
            if self.valid is not None:
                if alike and at is self._at:
                    self.valid[(slice(None), *index)] = True
                else:
                    self._spread()
                    self.valid[flat] = True
            return
        if self.owners is not None:
            self.owners.claim(flat[1:], self.ctas[flat[0]])
        self.a[flat[1:]] = value
        if self.valid is not None:
            self.valid[flat[1:]] = True

    def update(self, combine: Any, value: Any, mask: Mask, lanes: tuple[int, ...], index: tuple[Any, ...]) -> None:
        """Change elements of what CTAs have of their own, once for every lane of the mask, in order of the lanes."""
        inside = np.broadcast_to(mask, lanes).copy()
        wide = tuple(np.broadcast_to(i, lanes) for i in index)
        for i, n in zip(wide, self.shape, strict=True):
            inside &= (i >= 0) & (i < n)
        flat = tuple(i[inside] for i in (np.broadcast_to(self._at, lanes), *wide))
        if self.valid is not None:
            self._spread()
            if not self.valid[flat].all():
                raise OneByOneError(f"updates {self.name} before anything was written there")
        combine.at(self.a, flat, np.broadcast_to(converted(value, self.a.dtype), lanes)[inside])

    def _claim(self, at: Array, chosen: Mask, index: tuple[Any, ...]) -> None:
        assert self.owners is not None
        shape = np.broadcast_shapes(at.shape, np.shape(chosen), *(np.shape(i) for i in index))
        chosen = np.broadcast_to(chosen, shape)
        first, *rest = (np.broadcast_to(i, shape)[chosen] for i in (at, *index))
        self.owners.claim(tuple(rest), self.ctas[first])

    def _clipped(self, mask: Mask, index: tuple[Any, ...], what: str) -> tuple[tuple[Any, ...], Any]:
        inside: Any = None
        clipped = []
        for i, n in zip(index, self.shape, strict=True):
            i = np.asarray(i)
            if i.size and (i.min() < 0 or i.max() >= n):
                here = (i >= 0) & (i < n)
                inside = here if inside is None else inside & here
                i = np.clip(i, 0, max(n - 1, 0))
            clipped.append(i)
        if inside is not None and not self.guarded and np.logical_and(mask, ~inside).any():
            raise OneByOneError(f"{what} {self.name} outside of its shape")
        return tuple(clipped), inside

    # ---- rectangles

    def covers(self, starts: Starts, extents: tuple[int, ...]) -> bool:
        """Whether rectangles lie inside in all CTAs."""
        for s, e, n in zip(starts, extents, self.shape, strict=True):
            low, high = (s.min(), s.max()) if isinstance(s, np.ndarray) else (s, s)
            if low < 0 or high + e > n:
                return False
        return True

    def box(self, starts: Starts, extents: tuple[int, ...]) -> Array:
        """Rectangles, the CTAs first; what lies outside of a guarded buffer is the fallback."""
        if not self.covers(starts, extents):
            at, index = self._spelled(starts, extents)
            return np.asarray(self._gather(at, True, index))
        if self.owners is not None:
            self.owners.claim_boxes(starts, extents, self.ctas)
        key = self._key(starts, extents)
        if self.valid is not None:
            written = self._rectangles(self._valid(key), starts, extents, key)
            if not written.all():
                raise OneByOneError(f"reads {self.name} before anything was written there")
        return self._rectangles(self.a, starts, extents, key)

    def fill_box(self, starts: Starts, extents: tuple[int, ...], values: Any) -> None:
        """Write rectangles, the CTAs first; what lies outside of a guarded buffer is dropped."""
        if not self.covers(starts, extents):
            at, index = self._spelled(starts, extents)
            self._scatter(at, values, True, index)
            return
        if self.owners is not None:
            self.owners.claim_boxes(starts, extents, self.ctas)
        key = self._key(starts, extents)
        self._fill(self.a, starts, extents, key, values)
        if self.valid is not None:
            self._fill(self._valid(key), starts, extents, key, True)

    def part(self, starts: Starts, extents: tuple[int, ...]) -> tuple[Array, Array | None] | None:
        """Rectangles of what CTAs have of their own, to be changed in place, and whether they are written.

        ``None`` where there are none, for they are not all at the same place, or not inside.
        """
        key = self._key(starts, extents)
        if not self.own or key is None or not self.covers(starts, extents):
            return None
        valid = None if self.valid is None else self._rectangles(self._valid(None), starts, extents, key)
        return self._rectangles(self.a, starts, extents, key), valid

    def _key(self, starts: Starts, extents: tuple[int, ...]) -> tuple[slice, ...] | None:
        """Rectangles at the same place in all CTAs, as slices; ``None`` for others."""
        for start in starts:
            if isinstance(start, np.ndarray):
                return None
        box = [slice(s, s + e) for s, e in zip(starts, extents, strict=True)]
        return (slice(None), *box) if self.own else tuple(box)

    def _rectangles(self, a: Array, starts: Starts, extents: tuple[int, ...], key: Any) -> Array:
        if key is not None:
            return np.asarray(a[key] if self.own else a[key][None])
        found: Array = windows(a, self.own, extents)[(self._at, *starts) if self.own else starts]
        return found

    def _fill(self, a: Array, starts: Starts, extents: tuple[int, ...], key: Any, values: Any) -> None:
        if key is not None:
            a[key] = values if self.own or not isinstance(values, np.ndarray) else values[0]
        else:
            windows(a, self.own, extents)[(self._at, *starts) if self.own else starts] = values

    def _spelled(self, starts: Starts, extents: tuple[int, ...]) -> tuple[Array, tuple[Array, ...]]:
        """The elements of rectangles, the CTAs first."""
        rank = len(extents)
        index = [
            np.reshape(s, (-1, *(1,) * rank)) + np.arange(e).reshape(-1, *(1,) * (rank - 1 - d))
            for d, (s, e) in enumerate(zip(starts, extents, strict=True))
        ]
        return self._at.reshape(-1, *(1,) * rank), tuple(index)

    def _valid(self, key: Any) -> Array:
        """Which elements are written: of every CTA by itself, but for places that are the same in all."""
        if key is None:
            self._spread()
        assert self.valid is not None
        return self.valid

    def _spread(self) -> None:
        if self.own and self.valid is not None and len(self.valid) == 1 < len(self.ctas):
            self.valid = self.valid.repeat(len(self.ctas), axis=0)


class Registers:
    """A ``local`` buffer: a small array in every lane of every CTA, kept once as long as all hold the same.

    ``lanes``: their numbers, that of the CTAs last.
    """

    __slots__ = ("a", "lanes", "name", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], lanes: tuple[int, ...], name: str):
        self.a = np.zeros((1,) * len(lanes) + shape, dtype)
        self.lanes, self.shape, self.name = lanes, shape, name

    def get(self, *index: Any) -> Any:
        """The element of every lane; one for each CTA, or one number, where lanes or CTAs hold the same."""
        if any(isinstance(i, np.ndarray) for i in index):
            self._spread(max(np.ndim(i) for i in index))
            value = self.a[(*self._lane_index(), *self._clipped(index)[0])]
        else:
            self._check(index)
            value = self.a[(..., *index)].copy()
        if math.prod(value.shape[:-1]) > 1:
            return value
        value = value.reshape(-1)
        if value.size > 1:
            return value
        one = value[0]
        return one.item() if one.dtype.kind in "iub" else one

    def put(self, value: Any, mask: Mask, *index: Any) -> None:
        """Store in the lanes of the mask."""
        value = converted(value, self.a.dtype)
        self._spread(max(np.ndim(value), np.ndim(mask), *(np.ndim(i) for i in index)))
        if any(isinstance(i, np.ndarray) for i in index):
            clipped, inside = self._clipped(index)
            key = (*self._lane_index(), *clipped)
            self.a[key] = np.where(np.logical_and(mask, inside), value, self.a[key])
            return
        self._check(index)
        part = self.a[(..., *index)]
        self.a[(..., *index)] = value if mask is True else np.where(mask, value, part)

    def _check(self, index: tuple[Any, ...]) -> None:
        for i, n in zip(index, self.shape, strict=True):
            if not 0 <= i < n:
                raise OneByOneError(f"accesses {self.name} outside of its shape")

    def _clipped(self, index: tuple[Any, ...]) -> tuple[list[Array], Array]:
        """Indices of lanes brought inside, and which were; those of whole CTAs have to be."""
        lanes = self.a.shape[: len(self.lanes)]
        wide = [np.broadcast_to(i, lanes) for i in index]
        inside = np.ones(lanes, bool)
        for i, n in zip(wide, self.shape, strict=True):
            inside &= (i >= 0) & (i < n)
        if max(np.ndim(i) for i in index) < 2 and not inside.all():
            raise OneByOneError(f"accesses {self.name} outside of its shape")
        return [np.clip(i, 0, n - 1) for i, n in zip(wide, self.shape, strict=True)], inside

    def _spread(self, rank: int) -> None:
        """Hold one element for each CTA, for values that differ between those, or for each lane, too."""
        held = self.a.shape[: len(self.lanes)]
        wanted = self.lanes if rank > 1 else (*held[:-1], self.lanes[-1]) if rank else held
        if held != wanted:
            self.a = np.broadcast_to(self.a, (*wanted, *self.shape)).copy()

    def _lane_index(self) -> list[Array]:
        lanes = self.a.shape[: len(self.lanes)]
        return [np.arange(n).reshape((-1,) + (1,) * (len(lanes) - 1 - d)) for d, n in enumerate(lanes)]
