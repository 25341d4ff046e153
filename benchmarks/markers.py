"""What a marker costs on the card: cycles in an empty range, and the slowdown of a real GEMM.

    python benchmarks/markers.py [--json FILE]

Needs a CUDA device. The traced and the untraced GEMM run interleaved in this one process; times are CUDA events, the
slowdown is the ratio of medians. Both outputs are compared bit by bit.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import tilelang.language as T
import torch

from tltrace_nb import trace

ITERATIONS = 1000
SIZE, BLOCK_M, BLOCK_N, BLOCK_K, STAGES = 4096, 128, 128, 64, 3
ROUNDS, LAUNCHES = 40, 10


@trace.jit
def empty_ranges(with_payload: bool) -> Any:
    @T.prim_func
    def empty(out: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=128):
            for i in T.serial(ITERATIONS):
                with trace.range("empty", payload=i if with_payload else None):
                    pass
            out[0] = 1

    return empty


@trace.jit(out_idx=[-1])
def matmul(size: int) -> Any:
    @T.prim_func
    def gemm(
        A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"), C: T.Tensor((size, size), "float16")
    ):
        with T.Kernel(T.ceildiv(size, BLOCK_N), T.ceildiv(size, BLOCK_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((BLOCK_M, BLOCK_K), "float16")
            B_shared = T.alloc_shared((BLOCK_K, BLOCK_N), "float16")
            C_local = T.alloc_fragment((BLOCK_M, BLOCK_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(size, BLOCK_K), num_stages=STAGES):
                with trace.range("copy", payload=k):
                    T.copy(A[by * BLOCK_M, k * BLOCK_K], A_shared)
                    T.copy(B[k * BLOCK_K, bx * BLOCK_N], B_shared)
                with trace.range("mma", payload=k):
                    T.gemm(A_shared, B_shared, C_local)
            with trace.range("store"):
                T.copy(C_local, C[by * BLOCK_M, bx * BLOCK_N])

    return gemm


def cycles_per_marker(with_payload: bool) -> float:
    """Cycles between two markers of an empty range in a serial loop: one CTA of 128 threads, thread 0 records."""
    with trace.tracing():
        kernel = empty_ranges(with_payload)
        for _ in range(3):
            kernel(torch.zeros(1, dtype=torch.int32, device="cuda"))
    assert trace.last is not None
    events = trace.last.events
    assert len(events) == ITERATIONS
    markers = 2 * ITERATIONS
    return float((events["end"].iloc[-1] - events["start"].iloc[0]) / (markers - 1))


def gemm_slowdown() -> dict[str, float]:
    """Traced ÷ untraced time of the GEMM, and the same ratio of the untraced kernel to itself, as the noise."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    a, b = (torch.randn((SIZE, SIZE), dtype=torch.float16, device="cuda", generator=generator) for _ in range(2))
    with trace.tracing(False):
        plain = matmul(SIZE)
    with trace.tracing():
        traced = matmul(SIZE)
    slots, _ = traced.allocate((a, b))
    variants = {"untraced": lambda: plain(a, b), "traced": lambda: traced.kernel(a, b, slots), "again": lambda: plain(a, b)}
    assert torch.equal(variants["untraced"](), variants["traced"]()), "tracing changed the result"
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, launch in variants.items():
            times[name].append(_milliseconds(launch))
    medians = {name: statistics.median(values) for name, values in times.items()}
    events = 2 * SIZE // BLOCK_K + 1
    return {
        "untraced_ms": medians["untraced"],
        "traced_ms": medians["traced"],
        "slowdown": medians["traced"] / medians["untraced"],
        "noise": medians["again"] / medians["untraced"],
        "events_per_cta": events,
        "tflops_untraced": 2 * SIZE**3 / medians["untraced"] / 1e9,
    }


def _milliseconds(launch: Any) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    launch()
    begin.record()
    for _ in range(LAUNCHES):
        launch()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / LAUNCHES


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    arguments = parser.parse_args()
    figures = {
        "gpu": torch.cuda.get_device_name(),
        "cycles_per_marker": cycles_per_marker(with_payload=False),
        "cycles_per_marker_with_payload": cycles_per_marker(with_payload=True),
        **gemm_slowdown(),
    }
    for name, value in figures.items():
        print(f"{name:32} {value if isinstance(value, str) else round(value, 4)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
