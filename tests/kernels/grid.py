"""A kernel whose CTAs each fill an SM, in any number: what waves, tails and occupancy are told from."""

import tilelang.language as T

from tltrace_nb import trace

THREADS = 128
SHARED = 128 * 1024
"""Bytes: more than half of an SM's, so that one CTA is resident at a time."""


def filling(ctas: int):
    """``ctas`` CTAs that each load 128 KiB tile by tile, and write a sum."""
    rows = SHARED // (4 * THREADS)

    @T.prim_func
    def filling(A: T.Tensor((rows, THREADS), "float32"), B: T.Tensor((ctas, THREADS), "float32")):
        with T.Kernel(ctas, threads=THREADS) as cta:
            tile = T.alloc_shared((rows, THREADS), "float32")
            total = T.alloc_fragment((THREADS,), "float32")
            with trace.range("load", payload=cta):
                T.copy(A, tile)
            with trace.range("sum", payload=cta):
                T.reduce_sum(tile, total, dim=0)
            T.copy(total, B[cta, 0])

    return filling
