# device: either
# build: transpose(200, 120)
# auto transpose: launches=1 ctas=28 'copy A → tile'=28
"""Transposing through shared memory, sizes that no tile divides."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def transpose(M, N, tile_size=32, dtype="float16"):
    @T.prim_func
    def transpose(A: T.Tensor((M, N), dtype), B: T.Tensor((N, M), dtype)):
        with T.Kernel(T.ceildiv(N, tile_size), T.ceildiv(M, tile_size), threads=128) as (bx, by):
            tile = T.alloc_shared((tile_size, tile_size), dtype)
            T.copy(A[by * tile_size, bx * tile_size], tile)
            for i, j in T.Parallel(tile_size, tile_size):
                B[bx * tile_size + i, by * tile_size + j] = tile[j, i]

    return transpose


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    a = torch.arange(200 * 120).reshape(200, 120).remainder(2048).half().to(device)
    b = transpose(200, 120)(a)
    print(tuple(a.shape), "->", tuple(b.shape), torch.equal(b, a.T))
