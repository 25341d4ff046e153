"""The kernels of the sweeps: matrix product, attention, softmax, stencil, reduction, element by element, threads.

In: the parameters that a sweep varies. Out: a PrimFunc with one marker, whose parameters all are tensors; what is
multiplied, summed or copied does not matter, and no control flow depends on it.
"""

from typing import Any

import tilelang.language as T

from tltrace_nb import trace


def gemm(
    m: int = 2048,
    n: int = 2048,
    k: int = 1024,
    bm: int = 128,
    bn: int = 128,
    bk: int = 32,
    stages: int = 3,
    threads: int = 128,
    dtype: str = "float16",
) -> Any:
    """A pipelined product, one tile to a CTA."""
    sums = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def gemm(A: T.Tensor((m, k), dtype), B: T.Tensor((n, k), dtype), C: T.Tensor((m, n), sums)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), dtype)
            B_shared = T.alloc_shared((bn, bk), dtype)
            C_local = T.alloc_fragment((bm, bn), sums)
            trace.record("begin")
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                T.copy(A[by * bm, ko * bk], A_shared)
                T.copy(B[bx * bn, ko * bk], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * bm, bx * bn])

    return gemm


def persistent_gemm(ctas: int, m: int = 3072, n: int = 2816, k: int = 512, bm: int = 128, bn: int = 256) -> Any:
    """As many CTAs as are asked for share the tiles; 264 tiles are two for each SM of an H200."""
    tiles = (m // bm) * (n // bn)
    bk, stages = 64, 3

    @T.prim_func
    def persistent_gemm(A: T.Tensor((m, k), "float16"), B: T.Tensor((n, k), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(ctas, threads=256) as cta:
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bn, bk), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            trace.record("begin")
            for wave in T.serial(T.ceildiv(tiles, ctas)):
                tile = wave * ctas + cta
                if tile < tiles:
                    by = tile // (n // bn)
                    bx = tile % (n // bn)
                    T.clear(C_local)
                    for ko in T.Pipelined(k // bk, num_stages=stages):
                        T.copy(A[by * bm, ko * bk], A_shared)
                        T.copy(B[bx * bn, ko * bk], B_shared)
                        T.gemm(A_shared, B_shared, C_local, transpose_B=True)
                    T.copy(C_local, C[by * bm, bx * bn])

    return persistent_gemm


def unequal_gemm(order: str, ctas: int = 528, bm: int = 128, bn: int = 256, bk: int = 64) -> Any:
    """CTAs with 1 to 33 steps along K, handed out with the long ones first, last, or mixed."""
    most = 33
    groups = ctas // most

    def steps(cta: Any) -> Any:
        if order == "long first":
            return most - cta // groups
        if order == "short first":
            return cta // groups + 1
        return cta % most + 1

    @T.prim_func
    def unequal_gemm(
        A: T.Tensor((bm, most * bk), "float16"),
        B: T.Tensor((bn, most * bk), "float16"),
        C: T.Tensor((ctas * bm, bn), "float16"),
    ):
        with T.Kernel(ctas, threads=256) as cta:
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bn, bk), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            trace.record("begin")
            T.clear(C_local)
            for ko in T.Pipelined(steps(cta), num_stages=3):
                T.copy(A[0, ko * bk], A_shared)
                T.copy(B[0, ko * bk], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[cta * bm, 0])

    return unequal_gemm


def attention(
    heads: int = 32,
    length: int = 1024,
    dim: int = 64,
    bm: int = 128,
    bn: int = 64,
    stages: int = 2,
    threads: int = 128,
    order: str = "",
) -> Any:
    """FlashAttention forward; with an ``order`` it is causal, and says which blocks of queries come first."""
    scale = (1.0 / dim) ** 0.5 * 1.44269504
    blocks = length // bm
    causal = bool(order)

    def block_of(number: Any) -> Any:
        return blocks - 1 - number if order == "long first" else number

    def turns(block: Any) -> Any:
        return T.ceildiv((block + 1) * bm, bn) if causal else T.ceildiv(length, bn)

    @T.prim_func
    def attention(
        Q: T.Tensor((heads, length, dim), "float16"),
        K: T.Tensor((heads, length, dim), "float16"),
        V: T.Tensor((heads, length, dim), "float16"),
        Output: T.Tensor((heads, length, dim), "float16"),
    ):
        with T.Kernel(blocks, heads, threads=threads) as (bx, by):
            Q_shared = T.alloc_shared((bm, dim), "float16")
            K_shared = T.alloc_shared((bn, dim), "float16")
            V_shared = T.alloc_shared((bn, dim), "float16")
            scores = T.alloc_fragment((bm, bn), "float32")
            weights = T.alloc_fragment((bm, bn), "float16")
            out = T.alloc_fragment((bm, dim), "float32")
            highest = T.alloc_fragment((bm,), "float32")
            previous = T.alloc_fragment((bm,), "float32")
            rescale = T.alloc_fragment((bm,), "float32")
            row_sum = T.alloc_fragment((bm,), "float32")
            total = T.alloc_fragment((bm,), "float32")
            trace.record("begin")
            block = block_of(bx)
            T.copy(Q[by, block * bm : (block + 1) * bm, :], Q_shared)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(highest, -T.infinity("float32"))
            for k in T.Pipelined(turns(block), num_stages=stages):
                T.copy(K[by, k * bn : (k + 1) * bn, :], K_shared)
                if causal:
                    for i, j in T.Parallel(bm, bn):
                        scores[i, j] = T.if_then_else(block * bm + i >= k * bn + j, 0, -T.infinity("float32"))
                else:
                    T.clear(scores)
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(highest, previous)
                T.fill(highest, -T.infinity("float32"))
                T.reduce_max(scores, highest, dim=1, clear=False)
                for i in T.Parallel(bm):
                    highest[i] = T.max(highest[i], previous[i])
                for i in T.Parallel(bm):
                    rescale[i] = T.exp2(previous[i] * scale - highest[i] * scale)
                for i, j in T.Parallel(bm, bn):
                    scores[i, j] = T.exp2(scores[i, j] * scale - highest[i] * scale)
                T.reduce_sum(scores, row_sum, dim=1)
                for i in T.Parallel(bm):
                    total[i] = total[i] * rescale[i] + row_sum[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(bm, dim):
                    out[i, j] *= rescale[i]
                T.copy(V[by, k * bn : (k + 1) * bn, :], V_shared)
                T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bm, dim):
                out[i, j] /= total[i]
            T.copy(out, Output[by, block * bm : (block + 1) * bm, :])

    return attention


def softmax(rows: int = 4096, columns: int = 2048, block: int = 1, threads: int = 128, dtype: str = "float32") -> Any:
    """A softmax of rows that stay in registers."""

    @T.prim_func
    def softmax(A: T.Tensor((rows, columns), dtype), B: T.Tensor((rows, columns), dtype)):
        with T.Kernel(rows // block, threads=threads) as bx:
            x = T.alloc_fragment((block, columns), "float32")
            highest = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            trace.record("begin")
            T.copy(A[bx * block, 0], x)
            T.reduce_max(x, highest, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = T.exp(x[i, j] - highest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, B[bx * block, 0])

    return softmax


def stencil(size: int = 2048, rows: int = 8, columns: int = 128, threads: int = 128) -> Any:
    """Five points of a plane with a border, loaded where they are used."""

    @T.prim_func
    def stencil(A: T.Tensor((size + 2, size + 2), "float32"), B: T.Tensor((size, size), "float32")):
        with T.Kernel(size // columns, size // rows, threads=threads) as (bx, by):
            trace.record("begin")
            for i, j in T.Parallel(rows, columns):
                y = by * rows + i
                x = bx * columns + j
                B[y, x] = 0.2 * (A[y + 1, x + 1] + A[y, x + 1] + A[y + 2, x + 1] + A[y + 1, x] + A[y + 1, x + 2])

    return stencil


def row_sum(
    rows: int = 8192, columns: int = 1024, block: int = 16, step: int = 128, threads: int = 128, stages: int = 2
) -> Any:
    """Sums of rows that pass through shared memory."""

    @T.prim_func
    def row_sum(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(rows // block, threads=threads) as bx:
            tile = T.alloc_shared((block, step), "float32")
            values = T.alloc_fragment((block, step), "float32")
            part = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            trace.record("begin")
            T.clear(total)
            for k in T.Pipelined(columns // step, num_stages=stages):
                T.copy(A[bx * block, k * step], tile)
                T.copy(tile, values)
                T.reduce_sum(values, part, dim=1)
                for i in T.Parallel(block):
                    total[i] += part[i]
            T.copy(total, B[bx * block])

    return row_sum


def long_sum(ctas: int, total: int = 2112 * 4096, step: int = 2048, threads: int = 256, dtype: str = "float32") -> Any:
    """One sum per CTA; more CTAs have fewer steps each."""
    turns = total // step // ctas

    @T.prim_func
    def long_sum(A: T.Tensor((total,), dtype), B: T.Tensor((ctas,), "float32")):
        with T.Kernel(ctas, threads=threads) as bx:
            values = T.alloc_fragment((step,), dtype)
            sums = T.alloc_fragment((step,), "float32")
            out = T.alloc_fragment((1,), "float32")
            trace.record("begin")
            T.clear(sums)
            for k in T.serial(turns):
                T.copy(A[(bx * turns + k) * step], values)
                for i in T.Parallel(step):
                    sums[i] += T.cast(values[i], "float32")
            T.reduce_sum(sums, out, dim=0)
            T.copy(out, B[bx])

    return long_sum


def elementwise(n: int = 1 << 22, block: int = 1024, threads: int = 128, dtype: str = "float32") -> Any:
    """One load and one store an element."""

    @T.prim_func
    def elementwise(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype)):
        with T.Kernel(n // block, threads=threads) as bx:
            trace.record("begin")
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] * T.cast(2, dtype) + T.cast(1, dtype)

    return elementwise


def strided(stride: int, n: int = 1 << 20, threads: int = 128) -> Any:
    """One load a thread; neighbours load ``stride`` elements apart."""

    @T.prim_func
    def strided(A: T.Tensor((n * stride,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            trace.record("begin")
            B[bx * threads + tx] = A[(bx * threads + tx) * stride] * 2.0

    return strided


def transposed(padding: int, size: int = 2048, tile: int = 32) -> Any:
    """A transposition through shared memory whose rows have a padding: a warp reads a column of it."""
    warps = 4

    @T.prim_func
    def transposed(A: T.Tensor((size, size), "float32"), B: T.Tensor((size, size), "float32")):
        with T.Kernel(size // tile, size // tile, threads=tile * warps) as (bx, by):
            tx = T.get_thread_binding()
            staged = T.alloc_shared((tile, tile + padding), "float32")
            trace.record("begin")
            for k in T.serial(tile // warps):
                staged[k * warps + tx // tile, tx % tile] = A[by * tile + k * warps + tx // tile, bx * tile + tx % tile]
            T.sync_threads()
            for k in T.serial(tile // warps):
                B[bx * tile + k * warps + tx // tile, by * tile + tx % tile] = staged[tx % tile, k * warps + tx // tile]

    return transposed


def exponentials(threads: int, count: int = 4096, turns: int = 16) -> Any:
    """Exponentials of values in registers, again and again."""

    @T.prim_func
    def exponentials(A: T.Tensor((count,), "float32"), B: T.Tensor((count,), "float32")):
        with T.Kernel(1, threads=threads):
            x = T.alloc_fragment((count,), "float32")
            T.copy(A, x)
            with trace.range("exponentials"):
                for _ in T.serial(turns):
                    for i in T.Parallel(count):
                        x[i] = T.exp2(x[i])
            T.copy(x, B)

    return exponentials


def chain(threads: int, turns: int = 1024) -> Any:
    """Multiply-adds of which each waits for the one before; every thread does as many."""

    @T.prim_func
    def chain(A: T.Tensor((threads,), "float32"), B: T.Tensor((threads,), "float32")):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            x = T.alloc_var("float32")
            x = A[tx]
            with trace.range("chain"):
                for _ in T.serial(turns):
                    x = x * 0.999 + 0.5
            B[tx] = x

    return chain


def chunks(threads: int, ctas: int, turns: int = 64) -> Any:
    """Loads and multiply-adds: equal work for as many threads, in few large CTAs or many small ones."""

    @T.prim_func
    def chunks(A: T.Tensor((turns, ctas * threads), "float32"), B: T.Tensor((ctas * threads,), "float32")):
        with T.Kernel(ctas, threads=threads) as bx:
            tx = T.get_thread_binding()
            x = T.alloc_var("float32")
            x = 0.0
            trace.record("begin")
            for k in T.serial(turns):
                x = x * 0.999 + A[k, bx * threads + tx]
            B[bx * threads + tx] = x

    return chunks


def diverging(parted: str, ctas: int = 132, threads: int = 128, turns: int = 256) -> Any:
    """Threads that run one of two loops of equal length: all the same, warps apart, or lanes apart."""

    def first(thread: Any) -> Any:
        return {"nobody": thread < 0, "warps": thread // 32 % 2 == 0, "lanes": thread % 2 == 0}[parted]

    @T.prim_func
    def diverging(A: T.Tensor((ctas * threads,), "float32"), B: T.Tensor((ctas * threads,), "float32")):
        with T.Kernel(ctas, threads=threads) as bx:
            tx = T.get_thread_binding()
            x = T.alloc_var("float32")
            x = A[bx * threads + tx]
            trace.record("begin")
            if first(tx):
                for _ in T.serial(turns):
                    x = x * 0.999 + 0.5
            else:
                for _ in T.serial(turns):
                    x = T.exp2(x) * 0.5
            B[bx * threads + tx] = x

    return diverging
