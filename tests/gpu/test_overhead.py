"""What tracing costs, measured here and by the library: both must agree."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from kernels.attention import attention
from kernels.elementwise import softmax

from tltrace_nb import trace
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.numbering import strip
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import TracedKernel, compile_traced

SIZE = 2048
SQUARE = (SIZE, SIZE)


@trace.jit(out_idx=[-1])
def matmul() -> Any:
    """A GEMM that takes some 50 µs, with the ranges that an author would write."""

    @T.prim_func
    def gemm(A: T.Tensor(SQUARE, "float16"), B: T.Tensor(SQUARE, "float16"), C: T.Tensor(SQUARE, "float16")):
        with T.Kernel(SIZE // 128, SIZE // 128, threads=128) as (bx, by):
            A_shared = T.alloc_shared((128, 64), "float16")
            B_shared = T.alloc_shared((64, 128), "float16")
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(SIZE // 64, num_stages=3):
                with trace.range("copy", payload=k):
                    T.copy(A[by * 128, k * 64], A_shared)
                    T.copy(B[k * 64, bx * 128], B_shared)
                with trace.range("mma", payload=k):
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 128, bx * 128])

    return gemm


@trace.jit
def counting(marks: int) -> Any:
    """A loop that does hardly anything but record, where it records."""

    @T.prim_func
    def count(out: T.Tensor((1320,), "int32")):
        with T.Kernel(1320, threads=128) as cta:
            total = T.alloc_var("int32")
            total = 0
            for i in T.serial(2000):
                if marks:
                    trace.record("turn", payload=i)
                total = total + i * cta
            out[cta] = total

    return count


LONG: dict[str, tuple[Any, tuple[tuple[int, ...], ...], str]] = {
    "matmul": (matmul, (SQUARE, SQUARE), "float16"),
    "attention": (lambda: attention(False, 4, 16, 1024), ((4, 1024, 16, 64),) * 3, "float16"),
    "softmax": (lambda: softmax(65536, 2048), ((65536, 2048),), "float32"),
}
"""Builders of kernels that take long enough for the host not to count, and the shapes and the type of their inputs."""


def cases(name: str) -> tuple[TracedKernel, tuple[Any, ...]]:
    build, shapes, dtype = LONG[name]
    inputs = tuple(torch.randn(shape, dtype=getattr(torch, dtype), device="cuda") for shape in shapes)
    if name == "matmul":
        with trace.tracing():
            return build(), inputs
    how, options = Compilation(out_idx=[-1]), TraceOptions.of(budget=2 << 30)
    return compile_traced(build(), how, options, lambda _: None), inputs


def slowdown(kernel: TracedKernel, inputs: tuple[Any, ...]) -> float:
    """Traced over untraced, another way: the device idle before each pair of events, many launches between them."""
    inner = kernel.kernel
    plain = tilelang.compile(strip(kernel.source), out_idx=list(inner.out_idx) or None, pass_configs=inner.pass_configs)
    slots = kernel.prepare(inputs).slots
    times: dict[str, list[float]] = {"plain": [], "traced": []}
    for _ in range(100):
        for name, call in (("plain", lambda: plain(*inputs)), ("traced", lambda: inner(*inputs, slots))):
            events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            torch.cuda.synchronize()
            events[0].record()
            for _ in range(30):  # the first one's way to the device is in the time
                call()
            events[1].record()
            torch.cuda.synchronize()
            times[name].append(events[0].elapsed_time(events[1]))
    return statistics.median(times["traced"]) / statistics.median(times["plain"])


@pytest.mark.full
@pytest.mark.parametrize("name", ["matmul", "attention", "softmax"])
def test_the_slowdown_agrees_with_an_independent_measurement_within_1_percent(name: str) -> None:
    kernel, inputs = cases(name)
    assert trace.overhead(kernel, inputs).slowdown == pytest.approx(slowdown(kernel, inputs), rel=0.01)


def test_a_record_costs_what_the_benchmark_says() -> None:
    kernel, inputs = cases("matmul")
    found = trace.overhead(kernel, inputs)
    assert 15 < found.marker_cycles < 40
    assert found.noise == pytest.approx(1, abs=0.03)


def test_an_over_marked_kernel_is_flagged_and_one_marked_once_is_believed() -> None:
    with trace.tracing():
        dense = counting(1)
    found = trace.overhead(dense, (torch.zeros(1320, dtype=torch.int32, device="cuda"),))
    assert found.slowdown > 1.2
    assert not found.believe
    assert "mark less" in str(found)
    assert "mark less" in found.names.attrs["verdict"]


def test_the_global_timer_is_placed_on_the_hosts_clock() -> None:
    from tltrace_nb.core.runtime.probes import device_offset

    first, error = device_offset()
    second, other = device_offset()
    assert abs(first - second) <= error + other
    assert error < 1_000_000
