"""What a mixture of experts runs: the choice of the experts, a grouped product, a gather, a product and a scatter."""

import tilelang.language as T

from kernels.reference import Reference, normal
from tltrace_nb import trace

SIZES = (100, 0, 37, 128)
"""Rows of the groups of the grouped product."""


def top_k(rows=32, experts=32, k=4, threads=128):
    """A warp chooses the experts of one row: each lane holds one expert's score, the best one is found by shuffles."""

    @T.prim_func
    def top_k(
        Scores: T.Tensor((rows, experts), "float32"),
        Values: T.Tensor((rows, k), "float32"),
        Indices: T.Tensor((rows, k), "int32"),
    ):
        with T.Kernel(rows // (threads // 32), threads=threads) as bx:
            tx = T.get_thread_binding()
            lane = tx % 32
            row = bx * (threads // 32) + tx // 32
            mine = T.alloc_var("float32")
            best = T.alloc_var("float32")
            who = T.alloc_var("int32")
            mine = Scores[row, lane]
            with trace.group("warps", per="warp"):
                for i in T.serial(k):
                    with trace.range("choose", payload=i):
                        best = mine
                        who = lane
                        for step in T.unroll(5):
                            other = T.shfl_xor(best, 16 >> step)
                            whose = T.shfl_xor(who, 16 >> step)
                            if other > best or (other == best and whose < who):
                                best = other
                                who = whose
                        if lane == 0:
                            Values[row, i] = best
                            Indices[row, i] = who
                        if lane == who:
                            mine = -T.infinity("float32")

    return top_k


def _top_k_expected(scores):
    values, indices = scores.topk(4, dim=1)
    return values, indices.int()


def grouped_gemm(n=128, k=128, bm=64, bn=64, bk=32, stages=2):
    """Groups of rows with a matrix each; a CTA finds the group of its tile. Tiles do not reach over groups."""
    m, groups = sum(SIZES), len(SIZES)
    tiles = sum(-(-size // bm) for size in SIZES)

    @T.prim_func
    def grouped_gemm(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((groups, k, n), "float16"),
        Starts: T.Tensor((groups + 1,), "int32"),
        TileStarts: T.Tensor((groups + 1,), "int32"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(n // bn, tiles, threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            group = T.alloc_var("int32", init=0)
            with trace.range("find group", payload=by):
                for g in T.serial(groups):
                    if TileStarts[g] <= by:
                        group = g
            first = Starts[group] + (by - TileStarts[group]) * bm
            left = Starts[group + 1] - first
            T.clear(C_local)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                with trace.range("load", payload=ko):
                    T.copy(A[first, ko * bk], A_shared)
                    T.copy(B[group, ko * bk, bx * bn], B_shared)
                with trace.range("mma", payload=ko):
                    T.gemm(A_shared, B_shared, C_local)
            with trace.range("store", payload=group):
                for i, j in T.Parallel(bm, bn):
                    if i < left:
                        C[first + i, bx * bn + j] = C_local[i, j]

    return grouped_gemm


def _grouped_inputs(device):
    import torch

    sizes = torch.tensor(SIZES)
    starts, tile_starts = (
        torch.cat([torch.zeros(1, dtype=torch.int64), s.cumsum(0)]).int().to(device) for s in (sizes, -(-sizes // 64))
    )
    return normal(device, sum(SIZES), 128), normal(device, len(SIZES), 128, 128, seed=1), starts, tile_starts


def _grouped_expected(a, b, *_):
    import torch

    parts = [part.float() @ weights.float() for part, weights in zip(a.split(SIZES), b, strict=True)]
    return torch.cat(parts).half()


def experts(tokens=96, experts=4, dim=64, width=128, slots=256, bm=64, bn=64, bk=32):
    """Rows of tokens gathered by their expert, multiplied, weighted, and added to the tokens that they come from.

    A slot whose token is ``tokens`` is empty; all slots of a block of ``bm`` have the same expert.
    """

    @T.prim_func
    def experts(
        X: T.Tensor((tokens, dim), "float16"),
        W: T.Tensor((experts, dim, width), "float16"),
        Token: T.Tensor((slots,), "int32"),
        Weight: T.Tensor((slots,), "float32"),
        Expert: T.Tensor((slots // bm,), "int32"),
        Y: T.Tensor((tokens, width), "float32"),
    ):
        with T.Kernel(width // bn, slots // bm, threads=128) as (bx, by):
            X_shared = T.alloc_shared((bm, bk), "float16")
            W_shared = T.alloc_shared((bk, bn), "float16")
            Y_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(Y_local)
            for ko in T.serial(dim // bk):
                with trace.range("gather", payload=Expert[by]):
                    for i, j in T.Parallel(bm, bk):
                        X_shared[i, j] = T.if_then_else(
                            Token[by * bm + i] < tokens, X[Token[by * bm + i], ko * bk + j], T.float16(0)
                        )
                    T.copy(W[Expert[by], ko * bk, bx * bn], W_shared)
                with trace.range("mma", payload=ko):
                    T.gemm(X_shared, W_shared, Y_local)
            with trace.range("scatter", payload=by):
                for i, j in T.Parallel(bm, bn):
                    if Token[by * bm + i] < tokens:
                        T.atomic_add(Y[Token[by * bm + i], bx * bn + j], Y_local[i, j] * Weight[by * bm + i])

    return experts


def _experts_inputs(device):
    import torch

    expert = torch.arange(4).repeat_interleave(64)
    token = torch.full((256,), 96)
    for e in range(4):  # two experts to a token
        mine = [t for t in range(96) if e in (t % 4, (t + 1) % 4)]
        token[e * 64 : e * 64 + len(mine)] = torch.tensor(mine)
    return (
        normal(device, 96, 64),
        normal(device, 4, 64, 128, seed=1),
        token.int().to(device),
        normal(device, 256, dtype="float32", seed=2).abs(),
        expert[::64].int().to(device),
        torch.zeros(96, 128, device=device),
    )


def _experts_expected(x, w, token, weight, expert, y):
    rows = x.float()[token.clamp(max=95).long()]
    products = (rows[:, None] @ w.float()[expert.repeat_interleave(64).long()])[:, 0] * weight[:, None]
    used = token < 96
    return y.index_add(0, token[used].long(), products[used])


REFERENCES = (
    Reference(
        "top_k",
        top_k,
        lambda device: (normal(device, 32, 32, dtype="float32"),),
        _top_k_expected,
        out_idx=(-2, -1),
        rtol=0,
        atol=0,
    ),
    Reference("grouped_gemm", grouped_gemm, _grouped_inputs, _grouped_expected, atol=0.1),
    Reference("experts", experts, _experts_inputs, _experts_expected, out_idx=(), exact=False, atol=0.1),
)
