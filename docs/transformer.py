"""The forward pass of a small transformer with two TileLang kernels, profiled by torch and traced inside.

    python docs/transformer.py --out debug

In: nothing; a CUDA device, else the kernels run on the virtual GPU, which torch's profiler does not see. Out:
``transformer.pftrace.gz`` for ui.perfetto.dev, and what it was made of: ``transformer.json.gz``, the profile, and a
``.tltrace`` of each kernel's last launch.
"""

import argparse
from pathlib import Path

import tilelang.language as T
import torch
from torch import nn
from torch.profiler import record_function

import tltrace_nb
from tltrace_nb import trace

WORDS, WIDTH, HEADS, LAYERS = 1000, 256, 4, 2
BATCH, LENGTH = 4, 256


# ---- two kernels with markers


@trace.jit(out_idx=[-1])
def rms_norm(rows, width, block=8, threads=128):
    @T.prim_func
    def rms_norm(
        X: T.Tensor((rows, width), "float16"), W: T.Tensor((width,), "float16"), Y: T.Tensor((rows, width), "float16")
    ):
        with T.Kernel(T.ceildiv(rows, block), threads=threads) as bx:
            x = T.alloc_fragment((block, width), "float32")
            square = T.alloc_fragment((block, width), "float32")
            total = T.alloc_fragment((block,), "float32")
            with trace.range("load", payload=bx):
                T.copy(X[bx * block, 0], x)
            with trace.range("mean of squares"):
                for i, j in T.Parallel(block, width):
                    square[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(square, total, dim=1)
            with trace.range("scale and store"):
                for i, j in T.Parallel(block, width):
                    Y[bx * block + i, j] = x[i, j] * T.rsqrt(total[i] / width + 1e-6) * W[j]

    return rms_norm


@trace.jit(out_idx=[-1])
def matmul(M, N, K, bm=64, bn=64, bk=32, stages=3, threads=128):
    @T.prim_func
    def matmul(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                with trace.range("load", payload=k):
                    T.copy(A[by * bm, k * bk], a)
                    T.copy(B[k * bk, bx * bn], b)
                with trace.range("mma", payload=k):
                    T.gemm(a, b, c)
            with trace.range("store"):
                T.copy(c, C[by * bm, bx * bn])

    return matmul


# ---- as operators of torch, so that torch.compile takes them, too


@torch.library.custom_op("transformer::rms_norm", mutates_args=())
def normed(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return rms_norm(x.numel() // x.shape[-1], x.shape[-1])(x.reshape(-1, x.shape[-1]), weight).view(x.shape)


@torch.library.custom_op("transformer::matmul", mutates_args=())
def product(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    rows = x.reshape(-1, x.shape[-1])
    return matmul(rows.shape[0], weight.shape[1], weight.shape[0])(rows, weight).view(*x.shape[:-1], weight.shape[1])


normed.register_fake(lambda x, _: torch.empty_like(x))
product.register_fake(lambda x, weight: x.new_empty(*x.shape[:-1], weight.shape[1]))


# ---- the model


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = (nn.Parameter(torch.ones(WIDTH)) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up = nn.Parameter(torch.randn(WIDTH, 4 * WIDTH) / WIDTH**0.5)
        self.down = nn.Parameter(torch.randn(4 * WIDTH, WIDTH) / WIDTH)

    def forward(self, x):
        with record_function("attention"):
            parts = self.qkv(normed(x, self.before)).chunk(3, dim=-1)
            q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
            heads = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(heads.transpose(1, 2).flatten(-2))
        with record_function("mlp"):
            return x + product(nn.functional.gelu(product(normed(x, self.between), self.up)), self.down)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for number, layer in enumerate(self.layers):
            with record_function(f"layer {number}"):
                x = layer(x)
        return self.norm(x) @ self.embedding.weight.T


def model_and_tokens(device):
    torch.manual_seed(0)
    model = Transformer().half().to(device).eval()
    return model, torch.randint(WORDS, (BATCH, LENGTH)).to(device)


# ---- profile and trace it


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("debug"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    model, tokens = model_and_tokens("cuda" if torch.cuda.is_available() else "cpu")
    with torch.no_grad(), trace.tracing(keep_launches="all"):
        model(tokens)  # builds the kernels
        before = trace.launches
        with torch.profiler.profile() as prof:
            model(tokens)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
        traces = trace.since(before)
    prof.export_chrome_trace(str(out / "transformer.json.gz"))  # torch does that once: from here on, take the file
    profile = tltrace_nb.profile(out / "transformer.json.gz", traces)
    print(profile)
    print(profile.to_perfetto(out / "transformer.pftrace.gz"))
    for each in {each.meta.kernel: each for each in traces}.values():
        each.save(out / f"{each.meta.kernel}.tltrace")


if __name__ == "__main__":
    main()
