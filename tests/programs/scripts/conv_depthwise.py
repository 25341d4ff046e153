# device: either
# build: depthwise(2, 64, 128, 4)
# auto main: launches=1 ctas=16
"""The causal depthwise convolution in front of a state-space layer, with SiLU."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def depthwise(B, C, L, width, bc=16, bl=64):
    @T.prim_func
    def main(
        X: T.Tensor((B, C, L), "float32"),
        W: T.Tensor((C, width), "float32"),
        Y: T.Tensor((B, C, L), "float32"),
    ):
        with T.Kernel(L // bl, C // bc, B, threads=128) as (bl_i, bc_i, b):
            acc = T.alloc_fragment((bc, bl), "float32")
            T.clear(acc)
            for k in T.serial(width):
                for i, j in T.Parallel(bc, bl):
                    at = bl_i * bl + j + k - (width - 1)
                    acc[i, j] += T.if_then_else(at >= 0, X[b, bc_i * bc + i, T.max(at, 0)], 0.0) * W[bc_i * bc + i, k]
            for i, j in T.Parallel(bc, bl):
                Y[b, bc_i * bc + i, bl_i * bl + j] = acc[i, j] / (1.0 + T.exp(-acc[i, j]))

    return main


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x, w = torch.randn(2, 64, 128).to(device), torch.randn(64, 4).to(device)
    padded = torch.nn.functional.pad(x, (3, 0))
    want = torch.nn.functional.silu(torch.nn.functional.conv1d(padded, w[:, None], groups=64))
    torch.testing.assert_close(depthwise(2, 64, 128, 4)(x, w), want, rtol=1e-4, atol=1e-4)
    print("causal depthwise convolution with silu: ok")
