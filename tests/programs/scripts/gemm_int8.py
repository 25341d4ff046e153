# device: card
# build: int8_matmul(256, 256, 256)
# auto main: launches=1 ctas=4 'gemm A_shared·B_shared'=16
"""INT8 x INT8 -> INT32, exact."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def int8_matmul(M, N, K, block_M=128, block_N=128, block_K=64, num_stages=2, threads=128):
    @T.prim_func
    def main(A: T.Tensor((M, K), "int8"), B: T.Tensor((N, K), "int8"), C: T.Tensor((M, N), "int32")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "int8")
            B_shared = T.alloc_shared((block_N, block_K), "int8")
            C_local = T.alloc_fragment((block_M, block_N), "int32")
            T.clear(C_local)
            for ko in T.Pipelined(K // block_K, num_stages=num_stages):
                T.copy(A[by * block_M, ko * block_K], A_shared)
                T.copy(B[bx * block_N, ko * block_K], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


def main():
    torch.manual_seed(3)
    a = torch.randint(-128, 128, (256, 256), dtype=torch.int8)
    b = torch.randint(-128, 128, (256, 256), dtype=torch.int8)
    c = int8_matmul(256, 256, 256)(a.cuda(), b.cuda())
    print("equal:", torch.equal(c.cpu(), a.int() @ b.int().T))


main() if __name__ == "__main__" else None
