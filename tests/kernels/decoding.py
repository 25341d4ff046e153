"""FlashAttention beyond the forward pass: the backward one with atomics, and decoding split along the keys."""

import tilelang.language as T

from kernels.reference import Reference, normal
from tltrace_nb import trace

LOG2_E = 1.44269504


def attention_backward(batch=1, heads=2, length=128, dim=64, bm=64, bn=64, threads=128):
    """A CTA owns a block of keys and goes over the queries; dQ is added up by all of them, in float32.

    ``Gradients`` are dQ, dK and dV; ``Lse`` holds the rows' log2 of their sums, ``Delta`` the rows' sums of dO * O.
    """
    scale = (1.0 / dim) ** 0.5
    shape = (batch, length, heads, dim)

    @T.prim_func
    def attention_backward(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        dO: T.Tensor(shape, "float16"),
        Lse: T.Tensor((batch, heads, length), "float32"),
        Delta: T.Tensor((batch, heads, length), "float32"),
        Gradients: T.Tensor((3, *shape), "float32"),
    ):
        with T.Kernel(heads, length // bm, batch, threads=threads) as (bx, by, bz):
            K_shared = T.alloc_shared((bm, dim), "float16")
            V_shared = T.alloc_shared((bm, dim), "float16")
            Q_shared = T.alloc_shared((bn, dim), "float16")
            dO_shared = T.alloc_shared((bn, dim), "float16")
            dS_shared = T.alloc_shared((bm, bn), "float16")
            lse_shared = T.alloc_shared((bn,), "float32")
            delta_shared = T.alloc_shared((bn,), "float32")
            weights = T.alloc_fragment((bm, bn), "float32")
            weights_half = T.alloc_fragment((bm, bn), "float16")
            dS = T.alloc_fragment((bm, bn), "float32")
            dS_half = T.alloc_fragment((bm, bn), "float16")
            dQ = T.alloc_fragment((bn, dim), "float32")
            dK = T.alloc_fragment((bm, dim), "float32")
            dV = T.alloc_fragment((bm, dim), "float32")
            T.copy(K[bz, by * bm : (by + 1) * bm, bx, :], K_shared)
            T.copy(V[bz, by * bm : (by + 1) * bm, bx, :], V_shared)
            T.clear(dK)
            T.clear(dV)
            for k in T.Pipelined(length // bn, num_stages=0):
                with trace.range("load", payload=k):
                    T.copy(Q[bz, k * bn : (k + 1) * bn, bx, :], Q_shared)
                    T.copy(dO[bz, k * bn : (k + 1) * bn, bx, :], dO_shared)
                    T.copy(Lse[bz, bx, k * bn : (k + 1) * bn], lse_shared)
                    T.copy(Delta[bz, bx, k * bn : (k + 1) * bn], delta_shared)
                with trace.range("weights", payload=k):
                    T.clear(weights)
                    T.gemm(K_shared, Q_shared, weights, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    for i, j in T.Parallel(bm, bn):
                        weights[i, j] = T.exp2(weights[i, j] * (scale * LOG2_E) - lse_shared[j])
                    T.copy(weights, weights_half)
                with trace.range("dV", payload=k):
                    T.gemm(weights_half, dO_shared, dV, policy=T.GemmWarpPolicy.FullRow)
                with trace.range("dK", payload=k):
                    T.clear(dS)
                    T.gemm(V_shared, dO_shared, dS, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    for i, j in T.Parallel(bm, bn):
                        dS_half[i, j] = weights[i, j] * (dS[i, j] - delta_shared[j]) * scale
                    T.gemm(dS_half, Q_shared, dK, policy=T.GemmWarpPolicy.FullRow)
                with trace.range("dQ", payload=k):
                    T.copy(dS_half, dS_shared)
                    T.clear(dQ)
                    T.gemm(dS_shared, K_shared, dQ, transpose_A=True)
                    for i, j in T.Parallel(bn, dim):
                        T.atomic_add(Gradients[0, bz, k * bn + i, bx, j], dQ[i, j])
            with trace.range("store", payload=by):
                T.copy(dK, Gradients[1, bz, by * bm : (by + 1) * bm, bx, :])
                T.copy(dV, Gradients[2, bz, by * bm : (by + 1) * bm, bx, :])

    return attention_backward


def _scores(q, k):
    return q.float().transpose(1, 2) @ k.float().permute(0, 2, 3, 1) * q.shape[-1] ** -0.5


def _backward_inputs(device):
    import torch

    q, k, v, do = (normal(device, 1, 128, 2, 64, seed=seed) for seed in range(4))
    scores = _scores(q, k)
    out = (scores.softmax(-1) @ v.float().transpose(1, 2)).transpose(1, 2)
    lse = scores.logsumexp(-1) * LOG2_E
    delta = (out * do.float()).sum(-1).transpose(1, 2).contiguous()
    return q, k, v, do, lse, delta, torch.zeros(3, 1, 128, 2, 64, device=device)


def _backward_expected(q, k, v, do, *_):
    import torch

    device = q.device
    leaves = [t.cpu().float().requires_grad_() for t in (q, k, v)]
    weights = _scores(leaves[0], leaves[1]).softmax(-1)
    out = (weights @ leaves[2].transpose(1, 2)).transpose(1, 2)
    out.backward(do.cpu().float())
    return torch.stack([leaf.grad for leaf in leaves]).to(device)


def flash_decoding(batch=2, heads=64, length=512, dim=64, split=4, bn=64, stages=2, threads=128):
    """One query per head, all heads with the same keys: a launch per part of the keys, and one that combines them."""
    scale = (1.0 / dim) ** 0.5 * LOG2_E
    part = length // split

    @T.prim_func
    def flash_decoding(
        Q: T.Tensor((batch, heads, dim), "float16"),
        K: T.Tensor((batch, length, dim), "float16"),
        V: T.Tensor((batch, length, dim), "float16"),
        Lse: T.Tensor((batch, split, heads), "float32"),
        Partial: T.Tensor((batch, split, heads, dim), "float32"),
        Output: T.Tensor((batch, heads, dim), "float16"),
    ):
        with T.Kernel(split, batch, threads=threads) as (bx, by):
            Q_shared = T.alloc_shared((heads, dim), "float16")
            K_shared = T.alloc_shared((bn, dim), "float16")
            V_shared = T.alloc_shared((bn, dim), "float16")
            scores = T.alloc_fragment((heads, bn), "float32")
            weights = T.alloc_fragment((heads, bn), "float16")
            out = T.alloc_fragment((heads, dim), "float32")
            highest = T.alloc_fragment((heads,), "float32")
            previous = T.alloc_fragment((heads,), "float32")
            rescale = T.alloc_fragment((heads,), "float32")
            row_sum = T.alloc_fragment((heads,), "float32")
            total = T.alloc_fragment((heads,), "float32")
            T.copy(Q[by, :, :], Q_shared)
            T.clear(out)
            T.clear(total)
            T.fill(highest, -T.infinity("float32"))
            for k in T.Pipelined(part // bn, num_stages=stages):
                with trace.range("load", payload=k):
                    T.copy(K[by, bx * part + k * bn : bx * part + (k + 1) * bn, :], K_shared)
                    T.copy(V[by, bx * part + k * bn : bx * part + (k + 1) * bn, :], V_shared)
                with trace.range("scores", payload=k):
                    T.clear(scores)
                    T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                with trace.range("softmax", payload=k):
                    T.copy(highest, previous)
                    T.reduce_max(scores, highest, dim=1, clear=False)
                    for i in T.Parallel(heads):
                        rescale[i] = T.exp2(previous[i] * scale - highest[i] * scale)
                    for i, j in T.Parallel(heads, bn):
                        scores[i, j] = T.exp2(scores[i, j] * scale - highest[i] * scale)
                    T.reduce_sum(scores, row_sum, dim=1)
                    for i in T.Parallel(heads):
                        total[i] = total[i] * rescale[i] + row_sum[i]
                    for i, j in T.Parallel(heads, dim):
                        out[i, j] *= rescale[i]
                    T.copy(scores, weights)
                with trace.range("values", payload=k):
                    T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            with trace.range("store part", payload=bx):
                for i, j in T.Parallel(heads, dim):
                    out[i, j] /= total[i]
                for i in T.Parallel(heads):
                    total[i] = T.log2(total[i]) + highest[i] * scale
                T.copy(total, Lse[by, bx, :])
                T.copy(out, Partial[by, bx, :, :])
        with T.Kernel(heads // 16, batch, threads=threads) as (bx, by):
            part_out = T.alloc_fragment((16, dim), "float32")
            lse = T.alloc_fragment((16,), "float32")
            best = T.alloc_fragment((16,), "float32")
            summed = T.alloc_fragment((16,), "float32")
            combined = T.alloc_fragment((16, dim), "float32")
            T.clear(combined)
            T.clear(summed)
            T.fill(best, -T.infinity("float32"))
            for s in T.serial(split):
                T.copy(Lse[by, s, bx * 16 : (bx + 1) * 16], lse)
                for i in T.Parallel(16):
                    best[i] = T.max(best[i], lse[i])
            for s in T.serial(split):
                with trace.range("combine", payload=s):
                    T.copy(Lse[by, s, bx * 16 : (bx + 1) * 16], lse)
                    T.copy(Partial[by, s, bx * 16 : (bx + 1) * 16, :], part_out)
                    for i in T.Parallel(16):
                        lse[i] = T.exp2(lse[i] - best[i])
                    for i in T.Parallel(16):
                        summed[i] += lse[i]
                    for i, j in T.Parallel(16, dim):
                        combined[i, j] += part_out[i, j] * lse[i]
            with trace.range("store", payload=bx):
                for i, j in T.Parallel(16, dim):
                    combined[i, j] /= summed[i]
                T.copy(combined, Output[by, bx * 16 : (bx + 1) * 16, :])

    return flash_decoding


def _decoding_inputs(device):
    import torch

    parts = torch.zeros(2, 4, 64, device=device), torch.zeros(2, 4, 64, 64, device=device)
    return normal(device, 2, 64, 64), *(normal(device, 2, 512, 64, seed=seed) for seed in (1, 2)), *parts


def _decoding_expected(q, k, v, *_):
    scores = q.float() @ k.float().transpose(1, 2) * 64**-0.5
    return (scores.softmax(-1) @ v.float()).half()


REFERENCES = (
    Reference(
        "attention_backward",
        attention_backward,
        _backward_inputs,
        _backward_expected,
        out_idx=(),
        exact=False,
        rtol=2e-2,
        atol=2e-2,
    ),
    Reference("flash_decoding", flash_decoding, _decoding_inputs, _decoding_expected),
)
