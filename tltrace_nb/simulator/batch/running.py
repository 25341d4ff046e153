"""The CTAs of a launch in batches.

In: a launch's program for many CTAs, its arrays, the order in which CTAs that are alike follow each other. Out: the
arrays, changed. A batch is one CTA for the engine, whose memory is that of all of them: barriers, roles and
asynchronous copies go on as in one CTA that is alone on an SM. Where its CTAs come to go different ways, it begins
again, as one batch for each way.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Set
from dataclasses import replace
from typing import Any

import numpy as np

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.data.sites import Rasterisation
from tltrace_nb.simulator.barriers import Mbarrier
from tltrace_nb.simulator.batch import tiles
from tltrace_nb.simulator.batch.memory import Disagreement, Memory, OneByOneError, Owners
from tltrace_nb.simulator.batch.values import uniform
from tltrace_nb.simulator.engine import Engine, Launch, Progress
from tltrace_nb.simulator.memory import Array, Mask
from tltrace_nb.simulator.program import BufferUse
from tltrace_nb.simulator.recording import Recorder
from tltrace_nb.simulator.storage import Layout
from tltrace_nb.simulator.thread_group import Cta, ThreadGroup

MANY = 512
"""CTAs of a launch from which on it is worth to compile it once more."""
MEMORY = 32 << 20
"""Bytes of memory of their own that the CTAs of a batch have, unless one has more."""
MOST = 1024
"""CTAs of a batch at most."""
LEAST = 4
"""CTAs of a batch on average, below which they go one by one."""


class BatchGroup(ThreadGroup):
    """The threads of many CTAs that go the same way; ``ctas`` is how many."""

    def __init__(self, ctas: int, *args: Any):
        super().__init__(*args)
        self.ctas = ctas

    @property
    def who(self) -> str:
        """Its first CTA, by the block indices that the hardware gives, and its threads."""
        first = ", ".join(str(int(np.ravel(b)[0])) for b in self.cta.block)
        return f"CTA ({first}) and {self.ctas - 1} more, {self.threads}"

    @property
    def threads(self) -> str:
        """Its threads, by their number."""
        return f"{self.n} threads"

    def count(self, mask: Mask) -> int:
        """Threads among a mask, as many in each CTA."""
        if np.ndim(mask) == 0:
            return super().count(mask)
        return int(uniform(np.count_nonzero(np.broadcast_to(mask, (self.n, np.shape(mask)[-1])), axis=0)))


class BatchEngine(Engine):
    """Runs one batch."""

    move = staticmethod(tiles.move)
    done_before, of = 0, 0

    @property
    def reached(self) -> tuple[int, int]:
        """How many CTAs are done, of how many."""
        return self.done_before, self.of


class BatchLayout(Layout):
    """What is the same in all batches of a launch; ``stored``: the data that it may write."""

    def __init__(self, stored: Set[Any], *args: Any):
        super().__init__(*args)
        self._owners = {
            number: Owners(view.a.shape)
            for number, view in self._global.items()
            if self._uses[number].buffer.data in stored
        }
        self._views = Counter(use.buffer.data for use in self.program.buffers)
        own = max(1, sum(self._sizes.values()))
        self.at_once = max(1, min(MOST, MEMORY // own))

    def make_batch(self, engine: Engine, numbers: Array) -> Cta:
        """Many CTAs, with memory of their own."""

        def blocks(pattern: Rasterisation | None) -> Any:
            return _folded(self._blocks(pattern)[:, numbers])

        cta = Cta(self.name, int(numbers[0]), blocks(None), (0, 0, 0), 0, blocks, self._memory)
        store: dict[Any, tuple[Array, Array | None]] = {}
        memories: dict[Any, Memory] = {}
        barriers: dict[Any, list[Mbarrier]] = {}
        ctas = numbers.astype(np.int32)

        def memory(use: BufferUse, key: Any) -> Memory:
            data, dtype, size = use.buffer.data, self._dtype(use), self._sizes[use.buffer.data]
            if key not in store:
                apart = len(ctas) if self._views[data] > 1 else 1  # views of the same memory tell each other
                valid = np.zeros((apart, size // dtype.itemsize), bool) if data in self._tracked else None
                store[key] = np.zeros((len(ctas), size), np.uint8), valid
            raw, valid = store[key]
            own = self._of_each(use, raw.view(dtype))
            return Memory(
                own, str(use.buffer.name), ctas, True, valid=None if valid is None else self._of_each(use, valid)
            )

        def view(thread_group: ThreadGroup, index: int) -> Any:
            use = self._uses[index]
            apart = use.buffer.data in self.program.private and use.scope == "local.fragment"
            key = (use.buffer.data, thread_group.index if apart else -1)
            if (index, key) not in memories:
                if (of := self._global.get(index)) is None:
                    found = memory(use, key)
                else:
                    owners = self._owners.get(index)
                    found = Memory(of.a, of.name, ctas, False, of.guarded, of.valid, of.fallback, owners)
                memories[index, key] = found
            return memories[index, key]

        def barrier(index: int) -> list[Mbarrier]:
            use = self._uses[index]
            if use.buffer.data not in barriers:
                barriers[use.buffer.data] = self._mbarriers(engine, use)
            return barriers[use.buffer.data]

        for i, (ids, x, y, z) in enumerate(self._lanes):
            lanes = (ids[:, None], x[:, None], y[:, None], z[:, None])
            cta.thread_groups.append(BatchGroup(len(ctas), engine, cta, i, lanes, self.values, view, barrier))
        cta.left = len(cta.thread_groups)
        return cta

    def _of_each(self, use: BufferUse, flat: Array) -> Array:
        """The memory of each CTA as a buffer sees it."""
        shape, start = self._shape(use.buffer), self._start(use)
        return flat[:, start : start + int(np.prod(shape))].reshape(len(flat), *shape)


def in_batches(layout: BatchLayout, gpu: Gpu, kinds: Array, step_limit: int, progress: Progress | None) -> int:
    """Run all CTAs of a launch, those of a kind after each other; how many batches there were.

    Raises ``SimulationError`` where they are to run one by one: they touch the same memory, one of them fails, or there
    would be too many batches. Memory that was written until then stays so.
    """
    order = np.argsort(kinds, kind="stable")
    todo = deque(np.split(order, range(layout.at_once, len(order), layout.at_once)))
    done, batches = 0, 0
    while todo:
        numbers = todo.popleft()
        engine = BatchEngine(replace(gpu, sms=1), Recorder(np.zeros((0, 0, 0), np.int64), 0), None, step_limit)
        engine.done_before, engine.of = done, len(order)
        try:
            engine.run(_launch(layout, numbers))
        except Disagreement as ways:
            todo.extendleft(reversed(list(_apart(numbers, ways.values))))
        else:
            done += len(numbers)
            if progress is not None:
                progress(done, len(order))
        batches += 1
        if (batches + len(todo)) * LEAST > len(order):
            raise OneByOneError("CTAs go too many ways")
    return batches


def _launch(layout: BatchLayout, numbers: Array) -> Launch:
    def make_cta(engine: Engine, _: int) -> Cta:
        return layout.make_batch(engine, numbers)

    return Launch(layout.name, layout.program, (1, 1, 1), (1, 1, 1), 1, layout.values, make_cta)


def _apart(numbers: Array, values: Array) -> Iterator[Array]:
    """CTAs by what they decide by, those of the first one first."""
    _, first, way = np.unique(values, return_index=True, return_inverse=True)
    for each in np.argsort(first):
        yield numbers[way == each]


def _folded(blocks: Array) -> tuple[Any, ...]:
    """Block indices of CTAs: a number where all have the same."""
    return tuple(int(b[0]) if (b == b[0]).all() else b for b in blocks)
