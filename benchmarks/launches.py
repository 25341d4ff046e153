"""What tracing adds to the host's time of a launch, and whether ten thousand launches leave anything behind.

    python benchmarks/launches.py [--json FILE]

On a CUDA device a small GEMM is launched, traced and untraced in turn in this one process; a figure is the median over
rounds of the host's time for a row of launches, waited for outside of it. A dynamic GEMM reads its grid off its
arguments. Without a device the same code runs around a kernel that does nothing, on tensors of the CPU: the figures are
then those of our own Python alone, without what CUDA's allocator and TileLang take for one argument more.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import tilelang.language as T
import torch

from tltrace_nb import trace
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.lowering import prepare
from tltrace_nb.core.compile.numbering import strip
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler, resolve_target
from tltrace_nb.core.runtime import traced
from tltrace_nb.core.runtime.jit import compile_traced
from tltrace_nb.core.runtime.traced import TracedKernel

SIZE, BLOCK, DEPTH = 512, 128, 32
ROUNDS, LAUNCHES, MANY = 50, 200, 10_000


def gemm(dynamic: bool) -> Any:
    """A GEMM with ranges around its copies and its product; ``dynamic``: its rows are known at the launch."""
    rows = T.dynamic("m") if dynamic else SIZE

    @T.prim_func
    def gemm(
        A: T.Tensor((rows, SIZE), "float16"), B: T.Tensor((SIZE, SIZE), "float16"), C: T.Tensor((rows, SIZE), "float16")
    ):
        with T.Kernel(T.ceildiv(SIZE, BLOCK), T.ceildiv(rows, BLOCK), threads=128) as (bx, by):
            A_shared = T.alloc_shared((BLOCK, DEPTH), "float16")
            B_shared = T.alloc_shared((DEPTH, BLOCK), "float16")
            C_local = T.alloc_fragment((BLOCK, BLOCK), "float32")
            T.clear(C_local)
            for k in T.Pipelined(SIZE // DEPTH, num_stages=3):
                with trace.range("copy", payload=k):
                    T.copy(A[by * BLOCK, k * DEPTH], A_shared)
                    T.copy(B[k * DEPTH, bx * BLOCK], B_shared)
                with trace.range("mma", payload=k):
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * BLOCK, bx * BLOCK])

    return gemm


def on_card(dynamic: bool) -> tuple[TracedKernel, Any]:
    """The traced and the untraced kernel."""
    kernel = compile_traced(gemm(dynamic), Compilation(out_idx=[-1]), TraceOptions(), trace.captured)
    assert isinstance(kernel, TracedKernel)
    return kernel, kernel.untraced


def stand_in(dynamic: bool) -> tuple[TracedKernel, Any]:
    """The same around a kernel that does nothing."""
    target = resolve_target()
    with target:
        lowering = prepare(gemm(dynamic), Scheduler(target), TraceOptions())
    out = torch.empty(1)
    inner: Any = mock.Mock(spec=["out_idx"])
    inner.out_idx = [2]
    kernel = TracedKernel(strip(gemm(dynamic)), inner, lowering, TraceOptions(), trace.captured)
    kernel.kernel = lambda *_: out
    return kernel, lambda *_: out


class NoEvent:
    """A CUDA event of a card that takes no time."""

    def __init__(self, **_: Any) -> None:
        pass

    def record(self) -> None:
        """Nothing is to be put into a stream."""

    def query(self) -> bool:
        """The card has always come so far."""
        return True

    def elapsed_time(self, _: NoEvent) -> float:
        """Milliseconds."""
        return 0.0


@contextmanager
def no_card() -> Iterator[None]:
    """What a launch asks of a card, answered without one."""
    slots = torch.empty(1)

    def empty(*_: Any, **__: Any) -> Any:  # plain functions: a mock would take longer than what it stands for
        return slots

    zero, no, zero_stream = (lambda: 0), (lambda: False), (lambda _: 0)
    with (
        mock.patch.multiple(torch.cuda, current_device=zero, is_current_stream_capturing=no, Event=NoEvent),
        mock.patch.object(torch, "empty", empty),
        mock.patch.object(traced, "_stream", zero_stream),
    ):
        yield


def host_time(call: Callable[[], Any]) -> float:
    """Microseconds of the host for one launch, in a row of them."""
    wait()
    clock = time.perf_counter if torch.cuda.is_available() else time.thread_time  # others may be busy too
    begin = clock()
    for _ in range(LAUNCHES):
        call()
    took = clock() - begin
    wait()
    return took / LAUNCHES * 1e6


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def held() -> SimpleNamespace:
    """Memory of the process and of the card, in MiB."""
    card = torch.cuda.memory_allocated() / 2**20 if torch.cuda.is_available() else 0.0
    return SimpleNamespace(host=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10, card=card)


def measure(name: str, kernel: Any, plain: Any, inputs: tuple[Any, ...]) -> dict[str, float]:
    """Host times, and what many launches leave behind."""
    calls = {"untraced": lambda: plain(*inputs), "traced": lambda: kernel(*inputs)}
    times: dict[str, list[float]] = {each: [] for each in calls}
    for call in calls.values():
        host_time(call)
    for _ in range(ROUNDS):
        for each, call in calls.items():
            times[each].append(host_time(call))
    untraced, traced = (statistics.median(times[each]) for each in calls)
    before = held()
    for _ in range(MANY // LAUNCHES):
        host_time(calls["traced"])
    after = held()
    return {
        f"{name}: untraced, µs a launch": untraced,
        f"{name}: traced, µs a launch": traced,
        f"{name}: added, µs a launch": traced - untraced,
        f"{name}: traced over untraced": traced / untraced,
        f"{name}: host memory added by {MANY:,} launches, MiB": after.host - before.host,
        f"{name}: device memory added by {MANY:,} launches, MiB": after.card - before.card,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures there too")
    args = parser.parse_args()
    card = torch.cuda.is_available()
    device = "cuda" if card else "cpu"
    print(torch.cuda.get_device_name() if card else "no CUDA device: a kernel that does nothing, on the CPU")
    inputs = tuple(torch.ones(SIZE, SIZE, dtype=torch.float16, device=device) for _ in range(2))
    figures: dict[str, float] = {}
    with ExitStack() as stack:
        if not card:
            stack.enter_context(no_card())
        for name, dynamic in (("constant grid", False), ("dynamic grid", True)):
            kernel, plain = on_card(dynamic) if card else stand_in(dynamic)
            figures |= measure(name, kernel, plain, inputs)
    for name, figure in figures.items():
        print(f"{name:60} {figure:10.2f}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
