# device: either
# build: fused_add_rms_norm(64, 256)
# auto fused_add_rms_norm: launches=2 ctas=64 'copy Residual → r'=64 'copy r → Residual'=64
"""A residual that is added, kept and normalised, all in place; called twice, as in two layers."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def fused_add_rms_norm(tokens, hidden, eps=1e-6):
    @T.prim_func
    def fused_add_rms_norm(
        X: T.Tensor((tokens, hidden), "float16"),
        Residual: T.Tensor((tokens, hidden), "float16"),
        Weight: T.Tensor((hidden,), "float16"),
    ):
        with T.Kernel(tokens, threads=64) as token:
            x = T.alloc_fragment((hidden,), "float16")
            r = T.alloc_fragment((hidden,), "float16")
            wide = T.alloc_fragment((1, hidden), "float32")
            square = T.alloc_fragment((1, hidden), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[token, :], x)
            T.copy(Residual[token, :], r)
            for j in T.Parallel(hidden):
                r[j] = r[j] + x[j]
            T.copy(r, Residual[token, :])
            for i, j in T.Parallel(1, hidden):
                wide[i, j] = T.cast(r[j], "float32")
            for i, j in T.Parallel(1, hidden):
                square[i, j] = wide[i, j] * wide[i, j]
            T.reduce_sum(square, total, dim=1)
            for i, j in T.Parallel(1, hidden):
                X[token, j] = wide[i, j] * T.rsqrt(total[i] / hidden + eps) * T.cast(Weight[j], "float32")

    return fused_add_rms_norm


def reference(x, residual, weight):
    residual = x + residual
    wide = residual.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * weight.float()).half(), residual


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x, residual = (torch.randn(64, 256).half().to(device) for _ in range(2))
    kernel = fused_add_rms_norm(64, 256)
    for layer in range(2):
        weight = torch.rand(256).half().to(device)
        want = reference(x, residual, weight)
        kernel(x, residual, weight)
        for got, right in zip((x, residual), want):
            torch.testing.assert_close(got, right, rtol=1e-2, atol=1e-2)
        print("layer", layer, "ok")
