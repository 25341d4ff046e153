# device: either
# build: sink_attention(2, 128, 64, 48)
# auto main: launches=1 ctas=4 'gemm Q_shared·K_shared'=6
"""Sliding-window attention with a learned sink: a logit per head that only takes part in the sum."""

import os

import tilelang
import tilelang.language as T
import torch

device = os.environ.get("DEVICE", "cuda")


@tilelang.jit(out_idx=[-1])
def sink_attention(heads, seq, dim, window, block=64):
    scale = dim**-0.5

    @T.prim_func
    def main(
        Q: T.Tensor((heads, seq, dim), "float16"),
        K: T.Tensor((heads, seq, dim), "float16"),
        V: T.Tensor((heads, seq, dim), "float16"),
        Sinks: T.Tensor((heads,), "float32"),
        Output: T.Tensor((heads, seq, dim), "float16"),
    ):
        with T.Kernel(seq // block, heads, threads=128) as (bx, by):
            Q_shared = T.alloc_shared((block, dim), "float16")
            K_shared = T.alloc_shared((block, dim), "float16")
            V_shared = T.alloc_shared((block, dim), "float16")
            scores = T.alloc_fragment((block, block), "float32")
            weights = T.alloc_fragment((block, block), "float16")
            acc = T.alloc_fragment((block, dim), "float32")
            top = T.alloc_fragment((block,), "float32")
            last = T.alloc_fragment((block,), "float32")
            alpha = T.alloc_fragment((block,), "float32")
            part = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(Q[by, bx * block : (bx + 1) * block, :], Q_shared)
            T.clear(acc)
            T.clear(total)
            for i in T.Parallel(block):
                top[i] = Sinks[by]
            first = T.max(0, bx * block - window + 1) // block
            for k in T.serial(first, bx + 1):
                T.copy(K[by, k * block : (k + 1) * block, :], K_shared)
                T.copy(V[by, k * block : (k + 1) * block, :], V_shared)
                T.clear(scores)
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(block, block):
                    distance = bx * block + i - k * block - j
                    scores[i, j] = T.if_then_else(
                        tilelang.tvm.tirx.all(distance >= 0, distance < window),
                        scores[i, j] * scale,
                        -T.infinity("float32"),
                    )
                T.copy(top, last)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(block):
                    alpha[i] = T.exp(last[i] - top[i])
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.exp(scores[i, j] - top[i])
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block):
                    total[i] = total[i] * alpha[i] + part[i]
                for i, j in T.Parallel(block, dim):
                    acc[i, j] *= alpha[i]
                T.copy(scores, weights)
                T.gemm(weights, V_shared, acc, policy=T.GemmWarpPolicy.FullRow)
            for i in T.Parallel(block):
                total[i] = total[i] + T.exp(Sinks[by] - top[i])
            for i, j in T.Parallel(block, dim):
                acc[i, j] /= total[i]
            T.copy(acc, Output[by, bx * block : (bx + 1) * block, :])

    return main


def reference(q, k, v, sinks, window):
    n = q.shape[1]
    distance = torch.arange(n)[:, None] - torch.arange(n)[None, :]
    scores = q.float() @ k.float().transpose(1, 2) / 8
    scores = scores.masked_fill((distance < 0) | (distance >= window), float("-inf"))
    both = torch.cat([scores, sinks[:, None, None].expand(-1, n, 1)], dim=-1)
    return both.softmax(-1)[..., :-1] @ v.float()


if __name__ == "__main__":
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 128, 64).half() for _ in range(3))
    sinks = torch.randn(2)
    out = sink_attention(2, 128, 64, 48)(*(t.to(device) for t in (q, k, v, sinks)))
    torch.testing.assert_close(out.cpu().float(), reference(q, k, v, sinks, 48), rtol=1e-2, atol=1e-2)
    print("window 48 with sinks: ok")
