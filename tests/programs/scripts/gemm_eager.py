# device: either
# build: gemm(torch.empty(128, 128, dtype=torch.float16), torch.empty(128, 128, dtype=torch.float16))
# auto gemm: launches=2 ctas=4 'gemm A_shared·B_shared'=16
"""The eager style: shapes come from the tensors, the output is made inside, the call runs at once."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def gemm(A, B, block_M: int = 64, block_N: int = 64, block_K: int = 32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor[[M, K], T.float16]
    B: T.Tensor[[K, N], T.float16]
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), T.float16)
        B_shared = T.alloc_shared((block_K, block_N), T.float16)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * block_M, bx * block_N])
    return C


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", "--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    a = torch.randn(128, 128).half().to(device)
    b = torch.randn(128, 128).half().to(device)
    ab, ba = gemm(a, b), gemm(b, a)
    for got, (x, y) in ((ab, (a, b)), (ba, (b, a))):
        torch.testing.assert_close(got.float(), x.float() @ y.float(), rtol=1e-2, atol=1e-1)
    print("AB and BA are right, and differ:", not torch.equal(ab, ba))
