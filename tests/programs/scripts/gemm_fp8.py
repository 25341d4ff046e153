# device: either
# build: gemm_fp8(128, 128, 256)
# auto gemm_fp8_kernel: launches=1 ctas=4 'gemm A_shared·B_shared'=16 'copy A → A_shared'=16
"""FP8 operands with a scale per tensor, accumulated in float32."""

import os

import tilelang
import tilelang.language as T
import torch

FP8_MAX = 448.0


@tilelang.jit(out_idx=[-1])
def gemm_fp8(M, N, K, block_M=64, block_N=64, block_K=64):
    @T.prim_func
    def gemm_fp8_kernel(
        A: T.Tensor((M, K), "float8_e4m3fn"),
        B: T.Tensor((N, K), "float8_e4m3fn"),
        Scale: T.Tensor((2,), "float32"),
        C: T.Tensor((M, N), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float8_e4m3fn")
            B_shared = T.alloc_shared((block_N, block_K), "float8_e4m3fn")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[bx * block_N, k * block_K], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            for i, j in T.Parallel(block_M, block_N):
                C_local[i, j] *= Scale[0] * Scale[1]
            T.copy(C_local, C[by * block_M, bx * block_N])

    return gemm_fp8_kernel


def quantize(x):
    scale = x.abs().max() / FP8_MAX
    return (x / scale).to(torch.float8_e4m3fn), scale


if __name__ == "__main__":
    device = os.getenv("DEVICE", "cuda")
    torch.manual_seed(0)
    (a, sa), (b, sb) = quantize(torch.randn(128, 256)), quantize(torch.randn(128, 256))
    reference = (a.float() * sa) @ (b.float() * sb).T
    out = gemm_fp8(128, 128, 256)(a.to(device), b.to(device), torch.stack([sa, sb]).to(device)).float().cpu()
    cosine = torch.nn.functional.cosine_similarity(out.flatten(), reference.flatten(), dim=0)
    print("cosine similarity above 0.999:", cosine.item() > 0.999)
