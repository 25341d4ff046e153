"""A strand: the threads of a CTA that go the same way, as the code of a race check sees them, which calls it ``c``.

In: accesses, waits and asynchronous work of all its threads at once. Out: accesses to the :class:`Shadow` of each
memory, by warp; requests, ``(barrier, ...)``, which ``running`` serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

import numpy as np

from tltrace_nb.base.gpus import WARP
from tltrace_nb.simulator.memory import Array, Mask
from tltrace_nb.simulator.races.barriers import Phased
from tltrace_nb.simulator.races.clocks import COPIES, PRODUCTS, STORES, Clocks
from tltrace_nb.simulator.races.descriptors import Descriptor, spans
from tltrace_nb.simulator.races.shadow import READ, WRITE, Conflict, Shadow


class EnoughError(Exception):
    """As many accesses have been looked at as were to be."""


_GROUP = 4
"""Warps of a warp group."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A buffer as a part of a memory: its first byte, bits of an element, bytes of a place; its ``values`` if needed.

    ``shadow`` is ``None`` where nobody asks for races. ``elements``: how many a tensor has, whose accesses TileLang
    guards.
    """

    shadow: Shadow | None
    start: int
    bits: int
    granule: int
    values: Array | None = None
    elements: int | None = None

    def places(self, index: Any, count: int, stride: int) -> Array:
        """The places of ``count`` elements from each index on, one row per index."""
        first = np.atleast_1d(np.asarray(index, np.int64))
        if stride == 1 or count == 1:
            size = max(1, count * self.bits // 8)
            begin = self.start + first * self.bits // 8
            return (begin // self.granule)[:, None] + np.arange(max(1, size // self.granule))
        each = first[:, None] + np.arange(count) * stride
        begin = (self.start + each * self.bits // 8) // self.granule
        size = max(1, self.bits // 8 // self.granule)
        found: Array = (begin[..., None] + np.arange(size)).reshape(len(first), -1)
        return found

    def span(self, index: int, count: int) -> slice:
        """The places of neighbours."""
        begin = self.start + int(index) * self.bits // 8
        return slice(begin // self.granule, -(-(begin + count * self.bits // 8) // self.granule))


class Begun:
    """Asynchronous work of one warp: the moment of what is begun now, and the moments of groups that are closed."""

    __slots__ = ("closed", "moment")

    def __init__(self) -> None:
        self.moment = 1
        self.closed: list[int] = []

    def close(self) -> None:
        """Close a group."""
        self.closed.append(self.moment)
        self.moment += 1


class Strand:
    """The threads, and what they do."""

    def __init__(
        self,
        index: int,
        ids: Array,
        block: tuple[int, int, int],
        cta: tuple[int, int, int],
        scalars: tuple[Any, ...],
        clocks: Clocks,
        memory: Callable[[int], Memory],
        barriers: Callable[[int], list[Phased]],
        found: Callable[[Conflict], None],
        budget: list[int],
    ):
        """``budget``: how many accesses of all strands are looked at, an element that counts down."""
        x, y, _ = block
        self.index, self.ids, self.n = index, ids, len(ids)
        self.threads_x, self.threads_y, self.threads_z = ids % x, ids // x % y, ids // (x * y)
        self.block_x, self.block_y, self.block_z = cta
        self.rank = 0
        self.scalars = scalars
        self.memory, self.barriers = memory, barriers
        self.code: GeneratorType[Any, None, None]
        self._warp_of = ids // WARP
        self._warps = np.unique(self._warp_of)
        self._clocks = clocks
        self._found = found
        self._budget = budget
        self._work: dict[tuple[int, int], Begun] = {}
        self._products: dict[tuple[int, int], tuple[int, int]] = {}

    # ---- who

    def warps(self, mask: Mask) -> Array:
        """The warps of the lanes of a mask."""
        return self._warps if mask is True else np.unique(self._warp_of[np.broadcast_to(mask, self.ids.shape)])

    def count(self, mask: Mask) -> int:
        """Threads among a mask."""
        return self.n if mask is True else int(np.count_nonzero(np.broadcast_to(mask, self.ids.shape)))

    def step(self) -> None:
        """One more iteration of a loop without a known end."""
        self._spend()

    # ---- accesses of threads

    def touch(self, kind: int, at: Memory, mask: Mask, index: Any, count: int, stride: int, site: int) -> None:
        """The lanes of a mask read or write ``count`` elements each, from an index on."""
        assert at.shadow is not None
        self._spend()
        index, warps = self._lanes(mask, index)
        if at.elements is not None:
            inside = (index >= 0) & (index + (count - 1) * stride < at.elements)
            index, warps = index[inside], warps[inside]
            if not len(index):
                return
        places = at.places(index, count, stride)
        who = np.repeat(warps, places.shape[1])
        at.shadow.access(kind, places.ravel(), who, who, self._clocks.known[who, who], site)

    def scan(self, kind: int, at: Memory, begin: int, how: tuple[int, ...], site: int) -> None:
        """Warps go along lines of their own. ``how``: lines, elements of each, the strides of both, how many warps."""
        assert at.shadow is not None
        self._spend()
        lines, length, apart, step, warps = how
        mine = np.arange(lines)
        mine = mine[np.isin(mine % warps, self._warps)]
        places = at.places((begin + mine[:, None] * apart + np.arange(length) * step).ravel(), 1, 1)
        who = np.repeat(mine % warps, length * places.shape[1])
        at.shadow.access(kind, places.ravel(), who, who, self._clocks.known[who, who], site)

    def _spend(self) -> None:
        self._budget[0] -= 1
        if self._budget[0] < 0:
            raise EnoughError

    def get(self, at: Memory, index: Any) -> Any:
        """What the elements at an index hold; those outside are anything."""
        assert at.values is not None
        index = np.clip(index, 0, max(0, at.values.size - 1))
        value = at.values[index]
        return value.item() if not np.ndim(value) and value.dtype.kind in "iub" else value

    def put(self, at: Memory, value: Any, mask: Mask, index: Any) -> None:
        """Store."""
        assert at.values is not None
        index, value, mask = np.broadcast_arrays(index, value, mask)
        keep = mask & (index >= 0) & (index < at.values.size)
        at.values[index[keep]] = value[keep]

    def _lanes(self, mask: Mask, index: Any) -> tuple[Array, Array]:
        """The indices and warps of the lanes of a mask; of one place, one for each warp."""
        if not np.ndim(index):
            warps = self.warps(mask)
            return np.full(len(warps), index), warps
        if mask is True:
            return index, self._warp_of
        chosen = np.broadcast_to(mask, self.ids.shape)
        return index[chosen], self._warp_of[chosen]

    # ---- asynchronous work

    def begun(self, kind: int, warp: int) -> Begun:
        """A warp's work of one kind."""
        return self._work.setdefault((kind, warp), Begun())

    def copy(self, at: Memory, mask: Mask, index: Any, count: int, site: int) -> None:
        """Start a cp.async copy of so many elements in each lane."""
        assert at.shadow is not None
        self._spend()
        index, warps = self._lanes(mask, index)
        places = at.places(index, count, 1)
        who = np.repeat(warps, places.shape[1])
        moments = np.zeros(self._clocks.warps, np.int32)
        for warp in self._warps:
            moments[warp] = self.begun(COPIES, int(warp)).moment
        at.shadow.access(WRITE, places.ravel(), who, self._clocks.work(COPIES, 0) + who, moments[who], site)

    def close(self, kind: int, mask: Mask) -> None:
        """Close a group of asynchronous work."""
        for warp in self.warps(mask):
            self.begun(kind, int(warp)).close()

    def finish(self, kind: int, left: int, mask: Mask) -> None:
        """Wait until at most so many groups are under way."""
        for warp in map(int, self.warps(mask)):
            closed = self.begun(kind, warp).closed
            if len(closed) > left:
                self._clocks.finish(kind, warp, closed[-1 - left])

    def fence(self, mask: Mask) -> None:
        """A proxy fence."""
        self._clocks.fence(self.warps(mask))

    def multiply(self, matrices: tuple[tuple[Memory, Descriptor, int, bool], ...], mask: Mask, site: int) -> None:
        """Start an MMA of each warp group: (memory, descriptor, rows, whether they run along K) of its operands."""
        self._spend()
        for warp in map(int, self.warps(mask)[::_GROUP]):
            work = self._clocks.work(PRODUCTS, warp)
            moment = self.begun(PRODUCTS, warp).moment
            for i, (at, matrix, rows, along_k) in enumerate(matrices):
                assert at.shadow is not None
                for begin, end in spans(self._of(warp, matrix), rows, along_k, at.bits // 8):
                    places = slice(begin // at.granule, end // at.granule)
                    at.shadow.access(READ, places, warp, work, moment, site + i, True)

    def _of(self, warp: int, matrix: Descriptor) -> Descriptor:
        """A descriptor of one warp, whose start may differ from that of others."""
        lane = int(np.searchsorted(self._warp_of, warp))
        start = int(np.broadcast_to(matrix.start, self.ids.shape)[lane])
        return Descriptor(start, matrix.layout, matrix.leading, matrix.stride)

    def hold(self, registers: int, site: int) -> None:
        """An MMA that is under way reads or writes registers, by number."""
        for warp in map(int, self._warps[::_GROUP]):
            self._products[registers, warp] = self.begun(PRODUCTS, warp).moment, site

    def use(self, registers: tuple[int, ...], site: int) -> None:
        """Threads use registers, which must not be in use by an MMA that is under way."""
        for warp in map(int, self._warps[::_GROUP]):
            work = self._clocks.work(PRODUCTS, warp)
            for number in registers:
                moment, first = self._products.get((number, warp), (0, 0))
                if moment > self._clocks.known[warp, work]:
                    self._found(Conflict(first, work, site, warp, warp, 0))

    def bulk_store(self, at: Memory, mask: Mask, index: Any, count: int, site: int) -> None:
        """Start a bulk copy out of shared memory."""
        assert at.shadow is not None
        index, warps = self._lanes(mask, index)
        for begin, warp in zip(index, warps, strict=True):
            work, moment = self._clocks.work(STORES, int(warp)), self.begun(STORES, int(warp)).moment
            at.shadow.access(READ, at.span(begin, count), int(warp), work, moment, site, True)

    # ---- mbarriers

    def make(self, barrier: Phased, count: int, mask: Mask) -> None:
        """Initialise an mbarrier."""
        warps = self.warps(mask)
        barrier.count = barrier.pending = count
        barrier.made = int(warps[0]), int(self._clocks.known[warps[0], warps[0]])

    def arrive(self, barrier: Phased, mask: Mask, expected: int, arrives: bool, site: int) -> None:
        """The lanes of a mask arrive, and announce so many bytes each."""
        self._check_made(barrier, mask, site)
        threads = self.count(mask)
        told = self._clocks.release(self.warps(mask))
        barrier.arrive(told, threads if arrives else 0, expected * threads)

    def arrive_after_copies(self, barrier: Phased, mask: Mask, site: int) -> None:
        """The lanes arrive when their cp.async copies so far are done."""
        self._check_made(barrier, mask, site)
        warps = self.warps(mask)
        told = self._clocks.release(warps)
        for warp in map(int, warps):
            begun = self.begun(COPIES, warp)
            told[0][self._clocks.work(COPIES, warp)] = told[1][self._clocks.work(COPIES, warp)] = begun.moment
            begun.moment += 1
        barrier.arrive(told, self.count(mask))

    def transfer(self, at: Memory, mask: Mask, index: Any, count: int, size: int, barrier: Phased, site: int) -> None:
        """Start TMA copies of so many elements, one of each lane of a mask, whose bytes an mbarrier counts."""
        assert at.shadow is not None
        self._spend()
        self._check_made(barrier, mask, site)
        index = np.broadcast_to(index, self.ids.shape)
        chosen = np.broadcast_to(mask, self.ids.shape)
        for begin, warp in zip(index[chosen], self._warp_of[chosen], strict=True):
            moment = barrier.phase + 1
            at.shadow.access(WRITE, at.span(begin, count), int(warp), barrier.transfers, moment, site)
            barrier.receive(size)

    def wait(self, barrier: Phased, parity: int, mask: Mask, site: int) -> tuple[Any, ...]:
        """Wait for a phase of an mbarrier."""
        self._check_made(barrier, mask, site)
        return barrier, parity, mask

    def passed(self, barrier: Phased, parity: int, mask: Mask) -> None:
        """The wait is over."""
        told = barrier.done[parity]
        if told is not None:
            self._clocks.acquire(self.warps(mask), told)

    def _check_made(self, barrier: Phased, mask: Mask, site: int) -> None:
        if barrier.made is None:
            return
        warp, moment = barrier.made
        for mine in map(int, self.warps(mask)):
            if self._clocks.known[mine, warp] < moment:
                self._found(Conflict(0, warp, site, mine, mine, 0))

    # ---- barriers of the CTA

    def sync(self, name: int, expected: int, mask: Mask) -> tuple[Any, ...]:
        """``__syncthreads`` or a named barrier."""
        return name, expected, mask, True

    def come(self, name: int, expected: int, mask: Mask) -> tuple[Any, ...]:
        """Come to a named barrier without waiting."""
        return name, expected, mask, False

    def all_reduce(
        self, at: Memory | None, index: Any, widths: tuple[int, ...], names: tuple[int, int, int], how: tuple[int, ...]
    ) -> Iterator[tuple[Any, ...]]:
        """``tl::AllReduce``: exchanges by way of shared memory, one for each width of at least a warp.

        ``names``: two barriers and the threads at them. ``how``: the first thread, values, and their stride; sites.
        """
        first, values, stride, writes, reads = how
        for width in widths:
            mine = self.ids - first
            yield self.sync(names[0], names[2], True)
            for i in range(values if at is not None else 0):
                assert at is not None
                self.touch(WRITE, at, True, index + mine + i * stride, 1, 1, writes)
            yield self.sync(names[1], names[2], True)
            for i in range(values if at is not None else 0):
                assert at is not None
                self.touch(READ, at, True, index + (mine ^ width) + i * stride, 1, 1, reads)
