# device: either
# build: strided_copy(32, 64)
# auto strided_copy: launches=2 ctas=4
"""Columns of a wider tensor and rows taken apart, without a copy: strides are arguments of the kernel."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def strided_copy(M, N, rows=8):
    stride = T.dynamic("stride")

    @T.prim_func
    def strided_copy(X: T.StridedTensor((M, N), (stride, 1), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=128) as bx:
            for i, j in T.Parallel(rows, N):
                Y[bx * rows + i, j] = X[bx * rows + i, j] + 1.0

    return strided_copy


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    kernel = strided_copy(32, 64)
    wide = torch.arange(32 * 192, dtype=torch.float32).reshape(32, 192).to(device)
    tall = torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64).to(device)
    for name, view in (("columns", wide[:, 64:128]), ("every other row", tall[::2])):
        y = torch.empty(32, 64, device=device)
        kernel(view, y)
        print(name, view.is_contiguous(), torch.equal(y, view + 1))
