# device: either
# build: jacobi(64, 64)
# auto jacobi: launches=4 ctas=16
"""Jacobi iteration on a plate: five points, two buffers that change places."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def jacobi(H, W, tile=16):
    @T.prim_func
    def jacobi(Old: T.Tensor((H, W), "float32"), New: T.Tensor((H, W), "float32")):
        with T.Kernel(W // tile, H // tile, threads=128) as (bx, by):
            for i, j in T.Parallel(tile, tile):
                y = by * tile + i
                x = bx * tile + j
                if y > 0 and y < H - 1 and x > 0 and x < W - 1:
                    New[y, x] = 0.25 * (Old[y - 1, x] + Old[y + 1, x] + Old[y, x - 1] + Old[y, x + 1])
                else:
                    New[y, x] = Old[y, x]

    return jacobi


def step(t):
    new = t.clone()
    new[1:-1, 1:-1] = 0.25 * (t[:-2, 1:-1] + t[2:, 1:-1] + t[1:-1, :-2] + t[1:-1, 2:])
    return new


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    plate = torch.zeros(64, 64)
    plate[0] = 100.0
    old, new = plate.to(args.device), torch.empty(64, 64, device=args.device)
    kernel = jacobi(64, 64)
    for _ in range(args.steps):
        kernel(old, new)
        old, new = new, old
        plate = step(plate)
    print(f"after {args.steps} steps the row below the edge is at {old[1, 32].item():.4f}")
    assert torch.allclose(old.cpu(), plate, atol=1e-4)
