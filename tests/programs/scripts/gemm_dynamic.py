# device: either
# build: dynamic_matmul(128, 128)
# auto main: launches=1 ctas=4 'gemm A_shared·B_shared'=16
# auto main: launches=1 ctas=2 'gemm A_shared·B_shared'=8
# auto main: launches=1 ctas=8 'gemm A_shared·B_shared'=32
"""One kernel for any number of rows."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def dynamic_matmul(N, K, bm=64, bn=64, bk=32):
    M = T.dynamic("M")

    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=2):
                T.copy(A[by * bm, k * bk], A_shared)
                T.copy(B[k * bk, bx * bn], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * bm, bx * bn])

    return main


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=[100, 7, 256])
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.manual_seed(0)
    kernel = dynamic_matmul(128, 128)
    b = torch.randn(128, 128).half().to(args.device)
    for rows in args.rows:
        a = torch.randn(rows, 128).half().to(args.device)
        c = torch.empty(rows, 128, dtype=torch.float16, device=args.device)
        kernel(a, b, c)
        torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=1e-1)
        print(f"{rows:4d} rows ok")
