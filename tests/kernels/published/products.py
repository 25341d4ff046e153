"""Matrix products as published: epilogues, packed weights, split sums, gates, batches, vectors."""

import functools

import tilelang.language as T

from kernels.reference import HOPPER, Reference, integers, normal

M, N, K = 128, 128, 256


def gemm(
    m=M,
    n=N,
    k=K,
    bm=64,
    bn=64,
    bk=32,
    stages=2,
    threads=128,
    epilogue="",
    staged=False,
    accumulate="float32",
    swizzle=0,
):
    """A product with an epilogue, its result stored from registers or by way of shared memory (TMA where there is)."""

    @T.prim_func
    def gemm(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        Bias: T.Tensor((n,), "float16"),
        R: T.Tensor((m, n), "float16"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(n // bn, m // bm, threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            bias = T.alloc_shared((bn,), "float16")
            residual = T.alloc_shared((bm, bn), "float16")
            out = T.alloc_shared((bm, bn), "float16")
            c = T.alloc_fragment((bm, bn), accumulate)
            if swizzle:
                T.use_swizzle(panel_size=swizzle)
            T.clear(c)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                T.copy(A[by * bm, ko * bk], a)
                T.copy(B[ko * bk, bx * bn], b)
                T.gemm(a, b, c)
            if "bias" in epilogue:
                T.copy(Bias[bx * bn : bx * bn + bn], bias)
                for i, j in T.Parallel(bm, bn):
                    c[i, j] = c[i, j] + bias[j]
            if "relu" in epilogue:
                for i, j in T.Parallel(bm, bn):
                    c[i, j] = T.max(c[i, j], 0)
            if "residual" in epilogue:
                T.copy(R[by * bm, bx * bn], residual)
                for i, j in T.Parallel(bm, bn):
                    c[i, j] = c[i, j] + residual[i, j]
            if staged:
                T.copy(c, out)
                T.copy(out, C[by * bm, bx * bn])
            else:
                T.copy(c, C[by * bm, bx * bn])

    return gemm


def gated_gemm(m=M, n=N, k=K, bm=64, bn=64, bk=32, stages=2, threads=128):
    """Two products of one input, one the other's gate."""

    @T.prim_func
    def gated_gemm(
        X: T.Tensor((m, k), "float16"),
        W: T.Tensor((n, k), "float16"),
        V: T.Tensor((n, k), "float16"),
        Y: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(n // bn, m // bm, threads=threads) as (bx, by):
            x = T.alloc_shared((bm, bk), "float16")
            w = T.alloc_shared((bn, bk), "float16")
            v = T.alloc_shared((bn, bk), "float16")
            y = T.alloc_shared((bm, bn), "float16")
            gate = T.alloc_fragment((bm, bn), "float32")
            up = T.alloc_fragment((bm, bn), "float32")
            T.clear(gate)
            T.clear(up)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                T.copy(X[by * bm, ko * bk], x)
                T.copy(W[bx * bn, ko * bk], w)
                T.copy(V[bx * bn, ko * bk], v)
                T.gemm(x, w, gate, transpose_B=True)
                T.gemm(x, v, up, transpose_B=True)
            for i, j in T.Parallel(bm, bn):
                up[i, j] = up[i, j] * gate[i, j] / (1.0 + T.exp(-gate[i, j]))
            T.copy(up, y)
            T.copy(y, Y[by * bm, bx * bn])

    return gated_gemm


def split_k(m=M, n=N, k=512, bm=64, bn=64, bk=32, split=4, stages=2, staged=False, threads=128):
    """Each CTA sums a part of k and adds it to the result atomically."""

    @T.prim_func
    def split_k(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(n // bn, m // bm, split, threads=threads) as (bx, by, bz):
            a = T.alloc_shared((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            out = T.alloc_shared((bm, bn), "float32")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for ko in T.Pipelined(k // split // bk, num_stages=stages):
                T.copy(A[by * bm, bz * (k // split) + ko * bk], a)
                T.copy(B[bz * (k // split) + ko * bk, bx * bn], b)
                T.gemm(a, b, c)
            if staged:
                T.copy(c, out)
                for i, j in T.Parallel(bm, bn):
                    T.atomic_add(C[by * bm + i, bx * bn + j], out[i, j])
            else:
                T.atomic_add(C[by * bm, bx * bn], c)

    return split_k


def dequantising(m=64, n=128, k=256, bm=64, bn=64, bk=64, stages=2, dtype="int8", scaled=True, threads=128):
    """8-bit weights widened by way of registers, with a scale for each output."""

    @T.prim_func
    def dequantising(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((n, k), dtype),
        S: T.Tensor((n,), "float16"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(n // bn, m // bm, threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), "float16")
            packed = T.alloc_shared((bn, bk), dtype)
            narrow = T.alloc_fragment((bn, bk), dtype)
            wide = T.alloc_fragment((bn, bk), "float16")
            b = T.alloc_shared((bn, bk), "float16")
            s = T.alloc_shared((bn,), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.copy(S[bx * bn : bx * bn + bn], s)
            T.clear(c)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                T.copy(A[by * bm, ko * bk], a)
                T.copy(B[bx * bn, ko * bk], packed)
                T.copy(packed, narrow)
                for i, j in T.Parallel(bn, bk):
                    wide[i, j] = T.cast(narrow[i, j], "float16")
                T.copy(wide, b)
                T.gemm(a, b, c, transpose_B=True)
            if scaled:
                for i, j in T.Parallel(bm, bn):
                    c[i, j] = c[i, j] * s[j]
            T.copy(c, C[by * bm, bx * bn])

    return dequantising


def block_scaled_fp8(m=64, n=128, k=512, bm=64, bn=64, bk=128, stages=2, threads=128):
    """fp8 operands with a scale for each row and block of k, the partial sums scaled and added in registers."""

    @T.prim_func
    def block_scaled_fp8(
        A: T.Tensor((m, k), "float8_e4m3fn"),
        B: T.Tensor((n, k), "float8_e4m3fn"),
        SA: T.Tensor((m, k // bk), "float32"),
        SB: T.Tensor((n // bn, k // bk), "float32"),
        C: T.Tensor((m, n), "bfloat16"),
    ):
        with T.Kernel(n // bn, m // bm, threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), "float8_e4m3fn")
            b = T.alloc_shared((bn, bk), "float8_e4m3fn")
            scale = T.alloc_shared((bm,), "float32")
            out = T.alloc_shared((bm, bn), "bfloat16")
            part = T.alloc_fragment((bm, bn), "float32")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            T.clear(part)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                T.copy(A[by * bm, ko * bk], a)
                T.copy(B[bx * bn, ko * bk], b)
                for i in T.Parallel(bm):
                    scale[i] = SA[by * bm + i, ko] * SB[bx, ko]
                T.gemm(a, b, part, transpose_B=True)
                for i, j in T.Parallel(bm, bn):
                    c[i, j] += part[i, j] * scale[i]
                T.clear(part)
            T.copy(c, out)
            T.copy(out, C[by * bm, bx * bn])

    return block_scaled_fp8


def block_sparse(m=M, n=N, k=K, bm=64, bn=64, bk=32, stages=2, threads=128):
    """Blocks of k that a mask leaves out, under a guard inside the pipeline."""

    @T.prim_func
    def block_sparse(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        Mask: T.Tensor((m // bm, n // bn, k // bk), "int32"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(n // bn, m // bm, threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            out = T.alloc_shared((bm, bn), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                if Mask[by, bx, ko] != 0:
                    T.copy(A[by * bm, ko * bk], a)
                    T.copy(B[ko * bk, bx * bn], b)
                    T.gemm(a, b, c)
            T.copy(c, out)
            T.copy(out, C[by * bm, bx * bn])

    return block_sparse


def batched(batch=4, m=64, n=64, k=128, bk=32, stages=3, threads=128):
    @T.prim_func
    def batched(
        A: T.Tensor((batch, m, k), "float16"),
        B: T.Tensor((batch, k, n), "float16"),
        C: T.Tensor((batch, m, n), "float16"),
    ):
        with T.Kernel(n // 64, m // 64, batch, threads=threads) as (bx, by, bz):
            a = T.alloc_shared((64, bk), "float16")
            b = T.alloc_shared((bk, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                T.copy(A[bz, by * 64 : by * 64 + 64, ko * bk : ko * bk + bk], a)
                T.copy(B[bz, ko * bk : ko * bk + bk, bx * 64 : bx * 64 + 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[bz, by * 64 : by * 64 + 64, bx * 64 : bx * 64 + 64])

    return batched


def ragged(m=100, n=90, k=70, bm=64, bn=64, bk=32, stages=2, threads=128):
    """No extent is a multiple of its block."""

    @T.prim_func
    def ragged(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                T.copy(A[by * bm, ko * bk], a)
                T.copy(B[ko * bk, bx * bn], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * bm, bx * bn])

    return ragged


def two_products(m=64, n=64, k=128, bk=32, stages=2, threads=128):
    """A chain of two products: the first result is the second one's operand, each with a pipeline of its own."""

    @T.prim_func
    def two_products(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        D: T.Tensor((n, k), "float16"),
        C: T.Tensor((m, k), "float16"),
    ):
        with T.Kernel(m // 64, threads=threads) as by:
            a = T.alloc_shared((64, bk), "float16")
            b = T.alloc_shared((bk, n), "float16")
            d = T.alloc_shared((n, bk), "float16")
            middle = T.alloc_shared((64, n), "float16")
            out = T.alloc_shared((64, bk), "float16")
            c = T.alloc_fragment((64, n), "float32")
            e = T.alloc_fragment((64, bk), "float32")
            T.clear(c)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                T.copy(A[by * 64, ko * bk], a)
                T.copy(B[ko * bk, 0], b)
                T.gemm(a, b, c)
            T.copy(c, middle)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                T.copy(D[0, ko * bk], d)
                T.gemm(middle, d, e, clear_accum=True)
                T.copy(e, out)
                T.copy(out, C[by * 64, ko * bk])

    return two_products


def gemv(n=256, k=256, rows=4, lanes=32):
    """A row to a warp, its lanes' sums reduced across threads."""

    @T.prim_func
    def gemv(A: T.Tensor((n, k), "float16"), X: T.Tensor((k,), "float16"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // rows, threads=(lanes, rows)) as bx:
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            total = T.alloc_local((1,), "float32")
            whole = T.alloc_local((1,), "float32")
            T.clear(total)
            for ko in T.serial(k // lanes):
                total[0] += A[bx * rows + ty, ko * lanes + tx] * X[ko * lanes + tx]
            with T.attr(
                T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.reinterpret(T.uint64(0), "handle")
            ):
                T.evaluate(T.tvm_thread_allreduce(T.uint32(1), total[0], True, whole[0], tx, dtype="handle"))
            if tx == 0:
                Y[bx * rows + ty] = whole[0]

    return gemv


def shared_gemv(n=128, k=512, bn=32, bk=128, threads=128):
    """Tiles of the matrix in shared memory, sums by a reduction over rows."""

    @T.prim_func
    def shared_gemv(A: T.Tensor((n, k), "float16"), X: T.Tensor((k,), "float16"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // bn, threads=threads) as bx:
            a = T.alloc_shared((bn, bk), "float16")
            x = T.alloc_shared((bk,), "float16")
            product = T.alloc_fragment((bn, bk), "float32")
            part = T.alloc_fragment((bn,), "float32")
            total = T.alloc_fragment((bn,), "float32")
            T.clear(total)
            for ko in T.Pipelined(k // bk, num_stages=2):
                T.copy(A[bx * bn, ko * bk], a)
                T.copy(X[ko * bk : ko * bk + bk], x)
                for i, j in T.Parallel(bn, bk):
                    product[i, j] = T.cast(a[i, j], "float32") * T.cast(x[j], "float32")
                T.reduce_sum(product, part, dim=1)
                for i in T.Parallel(bn):
                    total[i] += part[i]
            T.copy(total, Y[bx * bn : bx * bn + bn])

    return shared_gemv


def _operands(device, m=M, n=N, k=K):
    return normal(device, m, k), normal(device, k, n, seed=1)


def _gemm_inputs(device):
    return (*_operands(device), normal(device, N, seed=2), normal(device, M, N, seed=3))


def _gemm_expected(epilogue, a, b, bias, residual):
    c = a.float() @ b.float()
    if "bias" in epilogue:
        c = c + bias.float()
    if "relu" in epilogue:
        c = c.relu()
    if "residual" in epilogue:
        c = c + residual.float()
    return c.half()


def _gemm(name, **parameters):
    epilogue = parameters.get("epilogue", "")
    return Reference(
        name,
        functools.partial(gemm, **parameters),
        _gemm_inputs,
        functools.partial(_gemm_expected, epilogue),
        rtol=3e-2,
        atol=3e-2,
    )


def _gated_inputs(device):
    return normal(device, M, K), normal(device, N, K, seed=1) / 16, normal(device, N, K, seed=2) / 16


def _gated_expected(x, w, v):
    import torch

    return (torch.nn.functional.silu(x.float() @ w.float().T) * (x.float() @ v.float().T)).half()


def _split_inputs(device):
    import torch

    return (*_operands(device, k=512), torch.zeros(M, N, device=device))


def _split_expected(a, b, _):
    return a.float() @ b.float()


def _narrow_inputs(device):
    return (
        normal(device, 64, 256),
        integers(device, 128, 256, low=-8, high=8, dtype="int8"),
        normal(device, 128, seed=1),
    )


def _narrow_expected(a, b, s):
    return (a.float() @ b.float().T * s.float()).half()


def _scaled_inputs(device):
    import torch

    return (
        normal(device, 64, 512).to(torch.float8_e4m3fn),
        normal(device, 128, 512, seed=1).to(torch.float8_e4m3fn),
        normal(device, 64, 4, dtype="float32", seed=2),
        normal(device, 2, 4, dtype="float32", seed=3),
    )


def _scaled_expected(a, b, sa, sb):
    import torch

    wide = b.float() * sb.repeat_interleave(64, 0).repeat_interleave(128, 1)
    return (a.float() * sa.repeat_interleave(128, 1) @ wide.T).to(torch.bfloat16)


def _sparse_inputs(device):
    return (*_operands(device), integers(device, 2, 2, 8, low=0, high=2))


def _sparse_expected(a, b, mask):
    kept = mask.repeat_interleave(64, 0).repeat_interleave(64, 1).repeat_interleave(32, 2).float()
    return (a.float()[:, None, :] * b.float().T[None] * kept).sum(2).half()


KERNELS = (
    _gemm("gemm_staged", staged=True),
    _gemm("gemm_bias_relu", epilogue="bias relu", stages=3),
    _gemm("gemm_residual_staged", epilogue="residual", staged=True),
    _gemm("gemm_all_epilogues", epilogue="bias relu residual", staged=True, stages=3, threads=256),
    _gemm("gemm_unpipelined", stages=0, bk=64),
    _gemm("gemm_swizzled", swizzle=3, staged=True),
    Reference("gated_gemm", gated_gemm, _gated_inputs, _gated_expected, atol=5e-2),
    Reference("split_sum", split_k, _split_inputs, _split_expected, out_idx=(), exact=False, atol=5e-2),
    Reference(
        "split_sum_staged",
        functools.partial(split_k, staged=True),
        _split_inputs,
        _split_expected,
        out_idx=(),
        exact=False,
        atol=5e-2,
    ),
    Reference("dequantising_int8", dequantising, _narrow_inputs, _narrow_expected, rtol=3e-2, atol=1e-1),
    Reference(
        "block_scaled_fp8",
        block_scaled_fp8,
        _scaled_inputs,
        _scaled_expected,
        architectures=HOPPER,
        rtol=5e-2,
        atol=1,
    ),
    Reference("block_sparse_gemm", block_sparse, _sparse_inputs, _sparse_expected, rtol=3e-2, atol=5e-2),
    Reference(
        "batched_gemm",
        batched,
        lambda d: (normal(d, 4, 64, 128), normal(d, 4, 128, 64, seed=1)),
        lambda a, b: (a.float() @ b.float()).half(),
        rtol=3e-2,
        atol=3e-2,
    ),
    Reference(
        "ragged_gemm",
        ragged,
        lambda d: (normal(d, 100, 70), normal(d, 70, 90, seed=1)),
        lambda a, b: a.float() @ b.float(),
    ),
    Reference(
        "two_products",
        two_products,
        lambda d: (normal(d, 64, 128), normal(d, 128, 64, seed=1) / 16, normal(d, 64, 128, seed=2)),
        lambda a, b, d: ((a.float() @ b.float()).half().float() @ d.float()).half(),
        rtol=3e-2,
        atol=5e-2,
    ),
    Reference(
        "gemv_threads",
        gemv,
        lambda d: (normal(d, 256, 256), normal(d, 256, seed=1)),
        lambda a, x: a.float() @ x.float(),
        rtol=5e-2,
        atol=2e-1,
    ),
    Reference(
        "gemv_shared",
        shared_gemv,
        lambda d: (normal(d, 128, 512), normal(d, 512, seed=1)),
        lambda a, x: a.float() @ x.float(),
    ),
)
