"""What tracing costs a kernel on this GPU: the stripped kernel beside the traced one, in one process.

In: a kernel that ``@trace.jit`` built with tracing on, and its inputs. Out: :class:`Overhead`.

Times are CUDA events around a row of launches. The stripped, the traced and again the stripped kernel take turns, so
that a clock that drifts drifts for all; each time is the median of the rounds, and the stripped kernel against itself
is the noise. ``runtime.probes`` measures what a record costs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.checks import wrong
from tltrace_nb.base.errors import DeviceError, NotTracedError
from tltrace_nb.data.tracefile import believable

if TYPE_CHECKING:
    from tltrace_nb.analysis.table import Table
    from tltrace_nb.core.trace import Trace

ROUNDS, LAUNCHES = 40, 10


@dataclass(frozen=True, eq=False)
class Overhead:
    """What tracing costs: times of one launch in ms, their ratio, and the cycles of one record on this GPU.

    ``noise`` is the ratio of the stripped kernel to itself. ``names``: per name what its records take, as
    ``Trace.overhead``. ``believe``: whether the slowdown is at most ``tracefile.BELIEVED``, or within the noise.
    """

    kernel: str
    gpu: str
    untraced_ms: float
    traced_ms: float
    noise: float
    marker_cycles: float
    names: Table

    @property
    def slowdown(self) -> float:
        """Traced over untraced time."""
        return self.traced_ms / self.untraced_ms

    @property
    def believe(self) -> bool:
        """Whether the traced kernel is, in time, the untraced one."""
        return believable(self.slowdown, self.noise)

    def __str__(self) -> str:
        """All of it in a line."""
        advice = "believe the trace" if self.believe else "mark less, or read its times as an upper bound"
        times = (
            f"{self.untraced_ms:.4f} → {self.traced_ms:.4f} ms traced, ×{self.slowdown:.3f} (noise ×{self.noise:.3f})"
        )
        return f"{self.kernel} on {self.gpu}: {times}, {self.marker_cycles:.1f} cycles a record: {advice}"


def measure(kernel: Any, inputs: tuple[Any, ...], *, rounds: int = ROUNDS, launches: int = LAUNCHES) -> Overhead:
    """Measure a traced kernel against its stripped self on the current CUDA device.

    Raises ``NotTracedError`` for a kernel without tracing, and ``DeviceError`` for one of the virtual GPU.
    """
    from tltrace_nb.core.runtime.blocks import untraced
    from tltrace_nb.core.runtime.probes import cycles_per_marker
    from tltrace_nb.core.runtime.traced import TracedKernel, VirtualTracedKernel

    if isinstance(kernel, VirtualTracedKernel):
        raise DeviceError(
            f"kernel {kernel.table.kernel}: on the virtual GPU a record costs what the model says: "
            "trace.last.overhead(); build the kernel for a CUDA device to measure"
        )
    if not isinstance(kernel, TracedKernel):
        wrong("kernel", kernel, "one that @trace.jit built with tracing on: trace.enable() first", NotTracedError)
    inner, plain = kernel.kernel, kernel.untraced
    _, trace = kernel.run(inputs)
    slots = kernel.prepare(inputs).slots
    with untraced():  # the plain kernel's calls are ours
        times = _interleaved(
            (lambda: plain(*inputs), lambda: inner(*inputs, slots), lambda: plain(*inputs)), rounds, launches
        )
    return summed(trace, times, cycles_per_marker())


def summed(trace: Trace, times: Sequence[Sequence[float]], marker_cycles: float) -> Overhead:
    """What the times (ms) of the stripped, the traced and again the stripped kernel say."""
    untraced, traced, untraced_again = (statistics.median(each) for each in times)
    return Overhead(
        kernel=trace.table.kernel,
        gpu=trace.meta.gpu,
        untraced_ms=untraced,
        traced_ms=traced,
        noise=untraced_again / untraced,
        marker_cycles=marker_cycles,
        names=trace.overhead(marker_cycles),
    )


def _interleaved(calls: Sequence[Callable[[], Any]], rounds: int, launches: int) -> list[list[float]]:
    """Milliseconds of one launch of each, round by round."""
    import torch

    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, mine in zip(calls, times, strict=True):
            event: Any = torch.cuda.Event
            begin, end = (event(enable_timing=True) for _ in range(2))
            call()
            begin.record()
            for _ in range(launches):
                call()
            end.record()
            torch.cuda.synchronize()
            mine.append(float(begin.elapsed_time(end)) / launches)
    return times
