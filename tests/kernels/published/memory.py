"""Kernels about memory: transposes, stencils, gathers, histograms, guards within and around loops, late lifetimes."""

import functools

import tilelang.language as T

from kernels.reference import HOPPER, Reference, integers, normal


def transpose(m=128, n=192, block=64, padded=False, dtype="float16", threads=128):
    @T.prim_func
    def transpose(A: T.Tensor((m, n), dtype), B: T.Tensor((n, m), dtype)):
        with T.Kernel(n // block, m // block, threads=threads) as (bx, by):
            tile = T.alloc_shared((block, block + (8 if padded else 0)), dtype)
            turned = T.alloc_shared((block, block), dtype)
            if padded:
                for i, j in T.Parallel(block, block):
                    tile[i, j] = A[by * block + i, bx * block + j]
            else:
                T.copy(A[by * block, bx * block], tile)
            for i, j in T.Parallel(block, block):
                turned[i, j] = tile[j, i]
            T.copy(turned, B[bx * block, by * block])

    return transpose


def stencil(m=96, n=128, block=32, steps=3, threads=128):
    """Steps of a five-point stencil on a tile with its halo, between two buffers; guards where the image ends."""

    @T.prim_func
    def stencil(A: T.Tensor((m, n), "float32"), B: T.Tensor((m, n), "float32")):
        with T.Kernel(n // block, m // block, threads=threads) as (bx, by):
            one = T.alloc_shared((block + 2, block + 2), "float32")
            two = T.alloc_shared((block + 2, block + 2), "float32")
            for i, j in T.Parallel(block + 2, block + 2):
                if by * block + i >= 1 and by * block + i <= m and bx * block + j >= 1 and bx * block + j <= n:
                    one[i, j] = A[by * block + i - 1, bx * block + j - 1]
                else:
                    one[i, j] = 0.0
            for i, j in T.Parallel(block + 2, block + 2):
                two[i, j] = one[i, j]
            for t in T.serial(steps):
                if t % 2 == 0:
                    for i, j in T.Parallel(block, block):
                        two[i + 1, j + 1] = (
                            one[i, j + 1] + one[i + 2, j + 1] + one[i + 1, j] + one[i + 1, j + 2]
                        ) * 0.25
                else:
                    for i, j in T.Parallel(block, block):
                        one[i + 1, j + 1] = (
                            two[i, j + 1] + two[i + 2, j + 1] + two[i + 1, j] + two[i + 1, j + 2]
                        ) * 0.25
            for i, j in T.Parallel(block, block):
                B[by * block + i, bx * block + j] = two[i + 1, j + 1]

    return stencil


def gather_rows(rows=64, width=128, count=48, block=8, stages=2, threads=128):
    """Rows by an index, those of a negative one left at zero."""

    @T.prim_func
    def gather_rows(
        A: T.Tensor((rows, width), "float16"), At: T.Tensor((count,), "int32"), B: T.Tensor((count, width), "float16")
    ):
        with T.Kernel(count // block, threads=threads) as bx:
            row = T.alloc_shared((width,), "float16")
            for i in T.serial(block):
                if At[bx * block + i] >= 0:
                    T.copy(A[At[bx * block + i], 0:width], row)
                    T.copy(row, B[bx * block + i, 0:width])
                else:
                    for j in T.Parallel(width):
                        B[bx * block + i, j] = T.float16(0)

    return gather_rows


def histogram(n=4096, bins=64, block=1024, threads=128):
    """A histogram in shared memory, added to the whole one atomically."""

    @T.prim_func
    def histogram(A: T.Tensor((n,), "int32"), H: T.Tensor((bins,), "int32")):
        with T.Kernel(n // block, threads=threads) as bx:
            tx = T.get_thread_binding()
            counts = T.alloc_shared((bins,), "int32")
            if tx < bins:
                counts[tx] = 0
            T.sync_threads()
            for i in T.serial(block // threads):
                T.atomic_add(counts[A[bx * block + i * threads + tx]], 1)
            T.sync_threads()
            if tx < bins:
                T.atomic_add(H[tx], counts[tx])

    return histogram


def lifetimes(n=64, steps=4, stages=2, threads=128):
    """Tiles that follow one another in shared memory, some used again at the end."""

    @T.prim_func
    def lifetimes(
        A: T.Tensor((n * steps, n), "float16"),
        B: T.Tensor((n * steps, n), "float16"),
        C: T.Tensor((n, n), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            first = T.alloc_shared((n, n), "float16")
            second = T.alloc_shared((n, n), "float16")
            kept = T.alloc_shared((n, n), "float32")
            last = T.alloc_shared((n, n), "float16")
            row = T.alloc_shared((n,), "float32")
            x = T.alloc_fragment((n, n), "float32")
            part = T.alloc_fragment((n,), "float32")
            T.clear(x)
            for t in T.Pipelined(steps, num_stages=stages):
                T.copy(A[t * n, 0], first)
                for i, j in T.Parallel(n, n):
                    x[i, j] += first[i, j]
            T.copy(x, kept)
            T.reduce_max(x, part, dim=1)
            T.copy(part, row)
            for t in T.Pipelined(steps, num_stages=stages):
                T.copy(B[t * n, 0], second)
                for i, j in T.Parallel(n, n):
                    x[i, j] += second[i, j] * row[i]
            T.copy(A[0, 0], last)
            for i, j in T.Parallel(n, n):
                C[i, j] = x[i, j] + kept[i, j] * last[j, i]

    return lifetimes


def guarded_steps(n=512, block=128, steps=8, threads=128):
    """A guard around a loop, a guard in a loop, and a loop whose guard does not change in it."""

    @T.prim_func
    def guarded_steps(
        A: T.Tensor((n,), "float32"), Flag: T.Tensor((n // block,), "int32"), B: T.Tensor((n,), "float32")
    ):
        with T.Kernel(n // block, threads=threads) as bx:
            tx = T.get_thread_binding()
            s = T.alloc_shared((block,), "float32")
            total = T.alloc_local((1,), "float32")
            total[0] = 0.0
            s[tx] = A[bx * block + tx]
            for k in T.serial(steps):
                if Flag[bx] > 0:
                    total[0] += s[(tx + k) % block]
            for k in T.serial(steps):
                if tx < 64:
                    total[0] = total[0] * 0.5 + s[tx + k]
            if tx < 96:
                for k in T.serial(steps):
                    if k < Flag[bx]:
                        total[0] += 1.0
            B[bx * block + tx] = total[0]

    return guarded_steps


def hoisted_guard(rows=64, columns=64, block=16, threads=128):
    """A loop of nothing but a guarded statement, out of which TileLang takes the guard; and one under a known flag."""

    @T.prim_func
    def hoisted_guard(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows // block, columns), "float32")):
        with T.Kernel(rows // block, threads=threads) as bx:
            x = T.alloc_shared((block, columns), "float32")
            total = T.alloc_fragment((columns,), "float32")
            out = T.alloc_shared((columns,), "float32")
            T.copy(X[bx * block, 0], x)
            T.clear(total)
            for r in T.serial(block):
                for j in T.Parallel(columns):
                    total[j] += x[r, j]
            for r in T.serial(block):
                if bx < 2:
                    for j in T.Parallel(columns):
                        total[j] += x[r, j] * x[r, j]
            for j in T.Parallel(columns):
                out[j] = total[j]
            T.copy(out, Y[bx, 0:columns])

    return hoisted_guard


def warp_halves(n=256, threads=128):
    """Two halves of a block that meet at partial barriers."""

    @T.prim_func
    def warp_halves(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            low = T.alloc_shared((64,), "float32")
            high = T.alloc_shared((64,), "float32")
            if tx < 64:
                low[tx] = A[bx * threads + tx]
                T.sync_threads(1, 64)
                B[bx * threads + tx] = low[63 - tx] * 2.0
            else:
                high[tx - 64] = A[bx * threads + tx]
                T.sync_threads(2, 64)
                B[bx * threads + tx] = high[127 - tx] * 3.0

    return warp_halves


def pooled(h=32, w=64, size=2, threads=128):
    """The maximum of squares, its rows staged."""

    @T.prim_func
    def pooled(X: T.Tensor((h, w), "float16"), Y: T.Tensor((h // size, w // size), "float16")):
        with T.Kernel(h // size, threads=threads) as by:
            rows = T.alloc_shared((size, w), "float16")
            out = T.alloc_fragment((w // size,), "float32")
            T.copy(X[by * size, 0], rows)
            T.fill(out, -T.infinity("float32"))
            for r in T.serial(size):
                for c in T.serial(size):
                    for j in T.Parallel(w // size):
                        out[j] = T.max(out[j], T.cast(rows[r, j * size + c], "float32"))
            for j in T.Parallel(w // size):
                Y[by, j] = T.cast(out[j], "float16")

    return pooled


def rotary(length=64, dim=128, block=16, threads=128):
    """Rotary positions on both halves of a head, tables staged in shared memory."""

    @T.prim_func
    def rotary(
        X: T.Tensor((length, dim), "float16"),
        Cos: T.Tensor((length, dim // 2), "float32"),
        Sin: T.Tensor((length, dim // 2), "float32"),
        Y: T.Tensor((length, dim), "float16"),
    ):
        with T.Kernel(length // block, threads=threads) as bx:
            x = T.alloc_shared((block, dim), "float16")
            c = T.alloc_shared((block, dim // 2), "float32")
            s = T.alloc_shared((block, dim // 2), "float32")
            y = T.alloc_shared((block, dim), "float16")
            T.copy(X[bx * block, 0], x)
            T.copy(Cos[bx * block, 0], c)
            T.copy(Sin[bx * block, 0], s)
            for i, j in T.Parallel(block, dim // 2):
                y[i, j] = T.cast(x[i, j] * c[i, j] - x[i, j + dim // 2] * s[i, j], "float16")
                y[i, j + dim // 2] = T.cast(x[i, j + dim // 2] * c[i, j] + x[i, j] * s[i, j], "float16")
            T.copy(y, Y[bx * block, 0])

    return rotary


def top_gate(tokens=32, experts=64, k=4, threads=128):
    """The k best experts of a token with their weights made to sum to one."""

    @T.prim_func
    def top_gate(
        X: T.Tensor((tokens, experts), "float32"),
        W: T.Tensor((tokens, k), "float32"),
        E: T.Tensor((tokens, k), "int32"),
    ):
        with T.Kernel(tokens // 8, threads=threads) as bx:
            x = T.alloc_fragment((8, experts), "float32")
            at = T.alloc_fragment((8, experts), "int32")
            best = T.alloc_fragment((8,), "float32")
            index = T.alloc_fragment((8,), "int32")
            total = T.alloc_fragment((8,), "float32")
            weights = T.alloc_shared((8, k), "float32")
            T.copy(X[bx * 8, 0], x)
            T.clear(total)
            for n in T.serial(k):
                T.reduce_max(x, best, dim=1)
                for i, j in T.Parallel(8, experts):
                    at[i, j] = T.if_then_else(x[i, j] == best[i], j, experts)
                T.reduce_min(at, index, dim=1)
                for i, j in T.Parallel(8, experts):
                    if j == index[i]:
                        x[i, j] = -1e30
                for i in T.Parallel(8):
                    E[bx * 8 + i, n] = index[i]
                    weights[i, n] = T.exp(best[i])
                    total[i] += T.exp(best[i])
            for i, j in T.Parallel(8, k):
                W[bx * 8 + i, j] = weights[i, j] / total[i]

    return top_gate


def _stencil_expected(a):
    import torch

    m, n, block = 96, 128, 32
    padded = torch.nn.functional.pad(a, (1, 1, 1, 1))
    out = torch.empty_like(a)
    for y in range(0, m, block):
        for x in range(0, n, block):
            one = padded[y : y + block + 2, x : x + block + 2].clone()
            two = one.clone()
            for t in range(3):
                old, new = (one, two) if t % 2 == 0 else (two, one)
                new[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) * 0.25
            out[y : y + block, x : x + block] = two[1:-1, 1:-1]
    return out


def _gather_expected(a, at):
    return a[at.clamp(min=0).long()] * (at >= 0)[:, None]


def _histogram_inputs(device):
    import torch

    return integers(device, 4096, low=0, high=64), torch.zeros(64, dtype=torch.int32, device=device)


def _histogram_expected(a, _):
    import torch

    return torch.bincount(a.long(), minlength=64).int()


def _lifetimes_expected(a, b):
    first = a.float().reshape(4, 64, 64).sum(0)
    x = first + (b.float().reshape(4, 64, 64) * first.amax(1)[None, :, None]).sum(0)
    return x + first * a[:64].float().T


def _guarded_expected(a, flag):
    import torch

    blocks = a.reshape(4, 128)
    total = torch.zeros_like(blocks)
    for k in range(8):
        total += blocks.roll(-k, 1) * (flag > 0)[:, None]
    for k in range(8):
        total[:, :64] = total[:, :64] * 0.5 + blocks[:, k : k + 64]
    total[:, :96] += flag.clamp(0, 8)[:, None]
    return total.reshape(-1)


def _hoisted_expected(x):
    blocks = x.reshape(4, 16, 64)
    total = blocks.sum(1)
    total[:2] += blocks[:2].square().sum(1)
    return total


def _halves_expected(a):
    import torch

    blocks = a.reshape(2, 2, 64).flip(2)
    return (blocks * torch.tensor([2.0, 3.0], device=a.device)[:, None]).reshape(-1)


def _rotary_inputs(device):
    angle = normal(device, 64, 64, dtype="float32", seed=1)
    return normal(device, 64, 128), angle.cos(), angle.sin()


def _rotary_expected(x, c, s):
    import torch

    a, b = x.float().chunk(2, 1)
    return torch.cat([a * c - b * s, b * c + a * s], 1).half()


def _gate_expected(x):
    best, at = x.topk(4, dim=1)
    return best.softmax(1), at.int()


KERNELS = (
    Reference("transpose_tiles", transpose, lambda d: (normal(d, 128, 192),), lambda a: a.T.contiguous()),
    Reference(
        "transpose_padded",
        functools.partial(transpose, padded=True, dtype="float32"),
        lambda d: (normal(d, 128, 192, dtype="float32"),),
        lambda a: a.T.contiguous(),
    ),
    Reference("stencil", stencil, lambda d: (normal(d, 96, 128, dtype="float32"),), _stencil_expected),
    Reference(
        "gather_rows",
        gather_rows,
        lambda d: (normal(d, 64, 128), integers(d, 48, low=-20, high=64)),
        _gather_expected,
        architectures=HOPPER,
    ),
    Reference("shared_histogram", histogram, _histogram_inputs, _histogram_expected, out_idx=(), rtol=0, atol=0),
    Reference(
        "lifetimes",
        lifetimes,
        lambda d: (normal(d, 256, 64), normal(d, 256, 64, seed=1) / 8),
        _lifetimes_expected,
        atol=5e-2,
    ),
    Reference(
        "guarded_steps",
        guarded_steps,
        lambda d: (normal(d, 512, dtype="float32"), integers(d, 4, low=-3, high=12)),
        _guarded_expected,
    ),
    Reference("hoisted_guard", hoisted_guard, lambda d: (normal(d, 64, 64, dtype="float32"),), _hoisted_expected),
    Reference("warp_halves", warp_halves, lambda d: (normal(d, 256, dtype="float32"),), _halves_expected),
    Reference(
        "pooled",
        pooled,
        lambda d: (normal(d, 32, 64),),
        lambda x: x.float().reshape(16, 2, 32, 2).amax((1, 3)).half(),
    ),
    Reference("rotary", rotary, _rotary_inputs, _rotary_expected),
    Reference("top_gate", top_gate, lambda d: (normal(d, 32, 64, dtype="float32"),), _gate_expected, out_idx=(-2, -1)),
)
