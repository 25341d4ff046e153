# device: either
# build: scale_forward(64, 64)
# build: scale_backward(64, 64)
# marked scale_forward: launches=2 ctas=8 forward=8
# marked scale_backward: launches=2 ctas=8 dx=8 dw=8
"""A module with a marked forward and a marked backward kernel, in a short training loop."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@trace.jit(out_idx=[-1])
def scale_forward(M, N, rows=8):
    @T.prim_func
    def scale_forward(X: T.Tensor((M, N), "float32"), W: T.Tensor((N,), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=128) as bx:
            with trace.range("forward", payload=bx):
                for i, j in T.Parallel(rows, N):
                    Y[bx * rows + i, j] = X[bx * rows + i, j] * W[j]

    return scale_forward


@trace.jit(out_idx=[3])
def scale_backward(M, N, rows=8):
    @T.prim_func
    def scale_backward(
        X: T.Tensor((M, N), "float32"),
        W: T.Tensor((N,), "float32"),
        dY: T.Tensor((M, N), "float32"),
        dX: T.Tensor((M, N), "float32"),
        dW: T.Tensor((N,), "float32"),
    ):
        with T.Kernel(M // rows, threads=128) as bx:
            part = T.alloc_fragment((rows, N), "float32")
            total = T.alloc_fragment((N,), "float32")
            with trace.range("dx", payload=bx):
                for i, j in T.Parallel(rows, N):
                    dX[bx * rows + i, j] = dY[bx * rows + i, j] * W[j]
            with trace.range("dw", payload=bx):
                for i, j in T.Parallel(rows, N):
                    part[i, j] = dY[bx * rows + i, j] * X[bx * rows + i, j]
                T.reduce_sum(part, total, dim=0)
                for j in T.Parallel(N):
                    T.atomic_add(dW[j], total[j])

    return scale_backward


class ScaleFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return scale_forward(*x.shape)(x, weight)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        d_weight = torch.zeros_like(weight)
        dx = scale_backward(*x.shape)(x, weight, grad.contiguous(), d_weight)
        return dx, d_weight


class Scale(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return ScaleFunction.apply(x, self.weight)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    layer, twin = Scale(64).to(device), torch.nn.Parameter(torch.ones(64).to(device))
    optimiser = torch.optim.SGD([*layer.parameters(), twin], lr=0.01)
    for step in range(2):
        x, target = torch.randn(64, 64).to(device), torch.randn(64, 64).to(device)
        optimiser.zero_grad()
        (layer(x) - target).square().sum().backward()
        (x * twin - target).square().sum().backward()
        optimiser.step()
        print("step", step, torch.allclose(layer.weight, twin, atol=1e-4))
