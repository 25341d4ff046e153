# device: either
# build: max_pool(torch.empty(4, 16, 16))
# auto max_pool: launches=1 ctas=4
"""Pooling two by two, eagerly."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def max_pool(X):
    C, H, W = T.const("C, H, W")
    X: T.Tensor[[C, H, W], T.float32]
    Y = T.empty((C, H // 2, W // 2), T.float32)
    with T.Kernel(C, threads=64) as c:
        for i, j in T.Parallel(H // 2, W // 2):
            Y[c, i, j] = T.max(
                T.max(X[c, 2 * i, 2 * j], X[c, 2 * i, 2 * j + 1]),
                T.max(X[c, 2 * i + 1, 2 * j], X[c, 2 * i + 1, 2 * j + 1]),
            )
    return Y


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randn(4, 16, 16).to(device)
    print("pooled:", torch.equal(max_pool(x), torch.nn.functional.max_pool2d(x, 2)))
