"""A thread group and its CTA: what the generated code calls ``c``.

In: the engine and the launch. Out: who the threads are, the buffers that they see, and the requests that they make.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tltrace_nb.base.gpus import WARP
from tltrace_nb.simulator.barriers import Mbarrier
from tltrace_nb.simulator.costing import Cost
from tltrace_nb.simulator.errors import SimulationError, StepLimitError
from tltrace_nb.simulator.memory import Array, Mask, View
from tltrace_nb.simulator.pointers import Addresses
from tltrace_nb.simulator.printing import printed
from tltrace_nb.simulator.randoms import Random
from tltrace_nb.simulator.yields import CopyAsync, CopyTma, Load, Meet, Multiply, Sync, Until

if TYPE_CHECKING:
    from tltrace_nb.base.gpus import Gpu
    from tltrace_nb.data.sites import Rasterisation
    from tltrace_nb.simulator.costing import Pricing
    from tltrace_nb.simulator.recording import Pen, Recorder
    from tltrace_nb.simulator.sm import Sm


class Clockwork(Protocol):
    """What a thread group asks of the engine that runs it; ``engine.Engine`` is one."""

    gpu: Gpu
    recorder: Recorder
    pricing: Pricing
    step_limit: int
    printed: list[str]

    def at(self, time: float, thread_group: ThreadGroup, call: Callable[..., None], *args: Any) -> None: ...
    def is_live(self, thread_group: ThreadGroup) -> bool: ...
    def arrive_without_waiting(self, time: float, thread_group: ThreadGroup, request: Sync) -> None: ...


class Cta:
    """One CTA on its SM. ``block`` are the hardware's indices, ``blocks`` those that a pattern maps them to.

    ``memory``: what pointers may point to.
    """

    def __init__(
        self,
        name: str,
        number: int,
        block: tuple[int, int, int],
        cluster: Any,
        rank: int,
        blocks: Callable[[Rasterisation], tuple[int, int, int]],
        memory: Addresses,
    ):
        self.name = name
        self.number = number
        self.block = block
        self.blocks = blocks
        self.memory = memory
        self.cluster = cluster
        self.rank = rank
        self.thread_groups: list[ThreadGroup] = []
        self.left = 0
        self.sm: Sm
        self.start = 0.0
        self.flop = 0.0
        self.loads: dict[int, float] = {}
        self.meets: dict[int, Meet] = {}
        self.syncs: dict[Any, Sync] = {}


class Begun:
    """When asynchronous work ends that a thread group has begun, in the order in which it did."""

    __slots__ = ("_ends", "latest")

    def __init__(self) -> None:
        self._ends: deque[float] = deque()
        self.latest = 0.0

    def add(self, end: float) -> None:
        """One more."""
        self._ends.append(end)
        self.latest = max(self.latest, end)

    def wait(self, left: int) -> float:
        """When all but the last so many are done; who asks waits, so that these need not be asked for again."""
        time = 0.0
        while len(self._ends) > left:
            time = max(time, self._ends.popleft())
        return time


class ThreadGroup:
    """The threads of a CTA that go the same way, and their clock ``t`` in cycles."""

    def __init__(
        self,
        engine: Clockwork,
        cta: Cta,
        index: int,
        lanes: tuple[Array, Array, Array, Array],
        scalars: tuple[Any, ...],
        view: Callable[[ThreadGroup, int], View],
        barriers: Callable[[int], list[Mbarrier]],
    ):
        self.engine = engine
        self.cta = cta
        self.index = index
        self.ids, self.threads_x, self.threads_y, self.threads_z = lanes
        self.n = len(self.ids)
        self.block_x, self.block_y, self.block_z = cta.block
        self.rank = cta.rank
        self.scalars = scalars
        self.recorder = engine.recorder
        self.marker = engine.gpu.latencies.marker
        self.t = 0.0
        self.clock_offset = 1
        self.last_clock = 0
        self.last_issue = -1.0
        self.stored = 0.0
        """When the stores so far have left the SM, for which its exit waits."""
        self.pens: list[Pen] = []
        self.code: GeneratorType[Any, None, None]
        self.copies_begun = Begun()
        self.products_begun = Begun()
        self._group: float | None = None
        self.warps = len(np.unique(self.ids // WARP))
        self.product: Callable[[int, int, int, str, int, int], Cost] = engine.pricing.product
        self.copied = engine.pricing.copied
        self.reduced = engine.pricing.reduced
        self.lanes = engine.pricing.counted
        self.later = engine.pricing.later
        self._view = view
        self.barriers = barriers
        self._steps = 0

    # ---- who and where

    @property
    def line(self) -> int | None:
        """Which line of the generated code it has come to; ``None`` before it starts and after it ends."""
        frame = self.code.gi_frame
        return None if frame is None else frame.f_lineno

    @property
    def threads(self) -> str:
        """Its threads, as warp groups or warps where they are whole ones."""
        first, last = int(self.ids[0]), int(self.ids[-1])
        ids = f"threads {first}..{last}" if last > first else f"thread {first}"
        if last - first + 1 != self.n:
            return f"{self.n} of {ids}"
        for size, unit in ((4 * WARP, "warp group"), (WARP, "warp")):
            if first % size == 0 and self.n % size == 0:
                one, many = first // size, last // size
                return f"{unit} {one} ({ids})" if one == many else f"{unit}s {one}..{many} ({ids})"
        return ids

    @property
    def who(self) -> str:
        """Its CTA, by the block indices that it has, and its threads."""
        return f"CTA ({self.block_x}, {self.block_y}, {self.block_z}), {self.threads}"

    @functools.cached_property
    def random(self) -> Random:
        """The generators of its threads."""
        return Random(self.n)

    def view(self, number: int) -> View:
        """One of the program's buffers."""
        return self._view(self, number)

    def thread(self, tag: str) -> Array:
        """The thread index along an axis, ``threadIdx.x``."""
        return {"x": self.threads_x, "y": self.threads_y, "z": self.threads_z}[tag[-1]]

    def rasterise(self, pattern: Rasterisation | None) -> None:
        """Take the block indices of a pattern, or the hardware's again."""
        self.block_x, self.block_y, self.block_z = self.cta.block if pattern is None else self.cta.blocks(pattern)

    def first(self, thread_groups: tuple[int, ...]) -> int:
        """The first of these thread groups that is still there."""
        return min(s.index for s in self.cta.thread_groups if s.index in thread_groups and self.engine.is_live(s))

    def clock(self) -> int:
        """``clock64`` of this SM."""
        return self.clock_offset + int(self.t)

    def global_ns(self) -> int:
        """``%globaltimer``, in its steps."""
        gpu = self.engine.gpu
        return int(self.t / gpu.clock_ghz) // gpu.timer_step_ns * gpu.timer_step_ns

    @property
    def sm(self) -> int:
        """``%smid``."""
        return self.cta.sm.number

    # ---- checks

    def step(self) -> None:
        """One more iteration of a loop without a known end."""
        self._steps += 1
        self.t += 1.0
        if self._steps > self.engine.step_limit:
            raise StepLimitError(
                f"a loop is not done after {self.engine.step_limit:,} iterations; check its condition, or allow more: "
                "trace.simulate(..., step_limit=)"
            )

    def check(self, condition: Any, message: str) -> None:
        """``T.assert``."""
        if not np.all(condition):
            raise SimulationError(f"assertion failed: {message}")

    def check_lanes(self, condition: Any, mask: Mask, message: str) -> None:
        """``T.device_assert`` in the lanes of a mask."""
        if np.any(np.logical_and(mask, np.logical_not(condition))):
            raise SimulationError(f"device assertion failed: {message}")

    def print(self, by_iteration: bool, mask: Mask, message: str, rest: tuple[Any, ...], dtype: str) -> None:
        """``T.print`` in the lanes of a mask: threads, or iterations of T.Parallel."""
        threads = None if by_iteration else (self.threads_x, self.threads_y, self.threads_z)
        self.engine.printed += printed(self.cta.block, threads, mask, message, rest, dtype)

    # ---- barriers and asynchronous work

    def count(self, mask: Mask) -> int:
        """Threads among a mask."""
        return self.n if mask is True else int(np.count_nonzero(mask))

    def issue(self, chain: float, instructions: float) -> None:
        """Let instructions pass of which each waits for the one before; all warps of a scheduler issue in turn."""
        self.t += max(chain, instructions * self.warps / self.engine.gpu.schedulers)

    def load(self, number: int, cost: Cost) -> Load:
        """Load a fragment from global memory; who uses it waits, ``await_load``."""
        return Load(number, cost)

    def await_load(self, number: int) -> None:
        """Wait for the load of a fragment that comes to be used."""
        self.t = max(self.t, self.cta.loads.get(number, 0.0))

    def await_payload(self) -> None:
        """Wait for a payload from global memory, whose load was issued when its record's clock was read."""
        loaded = self.last_clock - self.clock_offset + self.engine.gpu.latencies.load
        self.t = max(self.t, loaded + self.marker)

    def exchange(self, operands: bool) -> None:
        """The barrier between writing shared memory and reading it, which TileLang adds; and the fence for products."""
        of, gpu = self.engine.gpu.latencies, self.engine.gpu
        self.t += of.barrier + self.n / gpu.barrier_threads_per_cycle + (of.proxy_fence if operands else 0.0)

    def arrive(self, barrier: Mbarrier, mask: Mask, expected: int = 0, expecting: Mask = True) -> None:
        """The lanes of a mask arrive; ``expected`` bytes are announced by each of those ``expecting``."""
        threads = 0 if mask is False else self.count(mask)
        self.engine.at(self.t, self, barrier.arrive, threads, expected * self.count(expecting) if expected else 0)

    def arrive_after_copies(self, barrier: Mbarrier, mask: Mask) -> None:
        """The lanes arrive when their cp.async copies so far are done."""
        time = max(self.t, self.copies_begun.latest, self._group or 0.0)
        self.engine.at(time, self, barrier.arrive, self.count(mask))

    def tma(self, cost: Cost, barrier: Mbarrier, size: int, arrives: int, args: Any) -> CopyTma:
        """Start a TMA copy."""
        return CopyTma(cost, barrier, size, arrives, args)

    def cp_async(self, cost: Cost, args: Any) -> CopyAsync:
        """Start a cp.async copy."""
        return CopyAsync(cost, args)

    def copying(self, end: float) -> None:
        """A cp.async copy is on its way, and belongs to the group that is closed next."""
        self._group = end if self._group is None else max(self._group, end)

    def commit(self) -> None:
        """Close a group of cp.async copies."""
        self.copies_begun.add(self.t if self._group is None else self._group)
        self._group = None

    def copies(self, left: int) -> Until:
        """Wait until at most so many groups are on their way."""
        return Until(self.copies_begun.wait(left), "cp.async copies")

    def wgmma(self, cost: Cost) -> Multiply:
        """Start an asynchronous product."""
        return Multiply(cost)

    def products(self, left: int) -> Until:
        """Wait until at most so many products are running."""
        return Until(self.products_begun.wait(left), "products")

    def sync(self, name: int, expected: int, mask: Mask) -> Sync:
        """``__syncthreads`` or a named barrier."""
        return Sync("cta", name, expected, self.count(mask))

    def named_arrive(self, name: int, expected: int, mask: Mask) -> None:
        """Come to a named barrier without waiting."""
        request = Sync("cta", name, expected, self.count(mask))
        self.engine.at(self.t, self, self.engine.arrive_without_waiting, self, request)

    def sync_cluster(self) -> Sync:
        """Wait for all CTAs of the cluster."""
        return Sync("cluster", 0, 0, self.n)

    def sync_grid(self) -> Sync:
        """Wait for all CTAs."""
        return Sync("grid", 0, 0, self.n)

    def __str__(self) -> str:
        return f"kernel {self.cta.name}, {self.who}"
