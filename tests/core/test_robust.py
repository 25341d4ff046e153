"""Markers in awkward places: each once led to a wrong record, a changed kernel or a crash inside the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T
from kernels import builds
from kernels.source import untraced

from tltrace_nb import trace
from tltrace_nb.base.errors import MarkerError, PayloadError, TokenError
from tltrace_nb.core.compile import lowering, numbering, schedule
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler
from tltrace_nb.data.sites import PayloadType

ARCHITECTURES = ("sm_80", "sm_90a")
N = 1024


def lines_of(func: Any, architecture: str = "sm_90a", pass_configs: dict[str, Any] | None = None) -> list[str]:
    """The traced CUDA source's lines, which without what tracing adds are the stripped kernel's."""
    target, configs = builds.target_of(architecture), pass_configs or {}
    with target:
        low = lowering.prepare(func, Scheduler(target, configs), TraceOptions())
    traced = builds._generate(low.anchored, schedule.context_with(low.at_boundary, target), configs)
    plain = builds.plain(numbering.strip(func), architecture, configs)
    assert untraced(traced.cuda) == plain.cuda
    return [line.strip() for line in traced.cuda.split("\n")]


def writers_of(func: Any) -> dict[str, int]:
    """The thread that records each name."""
    target = builds.target_of("sm_90a")
    with target:
        low = lowering.prepare(func, Scheduler(target), TraceOptions())
    lines = lines_of(func)
    found = {}
    for site in low.table.sites:
        (line,) = [line for line in lines if line.startswith("__tlt_record") and f"(uint){site.id}," in line]
        threads = [w.thread for w in low.table.writers if f"threadIdx.x) == {w.thread})" in line]
        found[site.name] = threads[0] if threads else low.table.writers[0].thread
    return found


def elementwise(body: Callable[[Any, Any, Any, Any], None], extent: Any = N) -> Any:
    """A kernel that copies, with ``body(bx, tx, A, B)`` before it."""

    @T.prim_func
    def kernel(A: T.Tensor((extent,), "float32"), B: T.Tensor((extent,), "float32")):
        with T.Kernel(T.ceildiv(extent, 128), threads=128) as bx:
            tx = T.get_thread_binding()
            body(bx, tx, A, B)
            if bx * 128 + tx < extent:
                B[bx * 128 + tx] = A[bx * 128 + tx]

    return kernel


def gemm(mark: Callable[[Any], Any]) -> Any:
    """A pipelined GEMM whose product is marked with the payload ``mark(k)``."""

    @T.prim_func
    def kernel(
        A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16"), C: T.Tensor((256, 256), "float16")
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            A_shared = T.alloc_shared((128, 32), "float16")
            B_shared = T.alloc_shared((32, 128), "float16")
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(8, num_stages=3):
                T.copy(A[by * 128, k * 32], A_shared)
                T.copy(B[k * 32, bx * 128], B_shared)
                with trace.range("mma", payload=mark(k)):
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 128, bx * 128])

    return kernel


def test_a_load_that_may_be_out_of_bounds_costs_no_record() -> None:
    n = T.dynamic("n")

    def body(bx: Any, tx: Any, A: Any, B: Any) -> None:
        trace.record("start", payload=A[bx * 128 + 64])
        trace.record("beside")

    lines = lines_of(elementwise(body, n))
    first = next(i for i, line in enumerate(lines) if line.startswith("__tlt_record("))
    assert "__tlt_load" in lines[first]
    assert lines[first - 1].startswith("__tlt_enter")
    assert lines[first + 1].startswith("__tlt_record_beside(")


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1.5])
def test_a_constant_brings_no_header_with_it(value: float) -> None:
    lines_of(elementwise(lambda bx, tx, A, B: trace.record("x", payload=value)))


@pytest.mark.parametrize(
    "payload",
    [
        lambda bx, tx: T.if_then_else(tx > 3, bx, 7),
        lambda bx, tx: (tx - 64) % 5,
        lambda bx, tx: (tx - 64) // 5,
    ],
    ids=["choice", "remainder", "quotient"],
)
def test_a_payload_puts_no_variable_into_the_kernel(payload: Callable[[Any, Any], Any]) -> None:
    lines_of(elementwise(lambda bx, tx, A, B: trace.record("x", payload=payload(bx, tx))))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_wide_global_accesses_may_be_switched_on(architecture: str) -> None:
    lines_of(gemm(lambda k: k), architecture, {"tl.enable_lower_ldgstg": True})


def test_a_parameter_may_be_called_slots() -> None:
    @T.prim_func
    def kernel(slots: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(8, threads=128) as bx, trace.range("copy", payload=bx):
            T.copy(slots[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])

    lines_of(kernel)


def test_a_payload_in_shared_memory_is_refused_with_the_way() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            s = T.alloc_shared((128,), "float32")
            T.copy(A[bx * 128], s)
            trace.record("s", payload=s[5])
            T.copy(s, B[bx * 128])

    with pytest.raises(PayloadError, match=r"test_robust\.py:\d+.*shared buffer 's'.*barrier"):
        lines_of(kernel)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_range_encloses_an_atomic_whose_result_is_kept(architecture: str) -> None:
    @T.prim_func
    def kernel(A: T.Tensor((N, 128), "float32"), count: T.Tensor((1,), "int32"), B: T.Tensor((N, 128), "float32")):
        with T.Kernel(8, threads=128) as bx:
            s = T.alloc_shared((16, 128), "float32")
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[bx * 128 + k * 16, 0], s)
                with trace.range("ticket", payload=k):
                    old = T.atomic_add(count[0], 1, return_prev=True)
                T.copy(s, B[(bx * 128 + k * 16) + old * 0, 0])

    lines = lines_of(kernel, architecture)
    places = [i for i, line in enumerate(lines) if "AtomicAdd" in line and "count" in line]
    assert places
    for place in places:
        assert "(uint)0," in lines[place - 1]
        assert "(uint)1," in lines[place + 1]


def test_the_other_branch_of_a_partly_known_condition_is_open_to_all() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(8, threads=128):
            tx = T.get_thread_binding()
            if T.And(tx < 32, A[0] > 0):
                trace.record("then")
                B[tx] = 1.0
            else:
                trace.record("else")
                B[tx] = 2.0

    assert writers_of(kernel) == {"then": 0, "else": 0}


@pytest.mark.parametrize(
    ("guard", "thread"),
    [
        (lambda: T.get_warp_idx_sync() == 2, 64),
        (lambda: T.get_warp_idx() == 3, 96),
        (lambda: T.get_lane_idx() == 5, 5),
    ],
    ids=["warp, synchronised", "warp", "lane"],
)
def test_a_guard_on_an_index_intrinsic_has_a_writer_inside(guard: Callable[[], Any], thread: int) -> None:
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            tx = T.get_thread_binding()
            B[bx * 128 + tx] = A[bx * 128 + tx]
            if guard():
                trace.record("inside")
                B[bx * 128 + tx] = 0.0

    assert writers_of(kernel) == {"inside": thread}


def test_the_default_group_keeps_its_lead() -> None:
    def body(bx: Any, tx: Any, A: Any, B: Any) -> None:
        with trace.group("default", lead=5):
            trace.record("x")

    with pytest.raises(MarkerError, match=r"'default'.*declared before"):
        elementwise(body)


def test_a_range_ends_in_the_launch_that_began_it() -> None:
    tokens: list[Any] = []

    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            tokens.append(trace.range_start("over"))
            T.copy(A[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])
        with T.Kernel(8, threads=128) as bx:
            trace.range_end(tokens[0])
            T.copy(B[bx * 128 : bx * 128 + 128], A[bx * 128 : bx * 128 + 128])

    with pytest.raises(TokenError, match=r"test_robust\.py:\d+.*'over'.*one T\.Kernel"):
        lines_of(kernel)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_branch_of_markers_alone_records_in_a_specialised_kernel(architecture: str) -> None:
    @T.prim_func
    def kernel(
        A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16"), C: T.Tensor((256, 256), "float16")
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            tx = T.get_thread_binding()
            A_shared = T.alloc_shared((128, 32), "float16")
            B_shared = T.alloc_shared((32, 128), "float16")
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(8, num_stages=3):
                T.copy(A[by * 128, k * 32], A_shared)
                T.copy(B[k * 32, bx * 128], B_shared)
                T.gemm(A_shared, B_shared, C_local)
                if k > 5:
                    trace.record("late", payload=k)
            if tx == 32:
                trace.record("thirty-second", payload=tx)
            else:
                trace.record("others")
            T.copy(C_local, C[by * 128, bx * 128])

    lines = lines_of(kernel, architecture)
    shift = 128 if architecture == "sm_90a" else 0
    guard_of = {
        line.split("(uint)")[1][0]: lines[i - 1] for i, line in enumerate(lines) if line.startswith("__tlt_rec")
    }
    assert guard_of["1"] == f"if (((int)threadIdx.x) == {32 + shift}) {{"
    assert guard_of["2"] in ("} else {", f"if (((int)threadIdx.x) != {32 + shift}) {{")
    assert "0" in guard_of


def test_a_payload_may_be_a_variable_that_markers_alone_use() -> None:
    @T.prim_func
    def kernel(F: T.Tensor((8,), "int32"), A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            flag = F[bx]
            trace.record("flag", payload=flag)
            for i in T.Parallel(128):
                B[bx * 128 + i] = A[bx * 128 + i] + F[i % 8]

    (line,) = [line for line in lines_of(kernel) if line.startswith("__tlt_record")]
    assert "__tlt_load" in line


@pytest.mark.parametrize("compare", [lambda tx: tx == 3, lambda tx: tx != 3, lambda tx: tx > 3], ids=["==", "!=", ">"])
def test_a_comparison_is_a_payload(compare: Callable[[Any], Any]) -> None:
    @T.prim_func
    def compared(A: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            trace.record("compared", payload=compare(tx))
            A[tx] = 0.0

    (site,) = numbering.read_sites(compared).sites
    assert site.payload is PayloadType.BOOL
