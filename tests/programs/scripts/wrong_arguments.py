# device: card
# build: double(256)
# auto double: launches=1 ctas=2
"""Calls that TileLang refuses, and what a script makes of that."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def double(n):
    @T.prim_func
    def double(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // 128, threads=128) as bx:
            for i in T.Parallel(128):
                Y[bx * 128 + i] = X[bx * 128 + i] * 2.0

    return double


def attempt(kernel, *args):
    try:
        kernel(*args)
    except Exception as error:  # noqa: BLE001
        return type(error).__name__
    return "accepted"


if __name__ == "__main__":
    kernel = double(256)
    good = torch.ones(256, device="cuda")
    print("too short:", attempt(kernel, torch.ones(100, device="cuda")))
    print("wrong type:", attempt(kernel, torch.ones(256, device="cuda", dtype=torch.float16)))
    print("too many:", attempt(kernel, good, good, good))
    print("none:", attempt(kernel))
    print("right:", torch.equal(kernel(good), good * 2))
