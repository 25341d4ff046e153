# device: either
# build: chain(64, 256)
# marked chain: launches=1 ctas=8 load=8 affine=16 clip=8
"""Markers inside of macros: each use is a marker of its own."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@T.macro
def affine(x, scale, shift, rows, columns):
    with trace.range("affine"):
        for i, j in T.Parallel(rows, columns):
            x[i, j] = x[i, j] * scale + shift


@T.macro
def clip(x, low, high, rows, columns):
    with trace.range("clip"):
        for i, j in T.Parallel(rows, columns):
            x[i, j] = T.min(T.max(x[i, j], low), high)


@trace.jit(out_idx=[-1])
def chain(M, N, rows=8):
    @T.prim_func
    def chain(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=128) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            with trace.range("load", payload=bx):
                T.copy(X[bx * rows, 0], x)
            affine(x, 2.0, 1.0, rows, N)
            clip(x, -3.0, 3.0, rows, N)
            affine(x, 0.5, 0.0, rows, N)
            T.copy(x, Y[bx * rows, 0])

    return chain


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = (torch.randn(64, 256) * 3).to(device)
    print("chain:", torch.allclose(chain(64, 256)(x), (x * 2 + 1).clamp(-3, 3) * 0.5, atol=1e-6))
