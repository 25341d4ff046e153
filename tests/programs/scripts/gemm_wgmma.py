# device: card
# build: wgmma_gemm(256, 256, 256)
# auto main: launches=1 ctas=4
"""WGMMA issued and awaited by hand, warp groups by T.ws: a stage for each step, as the groups meet between the two."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def wgmma_gemm(M, N, K, bm=128, bn=128, bk=64, stages=4):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(N // bn, M // bm, threads=256) as (bx, by):
            A_shared = T.alloc_shared((stages, bm, bk), "float16")
            B_shared = T.alloc_shared((stages, bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            full = T.alloc_barrier([128] * stages)
            empty = T.alloc_barrier([128] * stages)
            with T.ws(1):
                for k in T.serial(K // bk):
                    T.mbarrier_wait_parity(empty[k % stages], ((k // stages) % 2) ^ 1)
                    T.tma_copy(
                        A[by * bm : by * bm + bm, k * bk : k * bk + bk],
                        A_shared[k % stages, :, :],
                        barrier=full[k % stages],
                    )
                    T.tma_copy(
                        B[k * bk : k * bk + bk, bx * bn : bx * bn + bn],
                        B_shared[k % stages, :, :],
                        barrier=full[k % stages],
                    )
                    T.mbarrier_arrive(full[k % stages])
            with T.ws(0):
                T.clear(C_local)
                for k in T.serial(K // bk):
                    T.mbarrier_wait_parity(full[k % stages], (k // stages) % 2)
                    T.wgmma_gemm(A_shared[k % stages, :, :], B_shared[k % stages, :, :], C_local)
                    T.wait_wgmma(0)
                    T.mbarrier_arrive(empty[k % stages])
                T.copy(C_local, C[by * bm, bx * bn])

    return main


if __name__ == "__main__":
    torch.manual_seed(0)
    a, b = (torch.randn(256, 256, device="cuda").half() for _ in range(2))
    torch.testing.assert_close(wgmma_gemm(256, 256, 256)(a, b), (a.float() @ b.float()).half(), rtol=1e-2, atol=1e-1)
    print("wgmma by hand: ok")
