# device: card
# build: sparse_matmul(128, 128, 256)
# auto main: launches=1 ctas=4 'copy A → A_shared'=8
"""2:4 structured sparsity: half of A is stored, with two bits of metadata for each kept element."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def sparse_matmul(M, N, K, bm=64, bn=64, bk=128):
    @T.prim_func
    def main(
        A: T.Tensor((M, K // 2), "float16"),
        E: T.Tensor((M, K // 16), "int16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(N // bn, M // bm, threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk // 2), "float16")
            E_shared = T.alloc_shared((bm, bk // 16), "int16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for k in T.serial(K // bk):
                T.copy(A[by * bm, k * bk // 2], A_shared)
                T.copy(E[by * bm, k * bk // 16], E_shared)
                T.copy(B[k * bk, bx * bn], B_shared)
                T.gemm_sp(A_shared, E_shared, B_shared, C_local)
            T.copy(C_local, C[by * bm, bx * bn])

    return main


def random_sparse(m, k):
    """Two of every four elements: the kept ones, the metadata (four bits a group), and the dense matrix."""
    pairs = torch.combinations(torch.arange(4))[torch.randint(0, 6, (m, k // 4))]
    kept = torch.randn(m, k // 2).half()
    codes = (pairs[..., 0] | pairs[..., 1] << 2).reshape(m, k // 16, 4)
    meta = (codes << torch.arange(4) * 4).sum(-1).to(torch.int16)
    dense = torch.zeros(m, k // 4, 4)
    dense.scatter_(2, pairs, kept.float().reshape(m, k // 4, 2))
    return kept, meta, dense.reshape(m, k)


def main():
    torch.manual_seed(0)
    kept, meta, dense = random_sparse(128, 256)
    b = torch.randn(256, 128).half()
    c = sparse_matmul(128, 128, 256)(kept.cuda(), meta.cuda(), b.cuda())
    torch.testing.assert_close(c.cpu(), dense @ b.float(), rtol=1e-2, atol=1e-1)
    print("2:4 sparse product: ok")


if __name__ == "__main__":
    main()
