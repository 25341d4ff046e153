# device: either
# build: chunk_linear_attention(1, 2, 256, 64)
# auto linear: launches=1 ctas=2 'gemm Q_s·K_s'=8 'gemm scores_s·V_s'=8 'gemm K_s·V_s'=8
"""Causal linear attention by chunks: a state that is carried along, a product within the chunk."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[3])
def chunk_linear_attention(B, H, S, D, chunk=64):
    @T.prim_func
    def linear(
        Q: T.Tensor((B, H, S, D), "float16"),
        K: T.Tensor((B, H, S, D), "float16"),
        V: T.Tensor((B, H, S, D), "float16"),
        O: T.Tensor((B, H, S, D), "float32"),
    ):
        with T.Kernel(H, B, threads=128) as (by, bz):
            Q_s = T.alloc_shared((chunk, D), "float16")
            K_s = T.alloc_shared((chunk, D), "float16")
            V_s = T.alloc_shared((chunk, D), "float16")
            scores = T.alloc_fragment((chunk, chunk), "float32")
            scores_s = T.alloc_shared((chunk, chunk), "float16")
            state = T.alloc_fragment((D, D), "float32")
            state_s = T.alloc_shared((D, D), "float16")
            out = T.alloc_fragment((chunk, D), "float32")
            T.clear(state)
            for c in T.serial(S // chunk):
                T.copy(Q[bz, by, c * chunk : (c + 1) * chunk, :], Q_s)
                T.copy(K[bz, by, c * chunk : (c + 1) * chunk, :], K_s)
                T.copy(V[bz, by, c * chunk : (c + 1) * chunk, :], V_s)
                T.clear(scores)
                T.gemm(Q_s, K_s, scores, transpose_B=True)
                for i, j in T.Parallel(chunk, chunk):
                    scores_s[i, j] = T.if_then_else(i >= j, scores[i, j], 0.0)
                T.copy(state, state_s)
                T.clear(out)
                T.gemm(Q_s, state_s, out)
                T.gemm(scores_s, V_s, out)
                T.gemm(K_s, V_s, state, transpose_A=True)
                T.copy(out, O[bz, by, c * chunk : (c + 1) * chunk, :])

    return linear


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    q, k, v = ((torch.randn(1, 2, 256, 64) / 8).half().to(device) for _ in range(3))
    out = chunk_linear_attention(1, 2, 256, 64)(q, k, v)
    want = (q.float() @ k.float().transpose(-1, -2)).tril() @ v.float()
    torch.testing.assert_close(out, want, rtol=2e-2, atol=1e-2)
    print("chunked linear attention equals the quadratic form")
