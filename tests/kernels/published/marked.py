"""Kernels whose markers stand where TileLang's later passes would look at them: in loops, guards and between casts."""

import tilelang.language as T

from tltrace_nb import trace


def steps(rows=64, columns=64, block=16, threads=128):
    """Loops of one guarded statement each, whose guard TileLang takes out of the loop if nothing else is in it."""

    @T.prim_func
    def steps(
        X: T.Tensor((rows, columns), "float32"),
        Flag: T.Tensor((rows // block,), "int32"),
        Y: T.Tensor((rows // block, columns), "float32"),
    ):
        with T.Kernel(rows // block, threads=threads) as bx:
            x = T.alloc_shared((block, columns), "float32")
            total = T.alloc_fragment((columns,), "float32")
            T.copy(X[bx * block, 0], x)
            T.clear(total)
            for r in T.serial(block):
                with trace.range("known", payload=r):
                    if bx < 2:
                        for j in T.Parallel(columns):
                            total[j] += x[r, j]
            for r in T.serial(block):
                with trace.range("flagged", payload=r):
                    if Flag[bx] > 0:
                        for j in T.Parallel(columns):
                            total[j] += x[r, j] * 2.0
            for r in T.serial(block):
                trace.record("step", payload=r)
                if bx > 1:
                    with trace.range("late", payload=bx):
                        for j in T.Parallel(columns):
                            total[j] += x[r, j] * 3.0
            for j in T.Parallel(columns):
                Y[bx, j] = total[j]

    return steps


def halves(n=256, threads=128):
    """Records between statements that share a guard, on both sides of a barrier that one half of a block needs."""

    @T.prim_func
    def halves(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            low = T.alloc_shared((64,), "float32")
            high = T.alloc_shared((64,), "float32")
            if tx < 64:
                with trace.range("write"):
                    low[tx] = A[bx * threads + tx]
                trace.record("between", payload=bx)
                with trace.range("read"):
                    B[bx * threads + tx] = low[63 - tx] * 2.0
            else:
                with trace.range("upper"):
                    high[tx - 64] = A[bx * threads + tx]
                    B[bx * threads + tx] = high[127 - tx] * 3.0

    return halves


def stored_tiles(m=128, n=128, block=64, threads=128):
    """Tiles that are cast, written to shared memory and stored from there, each step a range."""

    @T.prim_func
    def stored_tiles(A: T.Tensor((m, n), "float32"), B: T.Tensor((m, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(n // block, threads=threads) as bx:
            tile = T.alloc_shared((block, block), "float16")
            turned = T.alloc_shared((block, block), "float16")
            local = T.alloc_fragment((block, block), "float32")
            for k in T.serial(m // block):
                with trace.range("load", payload=k):
                    T.copy(A[k * block, bx * block], local)
                with trace.range("cast", payload=k):
                    T.copy(local, tile)
                trace.record("cast", payload=k)
                with trace.range("turn", payload=k):
                    for i, j in T.Parallel(block, block):
                        turned[j, i] = tile[i, j]
                with trace.range("store", payload=k):
                    T.copy(tile, B[k * block, bx * block])
                    T.copy(turned, C[k * block, bx * block])

    return stored_tiles


def sums(rows=64, columns=256, threads=128):
    """Reductions by way of workspaces, with records on both sides of each and a payload that they computed."""

    @T.prim_func
    def sums(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float16")):
        with T.Kernel(rows, threads=threads) as row:
            x = T.alloc_shared((1, columns), "float32")
            e = T.alloc_shared((1, columns), "float32")
            local = T.alloc_fragment((1, columns), "float32")
            highest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            with trace.range("load", payload=row):
                T.copy(X[row, 0], x)
                T.copy(x, local)
            with trace.range("max"):
                T.reduce_max(local, highest, dim=1)
            with trace.range("exponentials"):
                for i, j in T.Parallel(1, columns):
                    e[i, j] = T.exp(x[i, j] - highest[i])
                T.copy(e, local)
            with trace.range("sum"):
                T.reduce_sum(local, total, dim=1)
            trace.record("done", payload=row)
            with trace.range("store"):
                for i, j in T.Parallel(1, columns):
                    Y[row, j] = T.cast(e[i, j] / total[i], "float16")

    return sums


BUILDERS = (steps, halves, stored_tiles, sums)
