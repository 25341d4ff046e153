"""A traced kernel is the kernel, on a card: profiler, arguments, errors, streams, devices and threads."""

from __future__ import annotations

import functools
import threading
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from kernels.attributes import BLOCK, KERNEL, LAUNCHES, PROFILER, SIZE, doubled_sum, expected, public
from tilelang.profiler import TensorSupplyType

from tltrace_nb import trace
from tltrace_nb.base import notices
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.numbering import strip
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced
from tltrace_nb.core.runtime.kept import TIMES_AT_ONCE
from tltrace_nb.core.runtime.launch import POOLED, TracedLaunch
from tltrace_nb.core.runtime.traced import TracedKernel

ROWS = T.dynamic("rows")
CTAS = SIZE // BLOCK


def scaled_rows() -> Any:
    """Rows known at the launch, and scalars: ``B = A * factor + offset``."""

    @T.prim_func
    def scaled_rows(
        A: T.Tensor((ROWS, 128), "float16"), factor: T.float32, offset: T.int32, B: T.Tensor((ROWS, 128), "float16")
    ):
        with T.Kernel(T.ceildiv(ROWS, 32), threads=128) as bx, trace.range("rows", payload=bx):
            for i, j in T.Parallel(32, 128):
                B[bx * 32 + i, j] = T.cast(T.cast(A[bx * 32 + i, j], "float32") * factor + offset, "float16")

    return scaled_rows


def ones() -> Any:
    """No input at all."""

    @T.prim_func
    def ones(C: T.Tensor((SIZE,), "float32")):
        with T.Kernel(CTAS, threads=BLOCK) as bx, trace.range("fill", payload=bx):
            for i in T.Parallel(BLOCK):
                C[bx * BLOCK + i] = 1.0

    return ones


@functools.cache
def both(build: Any, out_idx: tuple[int, ...] | None = (-1,)) -> tuple[TracedKernel, Any, list[TracedLaunch]]:
    """The traced and the untraced kernel, and the launches of the traced one."""
    launches: list[TracedLaunch] = []
    how = Compilation(out_idx=None if out_idx is None else list(out_idx))
    traced = compile_traced(build(), how, TraceOptions(), launches.append)
    return traced, tilelang.compile(strip(build()), out_idx=how.out_idx), launches


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(SIZE, device="cuda"), torch.randn(SIZE, device="cuda")


def payloads(launch: TracedLaunch) -> list[int]:
    return sorted(launch.trace().events["payload"])


# ---- attributes and profiler


def test_every_public_attribute_is_decided_on() -> None:
    _, plain, _ = both(doubled_sum)
    assert public(plain) == KERNEL.keys() | LAUNCHES
    assert public(plain.get_profiler()) == PROFILER


@pytest.mark.parametrize("name", sorted(KERNEL))
def test_an_attribute_of_a_traced_kernel_is_the_untraced_one_s(name: str, tmp_path: Path) -> None:
    traced, plain, _ = both(doubled_sum)
    assert KERNEL[name](traced, tmp_path) == KERNEL[name](plain, tmp_path)


@pytest.mark.parametrize("supply", TensorSupplyType)
def test_the_profiler_checks_results(supply: TensorSupplyType) -> None:
    traced, _, launches = both(doubled_sum)
    before = len(launches)
    profiler = traced.get_profiler(supply)
    profiler.assert_allclose(expected)
    profiler.manual_assert_close(
        expected, manual_check_prog=lambda ours, theirs: torch.testing.assert_close(*ours, *theirs)
    )
    profiler.assert_consistent(repeat=2)
    with pytest.raises(AssertionError):
        profiler.assert_allclose(lambda a, b: a + b + 1)
    assert torch.is_tensor(profiler.run_once())
    assert torch.is_tensor(traced.run_once())
    assert len(launches) - before == 8
    assert payloads(launches[-1]) == list(range(CTAS))


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")  # TileLang's own use of torch's profiler
@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
@pytest.mark.parametrize("backend", ["event", "cupti", "cudagraph", "wall"])
def test_the_profiler_times_the_traced_kernel_and_says_so_once(backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    notices.say_once.cache_clear()
    switch = trace
    traced = compile_traced(doubled_sum(), Compilation(out_idx=[-1]), TraceOptions(), switch.captured)
    profiler = traced.get_profiler()
    device = 0 if backend == "wall" else None
    took = [profiler.do_bench(warmup=5, rep=10, backend=backend, device=device) for _ in range(2)]
    assert all(0 < each < 100 for each in took)
    assert capfd.readouterr().err.count("of the traced kernel") == 1
    a, b = pair()
    assert torch.equal(traced(a, b), expected(a, b))
    assert switch.last is not None
    assert sorted(switch.last.events["payload"]) == list(range(CTAS))


# ---- arguments


def outcome(kernel: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What the kernel returns, or the error that it raises, as comparable values."""
    try:
        returned = kernel(*arguments, **options)
    except Exception as error:
        return type(error), str(error)
    return type(returned), returned.tolist()


CALLS: dict[str, Any] = {
    "right": lambda a: (a, 2.0, 1),
    "bool and int for scalars": lambda a: (a, 2, True),
    "no rows": lambda a: (a[:0], 2.0, 1),
    "too few": lambda a: (a, 2.0),
    "none at all": lambda a: (),
    "too many": lambda a: (a, 2.0, 1, a),
    "far too many": lambda a: (a, 2.0, 1, a, a, a),
    "another dtype": lambda a: (a.float(), 2.0, 1),
    "another rank": lambda a: (a[0], 2.0, 1),
    "another extent": lambda a: (a[:, :64].contiguous(), 2.0, 1),
    "on the host": lambda a: (a.cpu(), 2.0, 1),
    "not contiguous": lambda a: (a.repeat(1, 2)[:, ::2], 2.0, 1),
    "transposed": lambda a: (a[:128].t(), 2.0, 1),
    "None for a tensor": lambda a: (None, 2.0, 1),
    "None for a scalar": lambda a: (a, None, 1),
    "a text for a scalar": lambda a: (a, "two", 1),
    "a list for a tensor": lambda a: ([1.0], 2.0, 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_any_arguments_do_what_they_do_untraced(name: str) -> None:
    traced, plain, _ = both(scaled_rows)
    arguments = CALLS[name](torch.randn(160, 128, device="cuda", dtype=torch.float16))
    assert outcome(traced, arguments, {}) == outcome(plain, arguments, {})


def test_keyword_arguments_do_what_they_do_untraced() -> None:
    traced, plain, _ = both(scaled_rows)
    a = torch.randn(160, 128, device="cuda", dtype=torch.float16)
    for options in ({"A": a}, {"stream": 0}):
        assert outcome(traced, (a, 2.0, 1), options) == outcome(plain, (a, 2.0, 1), options)


def test_without_an_input_all_outputs_are_allocated() -> None:
    traced, plain, launches = both(ones)
    assert torch.equal(traced(), plain())
    assert traced().device == plain().device
    assert payloads(launches[-1]) == list(range(CTAS))


def test_outputs_that_are_passed_in_are_filled() -> None:
    traced, plain, launches = both(doubled_sum, None)
    a, b = pair()
    ours, theirs = torch.zeros_like(a), torch.zeros_like(a)
    assert (traced(a, b, ours) is None) == (plain(a, b, theirs) is None)
    assert torch.equal(ours, theirs)
    assert traced.out_idx == plain.out_idx == []
    assert payloads(launches[-1]) == list(range(CTAS))


def test_each_shape_has_its_grid() -> None:
    traced, _, launches = both(scaled_rows)
    for rows in (32, 33, 320):
        traced(torch.ones(rows, 128, device="cuda", dtype=torch.float16), 1.0, 0)
        assert payloads(launches[-1]) == list(range(-(-rows // 32)))
        assert launches[-1].shape == (rows,)


# ---- slots are not zeroed


def test_what_lay_in_the_memory_is_not_in_the_trace() -> None:
    traced, _, launches = both(doubled_sum)
    a, b = pair()
    plan = traced.launches.plan(())
    assert not plan.zeroed
    for _ in range(20):
        garbage = torch.full(plan.slots, 0x5A5A5A5A5A5A5A5A, dtype=torch.int64, device="cuda")
        del garbage
        traced(a, b)
        launch = launches.pop()
        assert payloads(launch) == list(range(CTAS))
        assert launch.trace().losses.empty
        assert len(launch.trace().ctas) == CTAS


# ---- streams, devices, threads


def test_a_launch_on_another_stream_is_waited_for() -> None:
    traced, _, launches = both(doubled_sum)
    a, b = pair()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        result = traced(a, b)
    assert payloads(launches[-1]) == list(range(CTAS))
    torch.cuda.synchronize()
    assert torch.equal(result, expected(a, b))


def test_an_execution_backend_that_takes_a_stream_gets_it() -> None:
    launches: list[TracedLaunch] = []
    how = Compilation(out_idx=[-1], execution_backend="cython")
    traced = compile_traced(doubled_sum(), how, TraceOptions(), launches.append)
    a, b = pair()
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    result = traced(a, b, stream=stream.cuda_stream)
    assert payloads(launches[-1]) == list(range(CTAS))
    assert torch.equal(result, expected(a, b))
    assert (traced.execution_backend, traced.out_idx) == ("cython", [2])
    assert torch.equal(traced(a, b), expected(a, b))


def test_threads_launch_at_once() -> None:
    traced, _, launches = both(doubled_sum)
    before = len(launches)
    failures: list[Exception] = []

    def work() -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                a, b = pair()
                for _ in range(50):
                    assert torch.equal(traced(a, b), expected(a, b))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures
    assert len(launches) - before == 8 * 50
    assert all(payloads(each) == list(range(CTAS)) for each in launches[before:])


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_tensors_of_a_device_that_is_not_the_current_one() -> None:
    traced, plain, launches = both(doubled_sum)
    a, b = (torch.randn(SIZE, device="cuda:1") for _ in range(2))
    assert torch.cuda.current_device() == 0
    result = traced(a, b)
    assert result.device == plain(a, b).device == torch.device("cuda:1")
    assert torch.equal(result, expected(a, b))
    assert (launches[-1].device, launches[-1].trace().meta.gpu) == (1, torch.cuda.get_device_name(1))
    assert payloads(launches[-1]) == list(range(CTAS))


# ---- a thousand launches


def test_thousands_of_launches_leave_the_slots_of_a_few_on_the_card() -> None:
    traced = compile_traced(doubled_sum(), Compilation(out_idx=[-1]), TraceOptions(), trace.captured)
    a, b = pair()
    for _ in range(100):
        traced(a, b)
    before, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    few = (TIMES_AT_ONCE + POOLED) * max(traced.launches.plan(()).nbytes, 512)  # the allocator's least
    for _ in range(5_000):
        traced(a, b)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() - before <= few
    assert torch.cuda.memory_reserved() == reserved
