"""Kernels that come with the course: those that the labs begin with, right and slow, without markers, and the right
form of what lessons 13 and 14 have to mend.
"""

# mypy: ignore-errors

import tilelang.language as T

from tltrace_nb.core.api import trace


@trace.jit(out_idx=[-1])
def three_passes(rows, columns, piece=256):
    """A right and slow softmax: a pass for the maximum, one for the sum, one for the result."""

    @T.prim_func
    def three_passes(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=128) as bx:
            x = T.alloc_fragment((1, piece), "float32")
            part = T.alloc_fragment((1,), "float32")
            highest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.fill(highest, -T.infinity("float32"))
            T.clear(total)
            for k in T.serial(T.ceildiv(columns, piece)):
                for i, j in T.Parallel(1, piece):
                    at = k * piece + j
                    x[i, j] = T.if_then_else(at < columns, X[bx, at], -T.infinity("float32"))
                T.reduce_max(x, highest, dim=1, clear=False)
            for k in T.serial(T.ceildiv(columns, piece)):
                for i, j in T.Parallel(1, piece):
                    at = k * piece + j
                    x[i, j] = T.if_then_else(at < columns, T.exp(X[bx, at] - highest[i]), 0.0)
                T.reduce_sum(x, part, dim=1)
                total[0] += part[0]
            for k in T.serial(T.ceildiv(columns, piece)):
                for i, j in T.Parallel(1, piece):
                    at = k * piece + j
                    if at < columns:
                        Y[bx, at] = T.exp(X[bx, at] - highest[i]) / total[i]

    return three_passes


@trace.jit(out_idx=[-1])
def one_at_a_time(M, N, K, tile=64, step=32):
    """A right and slow GEMM: loads, waits, multiplies, and only then loads again."""

    @T.prim_func
    def one_at_a_time(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, tile), T.ceildiv(M, tile), threads=128) as (bx, by):
            A_shared = T.alloc_shared((tile, step), "float16")
            B_shared = T.alloc_shared((step, tile), "float16")
            C_local = T.alloc_fragment((tile, tile), "float32")
            T.clear(C_local)
            for k in T.serial(T.ceildiv(K, step)):
                T.copy(A[by * tile, k * step], A_shared)
                T.copy(B[k * step, bx * tile], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * tile, bx * tile])

    return one_at_a_time


@trace.jit(out_idx=[-1])
def three_times(queries, keys, dim=64, block=64):
    """A right and slow attention: the scores are worked out for the maxima, for the sums, and for the output."""
    scale = dim**-0.5 * 1.44269504  # exp(x) is exp2(x · log2 e)
    blocks = -(-keys // block)

    @T.macro
    def scores(K, k, Q_shared, K_shared, S):
        T.copy(K[k * block, 0], K_shared)
        for i, j in T.Parallel(block, block):
            S[i, j] = T.if_then_else(k * block + j < keys, 0, -T.infinity("float32"))
        T.gemm(Q_shared, K_shared, S, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)

    @T.prim_func
    def three_times(
        Q: T.Tensor((queries, dim), "float16"),
        K: T.Tensor((keys, dim), "float16"),
        V: T.Tensor((keys, dim), "float16"),
        Output: T.Tensor((queries, dim), "float32"),
    ):
        with T.Kernel(T.ceildiv(queries, block), threads=128) as bx:
            Q_shared = T.alloc_shared((block, dim), "float16")
            K_shared = T.alloc_shared((block, dim), "float16")
            V_shared = T.alloc_shared((block, dim), "float16")
            S = T.alloc_fragment((block, block), "float32")
            P = T.alloc_fragment((block, block), "float16")
            out = T.alloc_fragment((block, dim), "float32")
            highest = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(Q[bx * block, 0], Q_shared)
            T.clear(out)
            T.clear(total)
            T.fill(highest, -T.infinity("float32"))
            for k in T.serial(blocks):
                scores(K, k, Q_shared, K_shared, S)
                T.reduce_max(S, highest, dim=1, clear=False)
            for k in T.serial(blocks):
                scores(K, k, Q_shared, K_shared, S)
                for i, j in T.Parallel(block, block):
                    S[i, j] = T.exp2(S[i, j] * scale - highest[i] * scale)
                T.reduce_sum(S, total, dim=1, clear=False)
            for k in T.serial(blocks):
                scores(K, k, Q_shared, K_shared, S)
                for i, j in T.Parallel(block, block):
                    P[i, j] = T.exp2(S[i, j] * scale - highest[i] * scale) / total[i]
                T.copy(V[k * block, 0], V_shared)
                T.gemm(P, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            T.copy(out, Output[bx * block, 0])

    return three_times


def _of_two_roles(M, N, K, slots, tile, step, ahead):
    """A right GEMM by a producer and a consumer, which share a ring of slots in shared memory.

    The producer waits until the MMA ``ahead`` iterations before has read its slot.
    """

    @T.prim_func
    def ring_of_slots(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, tile), T.ceildiv(M, tile), threads=256) as (bx, by):
            A_shared = T.alloc_shared((slots, tile, step), "float16")
            B_shared = T.alloc_shared((slots, step, tile), "float16")
            C_local = T.alloc_fragment((tile, tile), "float32")
            full = T.alloc_barrier(arrive_count=[128] * slots)
            empty = T.alloc_barrier(arrive_count=[128] * slots)
            if T.get_thread_binding() < 128:
                with trace.group("consumer", lead=0):
                    T.clear(C_local)
                    for k in T.serial(T.ceildiv(K, step)):
                        with trace.range("wait full", payload=k):
                            T.mbarrier_wait_parity(full[k % slots], k // slots % 2)
                        with trace.range("mma", payload=k):
                            T.gemm(A_shared[k % slots, :, :], B_shared[k % slots, :, :], C_local)
                        T.mbarrier_arrive(empty[k % slots])
                    with trace.range("store"):
                        T.copy(C_local, C[by * tile, bx * tile])
            else:
                with trace.group("producer", lead=128):
                    for k in T.serial(T.ceildiv(K, step)):
                        row, depth, column = by * tile, k * step, bx * tile
                        used = k - ahead
                        with trace.range("wait empty", payload=k):
                            if used >= 0:
                                T.mbarrier_wait_parity(empty[used % slots], used // slots % 2)
                        with trace.range("load", payload=k):
                            A_tile = A[row : row + tile, depth : depth + step]
                            B_tile = B[depth : depth + step, column : column + tile]
                            T.tma_copy(A_tile, A_shared[k % slots, :, :], barrier=full[k % slots])
                            T.tma_copy(B_tile, B_shared[k % slots, :, :], barrier=full[k % slots])
                        T.mbarrier_arrive(full[k % slots])
            trace.dag("load", "wait full")

    return ring_of_slots


@trace.jit(out_idx=[-1])
def ring_of_slots(M, N, K, slots=4, tile=64, step=32):
    """It loads as far ahead as there are slots."""
    return _of_two_roles(M, N, K, slots, tile, step, ahead=slots)


@trace.jit(out_idx=[-1])
def slow(M, N, K, slots=4, tile=64, step=32):
    """It waits for the MMA of the iteration before."""
    return _of_two_roles(M, N, K, slots, tile, step, ahead=1).with_attr("global_symbol", "slow")
