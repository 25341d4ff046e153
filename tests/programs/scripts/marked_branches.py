# device: either
# build: route(1024)
# marked route: launches=1 ctas=8 doubled=3 copied=5 entered=8
"""Markers in branches that the data choose."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@trace.jit(out_idx=[-1])
def route(n, threads=128):
    @T.prim_func
    def route(X: T.Tensor((n,), "float32"), Flag: T.Tensor((n // threads,), "int32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            trace.record("entered", payload=bx)
            if Flag[bx] > 0:
                with trace.range("doubled", payload=Flag[bx]):
                    Y[bx * threads + tx] = X[bx * threads + tx] * 2.0
            else:
                with trace.range("copied"):
                    Y[bx * threads + tx] = X[bx * threads + tx]

    return route


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    x = torch.arange(1024, dtype=torch.float32).to(device)
    flag = torch.tensor([1, 0, 0, 5, -1, 0, 2, 0], dtype=torch.int32).to(device)
    want = torch.where((flag > 0).repeat_interleave(128), x * 2, x)
    print("routed:", torch.equal(route(1024)(x, flag), want))
