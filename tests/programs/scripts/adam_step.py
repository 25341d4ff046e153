# device: either
# build: adam_kernel(1024)
# auto adam: launches=3 ctas=4
"""An optimiser step fused into one kernel, three tensors updated in place; scalars are arguments."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def adam_kernel(n, block=256, beta1=0.9, beta2=0.999, eps=1e-8):
    @T.prim_func
    def adam(
        P: T.Tensor((n,), "float32"),
        G: T.Tensor((n,), "float32"),
        M: T.Tensor((n,), "float32"),
        V: T.Tensor((n,), "float32"),
        lr: T.float32,
        correction1: T.float32,
        correction2: T.float32,
    ):
        with T.Kernel(n // block, threads=128) as bx:
            for i in T.Parallel(block):
                M[bx * block + i] = beta1 * M[bx * block + i] + (1.0 - beta1) * G[bx * block + i]
            for i in T.Parallel(block):
                V[bx * block + i] = beta2 * V[bx * block + i] + (1.0 - beta2) * G[bx * block + i] * G[bx * block + i]
            for i in T.Parallel(block):
                P[bx * block + i] = P[bx * block + i] - lr * (M[bx * block + i] / correction1) / (
                    T.sqrt(V[bx * block + i] / correction2) + eps
                )

    return adam


class FusedAdam:
    def __init__(self, parameter, lr=1e-2):
        self.parameter, self.lr, self.steps = parameter, lr, 0
        self.m, self.v = torch.zeros_like(parameter), torch.zeros_like(parameter)

    def step(self, gradient):
        self.steps += 1
        kernel = adam_kernel(self.parameter.numel())
        kernel(self.parameter, gradient, self.m, self.v, self.lr, 1 - 0.9**self.steps, 1 - 0.999**self.steps)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    ours = torch.randn(1024).to(device)
    theirs = torch.nn.Parameter(ours.clone())
    fused, plain = FusedAdam(ours), torch.optim.Adam([theirs], lr=1e-2)
    for step in range(3):
        gradient = torch.randn(1024).to(device)
        fused.step(gradient)
        theirs.grad = gradient.clone()
        plain.step()
        print("step", step, torch.allclose(ours, theirs.detach(), atol=1e-5))
