# device: either
# build: reduce_all(64, 128)
# auto reductions: launches=1 ctas=4 'reduce sum *'=4 'reduce max *'=4 'reduce min *'=4 'reduce absmax *'=4
"""Reductions of every kind over rows, four outputs at once."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[1, 2, 3, 4])
def reduce_all(M, N, rows=16):
    @T.prim_func
    def reductions(
        X: T.Tensor((M, N), "float32"),
        Sum: T.Tensor((M,), "float32"),
        Max: T.Tensor((M,), "float32"),
        Min: T.Tensor((M,), "float32"),
        AbsMax: T.Tensor((M,), "float32"),
    ):
        with T.Kernel(M // rows, threads=64) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            r0 = T.alloc_fragment((rows,), "float32")
            r1 = T.alloc_fragment((rows,), "float32")
            r2 = T.alloc_fragment((rows,), "float32")
            r3 = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows, 0], x)
            T.reduce_sum(x, r0, dim=1)
            T.reduce_max(x, r1, dim=1)
            T.reduce_min(x, r2, dim=1)
            T.reduce_absmax(x, r3, dim=1)
            T.copy(r0, Sum[bx * rows])
            T.copy(r1, Max[bx * rows])
            T.copy(r2, Min[bx * rows])
            T.copy(r3, AbsMax[bx * rows])

    return reductions


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    x = torch.randn(64, 128, generator=torch.Generator().manual_seed(0)).to(parser.parse_args().device)
    results = reduce_all(64, 128)(x)
    wanted = x.sum(1), x.amax(1), x.amin(1), x.abs().amax(1)
    for name, got, want in zip(("sum", "max", "min", "absmax"), results, wanted):
        print(name.ljust(6), torch.allclose(got, want, atol=1e-4))


main() if __name__ == "__main__" else None
