# device: either
# build: conv2d(1, 16, 16, 32, 64, 3, 1, 1)
# auto conv: launches=1 ctas=4 'gemm data·kernel'=36
"""A convolution over NHWC as a product: im2col gathers the windows, the rest is a GEMM."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[2])
def conv2d(N, H, W, C, F, K, stride, pad, bm=64, bn=64, bk=32, num_stages=2):
    OH, OW = (H + 2 * pad - K) // stride + 1, (W + 2 * pad - K) // stride + 1

    @T.prim_func
    def conv(
        X: T.Tensor((N, H, W, C), "float16"),
        Wt: T.Tensor((K, K, C, F), "float16"),
        Y: T.Tensor((N, OH, OW, F), "float16"),
    ):
        with T.Kernel(T.ceildiv(F, bn), T.ceildiv(N * OH * OW, bm), threads=128) as (bx, by):
            data = T.alloc_shared((bm, bk), "float16")
            kernel = T.alloc_shared((bk, bn), "float16")
            acc = T.alloc_fragment((bm, bn), "float32")
            flat_kernel = T.Tensor((K * K * C, F), "float16", Wt.data)
            flat_out = T.Tensor((N * OH * OW, F), "float16", Y.data)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K * K * C, bk), num_stages=num_stages):
                T.im2col(X, data, by, k, K, stride, 1, pad)
                T.copy(flat_kernel[k * bk, bx * bn], kernel)
                T.gemm(data, kernel, acc)
            T.copy(acc, flat_out[by * bm, bx * bn])

    return conv


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randn(1, 16, 16, 32).half().to(device)
    w = (torch.randn(3, 3, 32, 64) / 8).half().to(device)
    y = conv2d(1, 16, 16, 32, 64, 3, 1, 1)(x, w)
    want = torch.nn.functional.conv2d(x.float().permute(0, 3, 1, 2), w.float().permute(3, 2, 0, 1), padding=1)
    torch.testing.assert_close(y.float(), want.permute(0, 2, 3, 1), rtol=1e-2, atol=5e-2)
    print("conv2d", *y.shape, "ok")
