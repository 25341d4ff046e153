# device: either
# build: rope(2, 32, 4, 64)
# auto rope: launches=1 ctas=64
"""Rotary positions, in place, the two halves of a head turned against each other."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def rope(B, S, H, D):
    half = D // 2

    @T.prim_func
    def rope(
        X: T.Tensor((B, S, H, D), "float32"),
        Cos: T.Tensor((S, half), "float32"),
        Sin: T.Tensor((S, half), "float32"),
    ):
        with T.Kernel(S, B, threads=128) as (s, b):
            tx = T.get_thread_binding()
            first = T.alloc_var("float32")
            second = T.alloc_var("float32")
            h = tx // half
            j = tx % half
            first = X[b, s, h, j]
            second = X[b, s, h, j + half]
            X[b, s, h, j] = first * Cos[s, j] - second * Sin[s, j]
            X[b, s, h, j + half] = second * Cos[s, j] + first * Sin[s, j]

    return rope


def tables(length, dim, base=10000.0):
    frequency = base ** -(torch.arange(0, dim, 2) / dim)
    angles = torch.arange(length)[:, None] * frequency[None]
    return angles.cos(), angles.sin()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randn(2, 32, 4, 64).to(device)
    cos, sin = (t.to(device) for t in tables(32, 64))
    a, b = x[..., :32], x[..., 32:]
    c, s = cos[:, None], sin[:, None]
    want = torch.cat([a * c - b * s, b * c + a * s], -1)
    rope(2, 32, 4, 64)(x, cos, sin)
    torch.testing.assert_close(x, want, rtol=1e-4, atol=1e-4)
    print("rotated in place: ok")
