# device: either
# build: swizzled(512, 512, 128)
# auto main: launches=1 ctas=64 'gemm As·Bs'=256 'copy A → As'=256 'copy Cl → C'=64
"""Block swizzling for the L2 cache: CTAs take the tiles of a panel one after the other."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[2])
def swizzled(M, N, K, BM=64, BN=64, BK=32, panel=4):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((N, K), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            As = T.alloc_shared((BM, BK), "float16")
            Bs = T.alloc_shared((BN, BK), "float16")
            Cl = T.alloc_fragment((BM, BN), "float")
            T.use_swizzle(panel_size=panel)
            T.clear(Cl)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                T.copy(A[by * BM, k * BK], As)
                T.copy(B[bx * BN, k * BK], Bs)
                T.gemm(As, Bs, Cl, transpose_B=True)
            T.copy(Cl, C[by * BM, bx * BN])

    return main


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--device", default="cuda")
    opt = ap.parse_args()
    torch.manual_seed(0)
    x = torch.randn(512, 128).half().to(opt.device)
    w = torch.randn(512, 128).half().to(opt.device)
    y = swizzled(512, 512, 128)(x, w)
    ref = (x.float() @ w.float().t()).half()
    print("max error below 0.1:", bool((y - ref).abs().max() < 0.1))
