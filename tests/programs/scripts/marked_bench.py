# device: card
# build: axpby(65536)
# marked axpby: launches=100+ ctas=64 work=64
"""A marked kernel launched by the hundred."""

import sys

import tilelang.language as T
import torch
from tilelang.profiler import do_bench

from tltrace_nb import trace


@trace.jit
def axpby(n, block=1024):
    @T.prim_func
    def axpby(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), Z: T.Tensor((n,), "float32")):
        with T.Kernel(n // block, threads=128) as bx:
            with trace.range("work", payload=bx):
                for i in T.Parallel(block):
                    Z[bx * block + i] = X[bx * block + i] * 2.0 + Y[bx * block + i]

    return axpby


if __name__ == "__main__":
    torch.manual_seed(0)
    kernel = axpby(65536)
    x, y = (torch.randn(65536, device="cuda") for _ in range(2))
    z = torch.empty_like(x)
    for _ in range(100):
        kernel(x, y, z)
    torch.cuda.synchronize()
    print("100 launches:", torch.allclose(z, x * 2 + y))
    print(f"{do_bench(lambda: kernel(x, y, z), warmup=5, rep=20):.4f} ms", file=sys.stderr)
