"""One launch of a traced kernel: its slots on the device, and the trace that is made of them when it is looked at.

In: a :class:`LaunchPlan`, the same for all launches of one kernel and shape. Out: :class:`TracedLaunch`, cheap to make.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tltrace_nb.core.runtime.stopwatch import Timing
from tltrace_nb.data.slots import span_ns

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

Grids = tuple[tuple[int, int, int], ...]
Shape = tuple[int, ...]


POOLED_BYTES = 4 << 20
"""Slots of more bytes are not used again: their kernels take longer than an allocation does."""
POOLED = 4
"""Slots of one plan and stream that wait for a launch."""


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What all launches of one kernel and shape have in common.

    ``slots`` is the shape of the slots, ``nbytes`` their size. ``zeroed``: whether they must be zero before the launch,
    which is so where a header may stay unwritten; elsewhere every CTA writes all its headers when it enters. ``free``
    has slots that launches have let go, by GPU and stream: the next launch on that stream may write them, as the
    stream keeps the order of the two.
    """

    grids: Grids
    slots: tuple[int, int, int]
    nbytes: int
    zeroed: bool
    free: dict[tuple[int, int], list[Any]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def pooled(self) -> bool:
        """Whether slots of launches that are let go are used again."""
        return not self.zeroed and self.nbytes <= POOLED_BYTES

    def free_of(self, device: int, stream: int) -> list[Any]:
        """The slots that wait for a launch on a stream of a GPU: taken from its end, put back there."""
        waiting = self.free.get((device, stream))
        return self.free.setdefault((device, stream), []) if waiting is None else waiting


class DeviceSlots:
    """The slots of one launch where the kernel writes them, ``int64[rows, writers, words]``, for a ``Trace`` to fetch.

    ``live`` slots are those of a CUDA graph, which each of its replays fills anew. ``seal`` is then a tensor of one
    word that a replay writes too, and the word: what lay in the memory before the first replay is not events.
    """

    def __init__(self, tensor: Any, zeroed: bool, seal: tuple[Any, int] | None) -> None:
        self._tensor = tensor
        self._zeroed = zeroed
        self._seal = seal

    @property
    def live(self) -> bool:
        """Whether they change after they have been read."""
        return self._seal is not None

    @property
    def nbytes(self) -> int:
        """Bytes of memory that they take."""
        return int(self._tensor.nbytes)

    @property
    def is_cuda(self) -> bool:
        """Whether that is memory of a GPU."""
        return bool(self._tensor.is_cuda)

    def cpu(self) -> Any:
        """A copy on the host once all work on the device is done, whichever stream it is on; of zeros before a replay.

        Must not be called while a stream is being captured: CUDA allows no waiting then.
        """
        import torch

        from tltrace_nb.data.slots import forget_unfinished

        if self._tensor.is_cuda:
            torch.cuda.synchronize(self._tensor.device)
        if self._seal is not None and int(self._seal[0].cpu()) != self._seal[1]:
            return torch.zeros(self._tensor.shape, dtype=torch.int64)
        copy = self._tensor.cpu().clone() if not self._tensor.is_cuda else self._tensor.cpu()
        if not self._zeroed:
            forget_unfinished(copy.numpy())
        return copy


@dataclass(slots=True, eq=False)
class TracedLaunch:
    """One launch of a traced kernel, from which the trace is made when :meth:`trace` is called, and only then.

    ``kernel``: what was launched, an identity that can be hashed; a kernel on a GPU has a ``table`` and
    ``describe(launch)``, of which the trace is made. ``shape``: the values of its symbolic extents. ``slots``: the
    tensor that the kernel writes. ``device``: the GPU's index. ``seal``: of a launch that was captured into a CUDA
    graph, as ``DeviceSlots``; its slots are the graph's, and each replay fills them. ``free``: where the slots go when
    nobody has looked at the launch and it is let go. ``started``: the time of the call, in seconds since 1970.
    ``timing``: how long the GPU took, once it has come so far.
    """

    kernel: Any
    shape: Shape
    plan: LaunchPlan
    slots: Any
    device: int | None = None
    seal: tuple[Any, int] | None = None
    free: list[Any] | None = None
    started: float = field(default_factory=time.time)
    timing: Timing | None = None
    _trace: Trace | None = None

    def __del__(self) -> None:
        free = self.free
        if free is not None and self.slots is not None and len(free) < POOLED:
            free.append(self.slots)

    @classmethod
    def of(cls, trace: Trace, kernel: Hashable = None, shape: Shape = ()) -> TracedLaunch:
        """The launch of a trace that exists already. ``kernel``: default, what the trace's site table tells."""
        plan = LaunchPlan(trace.meta.grids or (), (0, 0, 0), 0, zeroed=True)
        return cls(trace.table if kernel is None else kernel, shape, plan, None, _trace=trace)

    @property
    def key(self) -> Hashable:
        """Kernel and shape: launches with equal keys did the same work."""
        return self.kernel, self.shape

    @property
    def graph(self) -> bool:
        """Whether it was captured into a CUDA graph."""
        return self.seal is not None

    @property
    def device_bytes(self) -> int:
        """Bytes of a GPU's memory that the launch holds; none once its trace has been looked at."""
        return self.plan.nbytes if self._trace is None else self._trace.device_bytes

    @property
    def host_bytes(self) -> int:
        """Bytes of the host's memory that the launch holds: what its trace does, once it has been looked at."""
        return 0 if self._trace is None else self._trace.host_bytes

    @property
    def timed(self) -> bool:
        """Whether ``ns`` will ever tell anything."""
        return self.timing is not None or (self.slots is None and self.seal is None)

    def ns(self, wait: bool) -> float | None:
        """How long it took; ``None`` while that is not known, NaN if it never will be. ``wait``: until it is."""
        if self.timing is not None:
            return self.timing.ns(wait)
        if not self.timed or self._trace is None:
            return math.nan
        span = span_ns(self._trace.slots)
        return math.nan if span is None and wait else span

    def trace(self) -> Trace:
        """The launch's trace, always the same one. It waits for nothing: slots are fetched when the trace is read."""
        if self._trace is None:
            from tltrace_nb.core.trace import Trace

            slots = DeviceSlots(self.slots, self.plan.zeroed, self.seal)
            self._trace = Trace(slots, self.kernel.table, self.kernel.describe(self))
            self.slots = None  # the trace lets go of them once it has a copy
        return self._trace
