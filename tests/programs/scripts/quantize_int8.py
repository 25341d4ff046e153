# device: either
# build: quantize_rows(torch.empty(32, 256))
# auto quantize_rows: launches=1 ctas=8 'reduce absmax *'=8
"""Rows to int8 and back, eagerly; two outputs are made inside."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def quantize_rows(X, rows: int = 4):
    M, N = T.const("M N")
    X: T.Tensor[[M, N], T.float32]
    Q = T.empty((M, N), T.int8)
    S = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        x = T.alloc_fragment((rows, N), T.float32)
        top = T.alloc_fragment((rows,), T.float32)
        T.copy(X[bx * rows, 0], x)
        T.reduce_absmax(x, top, dim=1)
        for i, j in T.Parallel(rows, N):
            Q[bx * rows + i, j] = T.cast(T.round(x[i, j] * 127.0 / top[i]), T.int8)
        for i in T.Parallel(rows):
            S[bx * rows + i] = top[i] / 127.0
    return Q, S


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randn(32, 256).to(device)
    q, s = quantize_rows(x)
    error = (q.float() * s[:, None] - x).abs().amax(1)
    print(q.dtype, "error within half a step:", bool((error <= s * 0.51).all()))
