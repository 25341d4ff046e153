"""What of a launch is worked out once, what is kept of each, and what a trace made of it says."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tilelang.language as T
import torch
from recordings import RECORDED

from tltrace_nb import load, trace
from tltrace_nb.base.errors import TraceError
from tltrace_nb.core.api import TraceSwitch
from tltrace_nb.core.compile.lowering import Lowering, prepare
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler, resolve_target
from tltrace_nb.core.runtime import environment, overhead
from tltrace_nb.core.runtime.kept import TIMES_AT_ONCE
from tltrace_nb.core.runtime.launch import DeviceSlots, TracedLaunch
from tltrace_nb.core.runtime.planning import LaunchPlanner
from tltrace_nb.core.runtime.traced import TracedKernel
from tltrace_nb.data.sites import SiteTable
from tltrace_nb.data.slots import STATE_DONE, STATE_OPEN, slot_words

ROWS = T.dynamic("rows")


def rows_and_a_scalar() -> Any:
    """A grid that depends on an extent and on a scalar."""

    @T.prim_func
    def rows_and_a_scalar(
        A: T.Tensor((ROWS, 128), "float32"), groups: T.int32, factor: T.float32, B: T.Tensor((ROWS, 128), "float32")
    ):
        with T.Kernel(T.ceildiv(ROWS, 32), groups, threads=128) as (bx, _), trace.range("scale", payload=bx):
            for i, j in T.Parallel(32, 128):
                B[bx * 32 + i, j] = A[bx * 32 + i, j] * factor

    return rows_and_a_scalar


def constant() -> Any:
    @T.prim_func
    def constant(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=128) as bx, trace.range("copy", payload=bx):
            T.copy(A[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])

    return constant


def blocks_of_two_sizes() -> Any:
    """Two launches of which the second has no thread 96, who records in the first."""

    @T.prim_func
    def blocks_of_two_sizes(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=128) as bx, trace.group("late", lead=96), trace.range("first"):
            T.copy(A[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])
        with T.Kernel(2, threads=64) as bx, trace.range("second"):
            T.copy(A[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])

    return blocks_of_two_sizes


def sometimes() -> Any:
    """A launch that the host may leave out."""

    @T.prim_func
    def sometimes(A: T.Tensor((ROWS,), "float32"), flag: T.int32):
        if flag > 0:
            with T.Kernel(T.ceildiv(ROWS, 128), threads=128) as bx, trace.range("set"):
                T.fill(A[bx * 128 : bx * 128 + 128], 1)

    return sometimes


def lowered(func: Any, **options: Any) -> Lowering:
    target = resolve_target({"kind": "cuda", "arch": "sm_90a"})
    with target:
        return prepare(func, Scheduler(target), TraceOptions.of(**options))


def planner(func: Any, outputs: tuple[int, ...] = (), **options: Any) -> LaunchPlanner:
    return LaunchPlanner(lowered(func, **options), outputs)


@pytest.fixture(scope="module")
def dynamic() -> LaunchPlanner:
    return planner(rows_and_a_scalar(), outputs=(3,))


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two cards, as far as a launch asks, whose memory is the host's."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 7, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device", lambda _: __import__("contextlib").nullcontext())
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"card {index}")
    monkeypatch.setattr(torch.cuda, "Event", Event)
    card = SimpleNamespace(multi_processor_count=132)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: card)
    environment._card_name.cache_clear()
    yield
    environment._card_name.cache_clear()


class Event:
    """A CUDA event on a card that has done everything."""

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Event) -> float:
        return 1.0


class Code(SimpleNamespace):
    """What stands for machine code: ``run(*inputs, slots)``."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.run(*args, **options)


def recording(func: Any, run: Any, captured: Any, **options: Any) -> TracedKernel:
    """A traced kernel with a stand-in for its machine code."""
    lowering = lowered(func, **options)
    code: Any = Code(run=run, out_idx=[len(lowering.anchored.params) - 2], adapter=SimpleNamespace())
    return TracedKernel(func, code, lowering, TraceOptions.of(**options), captured)


def fill(slots: torch.Tensor, table: SiteTable, clock: int = 1000, state: int = STATE_DONE) -> None:
    """Headers as a kernel leaves them, without a record; what was in the records stays."""
    head = torch.tensor([state << 32, table.tag << 16, clock, clock, clock + 50, clock + 50], dtype=torch.int64)
    slots[..., :6] = head


# ---- planned once per shape


def test_the_shape_is_the_symbolic_extents_and_the_scalars_of_the_grid(dynamic: LaunchPlanner) -> None:
    assert dynamic.symbols == ("rows", "groups")
    assert dynamic.shape((torch.empty(100, 128), 3, 0.5)) == (100, 3)
    assert dynamic.plan((100, 3)).grids == ((4, 3, 1),)


def test_a_grid_is_worked_out_once_for_each_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    from tltrace_nb.core.runtime import planning

    mine = planner(rows_and_a_scalar(), outputs=(3,))
    first = mine.plan((64, 1))
    monkeypatch.setattr(planning, "Analyzer", None)
    assert mine.plan((64, 1)) is first
    with pytest.raises(TypeError):
        mine.plan((65, 1))


@pytest.mark.parametrize("scalar", [3, 3.0, np.int64(3), np.float32(3), torch.tensor(3)])
def test_scalars_of_any_type_are_read(dynamic: LaunchPlanner, scalar: Any) -> None:
    assert dynamic.plan(dynamic.shape((torch.empty(64, 128), scalar, True))).grids == ((2, 3, 1),)


def test_an_argument_that_is_none_leaves_the_extent_to_another() -> None:
    @T.prim_func
    def optional(A: T.Tensor((ROWS,), "float32"), B: T.Tensor((ROWS,), "float32")):
        with T.Kernel(T.ceildiv(ROWS, 128), threads=128) as bx, trace.range("copy"):
            T.copy(A[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])

    mine = planner(optional)
    assert mine.shape((None, torch.empty(300))) == mine.shape((torch.empty(300), None)) == (300,)
    with pytest.raises(ValueError, match="no argument tells"):
        mine.shape((None, None))


def test_no_shape_has_more_slots_than_the_budget_holds() -> None:
    mine = planner(rows_and_a_scalar(), outputs=(3,), budget=1000)
    small, large = mine.plan((32, 1)), mine.plan((3200, 1))
    assert small.nbytes == small.slots[0] * small.slots[1] * small.slots[2] * 8 <= 1000
    assert large.grids[0][0] > large.slots[0]
    assert large.nbytes <= 1000


# ---- slots are zeroed only where a header may stay unwritten


@pytest.mark.parametrize(
    ("func", "options", "shape", "zeroed"),
    [
        (constant, {}, (), False),
        (constant, {"ctas": [1]}, (), False),
        (rows_and_a_scalar, {}, (100, 3), False),
        (rows_and_a_scalar, {"ctas": 8}, (100, 3), False),
        (rows_and_a_scalar, {"ctas": 8}, (32, 1), True),
        (blocks_of_two_sizes, {}, (), True),
        (sometimes, {}, (100,), True),
    ],
)
def test_slots_are_zeroed_where_a_header_may_stay_unwritten(
    func: Any, options: dict[str, Any], shape: tuple[int, ...], zeroed: bool
) -> None:
    assert planner(func(), **options).plan(shape).zeroed is zeroed


def test_what_lay_in_the_memory_is_not_taken_for_records_of_a_writer_that_never_left() -> None:
    table = load(RECORDED / "add.tltrace").table
    old = torch.full((2, len(table.writers), slot_words(table.capacity)), 0x5A5A5A5A, dtype=torch.int64)
    fill(old, table)
    fill(old[1], table, state=STATE_OPEN)
    host = DeviceSlots(old, zeroed=False, seal=None).cpu()
    assert (host[0, :, 6:] == 0x5A5A5A5A).all()
    assert (host[1, :, 6:] == 0).all()
    assert (host[1, :, :6] == old[1, :, :6]).all()


# ---- a launch becomes a trace when it is looked at


def test_a_launch_is_described_when_looked_at_and_at_the_time_of_the_call(
    card: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tltrace_nb.core.runtime import traced

    launches: list[TracedLaunch] = []
    kernel = recording(constant(), lambda a, slots: fill(slots, kernel.table), launches.append)
    asked: list[Any] = []
    monkeypatch.setattr(traced, "describe", lambda *a, **k: asked.append(a) or environment.describe(*a, **k))
    kernel(torch.ones(256))
    (launch,) = launches
    assert not asked
    launch.started = 0.0
    assert launch.trace() is launch.trace()
    assert len(asked) == 1
    assert launch.trace().meta.captured == "1970-01-01T00:00:00.000000+00:00"
    assert launch.trace().meta.grids == ((2, 1, 1),)
    assert len(launch.trace().ctas) == 2


def test_the_card_s_name_is_that_of_the_card_it_ran_on(card: None) -> None:
    table = load(RECORDED / "add.tltrace").table
    names = [environment.describe(table, ((1, 1, 1),), device=index).gpu for index in (0, 1, None)]
    assert names == ["card 0", "card 1", "card 0"]


def test_a_launch_gives_its_memory_back_once_its_trace_was_read(card: None) -> None:
    launches: list[TracedLaunch] = []
    kernel = recording(constant(), lambda a, slots: fill(slots, kernel.table), launches.append)
    kernel(torch.ones(256))
    (launch,) = launches
    assert launch.device_bytes == launch.plan.nbytes > 0
    _ = launch.trace().slots
    assert (launch.device_bytes, launch.slots) == (0, None)


def test_launches_of_one_kernel_and_shape_have_one_key(card: None) -> None:
    launches: list[TracedLaunch] = []
    kernel = recording(rows_and_a_scalar(), lambda *args: fill(args[-1], kernel.table), launches.append)
    for rows in (64, 96, 64):
        kernel(torch.ones(rows, 128), 1, 2.0)
    first, other, again = (launch.key for launch in launches)
    assert first == again != other


def test_ten_thousand_launches_leave_a_bounded_history(card: None) -> None:
    switch = TraceSwitch()
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    kernel = recording(constant(), lambda a, slots: alive.add(slots.untyped_storage()), switch.captured)
    a = torch.ones(256)
    for _ in range(10_000):
        kernel(a)
    assert len(switch.history) <= 3  # the first, the last and the slowest
    assert len(alive) <= 3 + TIMES_AT_ONCE


def test_a_kernel_takes_any_arguments_of_the_right_number(card: None) -> None:
    seen: list[Any] = []
    kernel = recording(rows_and_a_scalar(), lambda *args, **options: seen.append((args, options)), print)
    tensor = torch.ones(128, 64).t()
    kernel.captured = lambda _: None
    kernel(tensor, True, 0.5, skip_tensor_validation=True)
    args, options = seen[0]
    assert args[0] is tensor
    assert (args[1:3], options) == ((True, 0.5), {"skip_tensor_validation": True})
    assert args[-1].dtype == torch.int64


# ---- wrong arguments are the untraced kernel's to refuse


def refused(error: Exception) -> Any:
    def run(*_: Any, **__: Any) -> Any:
        raise error

    return run


def test_wrong_arguments_raise_what_the_untraced_kernel_raises(card: None) -> None:
    kernel = recording(constant(), refused(ValueError("expected 2 inputs, 3 slots")), print)
    vars(kernel)["untraced"] = refused(ValueError("expected 1 inputs"))
    for call in (kernel, lambda *inputs: kernel.run(inputs)):
        with pytest.raises(ValueError, match="expected 1 inputs") as caught:
            call(torch.ones(256), 1)
        assert caught.value.__context__ is None
        assert "slots" not in str(caught.value)


def test_too_few_arguments_too(card: None) -> None:
    kernel = recording(rows_and_a_scalar(), lambda *_: None, print)
    vars(kernel)["untraced"] = refused(ValueError("expected 3 inputs"))
    with pytest.raises(ValueError, match="expected 3 inputs"):
        kernel()


def test_a_launch_that_only_tracing_fails_runs_untraced_and_says_so(
    card: None, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = recording(constant(), refused(MemoryError("no room for slots of this test")), print)
    vars(kernel)["untraced"] = lambda a: a + 1
    assert torch.equal(kernel(torch.ones(2)), torch.full((2,), 2.0))
    assert "kernel constant: a launch was not traced: MemoryError: no room" in capsys.readouterr().err


# ---- slots are used again


def launched(kernel: TracedKernel) -> TracedLaunch:
    return kernel.launch((torch.ones(256),))[1]


def test_the_slots_of_a_launch_that_was_let_go_are_the_next_one_s(card: None) -> None:
    kernel = recording(constant(), lambda a, slots: None, print)
    first = launched(kernel).slots  # let go at once
    assert launched(kernel).slots is first


def test_the_slots_of_a_launch_that_is_held_are_its_own(card: None) -> None:
    kernel = recording(constant(), lambda a, slots: None, print)
    held = [launched(kernel) for _ in range(3)]
    assert len({each.slots.data_ptr() for each in held}) == 3


def test_the_slots_of_a_trace_are_its_own(card: None) -> None:
    kernel = recording(constant(), lambda a, slots: None, print)
    slots = (launch := launched(kernel)).slots
    seen = launch.trace()
    del launch
    assert launched(kernel).slots is not slots
    assert seen.device_bytes or not slots.is_cuda


def test_another_stream_has_slots_of_its_own(card: None, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = recording(constant(), lambda a, slots: None, print)
    slots = launched(kernel).slots
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 8)
    assert launched(kernel).slots is not slots


def test_a_graph_s_slots_are_never_used_again(card: None, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = recording(constant(), lambda a, slots: None, print)
    launched(kernel)
    with monkeypatch.context() as capturing:
        capturing.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
        slots = launched(kernel).slots
    assert launched(kernel).slots is not slots


# ---- a CUDA graph's trace


def graphed(monkeypatch: pytest.MonkeyPatch) -> tuple[TracedLaunch, torch.Tensor]:
    """A launch that was captured into a graph, and what its replay will write."""
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    kernel = recording(constant(), lambda a, slots: None, print)
    _, launch = kernel.launch((torch.ones(256),))
    assert launch.seal is not None
    launch.seal[0].zero_()  # what a device does not do while it is captured
    launch.slots.fill_(0x5A5A)
    return launch, launch.slots


def test_before_the_first_replay_a_graph_s_trace_has_no_events(card: None, monkeypatch: pytest.MonkeyPatch) -> None:
    launch, _ = graphed(monkeypatch)
    assert launch.graph
    assert (len(launch.trace()), len(launch.trace().ctas)) == (0, 0)


def test_after_each_replay_refresh_reads_its_events(card: None, monkeypatch: pytest.MonkeyPatch) -> None:
    launch, slots = graphed(monkeypatch)
    mine = launch.trace()
    assert mine.ctas.empty
    kept = []
    for clock in (1000, 9000):
        launch.seal[0].fill_(launch.seal[1])  # type: ignore[index]
        fill(slots, mine.table, clock)
        assert mine.refresh() is mine
        kept.append(copy.copy(mine))
        assert mine.ctas["end_ns"].max() == 50
    assert [int(each.slots[0, 0, 2]) for each in kept] == [1000, 9000]
    assert "refresh()" in mine.meta.note


def test_the_trace_of_one_launch_does_not_change() -> None:
    with pytest.raises(TraceError, match="kernel add: this is the trace of one launch"):
        load(RECORDED / "add.tltrace").refresh()


def test_while_a_graph_is_captured_the_history_copies_nothing(card: None, monkeypatch: pytest.MonkeyPatch) -> None:
    switch = TraceSwitch()
    launch, _ = graphed(monkeypatch)
    switch.enable(budget=launch.plan.nbytes)
    waited: list[Any] = []
    monkeypatch.setattr(DeviceSlots, "cpu", waited.append)
    launches = [graphed(monkeypatch)[0] for _ in range(3)]
    for each in launches:
        switch.captured(each)
    assert not waited
    assert switch.last is launches[-1].trace()
    assert len(switch.history) == 1


# ---- badges and copies


def test_a_slowdown_is_that_of_one_kernel_and_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    switch = TraceSwitch()
    small, large = (load(RECORDED / "gemm_3.tltrace") for _ in range(2))

    class Kernel:
        table = small.table
        launches = SimpleNamespace(shape=lambda inputs: inputs)

    kernel = Kernel()
    switch.captured(TracedLaunch.of(small, kernel, (64,)))
    switch.captured(TracedLaunch.of(large, kernel, (4096,)))
    monkeypatch.setattr(overhead, "measure", lambda kernel, inputs: SimpleNamespace(slowdown=1.25, noise=1.0))
    switch.overhead(kernel, (4096,))
    assert (small.meta.slowdown, large.meta.slowdown) == (None, (1.25, 1.0))


def test_a_trace_that_was_shown_can_be_pickled_and_copied() -> None:
    shown = load(RECORDED / "add.tltrace")
    timeline = shown.timeline()
    timeline.select_labels(shown.events.index[:3])
    for other in (pickle.loads(pickle.dumps(shown)), copy.copy(shown), copy.deepcopy(shown)):
        assert (other.table, other.meta) == (shown.table, shown.meta)
        assert np.array_equal(other.slots, shown.slots)
        assert other.events.equals(shown.events)
        assert len(other.timeline().selection) == 0
    assert len(timeline.selection) == 3


def test_a_trace_that_was_shown_goes_to_another_process_and_comes_back() -> None:
    shown = load(RECORDED / "add.tltrace")
    shown.timeline().select_labels(shown.events.index[:3])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (other,) = pool.map(copy.copy, [shown])
    assert other.events.equals(shown.events)


def test_a_trace_that_nobody_looked_at_is_fetched_for_a_copy() -> None:
    recorded = load(RECORDED / "add.tltrace")
    fetched = type(recorded)(lambda: recorded.slots, recorded.table, recorded.meta)
    assert np.array_equal(pickle.loads(pickle.dumps(fetched)).slots, recorded.slots)
