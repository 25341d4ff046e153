"""Kernels whose CTAs are run together, and kernels whose CTAs have to go one by one."""

from typing import Any

import tilelang.language as T

from tltrace_nb import trace

CTAS = 64
"""CTAs of these kernels."""


def by_rows(inside: Any, more: Any = None, threads: int = 32) -> Any:
    """A CTA for each row of A and B; ``inside`` gets A, B, the row and a tile of shared memory."""

    @T.prim_func
    def by_rows(A: T.Tensor((CTAS, 32), "float32"), B: T.Tensor((CTAS, 32), "float32")):
        with T.Kernel(CTAS, threads=threads) as bx, trace.range("row", payload=bx):
            tile = T.alloc_shared((32,), "float32")
            inside(A, B, bx, tile)

    return by_rows


@T.macro
def plain(A, B, bx, tile):
    T.copy(A[bx, 0], tile)
    T.copy(tile, B[bx, 0])


@T.macro
def neighbours(A, B, bx, tile):
    """A CTA writes what the next one writes, too."""
    T.copy(A[bx, 0], tile)
    T.copy(tile, B[bx // 2, 0])


@T.macro
def handed_on(A, B, bx, tile):
    """A CTA reads what another writes."""
    T.copy(B[(bx + 1) % CTAS, 0], tile)
    for i in T.Parallel(32):
        tile[i] = tile[i] + A[bx, i]
    T.copy(tile, B[bx, 0])


@T.macro
def in_place(A, B, bx, tile):
    """A CTA changes what is its own."""
    T.copy(B[bx, 0], tile)
    for i in T.Parallel(32):
        tile[i] = tile[i] + A[bx, i]
    T.copy(tile, B[bx, 0])


@T.macro
def added(A, B, bx, tile):
    for i in T.Parallel(32):
        T.atomic_add(B[0, i], A[bx, i])


@T.macro
def printed(A, B, bx, tile):
    T.copy(A[bx, 0], tile)
    T.print(bx, msg="row")
    T.copy(tile, B[bx, 0])


@T.macro
def unwritten(A, B, bx, tile):
    """The last CTA copies shared memory that it has not written."""
    if bx < CTAS - 1:
        T.copy(A[bx, 0], tile)
    T.copy(tile, B[bx, 0])


@T.macro
def outside(A, B, bx, tile):
    """The CTAs from the 40th on read past the end of shared memory."""
    T.copy(A[bx, 0], tile)
    tx = T.get_thread_binding()
    B[bx, tx] = tile[tx + T.if_then_else(bx >= 40, 1000, 0)]


@T.macro
def stuck(A, B, bx, tile):
    """The last CTA waits for threads that never come."""
    barrier = T.alloc_barrier(33)
    T.copy(A[bx, 0], tile)
    if bx == CTAS - 1:
        T.barrier_arrive(barrier)
        T.barrier_wait(barrier, 0)
    T.copy(tile, B[bx, 0])


@T.macro
def by_data(A, B, bx, tile):
    """How often a loop turns hangs on what the kernel has written."""
    T.copy(A[bx, 0], B[bx, 0])
    for _ in T.serial(T.cast(B[bx, 0], "int32")):
        for i in T.Parallel(32):
            B[bx, i] = B[bx, i] * 2.0


@T.macro
def turns(A, B, bx, tile):
    """CTAs of four kinds, with a condition by row and column besides."""
    T.copy(A[bx, 0], tile)
    for k in T.serial(bx % 4):
        for i in T.Parallel(32):
            if i + k < bx:
                tile[i] = tile[i] * 2.0 + T.if_then_else(bx > 9, T.cast(k, "float32"), A[bx, i])
    T.copy(tile, B[bx, 0])


@T.macro
def hashed(A, B, bx, tile):
    """Arithmetic on integers that passes their range, of blocks and threads."""
    tx = T.get_thread_binding()
    number = T.alloc_var("int32")
    number = tx * 700297791 + bx * 1000
    number = T.bitwise_xor(number, number >> 13) // 7 + bx % 5
    B[bx, tx] = T.cast(number, "float32") + T.cast(bx * bx // (bx + 1), "float32")


@T.macro
def counted(A, B, bx, tile):
    """Threads tell each other, and add up in shared memory."""
    tx = T.get_thread_binding()
    other = T.shfl_xor(A[bx, tx], 5)
    T.fill(tile, 0.0)
    T.sync_threads()
    T.atomic_add(tile[tx % 4], other + T.cast(bx, "float32"))
    T.sync_threads()
    B[bx, tx] = tile[tx // 8] + T.warp_reduce_sum(other)


TOGETHER = {
    "copies": plain, "its own memory changed": in_place, "four kinds": turns, "integers that wrap": hashed,
    "threads that tell each other": counted,
}  # fmt: skip
ONE_BY_ONE = {
    "two CTAs write the same": neighbours, "a CTA reads what another writes": handed_on, "atomics": added,
    "prints": printed, "memory that decides": by_data,
}  # fmt: skip
FAILING = {"unwritten memory": unwritten, "an access outside": outside, "a deadlock": stuck}
