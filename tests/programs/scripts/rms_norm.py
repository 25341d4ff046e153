# device: either
# build: rms_norm(torch.empty(32, 512, dtype=torch.bfloat16), torch.empty(512, dtype=torch.bfloat16), torch.empty(32, 512, dtype=torch.bfloat16))
# auto rms_norm: launches=1 ctas=8 'copy X → x'=8 'reduce sum *'=8
"""RMS normalisation in the eager style, into a tensor of the caller's."""

import os

import tilelang
import tilelang.language as T
import torch

device = os.environ.get("DEVICE", "cuda")


@tilelang.jit
def rms_norm(X, W, Y, rows: int = 4, eps: float = 1e-6):
    M, N = T.const("M N")
    X: T.Tensor[[M, N], T.bfloat16]
    W: T.Tensor[[N], T.bfloat16]
    Y: T.Tensor[[M, N], T.bfloat16]
    with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
        x = T.alloc_fragment((rows, N), T.float32)
        sq = T.alloc_fragment((rows, N), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.copy(X[bx * rows, 0], x)
        for i, j in T.Parallel(rows, N):
            sq[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(sq, total, dim=1)
        for i in T.Parallel(rows):
            total[i] = T.rsqrt(total[i] / N + eps)
        for i, j in T.Parallel(rows, N):
            x[i, j] = x[i, j] * total[i] * T.cast(W[j], T.float32)
        T.copy(x, Y[bx * rows, 0])


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(32, 512).bfloat16().to(device)
    w = torch.rand(512).bfloat16().to(device)
    y = torch.empty_like(x)
    rms_norm(x, w, y)
    want = x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6) * w.float()
    torch.testing.assert_close(y.float(), want, rtol=2e-2, atol=2e-2)
    print("rms_norm bf16 ok")
