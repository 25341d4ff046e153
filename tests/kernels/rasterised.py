"""Kernels whose grids ``T.use_swizzle`` reorders; payloads are ``place(bx, by, bz)``, the block as kernels have it."""

import tilelang.language as T

from kernels.reference import HOPPER, Reference, normal
from tltrace_nb import trace

NO_SPECIALISATION = {"tl.disable_warp_specialized": True}


def place(bx, by, bz=0):
    """A block's indices as one number."""
    return bz * 10000 + by * 100 + bx


def gemm(columns, rows, panel, order="row", cluster=None, bm=64, bn=32, bk=32, k=64, stages=2):
    m, n = rows * bm, columns * bn

    @T.prim_func
    def rasterised(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(columns, rows, threads=128, cluster_dims=cluster) as (bx, by):
            T.use_swizzle(panel_size=panel, order=order)
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                with trace.range("load", payload=place(bx, by)):
                    T.copy(A[by * bm, ko * bk], A_shared)
                    T.copy(B[ko * bk, bx * bn], B_shared)
                with trace.range("mma", payload=place(bx, by)):
                    T.gemm(A_shared, B_shared, C_local)
            with trace.range("store", payload=place(bx, by)):
                T.copy(C_local, C[by * bm, bx * bn])

    return rasterised


def deep(columns, rows, depth, panel, order="row"):
    """A grid of three dimensions: the planes are reordered one by one."""
    shape = (depth, rows, columns, 128)

    @T.prim_func
    def deep(A: T.Tensor(shape, "float32"), B: T.Tensor(shape, "float32")):
        with T.Kernel(columns, rows, depth, threads=128) as (bx, by, bz):
            T.use_swizzle(panel_size=panel, order=order)
            tx = T.get_thread_binding()
            with trace.range("double", payload=place(bx, by, bz)):
                B[bz, by, bx, tx] = A[bz, by, bx, tx] * 2.0

    return deep


def persistent(tiles, columns, rows, panel):
    """Fewer CTAs than tiles: each goes from tile to tile by its place in the reordered grid."""
    ctas = columns * rows

    @T.prim_func
    def persistent(A: T.Tensor((tiles, 128), "float32"), B: T.Tensor((tiles, 128), "float32")):
        with T.Kernel(columns, rows, threads=128) as (bx, by):
            T.use_swizzle(panel_size=panel)
            tx = T.get_thread_binding()
            for wave in T.serial(T.ceildiv(tiles, ctas)):
                tile = wave * ctas + by * columns + bx
                if tile < tiles:
                    with trace.range("tile", payload=place(bx, by)):
                        B[tile, tx] = A[tile, tx] * 2.0

    return persistent


def two_launches(columns, rows, panel):
    """Two launches, of which the second is reordered."""
    shape = (rows, columns, 128)

    @T.prim_func
    def two(A: T.Tensor(shape, "float32"), B: T.Tensor(shape, "float32"), C: T.Tensor(shape, "float32")):
        with T.Kernel(columns, rows, threads=128) as (bx, by):
            tx = T.get_thread_binding()
            with trace.range("first", payload=place(bx, by)):
                B[by, bx, tx] = A[by, bx, tx] * 2.0
        with T.Kernel(columns, rows, threads=128) as (bx, by):
            T.use_swizzle(panel_size=panel)
            tx = T.get_thread_binding()
            with trace.range("second", payload=place(bx, by)):
                C[by, bx, tx] = B[by, bx, tx] + 1.0

    return two


def dynamic(columns, panel):
    """A grid that is known only at run time."""
    rows = T.dynamic("rows")

    @T.prim_func
    def dynamic(A: T.Tensor((rows, columns, 128), "float32"), B: T.Tensor((rows, columns, 128), "float32")):
        with T.Kernel(columns, rows, threads=128) as (bx, by):
            T.use_swizzle(panel_size=panel, order="column")
            tx = T.get_thread_binding()
            with trace.range("double", payload=place(bx, by)):
                B[by, bx, tx] = A[by, bx, tx] * 2.0

    return dynamic


def in_a_branch(columns, rows, panel):
    """The order holds where the flag is set, and not behind that: no one pattern tells a CTA's indices."""
    shape = (rows, columns, 128)

    @T.prim_func
    def in_a_branch(
        A: T.Tensor(shape, "float32"), Flag: T.Tensor((rows, columns), "int32"), B: T.Tensor(shape, "float32")
    ):
        with T.Kernel(columns, rows, threads=128) as (bx, by):
            tx = T.get_thread_binding()
            if Flag[by, bx] > 0:
                T.use_swizzle(panel_size=panel)
                with trace.range("reordered", payload=place(bx, by)):
                    B[by, bx, tx] = A[by, bx, tx] * 2.0
            trace.record("behind", payload=place(bx, by))

    return in_a_branch


def operands(columns, rows, bm=64, bn=32, k=64):
    """The tensors of ``gemm``."""
    return lambda device: (normal(device, rows * bm, k), normal(device, k, columns * bn, seed=1))


def _product(a, b):
    return (a.float() @ b.float()).half()


REFERENCES = (
    Reference("rasterised_gemm", lambda: gemm(7, 5, 3), operands(7, 5), _product, atol=0.1),
    Reference(
        "rasterised_gemm_unspecialised",
        lambda: gemm(5, 4, 3, "column"),
        operands(5, 4),
        _product,
        architectures=HOPPER,
        pass_configs=NO_SPECIALISATION,
        atol=0.1,
    ),
    Reference(
        "rasterised_cluster_gemm",
        lambda: gemm(6, 5, 4, cluster=(2, 1, 1)),
        operands(6, 5),
        _product,
        architectures=HOPPER,
        atol=0.1,
    ),
    Reference(
        "rasterised_deep",
        lambda: deep(3, 4, 2, panel=20),
        lambda device: (normal(device, 2, 4, 3, 128, dtype="float32"),),
        lambda a: a * 2,
    ),
    Reference(
        "rasterised_persistent",
        lambda: persistent(20, 3, 3, panel=2),
        lambda device: (normal(device, 20, 128, dtype="float32"),),
        lambda a: a * 2,
    ),
    Reference(
        "rasterised_launches",
        lambda: two_launches(3, 4, panel=3),
        lambda device: (normal(device, 4, 3, 128, dtype="float32"),),
        lambda a: (a * 2, a * 2 + 1),
        out_idx=(-2, -1),
    ),
    Reference(
        "rasterised_dynamic",
        lambda: dynamic(3, panel=2),
        lambda device: (normal(device, 5, 3, 128, dtype="float32"),),
        lambda a: a * 2,
        again=False,
    ),
)
