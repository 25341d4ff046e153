# device: card
# build: saxpy(1024)
# auto saxpy: launches=2 ctas=4
"""The Cython execution backend, and a scalar argument."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(execution_backend="cython", target="cuda")
def saxpy(n):
    @T.prim_func
    def saxpy(a: T.float32, X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // 256, threads=128) as bx:
            for i in T.Parallel(256):
                Y[bx * 256 + i] = a * X[bx * 256 + i] + Y[bx * 256 + i]

    return saxpy


if __name__ == "__main__":
    x = torch.ones(1024, device="cuda")
    y = torch.arange(1024, device="cuda", dtype=torch.float32)
    kernel = saxpy(1024)
    kernel(2.0, x, y)
    kernel(0.5, x, y)
    print("backend:", kernel.execution_backend, "result:", torch.equal(y, torch.arange(1024, device="cuda") + 2.5))
