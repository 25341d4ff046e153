"""Quantisation and its inverse: row and block scales, packed weights, gated activations."""

import functools

import tilelang.language as T

from kernels.reference import HOPPER, Reference, integers, normal

M, N = 64, 256


def per_token_fp8(m=M, n=N, group=128, block=16, threads=128):
    """One scale for a row of a group; the largest magnitude passes through a workspace."""

    @T.prim_func
    def per_token_fp8(
        X: T.Tensor((m, n), "float16"),
        Y: T.Tensor((m, n), "float8_e4m3fn"),
        S: T.Tensor((m, n // group), "float32"),
    ):
        with T.Kernel(m // block, n // group, threads=threads) as (bx, by):
            staged = T.alloc_shared((block, group), "float16")
            x = T.alloc_fragment((block, group), "float32")
            highest = T.alloc_fragment((block,), "float32")
            scale = T.alloc_fragment((block,), "float32")
            y = T.alloc_fragment((block, group), "float8_e4m3fn")
            T.copy(X[bx * block, by * group], staged)
            T.copy(staged, x)
            T.reduce_absmax(x, highest, dim=1)
            for i in T.Parallel(block):
                highest[i] = T.max(highest[i], 1e-4)
                scale[i] = highest[i] / 448.0
            for i in T.Parallel(block):
                S[bx * block + i, by] = scale[i]
            for i, j in T.Parallel(block, group):
                y[i, j] = T.clamp(x[i, j] / scale[i], -448.0, 448.0)
            T.copy(y, Y[bx * block, by * group])

    return per_token_fp8


def block_quantise(m=M, n=N, block=64, dtype="int8", threads=128):
    """One scale for a square block, found by a reduction of a reduction."""

    @T.prim_func
    def block_quantise(
        X: T.Tensor((m, n), "float32"), Y: T.Tensor((m, n), dtype), S: T.Tensor((m // block, n // block), "float32")
    ):
        with T.Kernel(n // block, m // block, threads=threads) as (bx, by):
            x = T.alloc_fragment((block, block), "float32")
            staged = T.alloc_shared((block, block), dtype)
            rows = T.alloc_fragment((block,), "float32")
            highest = T.alloc_fragment((1,), "float32")
            T.copy(X[by * block, bx * block], x)
            T.reduce_absmax(x, rows, dim=1)
            T.reduce_max(rows, highest, dim=0)
            for i, j in T.Parallel(block, block):
                staged[i, j] = T.cast(x[i, j] / highest[0] * 127.0, dtype)
            S[by, bx] = highest[0] / 127.0
            T.copy(staged, Y[by * block, bx * block])

    return block_quantise


def dequantise_rows(m=M, n=N, dtype="float8_e4m3fn", threads=128):
    @T.prim_func
    def dequantise_rows(X: T.Tensor((m, n), dtype), S: T.Tensor((m,), "float32"), Y: T.Tensor((m, n), "float16")):
        with T.Kernel(m // 16, threads=threads) as bx:
            x = T.alloc_shared((16, n), dtype)
            s = T.alloc_shared((16,), "float32")
            y = T.alloc_shared((16, n), "float16")
            T.copy(X[bx * 16, 0], x)
            T.copy(S[bx * 16 : bx * 16 + 16], s)
            for i, j in T.Parallel(16, n):
                y[i, j] = T.cast(T.cast(x[i, j], "float32") * s[i], "float16")
            T.copy(y, Y[bx * 16, 0])

    return dequantise_rows


def unpack_int4(m=M, n=N, group=32, threads=128):
    @T.prim_func
    def unpack_int4(
        X: T.Tensor((m, n // 2), "uint8"), S: T.Tensor((m, n // group), "float16"), Y: T.Tensor((m, n), "float16")
    ):
        with T.Kernel(m // 16, threads=threads) as bx:
            x = T.alloc_shared((16, n // 2), "uint8")
            s = T.alloc_shared((16, n // group), "float16")
            T.copy(X[bx * 16, 0], x)
            T.copy(S[bx * 16, 0], s)
            for i, j in T.Parallel(16, n):
                Y[bx * 16 + i, j] = (
                    T.cast((x[i, j // 2] >> T.cast(j % 2 * 4, "uint8")) & T.uint8(15), "float16") - T.float16(8)
                ) * s[i, j // group]

    return unpack_int4


def gated(m=M, n=N, kind="silu", staged=True, threads=128):
    """The two halves of a row, one the other's gate."""

    @T.prim_func
    def gated(X: T.Tensor((m, 2 * n), "float16"), Y: T.Tensor((m, n), "float16")):
        with T.Kernel(m // 8, threads=threads) as bx:
            a = T.alloc_shared((8, n), "float16")
            b = T.alloc_shared((8, n), "float16")
            out = T.alloc_shared((8, n), "float16")
            T.copy(X[bx * 8, 0], a)
            T.copy(X[bx * 8, n], b)
            for i, j in T.Parallel(8, n):
                if kind == "silu":
                    out[i, j] = a[i, j] / (1.0 + T.exp(-T.cast(a[i, j], "float32"))) * b[i, j]
                else:
                    out[i, j] = T.max(a[i, j], T.float16(0)) * b[i, j]
            if staged:
                T.copy(out, Y[bx * 8, 0])
            else:
                for i, j in T.Parallel(8, n):
                    Y[bx * 8 + i, j] = out[i, j]

    return gated


def gated_fp8(m=M, n=N, threads=128):
    """A gated activation, quantised by rows in the same kernel."""

    @T.prim_func
    def gated_fp8(
        X: T.Tensor((m, 2 * n), "bfloat16"), Y: T.Tensor((m, n), "float8_e4m3fn"), S: T.Tensor((m,), "float32")
    ):
        with T.Kernel(m, threads=threads) as row:
            a = T.alloc_shared((1, n), "bfloat16")
            b = T.alloc_shared((1, n), "bfloat16")
            x = T.alloc_fragment((1, n), "float32")
            highest = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], a)
            T.copy(X[row, n], b)
            for i, j in T.Parallel(1, n):
                x[i, j] = (
                    T.cast(a[i, j], "float32") / (1.0 + T.exp(-T.cast(a[i, j], "float32"))) * T.cast(b[i, j], "float32")
                )
            T.reduce_absmax(x, highest, dim=1)
            for i in T.Parallel(1):
                S[row + i] = T.max(highest[i], 1e-4) / 448.0
            for i, j in T.Parallel(1, n):
                Y[row, j] = T.cast(x[i, j] / (T.max(highest[i], 1e-4) / 448.0), "float8_e4m3fn")

    return gated_fp8


def cast_transpose(m=M, n=N, threads=128):
    """A quantised matrix and its transpose at once."""

    @T.prim_func
    def cast_transpose(
        X: T.Tensor((m, n), "float16"), Y: T.Tensor((m, n), "float8_e4m3fn"), Yt: T.Tensor((n, m), "float8_e4m3fn")
    ):
        with T.Kernel(n // 64, m // 64, threads=threads) as (bx, by):
            x = T.alloc_shared((64, 64), "float16")
            small = T.alloc_shared((64, 64), "float8_e4m3fn")
            turned = T.alloc_shared((64, 64), "float8_e4m3fn")
            T.copy(X[by * 64, bx * 64], x)
            for i, j in T.Parallel(64, 64):
                small[i, j] = T.cast(x[i, j], "float8_e4m3fn")
            for i, j in T.Parallel(64, 64):
                turned[j, i] = small[i, j]
            T.copy(small, Y[by * 64, bx * 64])
            T.copy(turned, Yt[bx * 64, by * 64])

    return cast_transpose


def mixed_precision_update(n=4096, block=512, threads=128):
    """One step of Adam: 32-bit states, 16-bit gradients and weights."""

    @T.prim_func
    def mixed_precision_update(
        W: T.Tensor((n,), "float32"),
        G: T.Tensor((n,), "float16"),
        First: T.Tensor((n,), "float32"),
        Second: T.Tensor((n,), "float32"),
        Half: T.Tensor((n,), "float16"),
    ):
        with T.Kernel(n // block, threads=threads) as bx:
            w = T.alloc_fragment((block,), "float32")
            g = T.alloc_fragment((block,), "float16")
            m = T.alloc_fragment((block,), "float32")
            v = T.alloc_fragment((block,), "float32")
            T.copy(W[bx * block], w)
            T.copy(G[bx * block], g)
            T.copy(First[bx * block], m)
            T.copy(Second[bx * block], v)
            for i in T.Parallel(block):
                m[i] = 0.9 * m[i] + 0.1 * g[i]
                v[i] = 0.99 * v[i] + 0.01 * g[i] * g[i]
            for i in T.Parallel(block):
                w[i] = w[i] - 0.01 * m[i] / (T.sqrt(v[i]) + 1e-8)
            T.copy(m, First[bx * block])
            T.copy(v, Second[bx * block])
            T.copy(w, W[bx * block])
            for i in T.Parallel(block):
                Half[bx * block + i] = w[i]

    return mixed_precision_update


def _scaled_rows(x):
    return x.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 448


def _per_token_expected(x):
    import torch

    groups = x.float().reshape(M, 2, 128)
    scale = _scaled_rows(groups)
    return (groups / scale).reshape(M, N).to(torch.float8_e4m3fn), scale[..., 0]


def _block_expected(x):
    import torch

    blocks = x.reshape(1, 64, 4, 64)
    highest = blocks.abs().amax((1, 3))
    return (blocks / highest[:, None, :, None] * 127).reshape(M, N).to(torch.int8), highest / 127


def _fp8(device, *shape, seed=0):
    import torch

    return normal(device, *shape, seed=seed).to(torch.float8_e4m3fn)


def _unpack_expected(x, s):
    import torch

    wide = torch.stack([x & 15, x >> 4], dim=-1).reshape(M, N).float() - 8
    return (wide * s.float().repeat_interleave(32, dim=1)).half()


def _gate(kind, x):
    import torch

    a, b = x.float().chunk(2, 1)
    return ((torch.nn.functional.silu(a) if kind == "silu" else a.relu()) * b).half()


def _gated_fp8_expected(x):
    import torch

    a, b = x.float().chunk(2, 1)
    y = torch.nn.functional.silu(a) * b
    scale = _scaled_rows(y)
    return (y / scale).to(torch.float8_e4m3fn), scale[:, 0]


def _transpose_expected(x):
    import torch

    small = x.to(torch.float8_e4m3fn)
    return small, small.T.contiguous()


def _update_inputs(device):
    import torch

    w = normal(device, 4096, dtype="float32")
    g = normal(device, 4096, seed=1)
    return w, g, torch.zeros_like(w), torch.ones_like(w), torch.zeros_like(g)


def _update_expected(w, g, m, v, _):
    g = g.float()
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    w = w - 0.01 * m / (v.sqrt() + 1e-8)
    return m, v, w.half()


TWO = (-2, -1)

KERNELS = (
    Reference(
        "per_token_fp8", per_token_fp8, lambda d: (normal(d, M, N),), _per_token_expected, out_idx=TWO, rtol=0.13
    ),
    Reference(
        "block_int8",
        block_quantise,
        lambda d: (normal(d, M, N, dtype="float32"),),
        _block_expected,
        out_idx=TWO,
        atol=1,
    ),
    Reference(
        "dequantise_fp8",
        dequantise_rows,
        lambda d: (_fp8(d, M, N), normal(d, M, dtype="float32", seed=1)),
        lambda x, s: (x.float() * s[:, None]).half(),
    ),
    Reference(
        "dequantise_int8",
        functools.partial(dequantise_rows, dtype="int8"),
        lambda d: (integers(d, M, N, low=-100, high=100, dtype="int8"), normal(d, M, dtype="float32", seed=1)),
        lambda x, s: (x.float() * s[:, None]).half(),
    ),
    Reference(
        "unpack_int4",
        unpack_int4,
        lambda d: (integers(d, M, N // 2, low=0, high=256, dtype="uint8"), normal(d, M, N // 32, seed=1)),
        _unpack_expected,
    ),
    Reference("silu_gate", gated, lambda d: (normal(d, M, 2 * N),), functools.partial(_gate, "silu")),
    Reference(
        "relu_gate_unstaged",
        functools.partial(gated, kind="relu", staged=False),
        lambda d: (normal(d, M, 2 * N),),
        functools.partial(_gate, "relu"),
    ),
    Reference(
        "gated_fp8",
        gated_fp8,
        lambda d: (normal(d, M, 2 * N, dtype="bfloat16"),),
        _gated_fp8_expected,
        out_idx=TWO,
        rtol=0.13,
    ),
    Reference(
        "cast_transpose",
        cast_transpose,
        lambda d: (normal(d, M, N),),
        _transpose_expected,
        out_idx=TWO,
        architectures=HOPPER,
    ),
    Reference("mixed_precision_update", mixed_precision_update, _update_inputs, _update_expected, out_idx=()),
)
