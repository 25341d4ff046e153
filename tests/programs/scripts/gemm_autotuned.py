# device: card
# build: matmul(256, 256, 256)
# auto main: launches=1+ ctas=4 'gemm A_shared·B_shared'=16+
# varies: ^\d{4}-\d\d-\d\d \d\d:.*
# varies: ^Tuned Latency.*
"""An autotuned builder: the search chooses the number of stages and of threads, the chosen kernel runs."""

import itertools

import tilelang
import tilelang.language as T
import torch


def configs():
    return [dict(num_stages=s, threads=t) for s, t in itertools.product([1, 2], [128, 256])]


def ref_program(A, B):
    return (A.float() @ B.float()).half()


@tilelang.autotune(configs=configs(), warmup=3, rep=5, ref_prog=ref_program, rtol=1e-2, atol=1e-1)
@tilelang.jit(out_idx=[-1])
def matmul(M, N, K, num_stages=2, threads=128, block=128, block_K=64):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(N // block, M // block, threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block), "float16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // block_K, num_stages=num_stages):
                T.copy(A[by * block, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block, bx * block])

    return main


if __name__ == "__main__":
    kernel = matmul(256, 256, 256)
    torch.manual_seed(0)
    a = torch.randn(256, 256, device="cuda").half()
    b = torch.randn(256, 256, device="cuda").half()
    torch.testing.assert_close(kernel(a, b), ref_program(a, b), rtol=1e-2, atol=1e-1)
    print("chosen among", len(configs()), "and right:", set(kernel.config) == {"num_stages", "threads"})
