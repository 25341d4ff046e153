# device: either
# build: make(128, 128, 128)
# auto mm: launches=1 ctas=4 'gemm sA·sB'=16
"""The function interface: a PrimFunc that is made first and handed to `tilelang.compile`."""

import argparse

import tilelang
import torch
import tilelang.language as T


def make(m, n, k):
    @T.prim_func
    def mm(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            sA = T.alloc_shared((64, 32), "float16")
            sB = T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(A[by * 64, ko * 32], sA)
                T.copy(B[ko * 32, bx * 64], sB)
                T.gemm(sA, sB, acc)
            T.copy(acc, C[by * 64, bx * 64])

    return mm


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    kernel = tilelang.compile(make(128, 128, 128), out_idx=[-1])
    torch.manual_seed(0)
    a, b = (torch.randn(128, 128).half().to(device) for _ in range(2))
    c = kernel(a, b)
    print("compiled:", torch.allclose(c, a.float() @ b.float(), rtol=1e-2, atol=1e-1), tuple(c.shape))
