"""Matrix products in disguise: packed 4-bit weights, a convolution through im2col, stream-K."""

import tilelang.language as T

from kernels.reference import Reference, integers, normal
from tltrace_nb import trace


def packed_int4(m=64, n=128, k=256, bm=64, bn=64, bk=64, group=64, stages=2):
    """Weights of 4 bits, two to a byte, the lower half first; one scale for each row and ``group`` of columns."""

    @T.prim_func
    def packed_int4(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((n, k // 2), "uint8"),
        Scales: T.Tensor((n, k // group), "float16"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(n // bn, m // bm, threads=128) as (bx, by):
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bn, bk // 2), "uint8")
            B_local = T.alloc_fragment((bn, bk // 2), "uint8")
            B_wide = T.alloc_fragment((bn, bk), "float16")
            B_ready = T.alloc_shared((bn, bk), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for ko in T.Pipelined(k // bk, num_stages=stages):
                with trace.range("load", payload=ko):
                    T.copy(A[by * bm, ko * bk], A_shared)
                    T.copy(B[bx * bn, ko * bk // 2], B_shared)
                with trace.range("unpack", payload=ko):
                    T.copy(B_shared, B_local)
                    for i, j in T.Parallel(bn, bk):
                        B_wide[i, j] = (
                            T.cast((B_local[i, j // 2] >> T.cast(j % 2 * 4, "uint8")) & T.uint8(15), "float16")
                            - T.float16(8)
                        ) * Scales[bx * bn + i, ko * bk // group]
                    T.copy(B_wide, B_ready)
                with trace.range("mma", payload=ko):
                    T.gemm(A_shared, B_ready, C_local, transpose_B=True)
            with trace.range("store"):
                T.copy(C_local, C[by * bm, bx * bn])

    return packed_int4


def _packed_inputs(device):
    return (
        normal(device, 64, 256),
        integers(device, 128, 128, low=0, high=256, dtype="uint8"),
        normal(device, 128, 4, seed=1) / 8,
    )


def _packed_expected(a, b, scales):
    import torch

    wide = torch.stack([b & 15, b >> 4], dim=-1).reshape(128, 256).float() - 8
    return (a.float() @ (wide * scales.float().repeat_interleave(64, dim=1)).T).half()


def convolution(h=16, w=16, channels=32, filters=64, kernel=3, bm=64, bn=64, bk=32, stages=2):
    """3 x 3, one image of NHWC, padded by one: the pixels' neighbourhoods are the rows of a matrix."""
    depth = kernel * kernel * channels

    @T.prim_func
    def convolution(
        X: T.Tensor((1, h, w, channels), "float16"),
        W: T.Tensor((kernel, kernel, channels, filters), "float16"),
        Y: T.Tensor((1, h, w, filters), "float16"),
    ):
        with T.Kernel(filters // bn, h * w // bm, threads=128) as (bx, by):
            X_shared = T.alloc_shared((bm, bk), "float16")
            W_shared = T.alloc_shared((bk, bn), "float16")
            Y_local = T.alloc_fragment((bm, bn), "float32")
            flat_w = T.Tensor((depth, filters), "float16", W.data)
            flat_y = T.Tensor((h * w, filters), "float16", Y.data)
            T.clear(Y_local)
            for k in T.Pipelined(depth // bk, num_stages=stages):
                with trace.range("load", payload=k):
                    T.im2col(X, X_shared, by, k, kernel, 1, 1, 1)
                    T.copy(flat_w[k * bk, bx * bn], W_shared)
                with trace.range("mma", payload=k):
                    T.gemm(X_shared, W_shared, Y_local)
            with trace.range("store", payload=by):
                T.copy(Y_local, flat_y[by * bm, bx * bn])

    return convolution


def _convolution_expected(x, w):
    import torch

    y = torch.nn.functional.conv2d(x.float().permute(0, 3, 1, 2), w.float().permute(3, 2, 0, 1), padding=1)
    return y.permute(0, 2, 3, 1).half()


def stream_k(m=128, n=192, k=256, bm=64, bn=64, bk=32, ctas=5):
    """The steps of all tiles in one row, dealt out evenly: a CTA may begin and end in the middle of a tile."""
    steps = k // bk
    total = (m // bm) * (n // bn) * steps
    share = -(-total // ctas)

    @T.prim_func
    def stream_k(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(ctas, threads=128) as cta:
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            position = T.alloc_var("int32")
            position = cta * share
            last = T.min(position + share, total)
            while position < last:
                tile = T.alloc_var("int32")
                first = T.alloc_var("int32")
                count = T.alloc_var("int32")
                tile = position // steps
                first = position % steps
                count = T.min(steps - first, cta * share + share - position)
                with trace.range("tile", payload=tile):
                    T.clear(C_local)
                    for ko in T.serial(count):
                        with trace.range("load", payload=first + ko):
                            T.copy(A[tile // (n // bn) * bm, (first + ko) * bk], A_shared)
                            T.copy(B[(first + ko) * bk, tile % (n // bn) * bn], B_shared)
                        with trace.range("mma", payload=first + ko):
                            T.gemm(A_shared, B_shared, C_local)
                    for i, j in T.Parallel(bm, bn):
                        T.atomic_add(C[tile // (n // bn) * bm + i, tile % (n // bn) * bn + j], C_local[i, j])
                position = position + count

    return stream_k


def _stream_inputs(device):
    import torch

    return normal(device, 128, 256), normal(device, 256, 192, seed=1), torch.zeros(128, 192, device=device)


REFERENCES = (
    Reference("packed_int4", packed_int4, _packed_inputs, _packed_expected, atol=0.1),
    Reference(
        "convolution",
        convolution,
        lambda device: (normal(device, 1, 16, 16, 32), normal(device, 3, 3, 32, 64, seed=1)),
        _convolution_expected,
        atol=0.1,
    ),
    Reference(
        "stream_k",
        stream_k,
        _stream_inputs,
        lambda a, b, c: a.float() @ b.float(),
        out_idx=(),
        exact=False,
        atol=0.1,
    ),
)
