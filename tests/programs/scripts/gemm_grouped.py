# device: either
# build: grouped_gemm((100, 0, 37, 128), 128, 128)
# auto grouped: launches=1 ctas=10 'gemm A_shared·B_shared'=40
"""Groups of rows, each with a matrix of its own; the sizes are known when the kernel is built."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def grouped_gemm(sizes, N, K, bm=64, bn=64, bk=32):
    M, G = sum(sizes), len(sizes)
    tiles = sum(-(-size // bm) for size in sizes)

    @T.prim_func
    def grouped(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((G, K, N), "float16"),
        Offsets: T.Tensor((G + 1,), "int32"),
        Tiles: T.Tensor((G + 1,), "int32"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(N // bn, tiles, threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            group = T.alloc_var("int32", init=0)
            for g in T.serial(G):
                if Tiles[g] <= by:
                    group = g
            start = Offsets[group] + (by - Tiles[group]) * bm
            left = Offsets[group + 1] - start
            T.clear(C_local)
            for k in T.Pipelined(K // bk, num_stages=2):
                T.copy(A[start, k * bk], A_shared)
                T.copy(B[group, k * bk, bx * bn], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for i, j in T.Parallel(bm, bn):
                if i < left:
                    C[start + i, bx * bn + j] = C_local[i, j]

    return grouped


def offsets(counts):
    return torch.tensor([0, *counts]).cumsum(0).int()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    sizes = (100, 0, 37, 128)
    torch.manual_seed(0)
    a = torch.randn(sum(sizes), 128).half()
    b = torch.randn(len(sizes), 128, 128).half()
    inputs = (a, b, offsets(sizes), offsets([-(-s // 64) for s in sizes]))
    c = grouped_gemm(sizes, 128, 128)(*(t.to(device) for t in inputs))
    ref = torch.cat([x.float() @ w.float() for x, w in zip(a.split(sizes), b)])
    print("groups", *sizes, "->", "match" if torch.allclose(c.cpu().float(), ref, 1e-2, 1e-1) else "MISMATCH")
