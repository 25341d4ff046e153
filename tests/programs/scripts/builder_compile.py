# device: either
# build: shifted_exp(64, 128, 0.5)
# auto shifted_exp: launches=2 ctas=8 'copy X → x'=8
"""Kernels by `.compile(...)` of a builder, kept in a table, built before they are called."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def shifted_exp(M, N, shift, rows=8):
    @T.prim_func
    def shifted_exp(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=128) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            T.copy(X[bx * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.exp(x[i, j] - shift)
            T.copy(x, Y[bx * rows, 0])

    return shifted_exp


def main(device):
    kernels = {shift: shifted_exp.compile(64, 128, shift) for shift in (0.5, 2.0)}
    torch.manual_seed(0)
    x = torch.randn(64, 128).to(device)
    for shift, kernel in kernels.items():
        print(shift, torch.allclose(kernel(x), torch.exp(x - shift), rtol=1e-4))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    main(parser.parse_args().device)
