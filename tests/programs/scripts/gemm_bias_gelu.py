# device: either
# build: linear(128, 128, 128, True)
# build: linear(128, 128, 128, False)
# auto fused: launches=2 ctas=4 'gemm X_s·W_s'=16
"""A linear layer with a fused epilogue that is made of macros."""

import argparse

import tilelang
import tilelang.language as T
import torch
import torch.nn.functional as F


@T.macro
def add_bias(acc, bias, column, rows, columns):
    for i, j in T.Parallel(rows, columns):
        acc[i, j] = acc[i, j] + bias[column + j]


@T.macro
def gelu(acc, rows, columns):
    for i, j in T.Parallel(rows, columns):
        acc[i, j] = 0.5 * acc[i, j] * (1.0 + T.erf(acc[i, j] * 0.7071067811865476))


@tilelang.jit(out_idx=[-1])
def linear(M, N, K, activate, bm=64, bn=64, bk=32):
    @T.prim_func
    def fused(
        X: T.Tensor((M, K), "float16"),
        W: T.Tensor((N, K), "float16"),
        Bias: T.Tensor((N,), "float32"),
        Y: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(N // bn, M // bm, threads=128) as (bx, by):
            X_s = T.alloc_shared((bm, bk), "float16")
            W_s = T.alloc_shared((bn, bk), "float16")
            acc = T.alloc_fragment((bm, bn), "float32")
            T.clear(acc)
            for k in T.Pipelined(K // bk, num_stages=2):
                T.copy(X[by * bm, k * bk], X_s)
                T.copy(W[bx * bn, k * bk], W_s)
                T.gemm(X_s, W_s, acc, transpose_B=True)
            add_bias(acc, Bias, bx * bn, bm, bn)
            if activate:
                gelu(acc, bm, bn)
            T.copy(acc, Y[by * bm, bx * bn])

    return fused


def main(device):
    torch.manual_seed(0)
    x, w = (torch.randn(128, 128, dtype=torch.float32).div(4).half().to(device) for _ in range(2))
    bias = torch.randn(128).to(device)
    for activate in (True, False):
        y = linear(128, 128, 128, activate)(x, w, bias).float()
        want = F.linear(x.float(), w.float(), bias)
        want = F.gelu(want) if activate else want
        torch.testing.assert_close(y, want, rtol=1e-2, atol=2e-2)
        print("gelu" if activate else "identity", "ok")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    main(**vars(parser.parse_args()))
