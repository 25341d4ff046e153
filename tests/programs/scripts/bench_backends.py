# device: card
# build: axpy(1048576)
# auto axpy: launches=10+ ctas=1024
"""The ways in which TileLang measures: events, a CUDA graph, quantiles; torch's own timer beside them."""

import sys

import tilelang
import tilelang.language as T
import torch
from tilelang.profiler import do_bench


@tilelang.jit
def axpy(n, block=1024):
    @T.prim_func
    def axpy(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // block, threads=256) as bx:
            for i in T.Parallel(block):
                Y[bx * block + i] = X[bx * block + i] * 0.5

    return axpy


def main():
    n = 1 << 20
    kernel = axpy(n)
    x, y = torch.ones(n, device="cuda"), torch.zeros(n, device="cuda")
    measured = {
        "event": do_bench(lambda: kernel(x, y), warmup=2, rep=5),
        "cudagraph": do_bench(lambda: kernel(x, y), warmup=2, rep=5, backend="cudagraph"),
        "median": do_bench(lambda: kernel(x, y), warmup=2, rep=5, return_mode="median"),
        "torch": do_bench(lambda: torch.mul(x, 0.5, out=y), warmup=2, rep=5),
    }
    for name, milliseconds in measured.items():
        print(f"{name:10s} {milliseconds * 1e3:.2f} us", file=sys.stderr)
        print(name, "positive:", milliseconds > 0)
    quantiles = do_bench(lambda: kernel(x, y), warmup=2, rep=5, quantiles=[0.2, 0.5, 0.8])
    print("quantiles ascend:", list(quantiles) == sorted(quantiles))
    kernel(x, y)
    print("result:", bool((y == 0.5).all()))


if __name__ == "__main__":
    main()
