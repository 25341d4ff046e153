# device: either
# build: attention(256, 2, 64)
# marked attention: launches=1 ctas=8 'load K'=32 'load V'=32 QK=32 softmax=32 PV=32 store=8
"""The phases of an attention kernel, marked where an author wonders."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@trace.jit(out_idx=[-1])
def attention(length, heads, dim, block=64, stages=2):
    scale = dim**-0.5 * 1.44269504
    shape = (heads, length, dim)

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        O: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(length // block, heads, threads=128) as (bx, by):
            Q_s = T.alloc_shared((block, dim), "float16")
            K_s = T.alloc_shared((block, dim), "float16")
            V_s = T.alloc_shared((block, dim), "float16")
            s = T.alloc_fragment((block, block), "float32")
            p = T.alloc_fragment((block, block), "float16")
            o = T.alloc_fragment((block, dim), "float32")
            m = T.alloc_fragment((block,), "float32")
            m_prev = T.alloc_fragment((block,), "float32")
            alpha = T.alloc_fragment((block,), "float32")
            row = T.alloc_fragment((block,), "float32")
            l = T.alloc_fragment((block,), "float32")
            T.copy(Q[by, bx * block : (bx + 1) * block, :], Q_s)
            T.fill(o, 0)
            T.fill(l, 0)
            T.fill(m, -T.infinity("float32"))
            for k in T.Pipelined(length // block, num_stages=stages):
                with trace.range("load K", payload=k):
                    T.copy(K[by, k * block : (k + 1) * block, :], K_s)
                with trace.range("QK", payload=k):
                    T.clear(s)
                    T.gemm(Q_s, K_s, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                with trace.range("softmax", payload=k):
                    T.copy(m, m_prev)
                    T.reduce_max(s, m, dim=1, clear=False)
                    for i in T.Parallel(block):
                        alpha[i] = T.exp2(m_prev[i] * scale - m[i] * scale)
                    for i, j in T.Parallel(block, block):
                        s[i, j] = T.exp2(s[i, j] * scale - m[i] * scale)
                    T.reduce_sum(s, row, dim=1)
                    for i in T.Parallel(block):
                        l[i] = l[i] * alpha[i] + row[i]
                    T.copy(s, p)
                    for i, j in T.Parallel(block, dim):
                        o[i, j] *= alpha[i]
                with trace.range("load V", payload=k):
                    T.copy(V[by, k * block : (k + 1) * block, :], V_s)
                with trace.range("PV", payload=k):
                    T.gemm(p, V_s, o, policy=T.GemmWarpPolicy.FullRow)
            with trace.range("store", payload=bx):
                for i, j in T.Parallel(block, dim):
                    o[i, j] /= l[i]
                T.copy(o, O[by, bx * block : (bx + 1) * block, :])

    return attention


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 256, 64).half().to(device) for _ in range(3))
    want = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float())
    torch.testing.assert_close(attention(256, 2, 64)(q, k, v).float(), want, rtol=1e-2, atol=1e-2)
    print("marked attention: ok")
