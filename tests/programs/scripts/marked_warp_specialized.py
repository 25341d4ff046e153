# device: either
# build: specialised(256, 256, 512)
# marked specialised: launches=1 ctas=4 'wait full'=32 mma=32 'wait empty'=32 load=32
"""Groups of their own for the producer and the consumer of a hand-written pipeline, waits on a lane of their own."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@trace.jit(out_idx=[-1])
def specialised(M, N, K, bm=128, bn=128, bk=64, stages=2):
    @T.prim_func
    def specialised(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(N // bn, M // bm, threads=256) as (bx, by):
            A_s = T.alloc_shared((stages, bm, bk), "float16")
            B_s = T.alloc_shared((stages, bk, bn), "float16")
            acc = T.alloc_fragment((bm, bn), "float32")
            full = T.alloc_barrier([128] * stages)
            empty = T.alloc_barrier([128] * stages)
            tx = T.get_thread_binding()
            if tx < 128:
                with trace.group("consumer", lead=0):
                    T.clear(acc)
                    for k in T.serial(K // bk):
                        with trace.range("wait full", lane="barrier", payload=k):
                            T.mbarrier_wait_parity(full[k % stages], (k // stages) % 2)
                        with trace.range("mma", payload=k):
                            T.gemm(A_s[k % stages, :, :], B_s[k % stages, :, :], acc)
                        T.mbarrier_arrive(empty[k % stages])
                    T.copy(acc, C[by * bm, bx * bn])
            else:
                with trace.group("producer", lead=128):
                    for k in T.serial(K // bk):
                        with trace.range("wait empty", lane="barrier", payload=k):
                            T.mbarrier_wait_parity(empty[k % stages], ((k // stages) % 2) ^ 1)
                        with trace.range("load", payload=k):
                            T.tma_copy(
                                A[by * bm : by * bm + bm, k * bk : k * bk + bk],
                                A_s[k % stages, :, :],
                                barrier=full[k % stages],
                            )
                            T.tma_copy(
                                B[k * bk : k * bk + bk, bx * bn : bx * bn + bn],
                                B_s[k % stages, :, :],
                                barrier=full[k % stages],
                            )
                        T.mbarrier_arrive(full[k % stages])

    return specialised


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    a, b = torch.randn(256, 512).half().to(device), torch.randn(512, 256).half().to(device)
    c = specialised(256, 256, 512)(a, b)
    print("close:", torch.allclose(c.float(), a.float() @ b.float(), rtol=1e-2, atol=2e-1))
