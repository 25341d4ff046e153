# device: either
# build: ws_gemm(256, 256, 512)
# auto main: launches=1 ctas=4 'gemm A_shared·B_shared'=32 'copy A → A_shared'=32
"""Warp specialisation by hand: one warp group issues TMA copies, another multiplies, mbarriers between them."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def ws_gemm(M, N, K, bm=128, bn=128, bk=64, stages=2):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(N // bn, M // bm, threads=256) as (bx, by):
            A_shared = T.alloc_shared((stages, bm, bk), "float16")
            B_shared = T.alloc_shared((stages, bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            loaded = T.alloc_barrier(arrive_count=[128] * stages)
            freed = T.alloc_barrier(arrive_count=[128] * stages)
            tx = T.get_thread_binding()
            if tx < 128:
                T.clear(C_local)
                for ko in T.serial(K // bk):
                    T.mbarrier_wait_parity(loaded[ko % stages], (ko // stages) % 2)
                    T.gemm(A_shared[ko % stages, :, :], B_shared[ko % stages, :, :], C_local)
                    T.mbarrier_arrive(freed[ko % stages])
                T.copy(C_local, C[by * bm, bx * bn])
            else:
                for ko in T.serial(K // bk):
                    T.mbarrier_wait_parity(freed[ko % stages], ((ko // stages) % 2) ^ 1)
                    T.tma_copy(
                        A[by * bm : by * bm + bm, ko * bk : ko * bk + bk],
                        A_shared[ko % stages, :, :],
                        barrier=loaded[ko % stages],
                    )
                    T.tma_copy(
                        B[ko * bk : ko * bk + bk, bx * bn : bx * bn + bn],
                        B_shared[ko % stages, :, :],
                        barrier=loaded[ko % stages],
                    )
                    T.mbarrier_arrive(loaded[ko % stages])

    return main


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    a, b = torch.randn(256, 512).half().to(device), torch.randn(512, 256).half().to(device)
    c = ws_gemm(256, 256, 512)(a, b)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=2e-1)
    print("warp-specialised by hand: passed")
