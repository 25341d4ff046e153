# device: either
# build: flashattn(1, 2, 256, 64)
# auto fa_fwd: launches=1 ctas=8 'gemm Q_s·K_s'=32 'gemm p·V_s'=32 'copy K → K_s'=32 'copy o → O'=8
"""FlashAttention, forward."""

import argparse
import math

import tilelang
import tilelang.language as T
import torch
import torch.nn.functional as F

LOG2E = 1.44269504


@tilelang.jit(out_idx=[3])
def flashattn(batch, heads, seq, dim, block_M=64, block_N=64, num_stages=2, threads=128):
    scale = LOG2E / math.sqrt(dim)
    shape = [batch, heads, seq, dim]

    @T.prim_func
    def fa_fwd(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        O: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(T.ceildiv(seq, block_M), heads, batch, threads=threads) as (bx, by, bz):
            Q_s = T.alloc_shared([block_M, dim], "float16")
            K_s = T.alloc_shared([block_N, dim], "float16")
            V_s = T.alloc_shared([block_N, dim], "float16")
            s = T.alloc_fragment([block_M, block_N], "float32")
            p = T.alloc_fragment([block_M, block_N], "float16")
            o = T.alloc_fragment([block_M, dim], "float32")
            m = T.alloc_fragment([block_M], "float32")
            m_prev = T.alloc_fragment([block_M], "float32")
            alpha = T.alloc_fragment([block_M], "float32")
            row = T.alloc_fragment([block_M], "float32")
            l = T.alloc_fragment([block_M], "float32")
            T.copy(Q[bz, by, bx * block_M : (bx + 1) * block_M, :], Q_s)
            T.fill(o, 0)
            T.fill(l, 0)
            T.fill(m, -T.infinity("float32"))
            for k in T.Pipelined(T.ceildiv(seq, block_N), num_stages=num_stages):
                T.copy(K[bz, by, k * block_N : (k + 1) * block_N, :], K_s)
                T.clear(s)
                T.gemm(Q_s, K_s, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(m, m_prev)
                T.reduce_max(s, m, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    alpha[i] = T.exp2(m_prev[i] * scale - m[i] * scale)
                for i, j in T.Parallel(block_M, block_N):
                    s[i, j] = T.exp2(s[i, j] * scale - m[i] * scale)
                T.reduce_sum(s, row, dim=1)
                for i in T.Parallel(block_M):
                    l[i] = l[i] * alpha[i] + row[i]
                T.copy(s, p)
                for i, j in T.Parallel(block_M, dim):
                    o[i, j] *= alpha[i]
                T.copy(V[bz, by, k * block_N : (k + 1) * block_N, :], V_s)
                T.gemm(p, V_s, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                o[i, j] /= l[i]
            T.copy(o, O[bz, by, bx * block_M : (bx + 1) * block_M, :])

    return fa_fwd


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--device", default="cuda")
    a = parser.parse_args()
    torch.manual_seed(0)
    q, k, v = (torch.randn(a.batch, a.heads, a.seq, a.dim).half().to(a.device) for _ in range(3))
    out = flashattn(a.batch, a.heads, a.seq, a.dim)(q, k, v)
    torch.testing.assert_close(out.float(), F.scaled_dot_product_attention(q.float(), k.float(), v.float()), rtol=1e-2, atol=1e-2)  # fmt: skip
    print("attention forward: All checks pass.")
