# device: card
# build: pair_sum(8, 256)
# auto main: launches=1 ctas=8 'copy A → mine'=8
"""Clusters of two CTAs: each writes a part, they meet, then each reads what the other has written."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def pair_sum(blocks, width):
    @T.prim_func
    def main(
        A: T.Tensor((blocks, width), "float32"),
        Part: T.Tensor((blocks, width), "float32"),
        B: T.Tensor((blocks, width), "float32"),
    ):
        with T.Kernel(blocks, threads=128, cluster_dims=2) as bx:
            mine = T.alloc_fragment((width,), "float32")
            other = T.alloc_fragment((width,), "float32")
            rank = T.block_rank_in_cluster()
            T.copy(A[bx, 0:width], mine)
            T.copy(mine, Part[bx, 0:width])
            T.cluster_sync()
            T.copy(Part[bx + 1 - 2 * rank, 0:width], other)
            for i in T.Parallel(width):
                mine[i] = mine[i] + other[i]
            T.copy(mine, B[bx, 0:width])

    return main


if __name__ == "__main__":
    torch.manual_seed(0)
    a = torch.randn(8, 256, device="cuda")
    part, b = torch.zeros_like(a), torch.zeros_like(a)
    pair_sum(8, 256)(a, part, b)
    want = a.reshape(4, 2, 256).sum(1, keepdim=True).expand(4, 2, 256).reshape(8, 256)
    print("both CTAs of each cluster agree:", torch.allclose(b, want))
