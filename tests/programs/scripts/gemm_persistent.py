# device: either
# build: matmul_persistent(512, 512, 128)
# auto main: launches=1 ctas=4 'gemm A_s·B_s'=32 'copy A → A_s'=32 'copy C_f → C'=16
"""A persistent GEMM: a fixed number of CTAs walks over all tiles of the output."""

import argparse

import tilelang
import torch
from tilelang import language as T


@tilelang.jit(out_idx=-1)
def matmul_persistent(M, N, K, num_ctas=4, bm=128, bn=128, bk=64, num_stages=2):
    tiles_m, tiles_n = M // bm, N // bn

    @T.prim_func
    def main(
        A: T.Tensor((M, K), T.float16),
        B: T.Tensor((K, N), T.float16),
        C: T.Tensor((M, N), T.float16),
    ):
        with T.Kernel(num_ctas, threads=128) as cta:
            A_s = T.alloc_shared((bm, bk), T.float16)
            B_s = T.alloc_shared((bk, bn), T.float16)
            C_f = T.alloc_fragment((bm, bn), T.float32)
            for bx, by in T.Persistent([tiles_m, tiles_n], num_ctas, cta):
                T.clear(C_f)
                for k in T.Pipelined(K // bk, num_stages=num_stages):
                    T.copy(A[bx * bm, k * bk], A_s)
                    T.copy(B[k * bk, by * bn], B_s)
                    T.gemm(A_s, B_s, C_f)
                T.copy(C_f, C[bx * bm, by * bn])

    return main


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", type=torch.device, default="cuda")
    device = parser.parse_args().device
    g = torch.Generator().manual_seed(1)
    a = torch.randn(512, 128, generator=g).half().to(device)
    b = torch.randn(128, 512, generator=g).half().to(device)
    out = matmul_persistent(512, 512, 128)(a, b)
    error = (out.float() - a.float() @ b.float()).abs().max().item()
    print("persistent gemm", "ok" if error < 0.1 else f"wrong by {error}")
    assert error < 0.1
