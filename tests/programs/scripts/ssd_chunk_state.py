# device: either
# build: chunk_state(1, 256, 2, 64, 64)
# auto chunk_state: launches=1 ctas=8 'gemm x_s·B_s'=16
"""The states of the chunks in a structured state-space layer: a product weighted by a decay."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def chunk_state(batch, length, heads, dim, states, chunk=64, bk=32):
    chunks = length // chunk

    @T.prim_func
    def chunk_state(
        X: T.Tensor((batch, length, heads, dim), "float16"),
        B: T.Tensor((batch, length, states), "float16"),
        dA: T.Tensor((batch, heads, chunks, chunk), "float32"),
        S: T.Tensor((batch, chunks, heads, dim, states), "float32"),
    ):
        with T.Kernel(chunks, heads, batch, threads=128) as (c, h, b):
            x_s = T.alloc_shared((bk, dim), "float16")
            x_f = T.alloc_fragment((bk, dim), "float16")
            B_s = T.alloc_shared((bk, states), "float16")
            decay = T.alloc_fragment((bk,), "float32")
            acc = T.alloc_fragment((dim, states), "float32")
            T.clear(acc)
            for k in T.serial(chunk // bk):
                T.copy(X[b, c * chunk + k * bk : c * chunk + (k + 1) * bk, h, :], x_f)
                T.copy(B[b, c * chunk + k * bk : c * chunk + (k + 1) * bk, :], B_s)
                for i in T.Parallel(bk):
                    decay[i] = T.exp(dA[b, h, c, chunk - 1] - dA[b, h, c, k * bk + i])
                for i, j in T.Parallel(bk, dim):
                    x_s[i, j] = x_f[i, j] * decay[i]
                T.gemm(x_s, B_s, acc, transpose_A=True)
            T.copy(acc, S[b, c, h, :, :])

    return chunk_state


def reference(x, b, da):
    batch, length, heads, dim = x.shape
    chunks = length // 64
    decay = torch.exp(da[..., -1:] - da)
    x = x.float().reshape(batch, chunks, 64, heads, dim)
    b = b.float().reshape(batch, chunks, 64, -1)
    return torch.einsum("bclhd,bcln,bhcl->bchdn", x, b, decay)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randn(1, 256, 2, 64).half()
    b = torch.randn(1, 256, 64).half()
    da = -torch.rand(1, 2, 4, 64).cumsum(-1) * 0.1
    s = chunk_state(1, 256, 2, 64, 64)(*(t.to(device) for t in (x, b, da)))
    torch.testing.assert_close(s.cpu(), reference(x, b, da), rtol=1e-2, atol=1e-1)
    print("chunk states", tuple(s.shape), "ok")
