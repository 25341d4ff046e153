# device: card
# build: build(256, 256, 256, 128, 2)
# auto kernel: launches=1+ ctas=4 'gemm A_shared·B_shared'=32
# varies: ^\d{4}-\d\d-\d\d \d\d:.*
# varies: ^Tuned Latency.*
"""The AutoTuner class over a function that makes kernels; the best one is used afterwards."""

import tilelang
import tilelang.language as T
import torch
from tilelang.autotuner import AutoTuner

M = N = K = 256


def build(M, N, K, threads, num_stages):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(N // 128, M // 128, threads=threads) as (bx, by):
            A_shared = T.alloc_shared((128, 32), "float16")
            B_shared = T.alloc_shared((128, 32), "float16")
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // 32, num_stages=num_stages):
                T.copy(A[by * 128, k * 32], A_shared)
                T.copy(B[bx * 128, k * 32], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * 128, bx * 128])

    return kernel


def tunable(threads=128, num_stages=2):
    return build(M, N, K, threads, num_stages)


def reference(A, B):
    return A.float() @ B.float().T


def main():
    tuner = (
        AutoTuner.from_kernel(tunable, configs=[{"threads": 128, "num_stages": 2}, {"threads": 128, "num_stages": 3}])
        .set_compile_args(out_idx=[-1], target="cuda")
        .set_profile_args(ref_prog=reference, supply_type=tilelang.TensorSupplyType.Normal, rtol=1e-2, atol=1e-1)
    )
    result = tuner.run(warmup=3, rep=5)
    print("best stages in range:", result.config["num_stages"] in (2, 3), "latency positive:", result.latency > 0)
    torch.manual_seed(1)
    a, b = (torch.randn(256, 256, device="cuda", dtype=torch.float16) for _ in range(2))
    out = result.kernel(a, b)
    print("correct:", torch.allclose(out, reference(a, b), rtol=1e-2, atol=1e-1))


if __name__ == "__main__":
    main()
