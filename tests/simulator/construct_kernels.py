"""Kernels beyond the references: constructs of real kernels, unmarked, each with inputs and PyTorch's result."""

from collections.abc import Callable
from dataclasses import dataclass

import tilelang.language as T
import torch

from tltrace_nb.core.runtime.virtual import simulate


@dataclass(frozen=True)
class Case:
    """A builder, ``inputs()``, ``expected(*inputs)`` for the trailing outputs, and the GPUs that it is for."""

    build: Callable
    inputs: Callable
    expected: Callable
    gpus: tuple[str, ...]
    tolerance: float


def registry():
    """The cases of a file, by name, and the decorator that registers a builder."""
    cases = {}

    def case(inputs, expected, gpus=("a100", "h200"), tolerance=1e-2):
        def register(build):
            cases[build.__name__] = Case(build, inputs, expected, gpus, tolerance)
            return build

        return register

    return cases, case


def check(case, gpu):
    """Run a case on a model and compare; gives the trace."""
    inputs = case.inputs()
    expected = case.expected(*(t.clone() for t in inputs))
    outputs, trace = simulate(case.build(), inputs, gpu=gpu)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for got, wanted in zip(outputs, expected, strict=True):
        torch.testing.assert_close(got.float(), wanted.float(), rtol=case.tolerance, atol=case.tolerance)
    return trace


CASES, case = registry()


def normal(*shape, dtype=torch.float16, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def gemm(ta, tb, dtype="float16", accum="float32", out="float32", m=128, n=128, k=128, stages=2, threads=128):
    a_shape, b_shape = ((k, m) if ta else (m, k)), ((n, k) if tb else (k, n))
    a_tile, b_tile = ((32, 64) if ta else (64, 32)), ((64, 32) if tb else (32, 64))

    @T.prim_func
    def gemm(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((m, n), out)):
        with T.Kernel(n // 64, m // 64, threads=threads) as (bx, by):
            As = T.alloc_shared(a_tile, dtype)
            Bs = T.alloc_shared(b_tile, dtype)
            Cl = T.alloc_fragment((64, 64), accum)
            T.clear(Cl)
            for ko in T.Pipelined(k // 32, num_stages=stages):
                if ta:
                    T.copy(A[ko * 32, by * 64], As)
                else:
                    T.copy(A[by * 64, ko * 32], As)
                if tb:
                    T.copy(B[bx * 64, ko * 32], Bs)
                else:
                    T.copy(B[ko * 32, bx * 64], Bs)
                T.gemm(As, Bs, Cl, transpose_A=ta, transpose_B=tb)
            T.copy(Cl, C[by * 64, bx * 64])

    return gemm


@case(lambda: (normal(128, 128), normal(128, 128, seed=1)), lambda a, b: a.float() @ b.float().T, tolerance=0.05)
def gemm_nt():
    return gemm(False, True)


@case(lambda: (normal(128, 128), normal(128, 128, seed=1)), lambda a, b: a.float().T @ b.float(), tolerance=0.05)
def gemm_tn():
    return gemm(True, False)


@case(
    lambda: (normal(128, 128, dtype=torch.bfloat16), normal(128, 128, dtype=torch.bfloat16, seed=1)),
    lambda a, b: a.float() @ b.float(),
    tolerance=0.05,
)
def gemm_bf16():
    return gemm(False, False, "bfloat16")


@case(
    lambda: (normal(128, 128).to(torch.float8_e4m3fn), normal(128, 128, seed=1).to(torch.float8_e4m3fn)),
    lambda a, b: a.float() @ b.float().T,
    ("h200",),
    0.05,
)
def gemm_fp8():
    return gemm(False, True, "float8_e4m3fn")


@case(
    lambda: tuple(torch.randint(-128, 128, (128, 128), dtype=torch.int8) for _ in range(2)),
    lambda a, b: a.int() @ b.int().T,
    tolerance=0,
)
def gemm_int8():
    return gemm(False, True, "int8", "int32", "int32")


@case(lambda: (normal(64, 96, dtype=torch.float32),), lambda a: a.cumsum(1), tolerance=1e-4)
def cumsum():
    @T.prim_func
    def cumsum(A: T.Tensor((64, 96), "float32"), B: T.Tensor((64, 96), "float32")):
        with T.Kernel(2, threads=128) as bx:
            s = T.alloc_shared((32, 96), "float32")
            T.copy(A[bx * 32, 0], s)
            T.cumsum(s, dim=1)
            T.copy(s, B[bx * 32, 0])

    return cumsum


@case(lambda: (normal(64, 128, dtype=torch.float32),), lambda a: a.flip(1).cumsum(1).flip(1), tolerance=1e-4)
def cumsum_fragment_reverse():
    @T.prim_func
    def cumsum(A: T.Tensor((64, 128), "float32"), B: T.Tensor((64, 128), "float32")):
        with T.Kernel(2, threads=128) as bx:
            s = T.alloc_fragment((32, 128), "float32")
            T.copy(A[bx * 32, 0], s)
            T.cumsum(s, dim=1, reverse=True)
            T.copy(s, B[bx * 32, 0])

    return cumsum


def layer_norm_expected(x, w, b):
    return torch.nn.functional.layer_norm(x, (256,), w, b, 1e-5)


@case(
    lambda: (normal(32, 256, dtype=torch.float32), *(normal(256, dtype=torch.float32, seed=s) for s in (1, 2))),
    layer_norm_expected,
    tolerance=1e-4,
)
def layer_norm():
    @T.prim_func
    def layer_norm(
        X: T.Tensor((32, 256), "float32"),
        W: T.Tensor((256,), "float32"),
        B: T.Tensor((256,), "float32"),
        Y: T.Tensor((32, 256), "float32"),
    ):
        with T.Kernel(4, threads=128) as bx:
            x = T.alloc_fragment((8, 256), "float32")
            sq = T.alloc_fragment((8, 256), "float32")
            mean = T.alloc_fragment((8,), "float32")
            var = T.alloc_fragment((8,), "float32")
            T.copy(X[bx * 8, 0], x)
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(8, 256):
                x[i, j] = x[i, j] - mean[i] / 256.0
            for i, j in T.Parallel(8, 256):
                sq[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(sq, var, dim=1)
            for i, j in T.Parallel(8, 256):
                x[i, j] = x[i, j] * T.rsqrt(var[i] / 256.0 + 1e-5) * W[j] + B[j]
            T.copy(x, Y[bx * 8, 0])

    return layer_norm


@case(lambda: (normal(100, 70),), lambda a: a.T.contiguous(), tolerance=0)
def transpose_ragged():
    @T.prim_func
    def transpose(A: T.Tensor((100, 70), "float16"), B: T.Tensor((70, 100), "float16")):
        with T.Kernel(T.ceildiv(70, 32), T.ceildiv(100, 32), threads=128) as (bx, by):
            s = T.alloc_shared((32, 32), "float16")
            T.copy(A[by * 32, bx * 32], s)
            for i, j in T.Parallel(32, 32):
                B[bx * 32 + i, by * 32 + j] = s[j, i]

    return transpose


@case(lambda: (normal(128, dtype=torch.float32),), lambda a: a.sum().reshape(1), tolerance=1e-3)
def shuffle_sum():
    @T.prim_func
    def shuffle_sum(A: T.Tensor((128,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            part = T.alloc_shared((4,), "float32")
            value = T.alloc_local((1,), "float32")
            value[0] = A[tx]
            for step in T.unroll(5):
                value[0] += T.shfl_xor(value[0], 16 >> step)
            if tx % 32 == 0:
                part[tx // 32] = value[0]
            T.sync_threads()
            if tx == 0:
                B[0] = part[0] + part[1] + part[2] + part[3]

    return shuffle_sum


@case(lambda: (torch.randint(0, 1000, (256,), dtype=torch.int32),), lambda a: a.sort().values, tolerance=0)
def bitonic_sort():
    @T.prim_func
    def bitonic_sort(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            s = T.alloc_shared((256,), "int32")
            s[tx] = A[tx]
            T.sync_threads()
            for p in T.serial(8):
                for q in T.serial(8):
                    if q <= p:
                        stride = 1 << (p - q)
                        other = tx ^ stride
                        keep = T.alloc_var("int32")
                        keep = s[tx]
                        if other > tx:
                            ascending = (tx & (2 << p)) == 0
                            if (s[tx] > s[other]) == ascending:
                                keep = s[other]
                                s[other] = s[tx]
                                s[tx] = keep
                    T.sync_threads()
            B[tx] = s[tx]

    return bitonic_sort


@case(
    lambda: (normal(64, 32, dtype=torch.float32), torch.randint(0, 64, (48,), dtype=torch.int32)),
    lambda a, i: a[i.long()],
    tolerance=0,
)
def gather():
    @T.prim_func
    def gather(
        A: T.Tensor((64, 32), "float32"),
        Rows: T.Tensor((48,), "int32"),
        B: T.Tensor((48, 32), "float32"),
    ):
        with T.Kernel(3, threads=64) as bx:
            for i, j in T.Parallel(16, 32):
                B[bx * 16 + i, j] = A[Rows[bx * 16 + i], j]

    return gather


@case(lambda: (normal(64, 64, dtype=torch.float32),), lambda a: a.sum(0), tolerance=1e-3)
def tile_atomics():
    @T.prim_func
    def tile_atomics(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(4, threads=64) as bx:
            x = T.alloc_fragment((16, 64), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.copy(A[bx * 16, 0], x)
            T.reduce_sum(x, total, dim=0)
            T.atomic_add(B[0:64], total)

    return tile_atomics


@case(lambda: (normal(64, 64, dtype=torch.float32),), lambda a: (a.max(1).values, a.abs().max(1).values))
def two_reductions():
    @T.prim_func
    def two_reductions(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=64) as bx:
            x = T.alloc_fragment((32, 64), "float32")
            b = T.alloc_fragment((32,), "float32")
            c = T.alloc_fragment((32,), "float32")
            T.copy(A[bx * 32, 0], x)
            T.reduce_max(x, b, dim=1)
            T.reduce_absmax(x, c, dim=1)
            T.copy(b, B[bx * 32])
            T.copy(c, C[bx * 32])

    return two_reductions


@case(lambda: (normal(4, 8, 16, dtype=torch.float32),), lambda a: a.reshape(4, 128) * 2, tolerance=0)
def reshaped():
    @T.prim_func
    def reshaped(A: T.Tensor((4, 8, 16), "float32"), B: T.Tensor((4, 128), "float32")):
        with T.Kernel(4, threads=128) as bx:
            s = T.alloc_shared((8, 16), "float32")
            T.copy(A[bx, 0, 0], s)
            flat = T.reshape(s, (128,))
            for i in T.Parallel(128):
                B[bx, i] = flat[i] * 2.0

    return reshaped


def conv_expected(x, w):
    y = torch.nn.functional.conv2d(x.float().permute(0, 3, 1, 2), w.float().permute(3, 2, 0, 1), padding=1)
    return y.permute(0, 2, 3, 1)


@case(lambda: (normal(1, 8, 8, 32), normal(3, 3, 32, 64, seed=1)), conv_expected, ("a100", "h200"), 0.1)
def convolution():
    @T.prim_func
    def convolution(
        X: T.Tensor((1, 8, 8, 32), "float16"),
        W: T.Tensor((3, 3, 32, 64), "float16"),
        Y: T.Tensor((1, 8, 8, 64), "float32"),
    ):
        with T.Kernel(1, 1, threads=128) as (bx, by):
            xs = T.alloc_shared((64, 32), "float16")
            ws = T.alloc_shared((32, 64), "float16")
            out = T.alloc_fragment((64, 64), "float32")
            flat_w = T.Tensor((288, 64), "float16", W.data)
            flat_y = T.Tensor((64, 64), "float32", Y.data)
            T.clear(out)
            for k in T.Pipelined(9, num_stages=2):
                T.im2col(X, xs, by, k, 3, 1, 1, 1)
                T.copy(flat_w[k * 32, bx * 64], ws)
                T.gemm(xs, ws, out)
            T.copy(out, flat_y[by * 64, bx * 64])

    return convolution


@case(lambda: (normal(256, dtype=torch.float32),), lambda a: torch.where(a > 0, a.exp(), a.sin()), tolerance=1e-5)
def choices():
    @T.prim_func
    def choices(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            for i in T.Parallel(128):
                B[bx * 128 + i] = T.if_then_else(A[bx * 128 + i] > 0.0, T.exp(A[bx * 128 + i]), T.sin(A[bx * 128 + i]))

    return choices


@case(
    lambda: (torch.randint(0, 256, (64, 32), dtype=torch.uint8),),
    lambda a: torch.stack([a & 15, a >> 4], dim=-1).reshape(64, 64).half(),
    tolerance=0,
)
def dequantise_int4():
    @T.prim_func
    def dequantise(A: T.Tensor((64, 32), "uint8"), B: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128):
            packed = T.alloc_fragment((64, 32), "uint8")
            wide = T.alloc_fragment((64, 64), "float16")
            T.copy(A, packed)
            for i, j in T.Parallel(64, 64):
                wide[i, j] = T.cast((packed[i, j // 2] >> ((j % 2) * 4)) & 0xF, "float16")
            T.copy(wide, B)

    return dequantise


@case(lambda: (normal(512, dtype=torch.float32),), lambda a: a * 3)
def local_vectors():
    @T.prim_func
    def local_vectors(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            r = T.alloc_local((4,), "float32")
            for v in T.vectorized(4):
                r[v] = A[tx * 4 + v]
            for v in T.serial(4):
                r[v] = r[v] * 3.0
            for v in T.vectorized(4):
                B[tx * 4 + v] = r[v]

    return local_vectors


@case(lambda: (normal(64, 64, dtype=torch.float32),), lambda a: a.sum(1), tolerance=1e-3)
def reducer():
    @T.prim_func
    def reducer(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            x = T.alloc_fragment((64, 64), "float32")
            total = T.alloc_reducer((64,), "float32", op="sum")
            out = T.alloc_fragment((64,), "float32")
            T.copy(A, x)
            T.reducer_init(total)
            for i, j in T.Parallel(64, 64):
                T.reducer_update(total[i], x[i, j])
            T.finalize_reducer(total, out)
            T.copy(out, B)

    return reducer


@case(lambda: (normal(200, dtype=torch.float32),), lambda a: a + 1, tolerance=0)
def guarded_threads():
    @T.prim_func
    def guarded_threads(A: T.Tensor((200,), "float32"), B: T.Tensor((200,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            tx = T.get_thread_binding()
            B[bx * 128 + tx] = A[bx * 128 + tx] + 1.0

    return guarded_threads


@case(lambda: (normal(128, 64), normal(64, seed=1)), lambda a, x: a.float() @ x.float(), tolerance=1e-2)
def gemv():
    @T.prim_func
    def gemv(A: T.Tensor((128, 64), "float16"), X: T.Tensor((64,), "float16"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a = T.alloc_local((8,), "float16")
            part = T.alloc_local((8,), "float32")
            total = T.alloc_local((1,), "float32")
            out = T.alloc_local((1,), "float32")
            T.clear(total)
            for k in T.serial(8):
                for v in T.vectorized(8):
                    a[v] = A[tx, k * 8 + v]
                for v in T.serial(8):
                    part[v] = a[v].astype("float32") * X[k * 8 + v].astype("float32")
                T.reduce_sum(part, out)
                total[0] += out[0]
            Y[tx] = total[0]

    return gemv


@case(lambda: (normal(256, dtype=torch.float32),), lambda a: a + 1, tolerance=0)
def cp_async_by_hand():
    @T.prim_func
    def cp_async(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            s = T.alloc_shared((256,), "float32")
            T.ptx_cp_async(T.access_ptr(s[tx * 4], "w", 4), T.access_ptr(A[tx * 4], "r", 4), 4)
            T.ptx_commit_group()
            T.ptx_wait_group(0)
            T.sync_threads()
            for i in T.serial(4):
                B[i * 64 + tx] = s[i * 64 + tx] + 1.0

    return cp_async


@case(lambda: (normal(8, 64, dtype=torch.float32),), lambda a: a.sum(1), tolerance=1e-4)
def thread_allreduce():
    @T.prim_func
    def thread_allreduce(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(2, threads=(32, 4)) as bx:
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            part = T.alloc_local((1,), "float32")
            total = T.alloc_local((1,), "float32")
            part[0] = A[bx * 4 + ty, tx] + A[bx * 4 + ty, tx + 32]
            with T.attr(
                T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
                "reduce_scope",
                T.reinterpret(T.uint64(0), dtype="handle"),
            ):
                T.evaluate(T.tvm_thread_allreduce(T.uint32(1), part[0], True, total[0], tx, dtype="handle"))
            if tx == 0:
                B[bx * 4 + ty] = total[0]

    return thread_allreduce


@case(lambda: (normal(128, dtype=torch.float32),), lambda a: a + 2 * a[:32].repeat(4), tolerance=1e-6)
def one_warp_prepares():
    @T.prim_func
    def one_warp_prepares(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            table = T.alloc_shared((32,), "float32")
            if tx < 32:
                for i in T.Parallel(32):
                    table[i] = A[i] * 2.0
            T.sync_threads()
            B[tx] = A[tx] + table[tx % 32]

    return one_warp_prepares


@case(
    lambda: (normal(64, 64), normal(4, 64, 64, seed=1), torch.arange(4, dtype=torch.int32).flip(0)),
    lambda x, w, e: torch.cat([x[16 * i : 16 * i + 16].float() @ w[k].float() for i, k in enumerate(e.tolist())]),
    tolerance=0.05,
)
def experts():
    @T.prim_func
    def experts(
        X: T.Tensor((64, 64), "float16"),
        W: T.Tensor((4, 64, 64), "float16"),
        Expert: T.Tensor((4,), "int32"),
        Y: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(4, threads=128) as bx:
            x = T.alloc_shared((16, 32), "float16")
            w = T.alloc_shared((32, 64), "float16")
            y = T.alloc_fragment((16, 64), "float32")
            expert = T.alloc_local((1,), "int32")
            expert[0] = Expert[bx]
            T.clear(y)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(X[bx * 16, k * 32], x)
                T.copy(W[expert[0], k * 32, 0], w)
                T.gemm(x, w, y)
            T.copy(y, Y[bx * 16, 0])

    return experts


@case(lambda: (normal(16, 64, dtype=torch.float32),), lambda a: a.topk(4).indices.int(), tolerance=0)
def top_k():
    @T.prim_func
    def top_k(A: T.Tensor((16, 64), "float32"), B: T.Tensor((16, 4), "int32")):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((16, 64), "float32")
            best = T.alloc_fragment((16,), "float32")
            where = T.alloc_fragment((16, 64), "int32")
            at = T.alloc_fragment((16,), "int32")
            T.copy(A, x)
            for k in T.serial(4):
                T.reduce_max(x, best, dim=1)
                for i, j in T.Parallel(16, 64):
                    where[i, j] = T.if_then_else(x[i, j] == best[i], j, 1000)
                T.reduce_min(where, at, dim=1)
                for i, j in T.Parallel(16, 64):
                    x[i, j] = T.if_then_else(j == at[i], -T.infinity("float32"), x[i, j])
                for i in T.Parallel(16):
                    B[i, k] = at[i]

    return top_k


@case(lambda: (normal(128, dtype=torch.float32),), lambda a: a.reshape(4, 32).flip(1).reshape(-1), tolerance=0)
def warp_flip():
    @T.prim_func
    def warp_flip(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            value = T.alloc_local((1,), "float32")
            value[0] = A[tx]
            B[tx] = T.tvm_warp_shuffle(0xFFFFFFFF, value[0], 31 - tx % 32, 32, 32)

    return warp_flip


@case(
    lambda: (normal(4, 64, dtype=torch.float32), torch.tensor([[1, 1], [0, 1], [1, 1], [0, 0]], dtype=torch.bool)),
    lambda a, mask: a * mask.all(1)[:, None],
    tolerance=0,
)
def all_of():
    @T.prim_func
    def all_of(A: T.Tensor((4, 64), "float32"), Mask: T.Tensor((4, 2), "bool"), B: T.Tensor((4, 64), "float32")):
        with T.Kernel(4, threads=64) as bx:
            x = T.alloc_fragment((64,), "float32")
            T.clear(x)
            if T.all_of(Mask[bx, :]):
                T.copy(A[bx, :], x)
            T.copy(x, B[bx, :])

    return all_of


@case(
    lambda: [normal(256, dtype=torch.float32)],
    lambda x: x.exp() + x.abs().sqrt() + x.clamp(min=0.5) + x / 3 + x.abs().pow(1.5) + x.sin(),
)
def functions_by_their_names_in_cuda():
    @T.prim_func
    def main(x: T.Tensor((256,), "float32"), y: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            for i in T.Parallel(128):
                v = x[bx * 128 + i]
                y[bx * 128 + i] = (
                    T.call_extern("float32", "__expf", v)
                    + T.call_extern("float32", "sqrtf", T.call_extern("float32", "fabsf", v))
                    + T.call_extern("float32", "fmaxf", v, T.float32(0.5))
                    + T.call_extern("float32", "__fdividef", v, T.float32(3.0))
                    + T.call_extern("float32", "powf", T.abs(v), T.float32(1.5))
                    + T.call_pure_extern("float32", "sinf", v)
                )

    return main


def signed_bytes():
    return torch.randint(-128, 128, (64, 4), generator=torch.Generator().manual_seed(0), dtype=torch.int8)


@case(lambda: [signed_bytes(), signed_bytes().flip(0)], lambda a, b: (a.int() * b.int()).sum(1).int())
def products_of_four_bytes():
    @T.prim_func
    def main(a: T.Tensor((64, 4), "int8"), b: T.Tensor((64, 4), "int8"), c: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            al, bl, sum4 = T.alloc_local((4,), "int8"), T.alloc_local((4,), "int8"), T.alloc_local((1,), "int32")
            sum4[0] = 0
            for i in T.vectorized(4):
                al[i] = a[tx, i]
            for i in T.vectorized(4):
                bl[i] = b[tx, i]
            T.dp4a(al[0], bl[0], sum4[0])
            c[tx] = sum4[0]

    return main
