"""Kernels as their authors have them: plain ``@tilelang.jit`` builders without a marker, to be traced as they are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tilelang
import tilelang.language as T

from kernels.reference import integers, normal


@dataclass(frozen=True, eq=False)
class Plain:
    """One unmodified kernel at one size.

    ``builder(*arguments)`` compiles it, ``inputs(device)`` makes the tensors to call it with, ``expected(*inputs)`` its
    output within ``atol``. ``iterations``: of the operators in its loops, by name, how often a CTA runs each.
    """

    name: str
    builder: Any
    arguments: tuple[Any, ...]
    inputs: Callable[[Any], tuple[Any, ...]]
    expected: Callable[..., Any]
    iterations: dict[str, int]
    atol: float

    def __str__(self) -> str:
        return self.name


@tilelang.jit(out_idx=[-1])
def gemm(size, bm, bn, bk, stages):
    @T.prim_func
    def gemm(
        A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"), C: T.Tensor((size, size), "float16")
    ):
        with T.Kernel(T.ceildiv(size, bn), T.ceildiv(size, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(size, bk), num_stages=stages):
                T.copy(A[by * bm, k * bk], A_shared)
                T.copy(B[k * bk, bx * bn], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * bm, bx * bn])

    return gemm


@tilelang.jit(out_idx=[-1])
def attention(batch, heads, length, dim, bm, bn, stages, threads):
    scale = (1.0 / dim) ** 0.5 * 1.44269504
    shape = (batch, length, heads, dim)

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        Output: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(T.ceildiv(length, bm), heads, batch, threads=threads) as (bx, by, bz):
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
            T.copy(Q[bz, bx * bm : (bx + 1) * bm, by, :], Q_shared)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(highest, -T.infinity("float32"))
            for k in T.Pipelined(T.ceildiv(length, bn), num_stages=stages):
                T.copy(K[bz, k * bn : (k + 1) * bn, by, :], K_shared)
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
                T.copy(V[bz, k * bn : (k + 1) * bn, by, :], V_shared)
                T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bm, dim):
                out[i, j] /= total[i]
            T.copy(out, Output[bz, bx * bm : (bx + 1) * bm, by, :])

    return attention


@tilelang.jit(out_idx=[-1])
def softmax(rows, columns, block):
    """The running maximum and sum over the blocks of a row, then a second pass."""

    @T.prim_func
    def softmax(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, block), "float32")
            part = T.alloc_fragment((1,), "float32")
            previous = T.alloc_fragment((1,), "float32")
            highest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.fill(highest, -T.infinity("float32"))
            T.clear(total)
            for k in T.serial(columns // block):
                T.copy(A[row, k * block], x)
                T.copy(highest, previous)
                T.reduce_max(x, highest, dim=1, clear=False)
                for i, j in T.Parallel(1, block):
                    x[i, j] = T.exp(x[i, j] - highest[i])
                T.reduce_sum(x, part, dim=1)
                for i in T.Parallel(1):
                    total[i] = total[i] * T.exp(previous[i] - highest[i]) + part[i]
            for k in T.serial(columns // block):
                T.copy(A[row, k * block], x)
                for i, j in T.Parallel(1, block):
                    x[i, j] = T.exp(x[i, j] - highest[i]) / total[i]
                T.copy(x, B[row, k * block])

    return softmax


@tilelang.jit(out_idx=[-1])
def dequantising_gemm(m, n, k, bm, bn, bk, stages):
    @T.prim_func
    def dequantising_gemm(A: T.Tensor((m, k), "float16"), B: T.Tensor((n, k), "int8"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bn, bk), "int8")
            B_local = T.alloc_fragment((bn, bk), "int8")
            B_wide = T.alloc_fragment((bn, bk), "float16")
            B_ready = T.alloc_shared((bn, bk), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                T.copy(A[by * bm, ko * bk], A_shared)
                T.copy(B[bx * bn, ko * bk], B_shared)
                T.copy(B_shared, B_local)
                for i, j in T.Parallel(bn, bk):
                    B_wide[i, j] = T.cast(B_local[i, j], "float16")
                T.copy(B_wide, B_ready)
                T.gemm(A_shared, B_ready, C_local, transpose_B=True)
            T.copy(C_local, C[by * bm, bx * bn])

    return dequantising_gemm


def _square(size):
    return lambda device: (normal(device, size, size), normal(device, size, size, seed=1))


def _attention_expected(q, k, v):
    import torch

    rows = (t.float().transpose(1, 2) for t in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(*rows).transpose(1, 2).half()


def _gemm(size, *tiles):
    count = size // tiles[2]
    counts = {"copy A → A_shared": count, "copy B → B_shared": count, "gemm A_shared·B_shared": count}
    expected = lambda a, b: (a.float() @ b.float()).half()  # noqa: E731
    return Plain("gemm", gemm, (size, *tiles), _square(size), expected, counts, 0.5)


def _attention(batch, heads, length, dim, bm, bn, stages, threads):
    names = ("copy K → K_shared", "copy V → V_shared", "gemm Q_shared·K_shared", "gemm weights·V_shared")
    return Plain(
        "attention",
        attention,
        (batch, heads, length, dim, bm, bn, stages, threads),
        lambda device: tuple(normal(device, batch, length, heads, dim, seed=seed) for seed in range(3)),
        _attention_expected,
        dict.fromkeys(names, length // bn),
        0.01,
    )


def _softmax(rows, columns, block):
    blocks = columns // block
    return Plain(
        "softmax",
        softmax,
        (rows, columns, block),
        lambda device: (normal(device, rows, columns, dtype="float32"),),
        lambda a: a.softmax(dim=1),
        {"copy A → x": 2 * blocks, "copy x → B": blocks},
        1e-5,
    )


def _dequantising(m, n, k, *tiles):
    names = ("copy A → A_shared", "copy B → B_shared", "gemm A_shared·B_ready")
    return Plain(
        "dequantising_gemm",
        dequantising_gemm,
        (m, n, k, *tiles),
        lambda device: (normal(device, m, k), integers(device, n, k, low=-8, high=8, dtype="int8")),
        lambda a, b: (a.float() @ b.float().T).half(),
        dict.fromkeys(names, k // tiles[2]),
        0.5,
    )


SMALL = (
    _gemm(256, 128, 128, 32, 3),
    _attention(1, 2, 256, 64, 64, 64, 2, 128),
    _softmax(16, 1024, 256),
    _dequantising(128, 128, 256, 64, 64, 64, 2),
)
"""Sizes for tests."""

LARGE = (
    _gemm(4096, 128, 128, 64, 3),
    _attention(2, 32, 4096, 128, 128, 128, 2, 256),
    _softmax(8192, 8192, 2048),
    _dequantising(4096, 4096, 4096, 128, 128, 64, 3),
)
"""Sizes for benchmarks."""
