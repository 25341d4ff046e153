# device: card
# build: matmul(256, 256, 128)
# auto main: launches=3+ ctas=4 'gemm A_shared·B_shared'=16
"""What `get_profiler` offers: a check against a reference, consistency, latency."""

import sys

import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def matmul(M, N, K, block=128, block_K=32):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(N // block, M // block, threads=128) as (bx, by):
            A_shared = T.alloc_shared((block, block_K), "float16")
            B_shared = T.alloc_shared((block, block_K), "float16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // block_K, num_stages=2):
                T.copy(A[by * block, k * block_K], A_shared)
                T.copy(B[bx * block, k * block_K], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * block, bx * block])

    return main


def reference(A, B):
    return (A.float() @ B.float().T).half()


if __name__ == "__main__":
    kernel = matmul(256, 256, 128)
    profiler = kernel.get_profiler(tensor_supply_type=tilelang.TensorSupplyType.Normal)
    profiler.assert_allclose(reference, rtol=1e-2, atol=1e-1)
    print("assert_allclose passed")
    profiler.assert_consistent(repeat=3)
    print("assert_consistent passed")
    print("inputs:", [tuple(t.shape) for t in profiler._get_inputs()], "outputs at", profiler.result_idx)
    latency = profiler.do_bench(warmup=2, rep=10)
    print(f"{latency:.4f} ms", file=sys.stderr)
    print("latency is a positive number:", latency > 0)
