# device: card
# build: matmul(512, 512, 512)
# auto matmul: launches=20+ ctas=16 'gemm A_shared·B_shared'=128
"""A benchmark as people write it: a warm-up, events around a loop, and TileLang's own do_bench."""

import sys

import tilelang
import tilelang.language as T
import torch
from tilelang.profiler import do_bench


@tilelang.jit(out_idx=[-1])
def matmul(M, N, K, block=128, block_K=64):
    @T.prim_func
    def matmul(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block), "float16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(A[by * block, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block, bx * block])

    return matmul


def time_with_events(fn, repeat=20):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    fn()
    torch.cuda.synchronize()
    start.record()
    for _ in range(repeat):
        fn()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / repeat


def main():
    M = N = K = 512
    kernel = matmul(M, N, K)
    torch.manual_seed(0)
    a, b = (torch.randn(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
    torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-2, atol=2e-1)
    ours = time_with_events(lambda: kernel(a, b))
    theirs = time_with_events(lambda: a @ b)
    bench = do_bench(lambda: kernel(a, b), warmup=2, rep=10)
    print(f"tilelang {ours:.4f} ms, torch {theirs:.4f} ms, do_bench {bench:.4f} ms", file=sys.stderr)
    print("timed", sum(t > 0 for t in (ours, theirs, bench)), "ways")


if __name__ == "__main__":
    main()
