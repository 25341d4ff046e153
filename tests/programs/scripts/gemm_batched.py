# device: either
# build: bmm(3, 128, 64, 96)
# auto batched: launches=2 ctas=6 'gemm a·b'=18 'copy A → a'=18
"""A batch of products in one launch, called twice."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def bmm(batch, M, N, K, block=64, block_K=32):
    @T.prim_func
    def batched(
        A: T.Tensor((batch, M, K), "bfloat16"),
        B: T.Tensor((batch, K, N), "bfloat16"),
        C: T.Tensor((batch, M, N), "bfloat16"),
    ):
        with T.Kernel(N // block, M // block, batch, threads=128) as (bx, by, bz):
            a = T.alloc_shared((block, block_K), "bfloat16")
            b = T.alloc_shared((block_K, block), "bfloat16")
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for k in T.Pipelined(K // block_K, num_stages=2):
                T.copy(A[bz, by * block : (by + 1) * block, k * block_K : (k + 1) * block_K], a)
                T.copy(B[bz, k * block_K : (k + 1) * block_K, bx * block : (bx + 1) * block], b)
                T.gemm(a, b, c)
            T.copy(c, C[bz, by * block : (by + 1) * block, bx * block : (bx + 1) * block])

    return batched


def check(device):
    kernel = bmm(3, 128, 64, 96)
    for seed in range(2):
        g = torch.Generator().manual_seed(seed)
        x = torch.randn(3, 128, 96, generator=g).bfloat16().to(device)
        y = torch.randn(3, 96, 64, generator=g).bfloat16().to(device)
        z = kernel(x, y)
        assert z.shape == (3, 128, 64)
        torch.testing.assert_close(z.float(), x.float() @ y.float(), rtol=2e-2, atol=2e-1)
        print(f"seed {seed} passed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    check(parser.parse_args().device)
