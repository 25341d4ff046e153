"""One launch of a traced kernel: its slots on the device, and the trace that is made of them when it is looked at.

In: a :class:`LaunchPlan`, the same for all launches of one kernel and shape. Out: :class:`TracedLaunch`, cheap to make.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from tltrace_nb.core.slots import forget_unfinished
from tltrace_nb.core.trace import Trace

Grids = tuple[tuple[int, int, int], ...]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What all launches of one kernel and shape have in common.

    ``slots`` is the shape of the slots, ``nbytes`` their size. ``zeroed``: whether they must be zero before the launch,
    which is so where a header may stay unwritten; elsewhere every CTA writes all its headers when it enters.
    """

    grids: Grids
    slots: tuple[int, int, int]
    nbytes: int
    zeroed: bool


class DeviceSlots:
    """The slots of one launch where the kernel writes them, as :class:`Trace` fetches them.

    ``live`` slots are those of a CUDA graph, which each of its replays fills anew; they end in a word that the replay
    writes too, so that what lay in the memory before the first replay is not taken for events.
    """

    def __init__(self, plan: LaunchPlan, device: Any, live: bool) -> None:
        import torch

        self.live = live
        self._zeroed = plan.zeroed
        size = math.prod(plan.slots)
        make = torch.zeros if plan.zeroed else torch.empty
        if live:
            self._seal = secrets.randbits(62)
            self._whole = make(size + 1, dtype=torch.int64, device=device)
            self._whole[size:].fill_(self._seal)
            self.tensor = self._whole[:size].view(plan.slots)
        else:
            self.tensor = make(plan.slots, dtype=torch.int64, device=device)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that they take."""
        return int(self.tensor.nbytes)

    @property
    def is_cuda(self) -> bool:
        """Whether that is memory of a card."""
        return bool(self.tensor.is_cuda)

    def cpu(self) -> Any:
        """A copy on the host once all work on the device is done, whichever stream it is on; of zeros before a replay.

        Must not be called while a stream is being captured: CUDA allows no waiting then.
        """
        import torch

        if self.tensor.is_cuda:
            torch.cuda.synchronize(self.tensor.device)
        if self.live and int(self._whole[-1].cpu()) != self._seal:
            return torch.zeros(self.tensor.shape, dtype=torch.int64)
        copy = self.tensor.cpu()
        if not self._zeroed:
            forget_unfinished(copy.numpy())
        return copy


@dataclass(slots=True, eq=False)
class TracedLaunch:
    """One launch of a traced kernel, from which the trace is made when :meth:`trace` is called, and only then.

    ``kernel``: what was launched, an identity that can be hashed; a kernel on a card has a ``table`` and
    ``describe(launch)``, of which the trace is made. ``shape``: the values of its symbolic extents.
    ``device`` is the card's index. ``graph``: it was captured into a CUDA graph, so that its slots are the graph's and
    each replay fills them. ``started`` is the time of the call, in seconds since 1970.
    """

    kernel: Any
    shape: Shape
    plan: LaunchPlan
    slots: DeviceSlots | None
    device: int | None = None
    graph: bool = False
    started: float = field(default_factory=time.time)
    _trace: Trace | None = None

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
    def device_bytes(self) -> int:
        """Bytes of a card's memory that the launch holds; 0 once its trace has been looked at."""
        if self._trace is not None:
            return self._trace.device_bytes
        return self.plan.nbytes

    def trace(self) -> Trace:
        """The launch's trace, always the same one. It waits for nothing: slots are fetched when the trace is read."""
        if self._trace is None:
            assert self.slots is not None
            self._trace = Trace(self.slots, self.kernel.table, self.kernel.describe(self))
            self.slots = None  # the trace lets go of them once it has a copy
        return self._trace
