# device: either
# build: log_sum_exp(torch.empty(32, 128))
# marked log_sum_exp: launches=2 ctas=4 read=4 reduce=4
"""An eager kernel with markers, whose output is made inside."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@trace.jit
def log_sum_exp(X, rows: int = 8):
    M, N = T.const("M N")
    X: T.Tensor[[M, N], T.float32]
    Y = T.empty((M,), T.float32)
    with T.Kernel(M // rows, threads=128) as bx:
        x = T.alloc_fragment((rows, N), T.float32)
        top = T.alloc_fragment((rows,), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        with trace.range("read", payload=bx):
            T.copy(X[bx * rows, 0], x)
        with trace.range("reduce", payload=bx):
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, total, dim=1)
        for i in T.Parallel(rows):
            Y[bx * rows + i] = T.log(total[i]) + top[i]
    return Y


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    for seed in range(2):
        x = torch.randn(32, 128, generator=torch.Generator().manual_seed(seed)).to(device)
        torch.testing.assert_close(log_sum_exp(x), x.logsumexp(1), rtol=1e-4, atol=1e-4)
        print("logsumexp", seed, "ok")
