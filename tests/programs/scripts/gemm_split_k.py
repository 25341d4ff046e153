# device: either
# build: split_k_matmul(128, 128, 512)
# auto split_k: launches=1 ctas=16 'gemm A_shared·B_shared'=64 'copy B → B_shared'=64
"""Split-K: every part of the reduction has its own CTAs, which add up with atomics."""

import os

import tilelang
import tilelang.language as T
import torch

DEVICE = os.environ.get("DEVICE", "cuda")


@tilelang.jit
def split_k_matmul(M, N, K, split=4, block_M=64, block_N=64, block_K=32):
    part = K // split

    @T.prim_func
    def split_k(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(N // block_N, M // block_M, split, threads=128) as (bx, by, bz):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block_N), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(part // block_K, num_stages=2):
                T.copy(A[by * block_M, bz * part + ko * block_K], A_shared)
                T.copy(B[bz * part + ko * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(block_M, block_N):
                T.atomic_add(C[by * block_M + i, bx * block_N + j], C_local[i, j])

    return split_k


M, N, K = 128, 128, 512

if __name__ == "__main__":
    torch.manual_seed(0)
    a = (torch.randn(M, K) / 8).half().to(DEVICE)
    b = (torch.randn(K, N) / 8).half().to(DEVICE)
    c = torch.zeros(M, N, device=DEVICE)
    split_k_matmul(M, N, K)(a, b, c)
    print(torch.allclose(c, a.float() @ b.float(), rtol=1e-2, atol=1e-2))
