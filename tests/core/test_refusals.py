"""Bad input gets an exception of its own kind, which names the kernel and the line and says what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T
from kernels import BY_NAME, builds

from tltrace_nb import trace
from tltrace_nb.base.checks import short
from tltrace_nb.base.errors import (
    CapacityError,
    MarkerError,
    NotTracedError,
    PayloadError,
    PlacementError,
    SlotsError,
    TokenError,
)
from tltrace_nb.core.compile import lowering, schedule
from tltrace_nb.core.compile.numbering import has_markers, read_sites, strip
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler
from tltrace_nb.core.runtime.jit import table_of
from tltrace_nb.core.runtime.running import decode
from tltrace_nb.data.chosen import CtaRuns

N = 128
HERE = r"test_refusals\.py:\d+"


def _build(mark: Callable[[Any, Any], None], threads: int = N) -> Any:
    """A kernel around some markers, which get its thread index and its output."""

    @T.prim_func
    def victim(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            mark(tx, A)
            B[tx] = A[tx]

    return victim


def _prepare(func: Any, architecture: str = "sm_80", **options: Any) -> Any:
    target = schedule.resolve_target({"kind": "cuda", "arch": architecture})
    with target:
        return lowering.prepare(func, Scheduler(target), TraceOptions.of(**options))


# ---- tokens


def test_a_token_used_twice() -> None:
    def mark(tx: Any, _: Any) -> None:
        token = trace.range_start("once")
        trace.range_end(token)
        trace.range_end(token)

    with pytest.raises(
        TokenError, match=rf"range_end of 'once' at .*{HERE}: the range begun at .*{HERE} is not open.*once"
    ):
        _build(mark)


def test_a_token_of_another_kernel() -> None:
    kept: list[Any] = []

    def first(tx: Any, _: Any) -> None:
        kept.append(trace.range_start("theirs"))
        trace.range_end(kept[0])

    def second(tx: Any, _: Any) -> None:
        trace.range_end(kept[0])

    _build(first)
    with pytest.raises(TokenError, match=rf"'theirs' at .*{HERE}.*in the kernel that began it"):
        _build(second)


@pytest.mark.parametrize("token", ["token", 3, object()], ids=["str", "int", "object"])
def test_no_token_at_all(token: Any) -> None:
    with pytest.raises(TokenError, match=r"tok=.*: give the token that range_start returned"):
        _build(lambda tx, _: trace.range_end(token))


def test_a_range_never_ended() -> None:
    def mark(tx: Any, _: Any) -> None:
        trace.range_start("open")

    func = _build(mark)
    with pytest.raises(
        TokenError, match=rf"kernel victim, .*{HERE}: the range 'open' is begun and never ended; call trace\.range_end"
    ):
        _prepare(func)


def test_none_is_a_token_that_does_nothing() -> None:
    assert not has_markers(_build(lambda tx, _: trace.range_end(None)))


# ---- where markers may stand


@pytest.mark.parametrize(
    "mark",
    [
        lambda: trace.record("here"),
        lambda: trace.range_start("here"),
        lambda: trace.range("here").__enter__(),
        lambda: trace.group("here").__enter__(),
        lambda: trace.dag("here", "there"),
    ],
    ids=["record", "range_start", "range", "group", "dag"],
)
def test_a_marker_outside_of_any_kernel(mark: Callable[[], Any]) -> None:
    with pytest.raises(
        MarkerError, match=r"trace\.\w+.* stands outside a kernel; markers belong inside `with T\.Kernel"
    ):
        mark()


def test_a_marker_before_the_launch() -> None:
    with pytest.raises(MarkerError, match=r"trace\.record\('early'\).*outside a kernel"):

        @T.prim_func
        def early(A: T.Tensor((N,), "float32")):
            trace.record("early")
            with T.Kernel(1, threads=N):
                A[0] = 0.0


@pytest.mark.parametrize("kind", ["parallel", "vectorized"])
def test_a_marker_in_a_data_parallel_loop(kind: str) -> None:
    loop = T.Parallel if kind == "parallel" else T.vectorized

    @T.prim_func
    def spread(A: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            for i in loop(4):
                with trace.range("inside", payload=i):
                    A[i] = 1.0

    with pytest.raises(
        PlacementError, match=rf"kernel spread, .*{HERE}: 'inside' stands inside a T\.\w+ loop.*put the marker around"
    ):
        read_sites(spread)


# ---- names, groups


@pytest.mark.parametrize("name", ["", None, 3, b"bytes", ["a"]], ids=repr)
def test_a_name_that_is_none(name: Any) -> None:
    for mark in (
        lambda *_: trace.record(name),
        lambda *_: trace.range_start(name),
        lambda *_: trace.record("fine", lane=name),
        lambda *_: trace.group(name),
        lambda *_: trace.dag(name, "b"),
        lambda *_: trace.dag("a", name),
    ):
        with pytest.raises(MarkerError, match=rf"={re.escape(short(name))} at .*{HERE}: give a non-empty string"):
            _build(mark)


@pytest.mark.parametrize("lead", [-1, 1.5, "0", True, None], ids=repr)
def test_a_lead_that_is_no_thread_id(lead: Any) -> None:
    with pytest.raises(
        MarkerError, match=rf"lead={re.escape(repr(lead))}\) at .*{HERE}: give the id of a thread, an int >= 0"
    ):
        _build(lambda *_: trace.group("g", lead=lead))


def test_a_lead_outside_the_block() -> None:
    def mark(tx: Any, _: Any) -> None:
        with trace.group("far", lead=N):
            trace.record("x")

    with pytest.raises(
        MarkerError, match=rf"kernel victim, .*{HERE}: group 'far' has lead=128, but the block has 128 threads"
    ):
        _prepare(_build(mark))


def test_an_unknown_per() -> None:
    with pytest.raises(MarkerError, match=rf"per='block'\) at .*{HERE}: give one of 'group', 'warp', 'thread'"):
        _build(lambda *_: trace.group("g", per="block"))  # type: ignore[arg-type]


def test_two_groups_of_one_name() -> None:
    def mark(tx: Any, _: Any) -> None:
        with trace.group("g", lead=1):
            trace.record("x")
        with trace.group("g", lead=2):
            trace.record("y")

    with pytest.raises(
        MarkerError, match=rf"group\('g', lead=2\) at .*{HERE}.*declared before with lead=1.*another name"
    ):
        _build(mark)


# ---- payloads


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (2**32, r"4294967296 does not fit 32 bits"),
        (-(2**31) - 1, r"-2147483649 does not fit 32 bits"),
        (1e39, r"1e\+39 does not fit float32; scale it"),
        (1 + 2j, r"complex; give None, a bool, an int, a float or a scalar expression"),
        ("text", r"str; give None"),
        ([1], r"list; give None"),
    ],
    ids=["large", "low", "float", "complex", "str", "list"],
)
def test_a_constant_that_32_bits_do_not_hold(payload: Any, says: str) -> None:
    for mark in (lambda *_: trace.record("p", payload=payload), lambda *_: trace.range_start("p", payload=payload)):
        with pytest.raises(PayloadError, match=rf"trace\.\w+\('p'\) at .*{HERE}.*{says}"):
            _build(mark)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "int32x4", "float16x2"])
def test_an_expression_of_more_than_32_bits(dtype: str) -> None:
    def mark(tx: Any, a: Any) -> None:
        scalar, _, lanes = dtype.partition("x")
        wide = T.Broadcast(T.cast(tx, scalar), int(lanes)) if lanes else T.cast(tx, scalar)
        trace.record("wide", payload=wide)

    with pytest.raises(
        PayloadError,
        match=rf"'wide'\) at .*{HERE}: a payload is a scalar of at most 32 bits, this one is {dtype}; cast",
    ):
        _build(mark)


def test_a_whole_buffer_as_payload() -> None:
    with pytest.raises(PayloadError, match=rf"at .*{HERE}: the payload is the buffer 'A'; give one element, A\[i\]"):
        _build(lambda _, a: trace.record("buffer", payload=a))


def test_a_fragment_element_as_payload() -> None:
    @T.prim_func
    def fragment(A: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            values = T.alloc_fragment((N,), "float32")
            T.copy(A, values)
            trace.record("element", payload=values[3])
            T.copy(values, A)

    with pytest.raises(
        PayloadError,
        match=rf"kernel fragment, .*{HERE}: the payload of 'element' reads the fragment.*alloc_var",
    ):
        _prepare(fragment)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_a_payload_that_a_pipelined_loop_counts(architecture: str) -> None:
    """The prefetch is issued iterations before its count is reached, or by a role that never counts."""

    @T.prim_func
    def counted(
        A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16"), C: T.Tensor((256, 256), "float16")
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            A_shared = T.alloc_shared((128, 32), "float16")
            B_shared = T.alloc_shared((32, 128), "float16")
            C_local = T.alloc_fragment((128, 128), "float32")
            count = T.alloc_var("int32", init=0)
            T.clear(C_local)
            for ko in T.Pipelined(8, num_stages=2):
                with trace.range("load", payload=count):
                    T.copy(A[by * 128, ko * 32], A_shared)
                    T.copy(B[ko * 32, bx * 128], B_shared)
                T.gemm(A_shared, B_shared, C_local)
                count = count + 1
            T.copy(C_local, C[by * 128, bx * 128])

    with pytest.raises(
        PayloadError, match=rf"kernel counted, .*{HERE}: the payload of 'load' reads 'count', which the pipelined loop"
    ):
        _prepare(counted, architecture)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_a_payload_set_outside_of_the_pipelined_loop_is_accepted(architecture: str) -> None:
    """TileLang keeps what stands around its roles for both of them."""

    @T.prim_func
    def seeded(
        A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16"), C: T.Tensor((256, 256), "float16")
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            A_shared = T.alloc_shared((128, 32), "float16")
            B_shared = T.alloc_shared((32, 128), "float16")
            C_local = T.alloc_fragment((128, 128), "float32")
            offset = T.alloc_var("int32", init=0)
            for _ in T.serial(2):
                T.clear(C_local)
                offset = offset + 10
                for ko in T.Pipelined(8, num_stages=2):
                    with trace.range("load", payload=offset):
                        T.copy(A[by * 128, ko * 32], A_shared)
                        T.copy(B[ko * 32, bx * 128], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
                T.copy(C_local, C[by * 128, bx * 128])

    assert len(_prepare(seeded, architecture).table.sites) == 2


def test_a_marker_with_nothing_to_ride_on_in_a_pipeline() -> None:
    @T.prim_func
    def lonely(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=N):
            tile = T.alloc_shared((N,), "float32")
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k * N], tile)
                T.copy(tile, B[k * N])
                for _ in T.serial(2):
                    trace.record("late", payload=k)

    with pytest.raises(
        PlacementError, match=rf"kernel lonely, .*{HERE}: 'late' stands in a pipelined .* body without any operator"
    ):
        _prepare(lonely)


# ---- capacity and options


def test_limits_of_the_author_that_exceed_the_budget_name_numbers_that_fit() -> None:
    func = BY_NAME["add"].build()
    with pytest.raises(
        CapacityError, match=r"kernel add: slots of 7 CTAs x 1 writers x 2 events .*ctas=\d+.*max_events.*budget=\d+"
    ) as e:
        _prepare(func, budget=200, ctas=7, max_events=2)
    fitting = int(re.search(r"ctas=(\d+)", str(e.value))[1])  # type: ignore[index]
    enough = int(re.search(r"budget=(\d+)", str(e.value))[1])  # type: ignore[index]
    assert len(_prepare(func, budget=200, ctas=fitting, max_events=2).table.ctas) == fitting
    assert len(_prepare(func, budget=enough, ctas=7, max_events=2).table.ctas) == 7


def test_a_budget_without_room_for_one_range_of_one_cta_is_refused() -> None:
    with pytest.raises(CapacityError, match=r"kernel add: slots of .* over the budget of 79 bytes"):
        _prepare(BY_NAME["add"].build(), budget=79)
    assert _prepare(BY_NAME["add"].build(), budget=80).table.capacity == 2


@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"max_events": 0}, ValueError, "max_events=0: give a number of records per writer, at least 1"),
        ({"max_events": True}, TypeError, "max_events=True"),
        ({"max_events": 2.5}, TypeError, "max_events=2.5"),
        ({"keep": "middle"}, ValueError, "keep='middle': give one of 'first', 'last'"),
        ({"budget": 0}, ValueError, "budget=0: give the bytes"),
        ({"ctas": True}, TypeError, "ctas=True"),
        (
            {"ctas": "0,5"},
            TypeError,
            "ctas='0,5': give a number of CTAs, at least 1, a range, a slice with an end, or ids",
        ),
        ({"ctas": 2.5}, TypeError, "ctas=2.5: give a number"),
        ({"ctas": 0}, ValueError, "ctas=0: give a number of CTAs, at least 1, a range"),
        ({"ctas": []}, ValueError, "ctas=[]: give"),
        ({"ctas": [-1]}, ValueError, "count from 0"),
        ({"ctas": slice(2, None)}, ValueError, "a slice with an end"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(options: dict[str, Any], kind: type[Exception], says: str) -> None:
    before = trace.enabled
    with pytest.raises(kind, match=re.escape(says)):
        trace.enable(**options)
    assert trace.enabled is before


def test_a_cta_beyond_the_grid() -> None:
    with pytest.raises(ValueError, match=r"kernel add: ctas= names CTA 8, but the grid has 8"):
        _prepare(BY_NAME["add"].build(), ctas=[8])


# ---- building and decoding


def test_finalize_with_a_grid_known_only_at_run_time() -> None:
    with (
        builds.target_of("sm_80"),
        pytest.raises(PlacementError, match=r"kernel dynamic_add: its grid is known only at run time.*@trace\.jit"),
    ):
        trace.finalize(BY_NAME["dynamic_add"].build(), traced=True)


def test_finalize_takes_a_dynamic_grid_when_ctas_are_chosen() -> None:
    with builds.target_of("sm_80"), trace.tracing(ctas=2):
        assert table_of(trace.finalize(BY_NAME["dynamic_add"].build())).ctas == CtaRuns.of([0, 1])


def test_an_untraced_kernel_is_not_decoded() -> None:
    import torch

    untraced = strip(BY_NAME["add"].build())
    with pytest.raises(
        NotTracedError, match=r"kernel add was built without tracing; call trace\.enable\(\) before it is built"
    ):
        trace.decode(untraced, torch.zeros(1, dtype=torch.int64))


@pytest.mark.parametrize("shape", [(8, 1, 10), (7, 1, 8), (8, 2, 8), (8,)], ids=str)
def test_slots_of_another_kernel(shape: tuple[int, ...]) -> None:
    import torch

    with builds.target_of("sm_80"):
        traced = trace.finalize(BY_NAME["add"].build(), traced=True)
    rows, writers, words = (int(n) for n in traced.buffer_map[traced.params[-1]].shape)
    assert (rows, writers) == (8, 1)
    wrong = tuple(words + 2 if n == 10 else words if n == 8 and i == 2 else n for i, n in enumerate(shape))
    with pytest.raises(
        SlotsError, match=rf"kernel add: expected slots of int64\[8, 1, {words}\], got int64.*pass the last tensor"
    ):
        decode(traced, torch.zeros(wrong, dtype=torch.int64))
    with pytest.raises(SlotsError, match=r"got float32"):
        decode(traced, torch.zeros((rows, writers, words)))


def test_a_kernel_without_markers_has_an_empty_table() -> None:
    table = _prepare(_build(lambda *_: None)).table
    assert table.sites == ()
    assert len(table.writers) == 1
