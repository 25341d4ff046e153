# device: either
# build: dequant_gemm(128, 128, 256)
# auto main: launches=1 ctas=4 'gemm A_shared·B_half'=16
"""int8 weights with a scale per output channel that is applied at the end."""

import argparse
from functools import lru_cache

import tilelang as tl
import tilelang.language as T
import torch


@tl.jit(out_idx=[3])
def dequant_gemm(M, N, K, bm=64, bn=64, bk=64):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), W: T.Tensor((N, K), "int8"), S: T.Tensor((N,), "float32"), C: T.Tensor((M, N), "float16")):  # fmt: skip
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            W_shared = T.alloc_shared((bn, bk), "int8")
            W_local = T.alloc_fragment((bn, bk), "int8")
            B_local = T.alloc_fragment((bn, bk), "float16")
            B_half = T.alloc_shared((bn, bk), "float16")
            acc = T.alloc_fragment((bm, bn), "float32")
            T.clear(acc)
            for ko in T.Pipelined(K // bk, num_stages=2):
                T.copy(A[by * bm, ko * bk], A_shared)
                T.copy(W[bx * bn, ko * bk], W_shared)
                T.copy(W_shared, W_local)
                for i, j in T.Parallel(bn, bk):
                    B_local[i, j] = T.cast(W_local[i, j], "float16")
                T.copy(B_local, B_half)
                T.gemm(A_shared, B_half, acc, transpose_B=True)
            for i, j in T.Parallel(bm, bn):
                acc[i, j] = acc[i, j] * S[bx * bn + j]
            T.copy(acc, C[by * bm, bx * bn])

    return main


@lru_cache(maxsize=None)
def kernel_for(m, n, k):
    return dequant_gemm(m, n, k)


def linear(x, w, s):
    return kernel_for(x.shape[0], w.shape[0], x.shape[1])(x, w, s)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--device", default="cuda")
    dev = ap.parse_args().device
    torch.manual_seed(5)
    x = torch.randn(128, 256).half().to(dev)
    w = torch.randint(-127, 128, (128, 256), dtype=torch.int8).to(dev)
    s = (torch.rand(128) / 127).to(dev)
    ref = x.float() @ (w.float() * s[:, None]).T
    got = linear(x, w, s).float()
    print("relative error < 1%:", bool((got - ref).norm() / ref.norm() < 0.01), kernel_for.cache_info().misses)
