"""Kernels whose markers stand in odd places: branches, ``while``, early returns, macros, single threads and warps."""

# ruff: noqa: SIM108, SIM117 (TileLang turns each statement into one of the kernel's)

import tilelang.language as T

from kernels.reference import Reference, integers, normal
from tltrace_nb import trace


def every_thread(n=16, steps=4):
    @T.prim_func
    def every_thread(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            total = T.alloc_var("int32", init=0)
            with trace.group("lanes", per="thread"):
                with trace.range("thread", payload=tx):
                    for i in T.serial(steps):
                        with trace.range("step", lane="inner", payload=i * n + tx):
                            total = total + A[tx]
            B[tx] = total

    return every_thread


def every_warp(n=1024, threads=128):
    @T.prim_func
    def every_warp(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            with trace.group("warps", lead=3, per="warp"):
                with trace.range("copy", payload=tx // 32):
                    B[bx * threads + tx] = A[bx * threads + tx] * 2.0

    return every_warp


def early_return(n=1000, threads=128):
    @T.prim_func
    def early_return(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, threads), threads=threads) as bx:
            tx = T.get_thread_binding()
            trace.record("entered", payload=bx)
            if bx * threads + tx >= n:
                trace.record("left", payload=tx)
                T.thread_return()
            with trace.range("copy", payload=bx):
                B[bx * threads + tx] = A[bx * threads + tx] * 2.0

    return early_return


def collatz(n=64):
    @T.prim_func
    def collatz(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            value = T.alloc_var("int32")
            steps = T.alloc_var("int32", init=0)
            value = A[tx]
            with trace.range("whole"):
                while value > 1:
                    with trace.range("step", payload=value):
                        if value % 2 == 0:
                            value = value // 2
                        else:
                            value = value * 3 + 1
                        steps = steps + 1
            B[tx] = steps

    return collatz


def _collatz_expected(a):
    counts = []
    for value in a.tolist():
        steps = 0
        while value > 1:
            value, steps = (value // 2 if value % 2 == 0 else value * 3 + 1), steps + 1
        counts.append(steps)
    return a.new_tensor(counts)


def branches(n=1024, threads=128):
    @T.prim_func
    def branches(A: T.Tensor((n,), "float32"), Flag: T.Tensor((8,), "int32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            if tx == 32:
                trace.record("only thread 32", payload=tx)
            if Flag[bx] > 0:
                with trace.range("doubled", payload=Flag[bx]):
                    B[bx * threads + tx] = A[bx * threads + tx] * 2.0
            else:
                with trace.range("copied", payload=bx):
                    B[bx * threads + tx] = A[bx * threads + tx]
            if tx >= 64:
                with trace.group("upper", lead=64):
                    trace.record("upper half", payload=tx - 64)

    return branches


def _branches_inputs(device):
    return normal(device, 1024, dtype="float32"), integers(device, 8, low=-2, high=3)


def _branches_expected(a, flag):
    import torch

    return torch.where((flag > 0).repeat_interleave(128), a * 2, a)


def only_markers(n=256, threads=128):
    """Blocks that hold nothing but markers, and markers before, between and after guarded statements."""

    @T.prim_func
    def only_markers(A: T.Tensor((n,), "float32"), Flag: T.Tensor((2,), "int32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            if Flag[bx] > 0:
                trace.record("set", payload=Flag[bx])
            if Flag[bx] > 1:
                B[bx * threads + tx] = A[bx * threads + tx]
            else:
                trace.record("not above one", payload=Flag[bx])
            for i in T.serial(3):
                trace.record("tick", payload=i)
            if Flag[bx] <= 1:
                trace.record("before", payload=1)
                with trace.range("both", payload=2):
                    B[bx * threads + tx] = A[bx * threads + tx] * 2.0
                    with trace.range("second", payload=3):
                        B[bx * threads + tx] = B[bx * threads + tx] - 1.0
                trace.record("after", payload=4)

    return only_markers


def _only_markers_inputs(device):
    import torch

    return normal(device, 256, dtype="float32"), torch.tensor([1, 2], dtype=torch.int32, device=device)


def _only_markers_expected(a, flag):
    import torch

    return torch.where((flag > 1).repeat_interleave(128), a, a * 2 - 1)


def guarded_tile(tiles=8, block=64, threads=128):
    """Copies, a serial loop and a data-parallel one, all under one run-time condition and one range."""

    @T.prim_func
    def guarded_tile(
        A: T.Tensor((tiles * block, block), "float32"),
        Flag: T.Tensor((tiles,), "int32"),
        B: T.Tensor((tiles * block, block), "float32"),
    ):
        with T.Kernel(tiles, threads=threads) as bx:
            tile = T.alloc_shared((block, block), "float32")
            total = T.alloc_fragment((block, block), "float32")
            T.clear(total)
            if Flag[bx] > 0:
                with trace.range("whole", payload=Flag[bx]):
                    with trace.range("load", payload=bx):
                        T.copy(A[bx * block, 0], tile)
                    trace.record("loaded", payload=bx)
                    for r in T.serial(3):
                        with trace.range("repeat", payload=r):
                            for i, j in T.Parallel(block, block):
                                total[i, j] = total[i, j] + tile[i, j] * 2.0
                    T.copy(total, B[bx * block, 0])

    return guarded_tile


def _guarded_inputs(device):
    import torch

    flags = integers(device, 8, low=-2, high=3)
    return normal(device, 512, 64, dtype="float32"), flags, torch.zeros(512, 64, device=device)


def _guarded_expected(a, flag, _):
    import torch

    return torch.where((flag > 0).repeat_interleave(64)[:, None], a * 6, torch.zeros_like(a))


def spent_condition(n=128):
    """A condition that the guarded statement itself makes false: the range must still end."""

    @T.prim_func
    def spent_condition(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            left = T.alloc_var("int32")
            left = A[tx]
            for i in T.serial(4):
                if left > 0:
                    with trace.range("spend", payload=i):
                        left = left - 1
            B[tx] = left

    return spent_condition


@T.macro
def _scale(A, B, start, count, factor):
    with trace.range("macro", payload=start):
        for i in T.Parallel(count):
            B[start + i] = A[start + i] * factor
        trace.record("inside", payload=factor)


def macro(n=1024, threads=128):
    @T.prim_func
    def macro(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // 256, threads=threads) as bx:
            _scale(A, B, bx * 256, 128, 2.0)
            _scale(A, B, bx * 256 + 128, 128, 3.0)

    return macro


def _macro_expected(a):
    import torch

    return a * torch.tensor([2.0, 3.0], device=a.device).repeat_interleave(128).repeat(4)


def payloads(n=128):
    @T.prim_func
    def payloads(
        A: T.Tensor((n,), "float32"),
        H: T.Tensor((n,), "float16"),
        F: T.Tensor((n,), "bfloat16"),
        I8: T.Tensor((n,), "int8"),
        I16: T.Tensor((n,), "int16"),
        U8: T.Tensor((n,), "uint8"),
        U32: T.Tensor((n,), "uint32"),
        B: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(2, threads=n) as bx:
            tx = T.get_thread_binding()
            count = T.alloc_var("int32", init=5)
            trace.record("none")
            trace.record("zero", payload=0)
            trace.record("minus one", payload=-1)
            trace.record("lowest", payload=-(2**31))
            trace.record("highest", payload=2**31 - 1)
            trace.record("unsigned constant", payload=2**32 - 1)
            trace.record("float", payload=-1.5)
            trace.record("true", payload=True)
            trace.record("block", payload=bx)
            trace.record("thread", payload=tx)
            trace.record("negative expression", payload=-3 - bx)
            trace.record("comparison", payload=bx > 0)
            trace.record("loaded float", payload=A[bx])
            trace.record("loaded half", payload=H[bx])
            trace.record("half expression", payload=H[bx] * T.float16(2))
            trace.record("loaded bfloat", payload=F[bx])
            trace.record("loaded int8", payload=I8[bx])
            trace.record("loaded int16", payload=I16[bx])
            trace.record("loaded uint8", payload=U8[bx])
            trace.record("loaded uint32", payload=U32[bx])
            trace.record("cast", payload=T.cast(A[bx], "int32"))
            trace.record("variable", payload=count)
            count = count + 1
            trace.record("variable after", payload=count + 1)
            with trace.range("work", payload=A[bx] + 0.5):
                # Every parameter is used here, so that the payloads add none to the kernel.
                total = A[tx] + H[tx] + F[tx] + I8[tx] + I16[tx] + U8[tx]
                B[tx] = T.if_then_else(U32[tx] > T.uint32(0), T.cast(total, "float32"), 0.0)

    return payloads


def _payload_inputs(device):
    return (
        normal(device, 128, dtype="float32"),
        normal(device, 128, seed=1),
        normal(device, 128, dtype="bfloat16", seed=2),
        integers(device, 128, low=-128, high=128, dtype="int8"),
        integers(device, 128, low=-(2**15), high=2**15, dtype="int16"),
        integers(device, 128, low=0, high=256, dtype="uint8"),
        integers(device, 128, low=2**31, high=2**32, dtype="uint32"),
    )


def crossing(n=128):
    @T.prim_func
    def crossing(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            with trace.range("outer", lane="nested", payload=1):
                with trace.range("inner", lane="nested", payload=2):
                    B[tx] = A[tx] + 1.0
            first = trace.range_start("first", payload=10)
            B[tx] = B[tx] * 2.0
            second = trace.range_start("second", lane="other", payload=20)
            B[tx] = B[tx] * 2.0
            trace.range_end(first)
            B[tx] = B[tx] * 2.0
            trace.range_end(second)
            with trace.range("empty"):
                pass
            trace.dag("first", "second")

    return crossing


def groups(n=256):
    @T.prim_func
    def groups(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            with trace.group("low", lead=0):
                with trace.range("work", payload=tx):
                    B[tx] = A[tx] + 1.0
            with trace.group("high", lead=128):
                with trace.range("work", lane="second", payload=tx):
                    B[tx] = B[tx] + 1.0
            with trace.range("tail"):
                B[tx] = B[tx] + 1.0

    return groups


def ragged_pipeline(rows=4, width=16, longest=8):
    """Rows of different lengths, none among them: iterations that the pipeline moves out of a loop may never come."""

    @T.prim_func
    def ragged_pipeline(
        L: T.Tensor((rows,), "int32"), A: T.Tensor((rows, longest * width), "int32"), B: T.Tensor((rows,), "int32")
    ):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((width,), "int32")
            sums = T.alloc_fragment((width,), "int32")
            total = T.alloc_fragment((1,), "int32")
            for row in T.serial(rows):
                T.clear(sums)
                for k in T.Pipelined(L[row], num_stages=2):
                    with trace.range("copy", payload=row * longest + k):
                        T.copy(A[row, k * width], tile, disable_tma=True)  # with TMA, roles keep the loop whole
                    with trace.range("add", payload=k):
                        for i in T.Parallel(width):
                            sums[i] += tile[i]
                T.reduce_sum(sums, total, dim=0)
                B[row] = total[0]

    return ragged_pipeline


def _ragged_inputs(device):
    import torch

    return torch.tensor([3, 0, 1, 8], dtype=torch.int32, device=device), integers(device, 4, 128, low=-99, high=99)


def _ragged_expected(lengths, a):
    import torch

    columns = torch.arange(a.shape[1], device=a.device)
    return torch.where(columns[None, :] < lengths[:, None] * 16, a, 0).sum(1)


def _vector(count, dtype="float32"):
    return lambda device: (normal(device, count, dtype=dtype),)


REFERENCES = (
    Reference("every_thread", every_thread, lambda device: (integers(device, 16, low=0, high=9),), lambda a: a * 4),
    Reference("every_warp", every_warp, _vector(1024), lambda a: a * 2),
    Reference("early_return", early_return, _vector(1000), lambda a: a * 2),
    Reference(
        "collatz", collatz, lambda device: (integers(device, 64, low=1, high=99),), _collatz_expected, rtol=0, atol=0
    ),
    Reference("branches", branches, _branches_inputs, _branches_expected),
    Reference("only_markers", only_markers, _only_markers_inputs, _only_markers_expected),
    Reference("guarded_tile", guarded_tile, _guarded_inputs, _guarded_expected, out_idx=()),
    Reference(
        "spent_condition",
        spent_condition,
        lambda device: (integers(device, 128, low=0, high=9),),
        lambda a: (a - 4).clamp(min=0),
        again=False,
    ),
    Reference("macro", macro, _vector(1024), _macro_expected),
    Reference(
        "payloads", payloads, _payload_inputs, lambda *used: sum(t.float() for t in used[:-1]), rtol=0.1, atol=1.0
    ),
    Reference("crossing", crossing, _vector(128), lambda a: (a + 1) * 8),
    Reference("groups", groups, _vector(256), lambda a: a + 3),
    Reference(
        "ragged_pipeline",
        ragged_pipeline,
        _ragged_inputs,
        _ragged_expected,
        rtol=0,
        atol=0,
    ),
)
