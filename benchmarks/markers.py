"""What a marker costs on the card: cycles in a loop, registers and spills, and the slowdown of a real GEMM.

    python benchmarks/markers.py [--json FILE]

Needs a CUDA device and nvcc. The traced and the untraced GEMM run interleaved in this one process; times are CUDA
events, the slowdown is the ratio of medians. Both outputs are compared bit by bit. Cycles are clock64 of the one CTA
that records.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tilelang
import tilelang.language as T
import torch

from tltrace_nb import trace

ITERATIONS = 1000
SIZE, BLOCK_M, BLOCK_N, BLOCK_K, STAGES = 4096, 128, 128, 64, 3
ROUNDS, LAUNCHES = 40, 10

MARKED = {
    "copy and mma": ("copy", "mma"),
    "copy": ("copy",),
    "mma": ("mma",),
    "begin of mma": ("before",),
    "end of mma": ("after",),
    "outside the loop": (),
}
"""Which markers stand in the pipelined loop of the GEMM; the first is what an author would write."""


@trace.jit
def empty_ranges() -> Any:
    """Two markers side by side, an iteration apart from the next two."""

    @T.prim_func
    def empty(out: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=128):
            for i in T.serial(ITERATIONS):
                with trace.range("empty", payload=i):
                    pass
            out[0] = 1

    return empty


@trace.jit
def lone_markers() -> Any:
    """One marker an iteration."""

    @T.prim_func
    def lone(out: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=128):
            for i in T.serial(ITERATIONS):
                trace.record("lone", payload=i)
            out[0] = 1

    return lone


@trace.jit(out_idx=[-1])
def matmul(size: int, marked: tuple[str, ...]) -> Any:
    """The GEMM, with the markers named in ``marked`` in its loop."""

    def around(name: str, k: Any) -> Any:
        return trace.range(name, payload=k) if name in marked else _Nothing()

    def at(name: str, k: Any) -> None:
        if name in marked:
            trace.record(name, payload=k)

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
                with around("copy", k):
                    T.copy(A[by * BLOCK_M, k * BLOCK_K], A_shared)
                    T.copy(B[k * BLOCK_K, bx * BLOCK_N], B_shared)
                at("before", k)
                with around("mma", k):
                    T.gemm(A_shared, B_shared, C_local)
                at("after", k)
            with trace.range("store"):
                T.copy(C_local, C[by * BLOCK_M, bx * BLOCK_N])

    return gemm


class _Nothing:
    """A context that marks nothing."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


def cycles_per_marker(build: Callable[[], Any], markers: int) -> float:
    """Cycles per marker in a serial loop of one CTA of 128 threads, of which thread 0 records."""
    with trace.tracing():
        kernel = build()
        for _ in range(3):
            kernel(torch.zeros(1, dtype=torch.int32, device="cuda"))
    assert trace.last is not None
    events = trace.last.events
    assert len(events) == ITERATIONS
    return float((events["end"].iloc[-1] - events["start"].iloc[0]) / (markers - 1))


def gemm_slowdown() -> dict[str, float]:
    """Traced ÷ untraced time of the GEMM for each set of markers; the untraced kernel against itself is the noise."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    a, b = (torch.randn((SIZE, SIZE), dtype=torch.float16, device="cuda", generator=generator) for _ in range(2))
    with trace.tracing(False):
        plain = matmul(SIZE, ())
    right = plain(a, b)
    variants: dict[str, Callable[[], Any]] = {"untraced": lambda: plain(a, b), "noise": lambda: plain(a, b)}
    for name, marked in MARKED.items():
        with trace.tracing():
            kernel = matmul(SIZE, marked)
        slots = kernel.prepare((a, b)).slots
        variants[name] = lambda kernel=kernel, slots=slots: kernel.kernel(a, b, slots)
        assert torch.equal(variants[name](), right), "tracing changed the result"
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, launch in variants.items():
            times[name].append(_milliseconds(launch))
    medians = {name: statistics.median(values) for name, values in times.items()}
    untraced = medians.pop("untraced")
    figures = {f"gemm slowdown, {name}": value / untraced for name, value in medians.items()}
    return {"gemm untraced, ms": untraced, "gemm untraced, TFLOP/s": 2 * SIZE**3 / untraced / 1e9, **figures}


def resources() -> dict[str, str]:
    """What the compiler says of the GEMM, untraced and traced: registers, stack, spills."""
    found = {}
    for name, enabled in (("untraced", False), ("traced", True)):
        with trace.tracing(enabled):
            found[f"gemm {name}"] = _compiler_report(_running(matmul(SIZE, MARKED["copy and mma"])).get_kernel_source())
    return found


def _running(kernel: Any) -> Any:
    """The kernel whose source runs: of a traced one, that which records."""
    return getattr(kernel, "kernel", kernel)


def _compiler_report(source: str) -> str:
    nvcc = shutil.which("nvcc") or "nvcc"
    major, minor = torch.cuda.get_device_capability()
    arch = f"sm_{major}{minor}" + ("a" if major == 9 else "")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cu"
        file.write_text(source)
        includes = [f"-I{path}" for path in (tilelang.env.TILELANG_TEMPLATE_PATH, tilelang.env.CUTLASS_INCLUDE_DIR)]
        command = [
            nvcc,
            "-cubin",
            "-O3",
            "-std=c++20",
            f"-arch={arch}",
            "-Xptxas",
            "-v",
            *includes,
            "-o",
            "/dev/null",
            str(file),
        ]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    lines = re.findall(r"\d+ bytes stack frame, .*|Used \d+ registers", output)
    return "; ".join(lines)


def _milliseconds(launch: Callable[[], Any]) -> float:
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
    figures: dict[str, float | str] = {
        "gpu": torch.cuda.get_device_name(),
        "cycles per marker, empty range": cycles_per_marker(empty_ranges, 2 * ITERATIONS),
        "cycles per marker, alone": cycles_per_marker(lone_markers, ITERATIONS),
        **resources(),
        **gemm_slowdown(),
    }
    for name, value in figures.items():
        print(f"{name:36} {value if isinstance(value, str) else round(value, 4)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
