"""Matrix products: pipelined and left to TileLang's scheduler, persistent, dynamic, dequantising, split along K."""

import functools

import tilelang.language as T

from kernels.reference import HOPPER, Reference, integers, normal
from tltrace_nb import trace

NO_SPECIALISATION = {"tl.disable_warp_specialized": True}


def pipelined(stages, m=256, n=256, k=512, bm=128, bn=128, bk=32):
    @T.prim_func
    def gemm(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            with trace.range("clear"):
                T.clear(C_local)
            with trace.range("mainloop"):
                for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                    with trace.range("load", payload=ko):
                        T.copy(A[by * bm, ko * bk], A_shared)
                        T.copy(B[ko * bk, bx * bn], B_shared)
                    with trace.range("mma", payload=ko):
                        T.gemm(A_shared, B_shared, C_local)
            with trace.range("store", payload=by):
                T.copy(C_local, C[by * bm, bx * bn])
            trace.dag("load", "mma")

    return gemm


def separate_loads(stages=3, m=256, n=256, k=512, bm=128, bn=128, bk=32):
    """Every copy in a range of its own, an outer range around the iteration, an instant between."""

    @T.prim_func
    def separate_loads(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                with trace.range("iteration", lane="outer", payload=ko):
                    with trace.range("load A", payload=ko):
                        T.copy(A[by * bm, ko * bk], A_shared)
                    with trace.range("load B", payload=ko):
                        T.copy(B[ko * bk, bx * bn], B_shared)
                    trace.record("loaded", payload=ko)
                    with trace.range("mma", payload=ko):
                        T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * bm, bx * bn])

    return separate_loads


def persistent(m=512, n=512, k=256, bm=128, bn=128, bk=64, stages=2, sms=4):
    tiles = (m // bm) * (n // bn)

    @T.prim_func
    def persistent(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(sms, threads=128) as cta:
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            for wave in T.serial(tiles // sms):
                tile = wave * sms + cta
                by = tile // (n // bn)
                bx = tile % (n // bn)
                with trace.range("tile", payload=wave * sms + cta):
                    T.clear(C_local)
                    for ko in T.Pipelined(k // bk, num_stages=stages):
                        with trace.range("load", payload=ko):
                            T.copy(A[by * bm, ko * bk], A_shared)
                            T.copy(B[ko * bk, bx * bn], B_shared)
                        with trace.range("mma", payload=ko):
                            T.gemm(A_shared, B_shared, C_local)
                    with trace.range("store", payload=wave):
                        T.copy(C_local, C[by * bm, bx * bn])

    return persistent


def persistent_primitive(m=512, n=512, k=256, bm=128, bn=128, bk=64, stages=2, sms=4):
    @T.prim_func
    def persistent_primitive(
        A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")
    ):
        with T.Kernel(sms, threads=128) as cta:
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            for bx, by in T.Persistent([m // bm, n // bn], sms, cta):
                with trace.range("tile", payload=bx * 16 + by):
                    T.clear(C_local)
                    for ko in T.Pipelined(k // bk, num_stages=stages):
                        with trace.range("load", payload=ko):
                            T.copy(A[bx * bm, ko * bk], A_shared)
                            T.copy(B[ko * bk, by * bn], B_shared)
                        with trace.range("mma", payload=ko):
                            T.gemm(A_shared, B_shared, C_local)
                    T.copy(C_local, C[bx * bm, by * bn])

    return persistent_primitive


def dynamic(n=256, k=256, bm=128, bn=128, bk=32, stages=2):
    m = T.dynamic("m")

    @T.prim_func
    def dynamic(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                with trace.range("load", payload=ko):
                    T.copy(A[by * bm, ko * bk], A_shared)
                    T.copy(B[ko * bk, bx * bn], B_shared)
                with trace.range("mma", payload=ko):
                    T.gemm(A_shared, B_shared, C_local)
            with trace.range("store", payload=m):
                T.copy(C_local, C[by * bm, bx * bn])

    return dynamic


def paged(m=256, n=256, k=256, bm=128, bn=128, bk=32, stages=3):
    """The tiles of A are found through a table, and the page that was found is the payload."""

    @T.prim_func
    def paged(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        Pages: T.Tensor((k // bk,), "int32"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                page = Pages[ko]
                with trace.range("load", payload=page):
                    T.copy(A[by * bm, page * bk], A_shared)
                    T.copy(B[ko * bk, bx * bn], B_shared)
                with trace.range("mma", payload=Pages[ko]):
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * bm, bx * bn])

    return paged


def conditional(m=256, n=256, k=256, bm=128, bn=128, bk=32, stages=3):
    """Iterations under a run-time condition: block row y leaves out its first y + 1 tiles."""

    @T.prim_func
    def conditional(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                if ko > by:
                    with trace.range("load", payload=ko):
                        T.copy(A[by * bm, ko * bk], A_shared)
                        T.copy(B[ko * bk, bx * bn], B_shared)
                    with trace.range("mma", payload=ko):
                        T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * bm, bx * bn])

    return conditional


def crossing(m=256, n=256, k=256, bm=128, bn=128, bk=32, stages=3):
    """Tokens that cross each other in a pipelined loop, a range begun before it and ended after it, an empty range."""

    @T.prim_func
    def crossing_gemm(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            through = trace.range_start("through")
            T.clear(C_local)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                first = trace.range_start("first", payload=ko)
                T.copy(A[by * bm, ko * bk], A_shared)
                second = trace.range_start("second", lane="other", payload=ko)
                T.copy(B[ko * bk, bx * bn], B_shared)
                trace.range_end(first)
                T.gemm(A_shared, B_shared, C_local)
                trace.range_end(second)
                with trace.range("empty", payload=ko):
                    pass
            trace.range_end(through)
            T.copy(C_local, C[by * bm, bx * bn])

    return crossing_gemm


def dequantising(m=128, n=128, k=256, bm=64, bn=64, bk=64, stages=2):
    @T.prim_func
    def dequantising(A: T.Tensor((m, k), "float16"), B: T.Tensor((n, k), "int8"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bn, bk), "int8")
            B_local = T.alloc_fragment((bn, bk), "int8")
            B_wide = T.alloc_fragment((bn, bk), "float16")
            B_ready = T.alloc_shared((bn, bk), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                with trace.range("load", payload=ko):
                    T.copy(A[by * bm, ko * bk], A_shared)
                    T.copy(B[bx * bn, ko * bk], B_shared)
                with trace.range("dequantise", payload=ko):
                    T.copy(B_shared, B_local)
                    for i, j in T.Parallel(bn, bk):
                        B_wide[i, j] = T.cast(B_local[i, j], "float16")
                    T.copy(B_wide, B_ready)
                with trace.range("mma", payload=ko):
                    T.gemm(A_shared, B_ready, C_local, transpose_B=True)
            T.copy(C_local, C[by * bm, bx * bn])

    return dequantising


def split_k(m=128, n=128, k=1024, bm=64, bn=64, bk=32, split=4, stages=2):
    part = k // split

    @T.prim_func
    def split_k(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(n // bn, m // bm, split, threads=128) as (bx, by, bz):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(part // bk, num_stages=stages):
                with trace.range("load", payload=ko):
                    T.copy(A[by * bm, bz * part + ko * bk], A_shared)
                    T.copy(B[bz * part + ko * bk, bx * bn], B_shared)
                with trace.range("mma", payload=ko):
                    T.gemm(A_shared, B_shared, C_local)
            with trace.range("accumulate", payload=bz):
                for i, j in T.Parallel(bm, bn):
                    T.atomic_add(C[by * bm + i, bx * bn + j], C_local[i, j])

    return split_k


def specialised(m=256, n=256, k=512, bm=128, bn=128, bk=64, stages=2):
    """Written by hand: a producer warp group that issues TMA copies, a consumer warp group that multiplies."""

    @T.prim_func
    def specialised(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=256) as (bx, by):
            A_shared = T.alloc_shared((stages, bm, bk), "float16")
            B_shared = T.alloc_shared((stages, bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            loaded = T.alloc_barrier(arrive_count=[128] * stages)
            consumed = T.alloc_barrier(arrive_count=[128] * stages)
            tx = T.get_thread_binding()
            if tx < 128:
                with trace.group("consumer", lead=0):
                    T.clear(C_local)
                    for ko in T.serial(T.ceildiv(k, bk)):
                        with trace.range("wait full", lane="barrier", payload=ko):
                            T.mbarrier_wait_parity(loaded[ko % stages], (ko // stages) % 2)
                        with trace.range("mma", payload=ko):
                            T.gemm(A_shared[ko % stages, :, :], B_shared[ko % stages, :, :], C_local)
                        T.mbarrier_arrive(consumed[ko % stages])
                    with trace.range("store"):
                        T.copy(C_local, C[by * bm, bx * bn])
            else:
                with trace.group("producer", lead=128):
                    for ko in T.serial(T.ceildiv(k, bk)):
                        with trace.range("wait empty", lane="barrier", payload=ko):
                            T.mbarrier_wait_parity(consumed[ko % stages], ((ko // stages) % 2) ^ 1)
                        with trace.range("load", payload=ko):
                            rows, columns, depth = by * bm, bx * bn, ko * bk
                            slot = ko % stages
                            T.tma_copy(
                                A[rows : rows + bm, depth : depth + bk], A_shared[slot, :, :], barrier=loaded[slot]
                            )
                            T.tma_copy(
                                B[depth : depth + bk, columns : columns + bn],
                                B_shared[slot, :, :],
                                barrier=loaded[slot],
                            )
                        T.mbarrier_arrive(loaded[ko % stages])

    return specialised


def _operands(m, n, k):
    return lambda device: (normal(device, m, k), normal(device, k, n, seed=1))


def _paged_inputs(device):
    import torch

    return (
        normal(device, 256, 256),
        normal(device, 256, 256, seed=1),
        torch.arange(7, -1, -1, dtype=torch.int32, device=device),
    )


def _paged_expected(a, b, pages):
    return _product(a.reshape(256, 8, 32)[:, pages.long()].reshape(256, 256), b)


def _conditional_expected(a, b):
    import torch

    return torch.cat([_product(a[:128, 32:], b[32:]), _product(a[128:, 64:], b[64:])])


def _product(a, b):
    return (a.float() @ b.float()).to(a.dtype)


def _split_inputs(device):
    import torch

    return normal(device, 128, 1024), normal(device, 1024, 128, seed=1), torch.zeros(128, 128, device=device)


def _pipelines():
    for stages in (1, 2, 3, 4):
        build = functools.partial(pipelined, stages)
        full = stages in (1, 4)
        yield Reference(f"gemm_{stages}", build, _operands(256, 256, 512), _product, atol=0.1, full=full)
        yield Reference(
            f"gemm_{stages}_unspecialised",
            build,
            _operands(256, 256, 512),
            _product,
            architectures=HOPPER,
            pass_configs=NO_SPECIALISATION,
            atol=0.1,
            full=full,
        )


REFERENCES = (
    *_pipelines(),
    Reference("separate_loads", separate_loads, _operands(256, 256, 512), _product, atol=0.1),
    Reference("paged_gemm", paged, _paged_inputs, _paged_expected, atol=0.1),
    Reference("conditional_gemm", conditional, _operands(256, 256, 256), _conditional_expected, atol=0.1),
    Reference("crossing_gemm", crossing, _operands(256, 256, 256), _product, atol=0.1),
    Reference("persistent", persistent, _operands(512, 512, 256), _product, atol=0.1),
    Reference("persistent_primitive", persistent_primitive, _operands(512, 512, 256), _product, atol=0.1),
    Reference("dynamic_gemm", dynamic, _operands(200, 256, 256), _product, again=False, atol=0.1),
    Reference(
        "dequantising_gemm",
        dequantising,
        lambda device: (normal(device, 128, 256), integers(device, 128, 256, low=-8, high=8, dtype="int8")),
        lambda a, b: (a.float() @ b.float().T).half(),
        atol=0.5,
    ),
    Reference(
        "split_k", split_k, _split_inputs, lambda a, b, c: a.float() @ b.float(), out_idx=(), exact=False, atol=0.1
    ),
    Reference("specialised_gemm", specialised, _operands(256, 256, 512), _product, architectures=HOPPER, atol=0.1),
)
