# device: either
# build: matmul(256, 256, 512)
# marked gemm: launches=1 ctas=4 load=64 mma=64 store=4
"""A GEMM whose author has marked loads, products and the store."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@trace.jit(out_idx=[-1])
def matmul(M, N, K, bm=128, bn=128, bk=32, stages=3):
    @T.prim_func
    def gemm(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(N // bn, M // bm, threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(K // bk, num_stages=stages):
                with trace.range("load", payload=ko):
                    T.copy(A[by * bm, ko * bk], A_shared)
                    T.copy(B[ko * bk, bx * bn], B_shared)
                with trace.range("mma", payload=ko):
                    T.gemm(A_shared, B_shared, C_local)
            with trace.range("store", payload=by):
                T.copy(C_local, C[by * bm, bx * bn])
            trace.dag("load", "mma")

    return gemm


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    a, b = torch.randn(256, 512).half().to(device), torch.randn(512, 256).half().to(device)
    c = matmul(256, 256, 512)(a, b)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=2e-1)
    print("marked gemm: ok", tuple(c.shape))
