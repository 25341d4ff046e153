"""Kernels without matrix products: element by element, reductions, atomics, unrolled and vectorised loops."""

# ruff: noqa: SIM117 (TileLang turns each statement into one of the kernel's)

import tilelang.language as T

from kernels.reference import Reference, integers, normal
from tltrace_nb import trace


def add(n=4096, block=512, threads=128):
    @T.prim_func
    def add(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=threads) as bx:
            with trace.range("add", payload=bx):
                for i in T.Parallel(block):
                    C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return add


def dynamic_add(block=256, threads=128):
    n = T.dynamic("n")

    @T.prim_func
    def dynamic_add(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=threads) as bx:
            with trace.range("add", payload=n - bx * block):
                for i in T.Parallel(block):
                    if bx * block + i < n:
                        C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return dynamic_add


def softmax(rows=64, columns=512, threads=128):
    @T.prim_func
    def softmax(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=threads) as row:
            x = T.alloc_fragment((1, columns), "float32")
            highest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            with trace.range("load", payload=row):
                T.copy(A[row, 0], x)
            with trace.range("max", payload=row):
                T.reduce_max(x, highest, dim=1)
            with trace.range("exp", payload=row):
                for i, j in T.Parallel(1, columns):
                    x[i, j] = T.exp(x[i, j] - highest[i])
                T.reduce_sum(x, total, dim=1)
            trace.record("summed", payload=row)
            with trace.range("store", payload=row):
                for i, j in T.Parallel(1, columns):
                    x[i, j] = x[i, j] / total[i]
                T.copy(x, B[row, 0])
            trace.dag("max", "exp")

    return softmax


def row_sum(rows=256, columns=1024, block_rows=32, block_columns=128, stages=2, threads=128):
    @T.prim_func
    def row_sum(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(T.ceildiv(rows, block_rows), threads=threads) as bx:
            tile = T.alloc_shared((block_rows, block_columns), "float32")
            values = T.alloc_fragment((block_rows, block_columns), "float32")
            part = T.alloc_fragment((block_rows,), "float32")
            total = T.alloc_fragment((block_rows,), "float32")
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(columns, block_columns), num_stages=stages):
                with trace.range("load", payload=k):
                    T.copy(A[bx * block_rows, k * block_columns], tile)
                with trace.range("reduce", payload=k):
                    T.copy(tile, values)
                    T.reduce_sum(values, part, dim=1)
                    for i in T.Parallel(block_rows):
                        total[i] += part[i]
            with trace.range("store"):
                T.copy(total, B[bx * block_rows])

    return row_sum


def unrolled(n=1024, threads=128):
    @T.prim_func
    def unrolled(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            for i in T.unroll(n // threads):
                with trace.range("step", payload=i * 2):
                    B[i * threads + tx] = A[i * threads + tx] + 1.0
            for i in T.unroll(2, explicit=True):
                with trace.range("again", payload=i):
                    B[i * threads + tx] = B[i * threads + tx] + 1.0

    return unrolled


def _unrolled_expected(a):
    b = a + 1
    b[:256] += 1
    return b


def vectorised(n=2048, threads=128):
    @T.prim_func
    def vectorised(A: T.Tensor((n,), "float16"), B: T.Tensor((n,), "float16")):
        with T.Kernel(2, threads=threads) as bx:
            tx = T.get_thread_binding()
            with trace.range("row", payload=bx):
                for v in T.vectorized(8):
                    B[(bx * threads + tx) * 8 + v] = A[(bx * threads + tx) * 8 + v]

    return vectorised


def histogram(n=4096, bins=16, threads=128):
    @T.prim_func
    def histogram(A: T.Tensor((n,), "int32"), B: T.Tensor((bins,), "int32")):
        with T.Kernel(n // (threads * 8), threads=threads) as bx:
            tx = T.get_thread_binding()
            for i in T.serial(8):
                with trace.range("count", payload=A[(bx * 8 + i) * threads + tx]):
                    T.atomic_add(B[A[(bx * 8 + i) * threads + tx]], 1)

    return histogram


def _histogram_inputs(device):
    import torch

    return integers(device, 4096, low=0, high=16), torch.zeros(16, dtype=torch.int32, device=device)


def _histogram_expected(a, b):
    import torch

    return torch.bincount(a.long(), minlength=16).int()


def two_dimensional_grid(m=64, n=96):
    @T.prim_func
    def two_dimensional_grid(A: T.Tensor((m, n), "float32"), B: T.Tensor((m, n), "float32")):
        with T.Kernel(n // 32, m // 32, threads=64) as (bx, by):
            with trace.range("tile", payload=by * 100 + bx):
                for i, j in T.Parallel(32, 32):
                    B[by * 32 + i, bx * 32 + j] = A[by * 32 + i, bx * 32 + j] * 2.0

    return two_dimensional_grid


def three_dimensional_grid(b=3, m=64, n=64):
    @T.prim_func
    def three_dimensional_grid(A: T.Tensor((b, m, n), "float32"), B: T.Tensor((b, m, n), "float32")):
        with T.Kernel(n // 32, m // 32, b, threads=64) as (bx, by, bz):
            with trace.range("tile", payload=bz):
                for i, j in T.Parallel(32, 32):
                    B[bz, by * 32 + i, bx * 32 + j] = A[bz, by * 32 + i, bx * 32 + j] * 2.0

    return three_dimensional_grid


def two_launches(n=1024, threads=128):
    @T.prim_func
    def two_launches(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(n // 256, threads=threads) as bx:
            with trace.range("first", payload=bx):
                for i in T.Parallel(256):
                    B[bx * 256 + i] = A[bx * 256 + i] + 1.0
        with T.Kernel(n // 512, threads=threads) as bx:
            with trace.group("late", lead=32):
                with trace.range("second", payload=bx):
                    for i in T.Parallel(512):
                        C[bx * 512 + i] = B[bx * 512 + i] * 2.0

    return two_launches


def cluster(n=1024, threads=128):
    @T.prim_func
    def cluster(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.ClusterKernel(n // 128, cluster_dims=2, threads=threads) as bx:
            tx = T.get_thread_binding()
            with trace.range("wait", payload=T.block_rank_in_cluster()):
                T.cluster_sync()
            with trace.range("scale", payload=bx):
                B[bx * 128 + tx] = A[bx * 128 + tx] * 2.0

    return cluster


def _vector(count, dtype="float32"):
    return lambda device: (normal(device, count, dtype=dtype),)


def _two_vectors(count):
    return lambda device: (normal(device, count, dtype="float32"), normal(device, count, dtype="float32", seed=1))


REFERENCES = (
    Reference("add", add, _two_vectors(4096), lambda a, b: a + b),
    Reference("dynamic_add", dynamic_add, _two_vectors(1000), lambda a, b: a + b, again=False),
    Reference(
        "softmax",
        softmax,
        lambda device: (normal(device, 64, 512, dtype="float32"),),
        lambda a: a.softmax(dim=1),
        rtol=1e-4,
        atol=1e-5,
    ),
    Reference("row_sum", row_sum, lambda device: (normal(device, 256, 1024, dtype="float32"),), lambda a: a.sum(dim=1)),
    Reference("unrolled", unrolled, _vector(1024), lambda a: _unrolled_expected(a.clone())),
    Reference("vectorised", vectorised, _vector(2048, "float16"), lambda a: a),
    Reference("histogram", histogram, _histogram_inputs, _histogram_expected, out_idx=(), rtol=0, atol=0),
    Reference(
        "two_dimensional_grid",
        two_dimensional_grid,
        lambda device: (normal(device, 64, 96, dtype="float32"),),
        lambda a: a * 2,
    ),
    Reference(
        "three_dimensional_grid",
        three_dimensional_grid,
        lambda device: (normal(device, 3, 64, 64, dtype="float32"),),
        lambda a: a * 2,
    ),
    Reference("two_launches", two_launches, _vector(1024), lambda a: (a + 1, (a + 1) * 2), out_idx=(-2, -1)),
    Reference("cluster", cluster, _vector(1024), lambda a: a * 2, architectures=("sm_90a",)),
)
