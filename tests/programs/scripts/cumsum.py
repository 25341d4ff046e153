# device: either
# build: cumsum(64, 128, False)
# build: cumsum(64, 128, True)
# auto scan: launches=2 ctas=4 'copy A → tile'=4 'copy tile → B'=4
"""T.cumsum along rows, forwards and backwards."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def cumsum(M, N, reverse, rows=16):
    @T.prim_func
    def scan(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=128) as bx:
            tile = T.alloc_shared((rows, N), "float32")
            T.copy(A[bx * rows, 0], tile)
            T.cumsum(src=tile, dim=1, reverse=reverse)
            T.copy(tile, B[bx * rows, 0])

    return scan


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    a = torch.randn(64, 128).to(device)
    for reverse in (False, True):
        want = a.flip(1).cumsum(1).flip(1) if reverse else a.cumsum(1)
        got = cumsum(64, 128, reverse)(a)
        print("reverse" if reverse else "forward", torch.allclose(got, want, atol=1e-4))
