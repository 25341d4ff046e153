# device: either
# build: decode(2, 64, 512, 64)
# auto flash_decode: launches=1 ctas=16 'gemm Q_s·K_s'=16 'copy Partial → part'=32
"""Decoding split along the keys: partial results by one launch, their combination by another, in one function."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def decode(batch, heads, length, dim, split=4, block=64, stages=2):
    scale = dim**-0.5 * 1.44269504
    part_length = length // split

    @T.prim_func
    def flash_decode(
        Q: T.Tensor((batch, heads, dim), "float16"),
        K: T.Tensor((batch, length, dim), "float16"),
        V: T.Tensor((batch, length, dim), "float16"),
        Lse: T.Tensor((batch, split, heads), "float32"),
        Partial: T.Tensor((batch, split, heads, dim), "float32"),
        Output: T.Tensor((batch, heads, dim), "float16"),
    ):
        with T.Kernel(split, batch, threads=128) as (bx, by):
            Q_s = T.alloc_shared((heads, dim), "float16")
            K_s = T.alloc_shared((block, dim), "float16")
            V_s = T.alloc_shared((block, dim), "float16")
            s = T.alloc_fragment((heads, block), "float32")
            p = T.alloc_fragment((heads, block), "float16")
            o = T.alloc_fragment((heads, dim), "float32")
            m = T.alloc_fragment((heads,), "float32")
            m_prev = T.alloc_fragment((heads,), "float32")
            alpha = T.alloc_fragment((heads,), "float32")
            row = T.alloc_fragment((heads,), "float32")
            l = T.alloc_fragment((heads,), "float32")
            T.copy(Q[by, :, :], Q_s)
            T.clear(o)
            T.clear(l)
            T.fill(m, -T.infinity("float32"))
            for k in T.Pipelined(part_length // block, num_stages=stages):
                T.copy(K[by, bx * part_length + k * block : bx * part_length + (k + 1) * block, :], K_s)
                T.copy(V[by, bx * part_length + k * block : bx * part_length + (k + 1) * block, :], V_s)
                T.clear(s)
                T.gemm(Q_s, K_s, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(m, m_prev)
                T.reduce_max(s, m, dim=1, clear=False)
                for i in T.Parallel(heads):
                    alpha[i] = T.exp2(m_prev[i] * scale - m[i] * scale)
                for i, j in T.Parallel(heads, block):
                    s[i, j] = T.exp2(s[i, j] * scale - m[i] * scale)
                T.reduce_sum(s, row, dim=1)
                for i in T.Parallel(heads):
                    l[i] = l[i] * alpha[i] + row[i]
                for i, j in T.Parallel(heads, dim):
                    o[i, j] *= alpha[i]
                T.copy(s, p)
                T.gemm(p, V_s, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(heads, dim):
                o[i, j] /= l[i]
            for i in T.Parallel(heads):
                l[i] = T.log2(l[i]) + m[i] * scale
            T.copy(l, Lse[by, bx, :])
            T.copy(o, Partial[by, bx, :, :])
        with T.Kernel(heads // 16, batch, threads=128) as (bx, by):
            part = T.alloc_fragment((16, dim), "float32")
            lse = T.alloc_fragment((16,), "float32")
            best = T.alloc_fragment((16,), "float32")
            total = T.alloc_fragment((16,), "float32")
            result = T.alloc_fragment((16, dim), "float32")
            T.clear(result)
            T.clear(total)
            T.fill(best, -T.infinity("float32"))
            for n in T.serial(split):
                T.copy(Lse[by, n, bx * 16 : (bx + 1) * 16], lse)
                for i in T.Parallel(16):
                    best[i] = T.max(best[i], lse[i])
            for n in T.serial(split):
                T.copy(Lse[by, n, bx * 16 : (bx + 1) * 16], lse)
                T.copy(Partial[by, n, bx * 16 : (bx + 1) * 16, :], part)
                for i in T.Parallel(16):
                    lse[i] = T.exp2(lse[i] - best[i])
                for i in T.Parallel(16):
                    total[i] += lse[i]
                for i, j in T.Parallel(16, dim):
                    result[i, j] += part[i, j] * lse[i]
            for i, j in T.Parallel(16, dim):
                result[i, j] /= total[i]
            T.copy(result, Output[by, bx * 16 : (bx + 1) * 16, :])

    return flash_decode


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    q = torch.randn(2, 64, 64).half().to(device)
    k, v = (torch.randn(2, 512, 64).half().to(device) for _ in range(2))
    lse, partial = torch.empty(2, 4, 64, device=device), torch.empty(2, 4, 64, 64, device=device)
    out = decode(2, 64, 512, 64)(q, k, v, lse, partial)
    want = ((q.float() @ k.float().transpose(1, 2)) / 8).softmax(-1) @ v.float()
    torch.testing.assert_close(out.float(), want, rtol=1e-2, atol=1e-2)
    print("split decoding agrees with softmax(qk)v")
