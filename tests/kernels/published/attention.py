"""Attention as published: forward, backward, decoding, windows, linear."""

import functools

import tilelang.language as T

from kernels.reference import HOPPER, Reference, integers, normal

LENGTH, DIM, HEADS = 128, 64, 2


def forward(causal=False, window=0, stages=2, threads=128, staged=True, length=LENGTH, dim=DIM, bm=64, bn=64):
    """The forward pass with its log-sum-exp, the output stored by way of the queries' shared memory or its own."""
    shape = (HEADS, length, dim)

    @T.prim_func
    def forward(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        O: T.Tensor(shape, "float16"),  # noqa: E741
        L: T.Tensor((HEADS, length), "float32"),
    ):
        with T.Kernel(length // bm, HEADS, threads=threads) as (bx, by):
            q = T.alloc_shared((bm, dim), "float16")
            k = T.alloc_shared((bn, dim), "float16")
            v = T.alloc_shared((bn, dim), "float16")
            o_shared = T.alloc_shared((bm, dim), "float16")
            s = T.alloc_fragment((bm, bn), "float32")
            p = T.alloc_fragment((bm, bn), "float16")
            o = T.alloc_fragment((bm, dim), "float32")
            highest = T.alloc_fragment((bm,), "float32")
            previous = T.alloc_fragment((bm,), "float32")
            rescale = T.alloc_fragment((bm,), "float32")
            part = T.alloc_fragment((bm,), "float32")
            total = T.alloc_fragment((bm,), "float32")
            T.copy(Q[by, bx * bm : bx * bm + bm, 0:dim], q)
            T.clear(o)
            T.clear(total)
            T.fill(highest, -1e30)
            for t in T.Pipelined(length // bn, num_stages=stages):
                T.copy(K[by, t * bn : t * bn + bn, 0:dim], k)
                if causal:
                    for i, j in T.Parallel(bm, bn):
                        s[i, j] = T.if_then_else(bx * bm + i >= t * bn + j, 0, -1e30)
                elif window:
                    for i, j in T.Parallel(bm, bn):
                        s[i, j] = T.if_then_else(
                            (bx * bm + i - (t * bn + j) < window) & (bx * bm + i >= t * bn + j), 0, -1e30
                        )
                else:
                    T.clear(s)
                T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(highest, previous)
                T.reduce_max(s, highest, dim=1, clear=False)
                for i in T.Parallel(bm):
                    rescale[i] = T.exp(previous[i] / 8 - highest[i] / 8)
                for i, j in T.Parallel(bm, bn):
                    s[i, j] = T.exp(s[i, j] / 8 - highest[i] / 8)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(bm):
                    total[i] = total[i] * rescale[i] + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(bm, dim):
                    o[i, j] *= rescale[i]
                T.copy(V[by, t * bn : t * bn + bn, 0:dim], v)
                T.gemm(p, v, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bm, dim):
                o[i, j] /= total[i]
            if staged:
                T.copy(o, o_shared)
                T.copy(o_shared, O[by, bx * bm : bx * bm + bm, 0:dim])
            else:
                T.copy(o, O[by, bx * bm : bx * bm + bm, 0:dim])
            for i in T.Parallel(bm):
                L[by, bx * bm + i] = T.log(total[i]) + highest[i] / 8

    return forward


def backward_preprocess(length=LENGTH, dim=DIM, block=32, threads=128):
    """The row sums of output times gradient."""

    @T.prim_func
    def backward_preprocess(
        O: T.Tensor((HEADS, length, dim), "float16"),  # noqa: E741
        DO: T.Tensor((HEADS, length, dim), "float16"),
        D: T.Tensor((HEADS, length), "float32"),
    ):
        with T.Kernel(length // block, HEADS, threads=threads) as (bx, by):
            o = T.alloc_fragment((block, 32), "float16")
            do = T.alloc_fragment((block, 32), "float16")
            product = T.alloc_fragment((block, 32), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.clear(product)
            for k in range(dim // 32):
                T.copy(O[by, bx * block : bx * block + block, k * 32 : k * 32 + 32], o)
                T.copy(DO[by, bx * block : bx * block + block, k * 32 : k * 32 + 32], do)
                for i, j in T.Parallel(block, 32):
                    product[i, j] += T.cast(o[i, j], "float32") * T.cast(do[i, j], "float32")
            T.reduce_sum(product, total, dim=1)
            T.copy(total, D[by, bx * block : bx * block + block])

    return backward_preprocess


def backward(length=LENGTH, dim=DIM, bm=64, bn=32, stages=2, threads=128, atomic=True):
    """The gradients of keys and values by blocks of them; that of the queries by atomic sums."""
    shape = (HEADS, length, dim)

    @T.prim_func
    def backward(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        DO: T.Tensor(shape, "float16"),
        L: T.Tensor((HEADS, length), "float32"),
        D: T.Tensor((HEADS, length), "float32"),
        DQ: T.Tensor(shape, "float32"),
        DK: T.Tensor(shape, "float16"),
        DV: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(length // bm, HEADS, threads=threads) as (bx, by):
            k = T.alloc_shared((bm, dim), "float16")
            v = T.alloc_shared((bm, dim), "float16")
            q = T.alloc_shared((bn, dim), "float16")
            do = T.alloc_shared((bn, dim), "float16")
            ds_shared = T.alloc_shared((bm, bn), "float16")
            lse = T.alloc_shared((bn,), "float32")
            delta = T.alloc_shared((bn,), "float32")
            dk_shared = T.alloc_shared((bm, dim), "float16")
            dv_shared = T.alloc_shared((bm, dim), "float16")
            s = T.alloc_fragment((bm, bn), "float32")
            ds = T.alloc_fragment((bm, bn), "float32")
            s_half = T.alloc_fragment((bm, bn), "float16")
            ds_half = T.alloc_fragment((bm, bn), "float16")
            dv = T.alloc_fragment((bm, dim), "float32")
            dk = T.alloc_fragment((bm, dim), "float32")
            dq = T.alloc_fragment((bn, dim), "float32")
            T.copy(K[by, bx * bm : bx * bm + bm, 0:dim], k)
            T.copy(V[by, bx * bm : bx * bm + bm, 0:dim], v)
            T.clear(dv)
            T.clear(dk)
            for t in T.Pipelined(length // bn, num_stages=stages):
                T.copy(Q[by, t * bn : t * bn + bn, 0:dim], q)
                T.clear(s)
                T.gemm(k, q, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(L[by, t * bn : t * bn + bn], lse)
                for i, j in T.Parallel(bm, bn):
                    s[i, j] = T.exp(s[i, j] / 8 - lse[j])
                T.copy(DO[by, t * bn : t * bn + bn, 0:dim], do)
                T.clear(ds)
                T.gemm(v, do, ds, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(s, s_half)
                T.gemm(s_half, do, dv, policy=T.GemmWarpPolicy.FullRow)
                T.copy(D[by, t * bn : t * bn + bn], delta)
                for i, j in T.Parallel(bm, bn):
                    ds_half[i, j] = s[i, j] * (ds[i, j] - delta[j]) / 8
                T.gemm(ds_half, q, dk, policy=T.GemmWarpPolicy.FullRow)
                T.copy(ds_half, ds_shared)
                T.clear(dq)
                T.gemm(ds_shared, k, dq, transpose_A=True)
                if atomic:
                    T.atomic_add(DQ[by, t * bn : t * bn + bn, 0:dim], dq)
                else:
                    for i, j in T.Parallel(bn, dim):
                        T.atomic_add(DQ[by, t * bn + i, j], dq[i, j])
            T.copy(dv, dv_shared)
            T.copy(dk, dk_shared)
            T.copy(dv_shared, DV[by, bx * bm : bx * bm + bm, 0:dim])
            T.copy(dk_shared, DK[by, bx * bm : bx * bm + bm, 0:dim])

    return backward


def paged_decoding(pages=8, page=32, dim=DIM, group=16, stages=2, threads=128):
    """One query for a group of heads against keys and values in pages, of a length known at run time."""

    @T.prim_func
    def paged_decoding(
        Q: T.Tensor((4, group, dim), "float16"),
        K: T.Tensor((pages, page, dim), "float16"),
        V: T.Tensor((pages, page, dim), "float16"),
        Table: T.Tensor((4, pages), "int32"),
        Length: T.Tensor((4,), "int32"),
        O: T.Tensor((4, group, dim), "float16"),  # noqa: E741
    ):
        with T.Kernel(4, threads=threads) as b:
            q = T.alloc_shared((group, dim), "float16")
            k = T.alloc_shared((page, dim), "float16")
            v = T.alloc_shared((page, dim), "float16")
            o_shared = T.alloc_shared((group, dim), "float16")
            s_shared = T.alloc_shared((group, page), "float16")
            s = T.alloc_fragment((group, page), "float32")
            o = T.alloc_fragment((group, dim), "float32")
            highest = T.alloc_fragment((group,), "float32")
            previous = T.alloc_fragment((group,), "float32")
            part = T.alloc_fragment((group,), "float32")
            total = T.alloc_fragment((group,), "float32")
            T.copy(Q[b, 0:group, 0:dim], q)
            T.clear(o)
            T.clear(total)
            T.fill(highest, -1e30)
            for t in T.serial(T.ceildiv(Length[b], page)):
                T.copy(K[Table[b, t], 0:page, 0:dim], k)
                T.clear(s)
                T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
                for i, j in T.Parallel(group, page):
                    s[i, j] = T.if_then_else(t * page + j < Length[b], s[i, j], -1e30)
                T.copy(highest, previous)
                T.reduce_max(s, highest, dim=1, clear=False)
                for i, j in T.Parallel(group, page):
                    s[i, j] = T.exp(s[i, j] / 8 - highest[i] / 8)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(group):
                    total[i] = total[i] * T.exp(previous[i] / 8 - highest[i] / 8) + part[i]
                for i, j in T.Parallel(group, dim):
                    o[i, j] *= T.exp(previous[i] / 8 - highest[i] / 8)
                T.copy(s, s_shared)
                T.copy(V[Table[b, t], 0:page, 0:dim], v)
                T.gemm(s_shared, v, o, policy=T.GemmWarpPolicy.FullCol)
            for i, j in T.Parallel(group, dim):
                o[i, j] /= total[i]
            T.copy(o, o_shared)
            T.copy(o_shared, O[b, 0:group, 0:dim])

    return paged_decoding


def combine(parts=8, rows=32, dim=DIM, threads=128):
    """The partial results of split decoding, weighted by their log-sum-exps."""

    @T.prim_func
    def combine(
        L: T.Tensor((rows, parts), "float32"),
        P: T.Tensor((rows, parts, dim), "float32"),
        O: T.Tensor((rows, dim), "float16"),  # noqa: E741
    ):
        with T.Kernel(rows, threads=threads) as row:
            lse = T.alloc_shared((parts,), "float32")
            part = T.alloc_fragment((dim,), "float32")
            o = T.alloc_fragment((dim,), "float32")
            local = T.alloc_local((1,), "float32")
            highest = T.alloc_local((1,), "float32")
            total = T.alloc_local((1,), "float32")
            T.copy(L[row, 0:parts], lse)
            T.clear(o)
            highest[0] = -1e30
            total[0] = 0.0
            for k in T.serial(parts):
                highest[0] = T.max(highest[0], lse[k])
            for k in T.serial(parts):
                total[0] += T.exp(lse[k] - highest[0])
            for k in T.serial(parts):
                local[0] = T.exp(lse[k] - highest[0]) / total[0]
                T.copy(P[row, k, 0:dim], part)
                for j in T.Parallel(dim):
                    o[j] += part[j] * local[0]
            for j in T.Parallel(dim):
                O[row, j] = o[j]

    return combine


def linear(length=LENGTH, dim=DIM, chunk=32, stages=2, threads=128):
    """Causal linear attention by chunks, the state in registers and as an operand in shared memory."""
    shape = (HEADS, length, dim)

    @T.prim_func
    def linear(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        O: T.Tensor(shape, "float16"),  # noqa: E741
    ):
        with T.Kernel(HEADS, threads=threads) as h:
            q = T.alloc_shared((chunk, dim), "float16")
            k = T.alloc_shared((chunk, dim), "float16")
            v = T.alloc_shared((chunk, dim), "float16")
            s_shared = T.alloc_shared((chunk, chunk), "float16")
            state_shared = T.alloc_shared((dim, dim), "float16")
            out = T.alloc_shared((chunk, dim), "float16")
            s = T.alloc_fragment((chunk, chunk), "float32")
            o = T.alloc_fragment((chunk, dim), "float32")
            state = T.alloc_fragment((dim, dim), "float32")
            T.clear(state)
            for t in T.Pipelined(length // chunk, num_stages=stages):
                T.copy(Q[h, t * chunk : t * chunk + chunk, 0:dim], q)
                T.copy(K[h, t * chunk : t * chunk + chunk, 0:dim], k)
                T.copy(V[h, t * chunk : t * chunk + chunk, 0:dim], v)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    s_shared[i, j] = T.if_then_else(i >= j, s[i, j], 0)
                T.gemm(s_shared, v, o, clear_accum=True)
                T.copy(state, state_shared)
                T.gemm(q, state_shared, o)
                T.gemm(k, v, state, transpose_A=True)
                T.copy(o, out)
                T.copy(out, O[h, t * chunk : t * chunk + chunk, 0:dim])

    return linear


def _qkv(device, count=3):
    return tuple(normal(device, HEADS, LENGTH, DIM, seed=i) for i in range(count))


def _forward_expected(causal, window, q, k, v):
    import torch

    s = q.float() @ k.float().transpose(1, 2) / 8
    at = torch.arange(LENGTH, device=q.device)
    if causal or window:
        s = s.masked_fill(at[:, None] < at[None, :], -torch.inf)
    if window:
        s = s.masked_fill(at[:, None] - at[None, :] >= window, -torch.inf)
    return (s.softmax(2) @ v.float()).half(), s.logsumexp(2)


def _forward(name, causal=False, window=0, **parameters):
    return Reference(
        name,
        functools.partial(forward, causal=causal, window=window, **parameters),
        _qkv,
        functools.partial(_forward_expected, causal, window),
        out_idx=(-2, -1),
        rtol=3e-2,
        atol=3e-2,
    )


def _backward_inputs(device):
    import torch

    q, k, v, do = _qkv(device, 4)
    o, lse = _forward_expected(False, 0, q, k, v)
    delta = (o.float() * do.float()).sum(2)
    return q, k, v, do, lse, delta, torch.zeros_like(q, dtype=torch.float32), torch.zeros_like(k), torch.zeros_like(v)


def _backward_expected(q, k, v, do, *_):
    q, k, v = (x.float().requires_grad_() for x in (q, k, v))
    ((q @ k.transpose(1, 2) / 8).softmax(2) @ v).backward(do.float())
    return q.grad, k.grad.half(), v.grad.half()


def _paged_inputs(device):
    import torch

    table = integers(device, 4, 8, low=0, high=8)
    length = torch.tensor([20, 64, 250, 129], dtype=torch.int32, device=device)
    return (
        normal(device, 4, 16, DIM),
        normal(device, 8, 32, DIM, seed=1),
        normal(device, 8, 32, DIM, seed=2),
        table,
        length,
    )


def _paged_expected(q, k, v, table, length):
    import torch

    rows = []
    for b in range(4):
        n = int(length[b])
        keys, values = (x[table[b].long()].reshape(-1, DIM)[:n].float() for x in (k, v))
        rows.append((q[b].float() @ keys.T / 8).softmax(1) @ values)
    return torch.stack(rows).half()


def _combine_expected(lse, parts):
    return (lse.softmax(1)[:, :, None] * parts).sum(1).half()


def _linear_inputs(device):
    q, k, v = _qkv(device)
    return q / 8, k / 8, v


def _linear_expected(q, k, v):
    return ((q.float() @ k.float().transpose(1, 2)).tril() @ v.float()).half()


KERNELS = (
    _forward("attention_forward"),
    _forward("attention_causal", causal=True),
    _forward("attention_window", window=40),
    _forward("attention_unstaged", staged=False, stages=1),
    _forward("attention_two_warpgroups", bm=128, threads=256, stages=2),
    Reference(
        "attention_preprocess", backward_preprocess, lambda d: _qkv(d, 2), lambda o, do: (o.float() * do.float()).sum(2)
    ),
    Reference(
        "attention_backward_by_keys",
        backward,
        _backward_inputs,
        _backward_expected,
        out_idx=(),
        exact=False,
        rtol=5e-2,
        atol=5e-2,
    ),
    Reference(
        "attention_backward_scalar_atomics",
        functools.partial(backward, atomic=False, stages=0),
        _backward_inputs,
        _backward_expected,
        out_idx=(),
        architectures=HOPPER,
        exact=False,
        rtol=5e-2,
        atol=5e-2,
    ),
    Reference("paged_decoding", paged_decoding, _paged_inputs, _paged_expected, rtol=3e-2, atol=3e-2),
    Reference(
        "combine",
        combine,
        lambda d: (normal(d, 32, 8, dtype="float32"), normal(d, 32, 8, DIM, dtype="float32", seed=1)),
        _combine_expected,
    ),
    Reference("linear_attention", linear, _linear_inputs, _linear_expected, rtol=3e-2, atol=3e-2),
)
