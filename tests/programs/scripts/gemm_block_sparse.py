# device: either
# build: blocksparse_matmul(256, 256, 256)
# auto block_sparse: launches=1 ctas=16 'copy C_local → C'=16
"""A product whose blocks are left out where a mask says so."""

import argparse

import tilelang
import tilelang.language as T
import torch

block_M = block_N = 64
block_K = 32


@tilelang.jit(out_idx=[-1])
def blocksparse_matmul(M, N, K):
    @T.prim_func
    def block_sparse(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        Mask: T.Tensor((M // block_M, N // block_N, K // block_K), "bool"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(N // block_N, M // block_M, threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block_N), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // block_K, num_stages=2):
                if Mask[by, bx, k]:
                    T.copy(A[by * block_M, k * block_K], A_shared)
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return block_sparse


def reference(a, b, mask):
    out = torch.zeros(a.shape[0], b.shape[1])
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            for k in mask[i, j].nonzero().flatten().tolist():
                rows, cols, ks = (slice(n * s, (n + 1) * s) for n, s in ((i, 64), (j, 64), (k, 32)))
                out[rows, cols] += a[rows, ks].float() @ b[ks, cols].float()
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sparsity", type=float, default=0.5)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.manual_seed(0)
    a, b = torch.randn(256, 256).half(), torch.randn(256, 256).half()
    mask = torch.rand(4, 4, 8) > args.sparsity
    c = blocksparse_matmul(256, 256, 256)(*(t.to(args.device) for t in (a, b, mask)))
    torch.testing.assert_close(c.cpu().float(), reference(a, b, mask), rtol=1e-2, atol=1e-1)
    print(f"{int(mask.sum())} of {mask.numel()} blocks multiplied, result checked")
