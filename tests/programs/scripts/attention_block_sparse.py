# device: card
# build: sparse_attention(1, 2, 256, 64)
# auto main: launches=1 ctas=8 'copy O_l → Output'=8
"""Attention over the blocks that a mask selects, the diagonal always among them."""

import math

import tilelang
import tilelang.language as T
import torch


def get_mask(heads, blocks, topk):
    """The diagonal and `topk` other blocks at or below it."""
    scores = torch.rand(heads, blocks, blocks)
    causal = torch.ones(blocks, blocks).tril().bool()
    scores = scores.masked_fill(~causal, -1)
    mask = torch.zeros(heads, blocks, blocks, dtype=torch.bool)
    mask.scatter_(-1, scores.topk(topk, -1).indices, True)
    return (mask & causal) | torch.eye(blocks).bool()


@tilelang.jit(out_idx=[-1])
def sparse_attention(batch, heads, seq, dim, block=64):
    scale = 1.44269504 / math.sqrt(dim)
    blocks = seq // block

    @T.prim_func
    def main(
        Q: T.Tensor((batch, heads, seq, dim), "float16"),
        K: T.Tensor((batch, heads, seq, dim), "float16"),
        V: T.Tensor((batch, heads, seq, dim), "float16"),
        Mask: T.Tensor((heads, blocks, blocks), "bool"),
        Output: T.Tensor((batch, heads, seq, dim), "float16"),
    ):
        with T.Kernel(blocks, heads, batch, threads=128) as (bx, by, bz):
            Q_s = T.alloc_shared((block, dim), "float16")
            K_s = T.alloc_shared((block, dim), "float16")
            V_s = T.alloc_shared((block, dim), "float16")
            S = T.alloc_fragment((block, block), "float32")
            P = T.alloc_fragment((block, block), "float16")
            O_l = T.alloc_fragment((block, dim), "float32")
            m = T.alloc_fragment((block,), "float32")
            m_prev = T.alloc_fragment((block,), "float32")
            alpha = T.alloc_fragment((block,), "float32")
            row = T.alloc_fragment((block,), "float32")
            l = T.alloc_fragment((block,), "float32")
            T.copy(Q[bz, by, bx * block : (bx + 1) * block, :], Q_s)
            T.fill(O_l, 0)
            T.fill(l, 0)
            T.fill(m, -1e30)
            for k in T.serial(bx + 1):
                if Mask[by, bx, k]:
                    T.copy(K[bz, by, k * block : (k + 1) * block, :], K_s)
                    T.copy(V[bz, by, k * block : (k + 1) * block, :], V_s)
                    T.clear(S)
                    T.gemm(Q_s, K_s, S, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    for i, j in T.Parallel(block, block):
                        S[i, j] = T.if_then_else(bx * block + i >= k * block + j, S[i, j], -1e30)
                    T.copy(m, m_prev)
                    T.reduce_max(S, m, dim=1, clear=False)
                    for i in T.Parallel(block):
                        alpha[i] = T.exp2((m_prev[i] - m[i]) * scale)
                    for i, j in T.Parallel(block, block):
                        S[i, j] = T.exp2((S[i, j] - m[i]) * scale)
                    T.reduce_sum(S, row, dim=1)
                    for i in T.Parallel(block):
                        l[i] = l[i] * alpha[i] + row[i]
                    for i, j in T.Parallel(block, dim):
                        O_l[i, j] *= alpha[i]
                    T.copy(S, P)
                    T.gemm(P, V_s, O_l, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block, dim):
                O_l[i, j] /= l[i]
            T.copy(O_l, Output[bz, by, bx * block : (bx + 1) * block, :])

    return main


if __name__ == "__main__":
    torch.manual_seed(0)
    mask = get_mask(2, 4, 2)
    q, k, v = (torch.randn(1, 2, 256, 64, dtype=torch.float16) for _ in range(3))
    full = mask.repeat_interleave(64, 1).repeat_interleave(64, 2) & torch.ones(256, 256).tril().bool()
    ref = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), attn_mask=full[None])
    out = sparse_attention(1, 2, 256, 64)(q.cuda(), k.cuda(), v.cuda(), mask.cuda())
    torch.testing.assert_close(out.cpu().float(), ref, rtol=1e-2, atol=1e-2)
    print(f"block-sparse attention, {int(mask.sum())} blocks: ok")
