# device: either
# build: paged_decode(4, 16, 64, 32, 8)
# auto paged: launches=1 ctas=4 'gemm Q_s·K_s'=11 'copy K_cache → K_s'=11
"""Decoding over a paged cache: a table says where the pages of a sequence lie."""

import argparse

import tilelang
import tilelang.language as T
import torch

PAGE = 32


@tilelang.jit(out_idx=[-1])
def paged_decode(batch, heads, dim, pages, longest):
    scale = dim**-0.5

    @T.prim_func
    def paged(
        Q: T.Tensor((batch, heads, dim), "float16"),
        K_cache: T.Tensor((pages, PAGE, dim), "float16"),
        V_cache: T.Tensor((pages, PAGE, dim), "float16"),
        Table: T.Tensor((batch, longest), "int32"),
        Lengths: T.Tensor((batch,), "int32"),
        O: T.Tensor((batch, heads, dim), "float32"),
    ):
        with T.Kernel(batch, threads=32) as bx:
            Q_s = T.alloc_shared((heads, dim), "float16")
            K_s = T.alloc_shared((PAGE, dim), "float16")
            V_s = T.alloc_shared((PAGE, dim), "float16")
            s = T.alloc_fragment((heads, PAGE), "float32")
            p = T.alloc_fragment((heads, PAGE), "float16")
            o = T.alloc_fragment((heads, dim), "float32")
            m = T.alloc_fragment((heads,), "float32")
            m_prev = T.alloc_fragment((heads,), "float32")
            alpha = T.alloc_fragment((heads,), "float32")
            row = T.alloc_fragment((heads,), "float32")
            l = T.alloc_fragment((heads,), "float32")
            T.copy(Q[bx, :, :], Q_s)
            T.clear(o)
            T.clear(l)
            T.fill(m, -T.infinity("float32"))
            for n in T.serial(T.ceildiv(Lengths[bx], PAGE)):
                page = Table[bx, n]
                T.copy(K_cache[page, :, :], K_s)
                T.copy(V_cache[page, :, :], V_s)
                T.clear(s)
                T.gemm(Q_s, K_s, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(heads, PAGE):
                    s[i, j] = T.if_then_else(n * PAGE + j < Lengths[bx], s[i, j] * scale, -T.infinity("float32"))
                T.copy(m, m_prev)
                T.reduce_max(s, m, dim=1, clear=False)
                for i in T.Parallel(heads):
                    alpha[i] = T.exp(m_prev[i] - m[i])
                for i, j in T.Parallel(heads, PAGE):
                    s[i, j] = T.exp(s[i, j] - m[i])
                T.reduce_sum(s, row, dim=1)
                for i in T.Parallel(heads):
                    l[i] = l[i] * alpha[i] + row[i]
                for i, j in T.Parallel(heads, dim):
                    o[i, j] *= alpha[i]
                T.copy(s, p)
                T.gemm(p, V_s, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(heads, dim):
                o[i, j] /= l[i]
            T.copy(o, O[bx, :, :])

    return paged


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    lengths = [100, 32, 33, 128]  # 4, 1, 2 and 4 pages
    table = torch.randperm(32)[:32].reshape(4, 8).int()
    q = torch.randn(4, 16, 64).half()
    k_cache, v_cache = (torch.randn(32, PAGE, 64).half() for _ in range(2))
    inputs = (q, k_cache, v_cache, table, torch.tensor(lengths).int())
    out = paged_decode(4, 16, 64, 32, 8)(*(t.to(device) for t in inputs)).cpu()
    for b, length in enumerate(lengths):
        k, v = (cache[table[b].long()].flatten(0, 1)[:length].float() for cache in (k_cache, v_cache))
        want = (q[b].float() @ k.T / 8).softmax(-1) @ v
        print(f"sequence of {length}:", torch.allclose(out[b], want, rtol=1e-2, atol=1e-2))
