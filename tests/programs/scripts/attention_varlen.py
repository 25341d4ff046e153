# device: either
# build: varlen_attention(3, 2, 64, 192)
# auto varlen: launches=1 ctas=18
"""Attention over packed sequences of different lengths, found through cumulative lengths; CTAs beyond an end leave."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def varlen_attention(batch, heads, dim, longest, block=64):
    total = T.dynamic("total")
    scale = dim**-0.5 * 1.44269504

    @T.prim_func
    def varlen(
        Q: T.Tensor((total, heads, dim), "float16"),
        K: T.Tensor((total, heads, dim), "float16"),
        V: T.Tensor((total, heads, dim), "float16"),
        Starts: T.Tensor((batch + 1,), "int32"),
        O: T.Tensor((total, heads, dim), "float16"),
    ):
        with T.Kernel(T.ceildiv(longest, block), heads, batch, threads=128) as (bx, by, bz):
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
            start = Starts[bz]
            length = Starts[bz + 1] - start
            if bx * block < length:
                for i, d in T.Parallel(block, dim):
                    Q_s[i, d] = T.if_then_else(bx * block + i < length, Q[start + bx * block + i, by, d], T.float16(0))
                T.fill(o, 0)
                T.fill(l, 0)
                T.fill(m, -T.infinity("float32"))
                for k in T.serial(T.ceildiv(length, block)):
                    for i, d in T.Parallel(block, dim):
                        K_s[i, d] = T.if_then_else(
                            k * block + i < length, K[start + k * block + i, by, d], T.float16(0)
                        )
                        V_s[i, d] = T.if_then_else(
                            k * block + i < length, V[start + k * block + i, by, d], T.float16(0)
                        )
                    for i, j in T.Parallel(block, block):
                        s[i, j] = T.if_then_else(k * block + j < length, 0, -T.infinity("float32"))
                    T.gemm(Q_s, K_s, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    T.copy(m, m_prev)
                    T.reduce_max(s, m, dim=1, clear=False)
                    for i in T.Parallel(block):
                        alpha[i] = T.exp2((m_prev[i] - m[i]) * scale)
                    for i, j in T.Parallel(block, block):
                        s[i, j] = T.exp2((s[i, j] - m[i]) * scale)
                    T.reduce_sum(s, row, dim=1)
                    for i in T.Parallel(block):
                        l[i] = l[i] * alpha[i] + row[i]
                    T.copy(s, p)
                    for i, d in T.Parallel(block, dim):
                        o[i, d] *= alpha[i]
                    T.gemm(p, V_s, o, policy=T.GemmWarpPolicy.FullRow)
                for i, d in T.Parallel(block, dim):
                    if bx * block + i < length:
                        O[start + bx * block + i, by, d] = o[i, d] / l[i]

    return varlen


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lengths", type=int, nargs="+", default=[50, 192, 65])
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.manual_seed(0)
    total = sum(args.lengths)
    q, k, v = (torch.randn(total, 2, 64).half().to(args.device) for _ in range(3))
    starts = torch.tensor([0, *args.lengths]).cumsum(0).int().to(args.device)
    out = torch.zeros_like(q)
    varlen_attention(len(args.lengths), 2, 64, max(args.lengths))(q, k, v, starts, out)
    for part, *qkv in zip(out.split(args.lengths), *(t.split(args.lengths) for t in (q, k, v))):
        want = torch.nn.functional.scaled_dot_product_attention(*(t.float().transpose(0, 1) for t in qkv)).transpose(
            0, 1
        )
        torch.testing.assert_close(part.float(), want, rtol=1e-2, atol=1e-2)
        print("length", part.shape[0], "ok")
