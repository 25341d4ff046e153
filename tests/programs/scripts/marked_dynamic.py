# device: either
# build: row_max(128)
# marked row_max: launches=1 ctas=13 rows=13
# marked row_max: launches=1 ctas=2 rows=2
"""A grid that is known only when the kernel is called."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@trace.jit
def row_max(N, rows=8):
    M = T.dynamic("M")

    @T.prim_func
    def row_max(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M,), "float32")):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            y = T.alloc_fragment((rows,), "float32")
            with trace.range("rows", payload=M):
                T.copy(X[bx * rows, 0], x)
                T.reduce_max(x, y, dim=1)
                T.copy(y, Y[bx * rows])

    return row_max


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    kernel = row_max(128)
    for m in (100, 16):
        x, y = torch.randn(m, 128).to(device), torch.empty(m).to(device)
        kernel(x, y)
        print(m, torch.equal(y, x.amax(1)))
