"""Scans and recurrences: linear attention, gated delta rules, state-space models, prefix sums."""

import functools

import tilelang.language as T

from kernels.reference import Reference, normal

HEADS = 2


def two_pipelines(d=64, kt=16, threads=128):
    """Vectors in shared memory that outlive one pipeline or both, and a tile for each pipeline."""

    @T.prim_func
    def two_pipelines(
        Q: T.Tensor((d,), "float16"),
        K: T.Tensor((d,), "float16"),
        G: T.Tensor((d,), "float16"),
        V: T.Tensor((d,), "float16"),
        S: T.Tensor((d, d), "float16"),
        O: T.Tensor((d,), "float16"),  # noqa: E741
        N: T.Tensor((d, d), "float16"),
    ):
        with T.Kernel(1, threads=threads):
            q = T.alloc_shared((d,), "float32")
            k = T.alloc_shared((d,), "float32")
            g = T.alloc_shared((d,), "float32")
            v = T.alloc_shared((d,), "float32")
            t1 = T.alloc_shared((kt, d), "float16")
            t2 = T.alloc_shared((kt, d), "float16")
            acc = T.alloc_fragment((d,), "float32")
            for i in T.Parallel(d):
                v[i] = V[i]
            for i in T.Parallel(d):
                q[i] = Q[i]
                k[i] = K[i]
                g[i] = G[i]
            T.clear(acc)
            for t in T.Pipelined(d // kt, num_stages=2):
                T.copy(S[t * kt, 0], t1)
                for j in T.Parallel(d):
                    for kk in T.serial(kt):
                        acc[j] += q[t * kt + kk] * g[t * kt + kk] * t1[kk, j]
            for j in T.Parallel(d):
                O[j] = acc[j] + v[j]
            for t in T.Pipelined(d // kt, num_stages=2):
                T.copy(S[t * kt, 0], t2)
                for i, j in T.Parallel(kt, d):
                    N[t * kt + i, j] = g[t * kt + i] * t2[i, j] + k[t * kt + i] * v[j]

    return two_pipelines


def delta_step(d=64, kt=16, stages=2, threads=128):
    """One token of a gated delta rule: the state is read, corrected by what it predicts, and written."""

    @T.prim_func
    def delta_step(
        Q: T.Tensor((HEADS, d), "float16"),
        K: T.Tensor((HEADS, d), "float16"),
        V: T.Tensor((HEADS, d), "float16"),
        G: T.Tensor((HEADS,), "float32"),
        S: T.Tensor((HEADS, d, d), "float16"),
        O: T.Tensor((HEADS, d), "float16"),  # noqa: E741
        N: T.Tensor((HEADS, d, d), "float16"),
    ):
        with T.Kernel(HEADS, threads=threads) as h:
            q = T.alloc_shared((d,), "float32")
            k = T.alloc_shared((d,), "float32")
            u = T.alloc_shared((d,), "float32")
            old = T.alloc_shared((kt, d), "float16")
            again = T.alloc_shared((kt, d), "float16")
            fresh = T.alloc_shared((kt, d), "float16")
            predicted = T.alloc_fragment((d,), "float32")
            out = T.alloc_fragment((d,), "float32")
            for i in T.Parallel(d):
                q[i] = Q[h, i]
                k[i] = K[h, i]
            T.clear(predicted)
            T.clear(out)
            for t in T.Pipelined(d // kt, num_stages=stages):
                T.copy(S[h, t * kt : t * kt + kt, 0:d], old)
                for j in T.Parallel(d):
                    for r in T.serial(kt):
                        predicted[j] += k[t * kt + r] * old[r, j] * G[h]
            for j in T.Parallel(d):
                u[j] = V[h, j] - predicted[j]
            for t in T.Pipelined(d // kt, num_stages=stages):
                T.copy(S[h, t * kt : t * kt + kt, 0:d], again)
                for i, j in T.Parallel(kt, d):
                    fresh[i, j] = again[i, j] * G[h] + k[t * kt + i] * u[j]
                for j in T.Parallel(d):
                    for r in T.serial(kt):
                        out[j] += q[t * kt + r] * fresh[r, j]
                T.copy(fresh, N[h, t * kt : t * kt + kt, 0:d])
            for j in T.Parallel(d):
                O[h, j] = out[j]

    return delta_step


def running_sums(rows=32, columns=256, block=8, dim=1, reverse=False, threads=128):
    @T.prim_func
    def running_sums(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows // block, threads=threads) as bx:
            x = T.alloc_shared((block, columns), "float32")
            T.copy(X[bx * block, 0], x)
            T.cumsum(x, dim=dim, reverse=reverse)
            T.copy(x, Y[bx * block, 0])

    return running_sums


def chunk_scan(length=128, state=32, dim=64, chunk=32, stages=0, threads=128):
    """A state-space model by chunks: decays from running sums, the part within a chunk and the part from before it."""

    @T.prim_func
    def chunk_scan(
        X: T.Tensor((length, dim), "float16"),
        B: T.Tensor((length, state), "float16"),
        C: T.Tensor((length, state), "float16"),
        A: T.Tensor((length,), "float32"),
        Y: T.Tensor((length, dim), "float16"),
    ):
        with T.Kernel(1, threads=threads):
            x = T.alloc_shared((chunk, dim), "float16")
            b = T.alloc_shared((chunk, state), "float16")
            c = T.alloc_shared((chunk, state), "float16")
            a = T.alloc_shared((1, chunk), "float32")
            scaled = T.alloc_shared((chunk, state), "float16")
            weights = T.alloc_shared((chunk, chunk), "float16")
            before = T.alloc_shared((state, dim), "float16")
            s = T.alloc_fragment((chunk, chunk), "float32")
            y = T.alloc_fragment((chunk, dim), "float32")
            kept = T.alloc_fragment((state, dim), "float32")
            T.clear(kept)
            for t in T.Pipelined(length // chunk, num_stages=stages):
                T.copy(X[t * chunk, 0], x)
                T.copy(B[t * chunk, 0], b)
                T.copy(C[t * chunk, 0], c)
                for i, j in T.Parallel(1, chunk):
                    a[i, j] = A[t * chunk + j]
                T.cumsum(a, dim=1)
                T.copy(kept, before)
                T.gemm(c, before, y, clear_accum=True)
                for i, j in T.Parallel(chunk, dim):
                    y[i, j] *= T.exp(a[0, i])
                T.gemm(c, b, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    weights[i, j] = T.if_then_else(i >= j, s[i, j] * T.exp(a[0, i] - a[0, j]), 0)
                T.gemm(weights, x, y)
                for i, j in T.Parallel(chunk, state):
                    scaled[i, j] = b[i, j] * T.exp(a[0, chunk - 1] - a[0, i])
                for i, j in T.Parallel(state, dim):
                    kept[i, j] *= T.exp(a[0, chunk - 1])
                T.gemm(scaled, x, kept, transpose_A=True)
                T.copy(y, Y[t * chunk, 0])

    return chunk_scan


def decayed_rows(length=64, dim=128, threads=128):
    """A first-order recurrence, a column to a thread, its inputs staged by blocks."""

    @T.prim_func
    def decayed_rows(
        X: T.Tensor((length, dim), "float32"),
        A: T.Tensor((length, dim), "float32"),
        Y: T.Tensor((length, dim), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            x = T.alloc_shared((16, dim), "float32")
            a = T.alloc_shared((16, dim), "float32")
            y = T.alloc_shared((16, dim), "float32")
            h = T.alloc_fragment((dim,), "float32")
            T.clear(h)
            for t in T.Pipelined(length // 16, num_stages=2):
                T.copy(X[t * 16, 0], x)
                T.copy(A[t * 16, 0], a)
                for r in T.serial(16):
                    for j in T.Parallel(dim):
                        h[j] = h[j] * a[r, j] + x[r, j]
                    for j in T.Parallel(dim):
                        y[r, j] = h[j]
                T.copy(y, Y[t * 16, 0])

    return decayed_rows


def doubling_scan(n=128, threads=128):
    """A prefix sum by doubled distances between two buffers."""

    @T.prim_func
    def doubling_scan(X: T.Tensor((4, n), "float32"), Y: T.Tensor((4, n), "float32")):
        with T.Kernel(4, threads=threads) as row:
            tx = T.get_thread_binding()
            one = T.alloc_shared((n,), "float32")
            two = T.alloc_shared((n,), "float32")
            one[tx] = X[row, tx]
            for p in T.serial(7):
                if tx >= (1 << p):
                    two[tx] = one[tx] + one[tx - (1 << p)]
                else:
                    two[tx] = one[tx]
                T.sync_threads()
                one[tx] = two[tx]
                T.sync_threads()
            Y[row, tx] = one[tx]

    return doubling_scan


def _two_inputs(device):
    return (*(normal(device, 64, seed=i) for i in range(4)), normal(device, 64, 64, seed=4))


def _two_expected(q, k, g, v, s):
    q, k, g, v, s = (x.float() for x in (q, k, g, v, s))
    return ((q * g) @ s + v).half(), (g[:, None] * s + k[:, None] * v[None, :]).half()


def _delta_inputs(device):
    import torch

    q, k, v = (normal(device, HEADS, 64, seed=i) / 8 for i in range(3))
    return q, k, v, torch.tensor([0.5, 0.9], device=device), normal(device, HEADS, 64, 64, seed=4)


def _delta_expected(q, k, v, g, s):
    q, k, v, s = (x.float() for x in (q, k, v, s))
    decayed = s * g[:, None, None]
    u = v - (k[:, :, None] * decayed).sum(1)
    new = (decayed + k[:, :, None] * u[:, None, :]).half()
    return (q[:, :, None] * new.float()).sum(1).half(), new


def _scan_inputs(device):
    return (
        normal(device, 128, 64),
        normal(device, 128, 32, seed=1) / 8,
        normal(device, 128, 32, seed=2) / 8,
        -normal(device, 128, dtype="float32", seed=3).abs() / 8,
    )


def _scan_expected(x, b, c, a):
    import torch

    x, b, c = x.float(), b.float(), c.float()
    total = a.cumsum(0)
    weights = (c @ b.T * torch.exp(total[:, None] - total[None, :])).tril()
    return (weights @ x).half()


def _decayed_inputs(device):
    return normal(device, 64, 128, dtype="float32"), normal(device, 64, 128, dtype="float32", seed=1).sigmoid()


def _decayed_expected(x, a):
    import torch

    h, rows = torch.zeros_like(x[0]), []
    for row, decay in zip(x, a, strict=True):
        h = h * decay + row
        rows.append(h)
    return torch.stack(rows)


def _rows(device):
    return (normal(device, 32, 256, dtype="float32"),)


TWO = (-2, -1)

KERNELS = (
    Reference("two_pipelines", two_pipelines, _two_inputs, _two_expected, out_idx=TWO, atol=5e-2),
    Reference(
        "two_pipelines_of_wider_tiles",
        functools.partial(two_pipelines, kt=32, threads=256),
        _two_inputs,
        _two_expected,
        out_idx=TWO,
        atol=5e-2,
    ),
    Reference("delta_step", delta_step, _delta_inputs, _delta_expected, out_idx=TWO, atol=5e-2),
    Reference("running_sums", running_sums, _rows, lambda x: x.cumsum(1)),
    Reference(
        "running_sums_from_behind",
        functools.partial(running_sums, reverse=True, block=4, threads=64),
        _rows,
        lambda x: x.flip(1).cumsum(1).flip(1),
    ),
    Reference("chunk_scan", chunk_scan, _scan_inputs, _scan_expected, rtol=3e-2, atol=3e-2),
    Reference("decayed_rows", decayed_rows, _decayed_inputs, _decayed_expected),
    Reference("doubling_scan", doubling_scan, lambda d: (normal(d, 4, 128, dtype="float32"),), lambda x: x.cumsum(1)),
)
