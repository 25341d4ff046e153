"""FlashAttention forward, causal and not."""

import functools

import tilelang.language as T

from kernels.reference import HOPPER, Reference, normal
from tltrace_nb import trace

BATCH, HEADS, LENGTH, DIM = 1, 2, 256, 64


def attention(causal, batch=BATCH, heads=HEADS, length=LENGTH, dim=DIM, bm=64, bn=64, stages=2, threads=128):
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
            with trace.range("load Q", payload=bx):
                T.copy(Q[bz, bx * bm : (bx + 1) * bm, by, :], Q_shared)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(highest, -T.infinity("float32"))
            blocks = T.ceildiv((bx + 1) * bm, bn) if causal else T.ceildiv(length, bn)
            for k in T.Pipelined(blocks, num_stages=stages):
                with trace.range("load K", payload=k):
                    T.copy(K[bz, k * bn : (k + 1) * bn, by, :], K_shared)
                with trace.range("QK", payload=k):
                    if causal:
                        for i, j in T.Parallel(bm, bn):
                            scores[i, j] = T.if_then_else(bx * bm + i >= k * bn + j, 0, -T.infinity("float32"))
                    else:
                        T.clear(scores)
                    T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                with trace.range("softmax", payload=k):
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
                with trace.range("load V", payload=k):
                    T.copy(V[bz, k * bn : (k + 1) * bn, by, :], V_shared)
                with trace.range("PV", payload=k):
                    T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            with trace.range("store", payload=bx):
                for i, j in T.Parallel(bm, dim):
                    out[i, j] /= total[i]
                T.copy(out, Output[bz, bx * bm : (bx + 1) * bm, by, :])

    return attention


def _inputs(device):
    return tuple(normal(device, BATCH, LENGTH, HEADS, DIM, seed=seed) for seed in range(3))


def _expected(causal, q, k, v):
    import torch

    rows = (t.float().transpose(1, 2) for t in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(*rows, is_causal=causal).transpose(1, 2).half()


REFERENCES = (
    Reference("attention", functools.partial(attention, False), _inputs, functools.partial(_expected, False)),
    Reference(
        "causal_attention",
        functools.partial(attention, True),
        _inputs,
        functools.partial(_expected, True),
        architectures=HOPPER,  # TileLang 0.1.15 fails on cp.async pipelines whose length is known only at run time
    ),
    Reference(
        "causal_attention_unpipelined",
        functools.partial(attention, True, stages=0),
        _inputs,
        functools.partial(_expected, True),
    ),
)
