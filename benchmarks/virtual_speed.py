"""How fast the virtual GPU runs on this machine, and how much memory it takes beside the tensors.

    python benchmarks/virtual_speed.py

Needs no GPU. A pipelined GEMM of 1,024³ halves (tiles of 128×128×32), computed and with ``functional=False``, and an
elementwise kernel of 4,096 CTAs: the best of three runs, scheduling included, and the peak of the memory,
inputs, outputs and slots included. Then large grids without values, of which a sample runs, and how the time of a run
that simulates every CTA grows with the waits of one CTA and with the CTAs.
"""

import time
import tracemalloc

import sweep_kernels
import tilelang.language as T
import torch

from tltrace_nb import trace
from tltrace_nb.core.runtime.virtual import compile_virtual

REPEATS = 3


def gemm(size: int = 1024, tile: int = 128, depth: int = 32) -> object:
    """A pipelined GEMM of halves."""

    @T.prim_func
    def matmul(
        A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"), C: T.Tensor((size, size), "float16")
    ):
        with T.Kernel(size // tile, size // tile, threads=128) as (bx, by):
            A_shared = T.alloc_shared((tile, depth), "float16")
            B_shared = T.alloc_shared((depth, tile), "float16")
            C_local = T.alloc_fragment((tile, tile), "float32")
            T.clear(C_local)
            for k in T.Pipelined(size // depth, num_stages=3):
                T.copy(A[by * tile, k * depth], A_shared)
                T.copy(B[k * depth, bx * tile], B_shared)
                with trace.range("mma", payload=k):
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * tile, bx * tile])

    return matmul


def elementwise(ctas: int = 4096, block: int = 1024) -> object:
    """Eight elements a thread."""
    n = ctas * block

    @T.prim_func
    def scale(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(ctas, threads=128) as bx, trace.range("scale", payload=bx):
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] * 2.0

    return scale


def measure(what: str, kernel: object, *inputs: torch.Tensor, output: int, functional: bool = True) -> None:
    """Print the best time of a run with its scheduling, and its peak of memory over the size of the tensors."""
    tensors = sum(t.numel() * t.element_size() for t in inputs) + output
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        trace.simulate(kernel, *inputs, functional=functional)
        best = min(best, time.perf_counter() - start)
    ready = compile_virtual(kernel, functional=functional)
    tracemalloc.start()
    ready.run(inputs)
    peak = tracemalloc.get_traced_memory()[1] + tensors - output  # the inputs were there before
    tracemalloc.stop()
    print(f"{what:36} {best:6.2f} s, memory {peak / tensors:4.1f} × the tensors' {tensors / 2**20:.0f} MiB")


def growing(turns: int, ctas: int) -> object:
    """A loop of so many waits for cp.async copies in each of so many CTAs."""
    depth = 32 * turns

    @T.prim_func
    def matmul(
        A: T.Tensor((64, depth), "float16"), B: T.Tensor((depth, 64), "float16"), C: T.Tensor((64, 64), "float16")
    ):
        with T.Kernel(ctas, threads=128):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for k in T.Pipelined(turns, num_stages=3):
                T.copy(A[0, k * 32], A_shared)
                T.copy(B[k * 32, 0], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C)

    return matmul


def growth() -> None:
    """Print what ten and a hundred times as much of something takes, on the A100 model."""
    for what, cases in (
        ("waits of one CTA", [(turns, 1) for turns in (200, 2_000, 20_000)]),
        ("CTAs of 8 waits", [(8, ctas) for ctas in (200, 2_000, 20_000)]),
    ):
        for turns, ctas in cases:
            ready = compile_virtual(growing(turns, ctas), "a100", functional=False, every_cta=True)
            inputs = [torch.zeros(64, 32 * turns).half(), torch.zeros(32 * turns, 64).half()]
            best = float("inf")
            for _ in range(REPEATS):
                start = time.perf_counter()
                ready.run(inputs)
                best = min(best, time.perf_counter() - start)
            print(f"{turns if ctas == 1 else ctas:7,} {what:28} {best:6.2f} s")


def large() -> None:
    """Print what large grids take without values, scheduling and slots included."""
    for what, kernel in (
        ("GEMM, 16,384 CTAs of 256 turns", sweep_kernels.gemm(m=16384, n=16384, k=8192)),
        ("attention, 8,192 CTAs", sweep_kernels.attention(heads=512, length=2048)),
        ("causal attention, 8,192 CTAs", sweep_kernels.attention(heads=512, length=2048, order="short first")),
        ("row sums, 40,960 CTAs", sweep_kernels.row_sum(rows=16 * 40960)),
        ("elementwise, 65,536 CTAs", sweep_kernels.elementwise(n=1 << 26)),
    ):
        buffers = [kernel.buffer_map[parameter] for parameter in kernel.params]
        inputs = [torch.empty([int(e) for e in b.shape], dtype=getattr(torch, str(b.dtype))) for b in buffers]
        start = time.perf_counter()
        _, taken = compile_virtual(kernel, functional=False).run(inputs)
        print(f"{what:36} {time.perf_counter() - start:6.2f} s: {taken.meta.note.partition(';')[0]}")


def main() -> None:
    """Measure all three, large grids, and the growth."""
    a, b = (torch.randn(1024, 1024).half() for _ in range(2))
    small = torch.zeros(256, 256).half()
    trace.simulate(gemm(256), small, small)  # what only the first run of a process does
    measure("GEMM 1,024³, functional", gemm(), a, b, output=a.numel() * 2)
    measure("GEMM 1,024³, functional=False", gemm(), a, b, output=a.numel() * 2, functional=False)
    x = torch.randn(4096 * 1024)
    measure("elementwise, 4,096 CTAs", elementwise(), x, output=x.numel() * 4)
    large()
    growth()


if __name__ == "__main__":
    main()
