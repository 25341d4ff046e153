"""A product with block sizes and stages, as a notebook's cell has it."""

BUILDER = """\
import tilelang.language as T
from tltrace_nb import explore, trace

@trace.jit(out_idx=[-1])
def matmul(M, N, K, block_M=64, block_N=64, block_K=32, stages=2, threads=128):
    @T.prim_func
    def gemm(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block_N), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                with trace.range("load", payload=k):
                    T.copy(A[by * block_M, k * block_K], A_shared)
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                with trace.range("mma", payload=k):
                    T.gemm(A_shared, B_shared, C_local)
            with trace.range("store", payload=by):
                T.copy(C_local, C[by * block_M, bx * block_N])

    return gemm
"""
