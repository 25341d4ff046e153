# device: card
# build: matmul(256, 256, 256, 64, 64, 32)
# auto main: launches=1
"""Tile sizes that TileLang's carver recommends for this GPU."""

import tilelang
import tilelang.language as T
import torch
from tilelang.carver.arch import CUDA
from tilelang.carver.template import MatmulTemplate


@tilelang.jit(out_idx=[-1])
def matmul(M, N, K, bm, bn, bk):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bn, bk), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=2):
                T.copy(A[by * bm, k * bk], A_shared)
                T.copy(B[bx * bn, k * bk], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * bm, bx * bn])

    return main


def recommended(M, N, K):
    template = MatmulTemplate(M=M, N=N, K=K, in_dtype="float16", out_dtype="float32", accum_dtype="float32")
    hint = template.with_arch(CUDA("cuda")).recommend_hints(topk=1)[0]
    clip = lambda value, low, high: min(max(value, low), high)
    return clip(hint.block[0], 64, 128), clip(hint.block[1], 32, 128), clip(hint.rstep[0], 32, 64)


if __name__ == "__main__":
    tiles = recommended(256, 256, 256)
    torch.manual_seed(0)
    a, b = (torch.randn(256, 256, device="cuda").half() for _ in range(2))
    c = matmul(256, 256, 256, *tiles)(a, b)
    print(len(tiles), "extents,", torch.allclose(c, a.float() @ b.float().T, rtol=1e-2, atol=1e-1))
