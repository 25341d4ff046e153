"""What a trace says happened is what happened: conditions, jumps, variables, early exits, dead branches.

Each kernel is run on the virtual GPU as an sm_80 and as an sm_90a card schedules it, and its events are compared with
what its source says.
"""

# ruff: noqa: SIM102 (TileLang turns each statement into one of the kernel's)

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import tilelang.language as T
import torch

from tltrace_nb import trace
from tltrace_nb.base.errors import PayloadError

GPUS = ["a100", "h200"]
GEMM = ((128, 128), (128, 128))


@pytest.fixture(params=GPUS)
def gpu(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def traced(func: Any, *inputs: Any, gpu: str, auto: Any = None) -> Any:
    trace.simulate(func, *inputs, gpu=gpu, auto=auto)
    last = trace.last
    assert last is not None
    assert not last.losses[["lost", "corrupt", "unmatched_ends"]].to_numpy().any()
    assert not last.events.truncated.any()
    return last


def of(name: str, found: Any) -> list[tuple[int, Any]]:
    """CTA and payload of each event of a name, in order."""
    events = found.events[found.events.name == name]
    return list(zip(events.cta.tolist(), events.payload.astype(int).tolist(), strict=True))


def halves(*shapes: tuple[int, ...]) -> list[Any]:
    return [torch.ones(shape, dtype=torch.float16) for shape in shapes]


# ---- branches


@pytest.mark.parametrize("auto", [None, "light", "all"])
def test_a_branch_that_is_not_taken_leaves_no_event(gpu: str, auto: Any) -> None:
    """The inner condition always holds, so TileLang drops it; the range is still inside the outer one."""

    @T.prim_func
    def taken(A: T.Tensor((3, 128), "float32"), F: T.Tensor((3,), "int32"), B: T.Tensor((3, 128), "float32")):
        with T.Kernel(3, threads=128) as bx:
            s = T.alloc_shared((128,), "float32")
            if F[bx] > 0:
                with trace.range("work", payload=bx):
                    if bx < 8:
                        T.copy(A[bx, 0:128], s)
                        T.copy(s, B[bx, 0:128])

    found = traced(taken, torch.ones(3, 128), torch.tensor([1, 0, 1], dtype=torch.int32), gpu=gpu, auto=auto)
    assert of("work", found) == [(0, 0), (2, 2)]
    assert not (found.events.cta == 1).any()


def test_the_load_of_a_condition_is_outside_of_the_range_under_it(gpu: str) -> None:
    def kernel(otherwise: bool) -> Any:
        @T.prim_func
        def guarded(A: T.Tensor((3, 128), "float32"), F: T.Tensor((3,), "int32"), B: T.Tensor((3, 128), "float32")):
            with T.Kernel(3, threads=128) as bx:
                s = T.alloc_shared((128,), "float32")
                if F[bx] > 0:
                    with trace.range("work", payload=bx):
                        T.copy(A[bx, 0:128], s)
                        T.copy(s, B[bx, 0:128])
                elif otherwise:
                    B[bx, 0] = 0.0

        return guarded

    inputs = torch.ones(3, 128), torch.tensor([1, 0, 1], dtype=torch.int32)
    alone, both = (traced(kernel(otherwise), *inputs, gpu=gpu).events.duration for otherwise in (False, True))
    assert alone.tolist() == both.tolist()


@pytest.mark.some(2)
@pytest.mark.parametrize("auto", [None, "light", "all"])
def test_a_condition_that_is_peeled_off_a_pipeline_keeps_its_ranges_inside(gpu: str, auto: Any) -> None:
    @T.prim_func
    def peeled(A: T.Tensor((256, 128), "float16"), F: T.Tensor((3,), "int32"), B: T.Tensor((3, 128), "float16")):
        with T.Kernel(3, threads=128) as bx:
            s = T.alloc_shared((32, 128), "float16")
            acc = T.alloc_fragment((32, 128), "float32")
            if F[bx] > 0:
                T.clear(acc)
                with trace.range("pipe", payload=bx):
                    for k in T.Pipelined(8, num_stages=2):
                        T.copy(A[k * 32, 0], s)
                        if k < 3:
                            with trace.range("add", payload=k):
                                for i, j in T.Parallel(32, 128):
                                    acc[i, j] += s[i, j]
                T.copy(acc[0, :], B[bx, 0:128])

    found = traced(peeled, *halves((256, 128)), torch.tensor([1, 0, 2], dtype=torch.int32), gpu=gpu, auto=auto)
    roles = 2 if gpu == "h200" else 1
    assert Counter(of("pipe", found)) == {(0, 0): roles, (2, 2): roles}
    assert of("add", found) == [(cta, k) for cta in (0, 2) for k in range(3)]
    pipelines = found.events[found.events.name.str.startswith("pipeline")]
    assert not (pipelines.cta == 1).any()


def test_a_persistent_kernel_records_the_tiles_that_exist_and_each_wave_once(gpu: str) -> None:
    """Also where the branches of the roles are inside a loop and a condition that the range is around."""

    @T.prim_func
    def persistent(
        A: T.Tensor((128, 128), "float16"), B: T.Tensor((128, 128), "float16"), C: T.Tensor((320, 32), "float32")
    ):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((32, 128), "float16")
            b = T.alloc_shared((32, 128), "float16")
            acc = T.alloc_fragment((32, 32), "float32")
            with trace.range("whole", payload=bx):
                for w in T.serial(3):
                    trace.record("wave", payload=w)
                    with trace.range("slot", payload=w):
                        if w * 4 + bx < 10:
                            with trace.range("tile", payload=w * 4 + bx):
                                T.clear(acc)
                                for k in T.Pipelined(4, num_stages=2):
                                    T.copy(A[k * 32, 0], a)
                                    T.copy(B[k * 32, 0], b)
                                    T.gemm(a, b, acc, transpose_B=True)
                                T.copy(acc, C[(w * 4 + bx) * 32, 0])

    found = traced(persistent, *halves(*GEMM), gpu=gpu)
    roles = 2 if gpu == "h200" else 1
    ctas = range(4)
    assert Counter(of("whole", found)) == {(cta, cta): roles for cta in ctas}
    assert Counter(of("slot", found)) == {(cta, w): roles for cta in ctas for w in range(3)}
    assert of("wave", found) == [(cta, w) for cta in ctas for w in range(3)]
    assert Counter(of("tile", found)) == {(t % 4, t): roles for t in range(10)}


def test_a_pipeline_with_fewer_iterations_than_stages_records_those_that_run(gpu: str) -> None:
    @T.prim_func
    def short(
        A: T.Tensor((128, 128), "float16"),
        B: T.Tensor((128, 128), "float16"),
        L: T.Tensor((4,), "int32"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 128), "float16")
            b = T.alloc_shared((32, 128), "float16")
            acc = T.alloc_fragment((32, 32), "float32")
            for i in T.serial(4):
                with trace.range("batch", payload=i):
                    T.clear(acc)
                    for k in T.Pipelined(L[i], num_stages=3):
                        T.copy(A[k * 32, 0], a)
                        T.copy(B[k * 32, 0], b)
                        with trace.range("mma", payload=i * 10 + k):
                            T.gemm(a, b, acc, transpose_B=True)
            T.copy(acc, C)

    found = traced(short, *halves(*GEMM), torch.tensor([3, 0, 1, 2], dtype=torch.int32), gpu=gpu)
    assert of("mma", found) == [(0, n) for n in (0, 1, 2, 20, 30, 31)]
    assert {payload for _, payload in of("batch", found)} == {0, 1, 2, 3}


# ---- variables as payloads


def test_a_role_that_never_sets_a_variable_does_not_record_it() -> None:
    @T.prim_func
    def counted(
        A: T.Tensor((128, 128), "float16"),
        B: T.Tensor((128, 128), "float16"),
        F: T.Tensor((1,), "int32"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((32, 128), "float16")
            b = T.alloc_shared((32, 128), "float16")
            acc = T.alloc_fragment((32, 32), "float32")
            v = T.alloc_var("int32")
            T.clear(acc)
            v = 0
            for _ in T.serial(3):
                v = v + 4
                trace.record("x", payload=v)
            if F[bx] > 0:
                for k in T.Pipelined(4, num_stages=2):
                    T.copy(A[k * 32, 0], a)
                    T.copy(B[k * 32, 0], b)
                    T.gemm(a, b, acc, transpose_B=True)
            v = v + 1
            T.copy(acc, C)

    found = traced(counted, *halves(*GEMM), torch.ones(1, dtype=torch.int32), gpu="h200")
    assert of("x", found) == [(0, 4), (0, 8), (0, 12)]
    assert set(found.events[found.events.name == "x"].role) == {"consumer"}


def test_a_part_of_a_range_that_would_begin_with_another_payload_does_not_record(gpu: str) -> None:
    """The scheduler moves the fill into the consumer, behind the change of the variable."""

    @T.prim_func
    def torn(A: T.Tensor((128, 128), "float16"), B: T.Tensor((128, 128), "float16"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 128), "float16")
            b = T.alloc_shared((32, 128), "float16")
            acc = T.alloc_fragment((32, 32), "float32")
            n = T.alloc_var("int32", init=0)
            with trace.range("first", payload=n):
                n = n + 1
                T.clear(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k * 32, 0], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, acc, transpose_B=True)
            T.copy(acc, C)

    found = traced(torn, *halves(*GEMM), gpu=gpu)
    (row,) = found.events[found.events.name == "first"].itertuples()
    assert (row.payload, row.payload_end) == (0, 1)


def test_a_marker_of_which_nothing_would_be_left_is_refused_with_the_variable_s_name() -> None:
    @T.prim_func
    def elsewhere(
        A: T.Tensor((128, 128), "float16"), B: T.Tensor((128, 128), "float16"), C: T.Tensor((32, 32), "float32")
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 128), "float16")
            b = T.alloc_shared((32, 128), "float16")
            acc = T.alloc_fragment((32, 32), "float32")
            n = T.alloc_var("int32")
            T.clear(acc)
            n = 5
            for k in T.Pipelined(4, num_stages=2):
                with trace.range("load", payload=n):
                    T.copy(A[k * 32, 0], a)
                    T.copy(B[k * 32, 0], b)
                T.gemm(a, b, acc, transpose_B=True)
            n = n + 1
            T.copy(acc, C)

    with pytest.raises(PayloadError, match="the payload of 'load' reads 'n'"):
        traced(elsewhere, *halves(*GEMM), gpu="h200")


# ---- jumps


def test_a_range_ends_where_a_jump_leaves_it(gpu: str) -> None:
    @T.prim_func
    def jumps(A: T.Tensor((8,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            t = T.alloc_var("int32", init=0)
            with trace.range("loop"):
                for i in T.serial(8):
                    with trace.range("step", payload=i):
                        with trace.range("inner", payload=10 + i):
                            if A[i] == 1:
                                continue
                            if A[i] == 3:
                                break
                        t = t + A[i]
            with trace.range("after", payload=t):
                B[tx] = t

    found = traced(jumps, torch.tensor([0, 1, 2, 2, 3, 5, 5, 5], dtype=torch.int32), gpu=gpu)
    assert of("step", found) == [(0, i) for i in range(5)]
    assert of("inner", found) == [(0, 10 + i) for i in range(5)]
    assert of("after", found) == [(0, 4)]
    depths = found.events.groupby("name", observed=True).depth.unique()
    assert [list(depths[name]) for name in ("loop", "step", "inner", "after")] == [[0], [1], [2], [0]]
    steps = found.events[found.events.name == "step"]
    assert steps.end.max() <= found.events[found.events.name == "loop"].end.max()


def test_a_return_ends_all_ranges_innermost_first(gpu: str) -> None:
    @T.prim_func
    def returns(A: T.Tensor((2,), "int32"), B: T.Tensor((2, 32), "int32")):
        with T.Kernel(2, threads=32) as bx:
            tx = T.get_thread_binding()
            with trace.range("outer", payload=bx):
                for i in T.serial(2):
                    with trace.range("inner", payload=i):
                        if A[bx] > 0:
                            T.thread_return()
                        B[bx, tx] = i

    found = traced(returns, torch.tensor([0, 1], dtype=torch.int32), gpu=gpu)
    assert of("outer", found) == [(0, 0), (1, 1)]
    assert of("inner", found) == [(0, 0), (0, 1), (1, 0)]
    inner, outer = (
        found.events[(found.events.name == n) & (found.events.cta == 1)].iloc[0] for n in ("inner", "outer")
    )
    assert inner.end <= outer.end


# ---- who comes


def _role_kernels() -> list[Any]:
    def returned() -> Any:
        @T.prim_func
        def kernel(A: T.Tensor((128,), "int32"), B: T.Tensor((128,), "int32")):
            with T.Kernel(1, threads=128):
                tx = T.get_thread_binding()
                if tx < 32:
                    T.thread_return()
                with trace.range("seen"):
                    B[tx] = A[tx]

        return kernel

    def in_a_variable() -> Any:
        @T.prim_func
        def kernel(A: T.Tensor((128,), "int32"), B: T.Tensor((128,), "int32")):
            with T.Kernel(1, threads=128):
                tx = T.get_thread_binding()
                w = T.alloc_var("int32")
                w = tx // 32
                if w == 1:
                    with trace.range("seen"):
                        B[tx] = A[tx]

        return kernel

    def in_a_loop() -> Any:
        @T.prim_func
        def kernel(A: T.Tensor((128,), "int32"), B: T.Tensor((128,), "int32")):
            with T.Kernel(1, threads=128):
                tx = T.get_thread_binding()
                for _ in T.serial(tx // 32):
                    with trace.range("seen"):
                        B[tx] = A[tx]

        return kernel

    def changed_in_a_loop() -> Any:
        @T.prim_func
        def kernel(A: T.Tensor((128,), "int32"), B: T.Tensor((128,), "int32")):
            with T.Kernel(1, threads=128):
                tx = T.get_thread_binding()
                role = T.alloc_var("int32", init=0)
                for i in T.serial(2):
                    role = (tx // 32) * (i + 1) // (i + 1)
                role = tx // 32
                if role != 0:
                    if role == 1:
                        with trace.range("seen"):
                            B[tx] = A[tx]

        return kernel

    return [returned(), in_a_variable(), in_a_loop(), changed_in_a_loop()]


@pytest.mark.parametrize("kernel", _role_kernels(), ids=["return", "variable", "loop", "nested"])
def test_where_the_lead_never_comes_the_first_thread_that_does_records(kernel: Any, gpu: str) -> None:
    found = traced(kernel, torch.ones(128, dtype=torch.int32), gpu=gpu)
    assert [*found.events.name] == ["seen"]
    assert [*found.events.thread] == [32]
    assert found.meta.note == ""


def test_a_range_whose_thread_data_decide_on_is_named_and_says_how_to_choose(gpu: str) -> None:
    @T.prim_func
    def lanes(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if A[tx] > 0:
                with trace.range("mine", payload=tx):
                    B[tx] = A[tx]

    data = torch.ones(64, dtype=torch.int32)
    data[0] = 0
    found = traced(lanes, data, gpu=gpu)
    assert found.events.empty
    assert "'mine'" in found.meta.note
    assert "trace.group(..., lead=)" in found.meta.note
    (reason,) = set(found.sites.reason)
    assert reason.startswith("thread 0 records here, and its own data have not let it come; trace.group(..., lead=)")


def test_a_bound_that_the_lead_meets_wherever_any_thread_does_needs_no_word(gpu: str) -> None:
    N = T.dynamic("N")

    @T.prim_func
    def bounded(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 128), threads=128) as bx:
            tx = T.get_thread_binding()
            if bx * 128 + tx < N:
                with trace.range("scale", payload=bx):
                    B[bx * 128 + tx] = A[bx * 128 + tx] * 2.0

    found = traced(bounded, torch.ones(200), gpu=gpu)
    assert of("scale", found) == [(0, 0), (1, 1)]
    assert found.meta.note == ""


# ---- dead branches


@pytest.mark.parametrize(("n", "tails"), [(1000, [(7, 7)]), (1024, [])])
def test_a_branch_that_no_cta_takes_is_dead_and_the_others_record(n: int, tails: list[Any], gpu: str) -> None:
    @T.prim_func
    def tiles(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            if (bx + 1) * 128 <= n:
                with trace.range("full", payload=bx):
                    for i in T.Parallel(128):
                        B[bx * 128 + i] = A[bx * 128 + i] * 2.0
            else:
                with trace.range("tail", payload=bx):
                    for i in T.Parallel(128):
                        if bx * 128 + i < n:
                            B[bx * 128 + i] = A[bx * 128 + i] * 2.0

    found = traced(tiles, torch.ones(n), gpu=gpu)
    assert of("tail", found) == tails
    assert len(of("full", found)) == n // 128
    silent = found.sites[found.sites["count"] == 0]
    assert set(silent.reason) == (set() if tails else {"TileLang proves that this code never runs"})
    assert found.sites[found.sites["count"] > 0].reason.isna().all()
