# device: either
# build: gemv(128, 512)
# auto gemv: launches=1 ctas=32
"""A matrix by a vector: a warp for each row, summed up by shuffles."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def gemv(N, K, warps=4):
    @T.prim_func
    def gemv(A: T.Tensor((N, K), "float16"), x: T.Tensor((K,), "float16"), y: T.Tensor((N,), "float32")):
        with T.Kernel(N // warps, threads=32 * warps) as bx:
            tx = T.get_thread_binding()
            lane = tx % 32
            row = bx * warps + tx // 32
            total = T.alloc_var("float32", init=0.0)
            for k in T.serial(K // 32):
                total = total + T.cast(A[row, k * 32 + lane], "float32") * T.cast(x[k * 32 + lane], "float32")
            for step in T.unroll(5):
                total = total + T.shfl_xor(total, 16 >> step)
            if lane == 0:
                y[row] = total

    return gemv


if __name__ == "__main__":
    parser = argparse.ArgumentParser("gemv")
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    A = torch.randn(128, 512).half().to(device)
    x = torch.randn(512).half().to(device)
    y = gemv(128, 512)(A, x)
    torch.testing.assert_close(y, A.float() @ x.float(), rtol=1e-3, atol=1e-2)
    print("gemv passed")
