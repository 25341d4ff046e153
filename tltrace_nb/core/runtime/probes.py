"""Small kernels that ask a CUDA device something: what a record costs, how far its global timer is from the host's.

In: nothing but the current device. Out: numbers.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tltrace_nb.data.slots import headers

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

ITERATIONS = 1000
"""Empty ranges of which the cost of a record is the mean."""


def cycles_per_marker() -> float:
    """Cycles of one record with payload on the current CUDA device: a loop of empty ranges in one CTA."""
    kernel = _compiled(empty_ranges())
    for _ in range(3):
        events = _trace(kernel).events
    return float((events["end"].max() - events["start"].min()) / (2 * ITERATIONS - 1))


def device_offset(rounds: int = 20) -> tuple[int, float]:
    """The global timer of the current CUDA device less the host's clock, in ns, and how far that may be off.

    A kernel that only records is run between two readings of the host's clock: its entry lies between them.
    """
    import torch

    kernel = _compiled(one_instant())
    best, offset = float("inf"), 0
    for _ in range(rounds):
        torch.cuda.synchronize()
        before = time.time_ns()
        trace = _trace(kernel)
        torch.cuda.synchronize()
        after = time.time_ns()
        entry = int(headers(trace.slots)["entry_ns"].min())
        if after - before < best:
            best, offset = after - before, entry - (before + after) // 2
    return offset, best / 2


def empty_ranges() -> Any:
    """A PrimFunc of one CTA that begins and ends a range in each of ``ITERATIONS`` iterations of a loop."""
    import tilelang.language as T

    from tltrace_nb.core.compile.markers import RangeScope

    def empty(out: T.Tensor((1,), "int32")) -> None:  # type: ignore[valid-type]
        with T.Kernel(1, threads=128):
            for i in T.serial(ITERATIONS):
                with RangeScope("empty", "main", i):
                    pass
            out[0] = 1

    return T.prim_func(empty)


def one_instant() -> Any:
    """A PrimFunc of one CTA that records an instant and does nothing else."""
    import tilelang.language as T

    from tltrace_nb.core.compile.markers import emit_instant

    def clock(out: T.Tensor((1,), "int32")) -> None:  # type: ignore[valid-type]
        with T.Kernel(1, threads=32):
            emit_instant("now", None, "main")
            out[0] = 1

    return T.prim_func(clock)


def _compiled(func: Any) -> Any:
    from tltrace_nb.core.compile.compilation import Compilation
    from tltrace_nb.core.compile.options import TraceOptions
    from tltrace_nb.core.runtime.jit import compile_traced

    return compile_traced(func, Compilation(), TraceOptions(), lambda _: None)


def _trace(kernel: Any) -> Trace:
    import torch

    _, trace = kernel.run((torch.zeros(1, dtype=torch.int32, device="cuda"),))
    return trace  # type: ignore[no-any-return]
