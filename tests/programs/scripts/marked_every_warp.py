# device: either
# build: scaled(2048)
# marked scaled: launches=1 ctas=8 'warp *'=64
"""One lane of every warp records, in two halves of a kernel."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@trace.jit
def scaled(n, threads=128):
    @T.prim_func
    def scaled(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // (2 * threads), threads=threads) as bx:
            tx = T.get_thread_binding()
            with trace.group("warps", per="warp"):
                with trace.range("warp first", payload=tx // 32):
                    Y[bx * 2 * threads + tx] = X[bx * 2 * threads + tx] * 2.0
                with trace.range("warp second", payload=tx // 32):
                    Y[(bx * 2 + 1) * threads + tx] = X[(bx * 2 + 1) * threads + tx] * 4.0

    return scaled


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    x = torch.arange(2048, dtype=torch.float32).to(device)
    y = torch.empty_like(x)
    scaled(2048)(x, y)
    want = (x.reshape(8, 2, 128) * torch.tensor([2.0, 4.0], device=device)[:, None]).reshape(-1)
    print("halves:", torch.equal(y, want))
