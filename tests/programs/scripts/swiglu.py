# device: either
# build: swiglu_forward(32, 256)
# build: swiglu_backward(32, 256)
# auto fwd: launches=1 ctas=8
# auto bwd: launches=1 ctas=8
"""SwiGLU with its gradient, as an autograd.Function inside a module."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[2])
def swiglu_forward(M, N, rows=4):
    @T.prim_func
    def fwd(G: T.Tensor((M, N), "float32"), U: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=128) as bx:
            for i, j in T.Parallel(rows, N):
                g = G[bx * rows + i, j]
                Y[bx * rows + i, j] = g * T.sigmoid(g) * U[bx * rows + i, j]

    return fwd


@tilelang.jit(out_idx=[3, 4])
def swiglu_backward(M, N, rows=4):
    @T.prim_func
    def bwd(
        G: T.Tensor((M, N), "float32"),
        U: T.Tensor((M, N), "float32"),
        dY: T.Tensor((M, N), "float32"),
        dG: T.Tensor((M, N), "float32"),
        dU: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(M // rows, threads=128) as bx:
            for i, j in T.Parallel(rows, N):
                g = G[bx * rows + i, j]
                s = T.sigmoid(g)
                dU[bx * rows + i, j] = dY[bx * rows + i, j] * g * s
                dG[bx * rows + i, j] = dY[bx * rows + i, j] * U[bx * rows + i, j] * s * (1.0 + g * (1.0 - s))

    return bwd


class SwiGLUFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return swiglu_forward(*gate.shape)(gate, up)

    @staticmethod
    def backward(ctx, grad):
        return tuple(swiglu_backward(*grad.shape)(*ctx.saved_tensors, grad.contiguous()))


class FeedForward(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate = torch.nn.Linear(width, hidden, bias=False)
        self.up = torch.nn.Linear(width, hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width, bias=False)

    def forward(self, x, fused=True):
        gate, up = self.gate(x), self.up(x)
        mixed = SwiGLUFunction.apply(gate, up) if fused else torch.nn.functional.silu(gate) * up
        return self.down(mixed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    model = FeedForward(64, 256).to(device)
    x = torch.randn(32, 64, device="cpu").to(device)
    gradients = []
    for fused in (True, False):
        model.zero_grad()
        model(x, fused).square().mean().backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
    for name, ours, theirs in zip(("gate", "up", "down"), *gradients):
        print(name, torch.allclose(ours, theirs, rtol=1e-3, atol=1e-5))
