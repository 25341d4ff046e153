# device: either
# build: int4_gemm(64, 128, 256)
# auto int4: launches=1 ctas=2 'gemm A_wide·B_wide'=8 'copy A → A_packed'=8
"""INT4 x INT4 -> INT32: two numbers in a byte on both sides, widened to int8 for the tensor cores of Hopper."""

import os

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def int4_gemm(M, N, K, bm=64, bn=64, bk=64):
    @T.macro
    def widen(packed, wide, rows):
        for i, j in T.Parallel(rows, bk):
            half = T.cast(packed[i, j // 2], "int32") >> (j % 2 * 4) & 15
            wide[i, j] = T.cast((half ^ 8) - 8, "int8")

    @T.prim_func
    def int4(
        A: T.Tensor((M, K // 2), "int8"),
        B: T.Tensor((N, K // 2), "int8"),
        C: T.Tensor((M, N), "int32"),
    ):
        with T.Kernel(N // bn, M // bm, threads=128) as (bx, by):
            A_packed = T.alloc_shared((bm, bk // 2), "int8")
            B_packed = T.alloc_shared((bn, bk // 2), "int8")
            A_wide = T.alloc_shared((bm, bk), "int8")
            B_wide = T.alloc_shared((bn, bk), "int8")
            C_local = T.alloc_fragment((bm, bn), "int32")
            T.clear(C_local)
            for k in T.serial(K // bk):
                T.copy(A[by * bm, k * bk // 2], A_packed)
                T.copy(B[bx * bn, k * bk // 2], B_packed)
                widen(A_packed, A_wide, bm)
                widen(B_packed, B_wide, bn)
                T.gemm(A_wide, B_wide, C_local, transpose_B=True)
            T.copy(C_local, C[by * bm, bx * bn])

    return int4


def unpack(packed):
    """The halves of a byte as signed numbers, the lower half first."""
    halves = torch.stack([packed.int() & 15, packed.int() >> 4 & 15], dim=-1).flatten(-2)
    return (halves ^ 8) - 8


if __name__ == "__main__":
    device = os.environ.get("DEVICE", "cuda")
    torch.manual_seed(0)
    a, b = (torch.randint(-128, 128, (rows, 128), dtype=torch.int8) for rows in (64, 128))
    c = int4_gemm(64, 128, 256)(a.to(device), b.to(device)).cpu()
    print("equal:", torch.equal(c, unpack(a) @ unpack(b).T))
