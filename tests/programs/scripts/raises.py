# device: either
# exit: 1
# build: half(256)
# auto half: launches=1 ctas=2
"""A kernel that runs, and a script that then fails with an exception of its own."""

import os

import tilelang
import tilelang.language as T
import torch


class ToleranceError(AssertionError):
    pass


@tilelang.jit(out_idx=[-1])
def half(n):
    @T.prim_func
    def half(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // 128, threads=128) as bx:
            for i in T.Parallel(128):
                Y[bx * 128 + i] = X[bx * 128 + i] * 0.5

    return half


def check(y, want):
    if not torch.equal(y, want):
        raise ToleranceError(f"expected {want[1].item()}, got {y[1].item()}")


if __name__ == "__main__":
    x = torch.arange(256, dtype=torch.float32).to(os.environ.get("DEVICE", "cuda"))
    y = half(256)(x)
    print("computed", y[:4].tolist())
    check(y, x * 0.25)
    print("never printed")
