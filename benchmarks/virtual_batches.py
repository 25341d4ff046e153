"""How much faster values of large grids come when CTAs run together.

    python benchmarks/virtual_batches.py [--part 0.25]

Needs no GPU. An elementwise kernel of 65,536 CTAs, a grouped product of 4,080 CTAs and attention over 4,096 CTAs, each
run once with ``every_cta=True``, which computes the values CTA by CTA, and once as it is by default: the time on the
clock, the processor's time, whether all outputs are equal bit by bit. ``--part`` of the CTAs, for a look.
"""

import argparse
import time

import sweep_kernels
import tilelang.language as T
import torch

from tltrace_nb import trace
from tltrace_nb.core.runtime.virtual import compile_virtual


def grouped(groups: int, rows: int = 64 * 4 + 24, n: int = 512, k: int = 512, bm: int = 64, bn: int = 64) -> object:
    """Groups of rows with a matrix each; a CTA finds the group of its tile; a group's last tile is not full."""
    tiles = groups * -(-rows // bm)

    @T.prim_func
    def grouped(
        A: T.Tensor((groups * rows, k), "float16"),
        B: T.Tensor((groups, k, n), "float16"),
        TileStarts: T.Tensor((groups + 1,), "int32"),
        C: T.Tensor((groups * rows, n), "float16"),
    ):
        with T.Kernel(n // bn, tiles, threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, 32), "float16")
            B_shared = T.alloc_shared((32, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            group = T.alloc_var("int32", init=0)
            for g in T.serial(groups):
                if TileStarts[g] <= by:
                    group = g
            first = group * rows + (by - TileStarts[group]) * bm
            left = (group + 1) * rows - first
            T.clear(C_local)
            for ko in T.Pipelined(k // 32, num_stages=2):
                T.copy(A[first, ko * 32], A_shared)
                T.copy(B[group, ko * 32, bx * bn], B_shared)
                with trace.range("mma", payload=ko):
                    T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(bm, bn):
                if i < left:
                    C[first + i, bx * bn + j] = C_local[i, j]

    return grouped


def inputs_of(kernel: object) -> list[torch.Tensor]:
    """Random tensors for all parameters but the last; the tiles of groups follow each other."""
    made = []
    for parameter in kernel.params[:-1]:
        buffer = kernel.buffer_map[parameter]
        shape, dtype = [int(e) for e in buffer.shape], getattr(torch, str(buffer.dtype))
        made.append(torch.arange(shape[0]).int() * 5 if dtype is torch.int32 else torch.randn(shape).to(dtype))
    return made


def measure(what: str, kernel: object) -> None:
    """Print what both ways take."""
    inputs = inputs_of(kernel)
    taken, outputs, note = [], [], ""
    for every_cta in (True, False):
        ready = compile_virtual(kernel, every_cta=every_cta, races="off")
        start = time.perf_counter(), time.process_time()
        output, found = ready.run(inputs)
        taken.append((time.perf_counter() - start[0], time.process_time() - start[1]))
        outputs.append(output)
        note = found.meta.note
    (one, one_cpu), (many, many_cpu) = taken
    equal = "equal" if torch.equal(*(o.view(torch.uint8) for o in outputs)) else "DIFFERENT"
    times = f"{one:6.1f} s → {many:5.1f} s ({one / many:4.1f} ×), processor {one_cpu:6.1f} s → {many_cpu:5.1f} s"
    print(f"{what:28} {times} ({one_cpu / many_cpu:4.1f} ×), {equal}; {note}", flush=True)


def main() -> None:
    """Measure all three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="of the CTAs")
    part = parser.parse_args().part
    small = sweep_kernels.elementwise(n=1 << 20)
    compile_virtual(small).run(inputs_of(small))  # what only the first run of a process does
    for what, kernel in (
        (f"elementwise, {int(65536 * part):,} CTAs", sweep_kernels.elementwise(n=int((1 << 26) * part))),
        (f"grouped, {int(102 * part) * 40:,} CTAs", grouped(int(102 * part))),
        (f"attention, {int(512 * part) * 8:,} CTAs", sweep_kernels.attention(heads=int(512 * part))),
    ):
        measure(what, kernel)


if __name__ == "__main__":
    main()
