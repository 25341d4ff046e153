# device: card
# build: matmul(256, 256, 256)
# auto main: launches=1 ctas=4 'gemm A_shared·B_shared'=16
"""Settings that change what is built: pass configurations, compiler flags, a layout, the warp policy."""

import tilelang
import tilelang.language as T
import torch
from tilelang.layout import make_swizzled_layout

PASS_CONFIGS = {
    tilelang.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True,
    tilelang.PassConfigKey.TL_DISABLE_TMA_LOWER: True,
    tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True,
}


@tilelang.jit(out_idx=[-1], pass_configs=PASS_CONFIGS, compile_flags=["-O3", "--use_fast_math"])
def matmul(M, N, K, block=128, block_K=64):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(N // block, M // block, threads=256) as (bx, by):
            A_shared = T.alloc_shared((block, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block), "float16")
            C_shared = T.alloc_shared((block, block), "float16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.annotate_layout({C_shared: make_swizzled_layout(C_shared)})
            T.clear(C_local)
            for k in T.Pipelined(K // block_K, num_stages=2):
                T.copy(A[by * block, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block, block):
                C_local[i, j] = T.exp(C_local[i, j] * 0.01)
            T.copy(C_local, C_shared)
            T.copy(C_shared, C[by * block, bx * block])

    return main


if __name__ == "__main__":
    torch.manual_seed(0)
    a, b = (torch.randn(256, 256, device="cuda").half() for _ in range(2))
    want = torch.exp((a.float() @ b.float()) * 0.01)
    print("exp of the product:", torch.allclose(matmul(256, 256, 256)(a, b).float(), want, rtol=1e-2, atol=1e-2))
