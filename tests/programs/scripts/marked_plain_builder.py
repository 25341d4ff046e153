# device: either
# build: blend(64, 128)
# marked blend: launches=2 ctas=8 load=16 mix=8
"""Markers in a builder of tilelang.jit, which knows nothing of them: the kernel is traced where tracing is on."""

import argparse

import tilelang
import tilelang.language as T
import torch

from tltrace_nb import trace


@tilelang.jit(out_idx=[-1])
def blend(M, N, rows=8):
    @T.prim_func
    def blend(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=128) as bx:
            a = T.alloc_fragment((rows, N), "float32")
            b = T.alloc_fragment((rows, N), "float32")
            with trace.range("load", payload=0):
                T.copy(A[bx * rows, 0], a)
            with trace.range("load", payload=1):
                T.copy(B[bx * rows, 0], b)
            with trace.range("mix", payload=bx):
                for i, j in T.Parallel(rows, N):
                    a[i, j] = a[i, j] * 0.25 + b[i, j] * 0.75
            T.copy(a, C[bx * rows, 0])

    return blend


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    a, b = (torch.randn(64, 128).to(device) for _ in range(2))
    kernel = blend(64, 128)
    print("a and b:", torch.allclose(kernel(a, b), a * 0.25 + b * 0.75, atol=1e-6))
    print("b and a:", torch.allclose(kernel(b, a), b * 0.25 + a * 0.75, atol=1e-6))
