# device: either
# build: layer_norm_kernel(64, 256, 1e-5)
# auto layer_norm: launches=1 ctas=8 'copy X → x'=8 'reduce sum *'=16
"""Layer normalisation as a drop-in torch module."""

import argparse

import tilelang
import tilelang.language as T
import torch
from torch import nn


@tilelang.jit(out_idx=[-1])
def layer_norm_kernel(M, N, eps, rows=8):
    @T.prim_func
    def layer_norm(
        X: T.Tensor((M, N), "float32"),
        W: T.Tensor((N,), "float32"),
        B: T.Tensor((N,), "float32"),
        Y: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            square = T.alloc_fragment((rows, N), "float32")
            mean = T.alloc_fragment((rows,), "float32")
            var = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows, 0], x)
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] - mean[i] / N
            for i, j in T.Parallel(rows, N):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, var, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] * T.rsqrt(var[i] / N + eps) * W[j] + B[j]
            T.copy(x, Y[bx * rows, 0])

    return layer_norm


class TileLayerNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(width))
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        kernel = layer_norm_kernel(flat.shape[0], flat.shape[1], self.eps)
        return kernel(flat, self.weight.detach(), self.bias.detach()).reshape(x.shape)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    module = TileLayerNorm(256).to(device)
    x = torch.randn(4, 16, 256, device=device)
    want = nn.functional.layer_norm(x, (256,), module.weight, module.bias, 1e-5)
    print(module.__class__.__name__, tuple(x.shape), torch.allclose(module(x), want, atol=1e-4))
