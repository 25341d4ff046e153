"""Plain TileLang programs built for a CUDA device while tracing is on; nothing is launched."""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
from tilelang.autotuner.tuner import AutoTuner
from tilelang.jit import JITKernel
from tvm.tirx.stmt_functor import post_order_visit

from tltrace_nb import trace
from tltrace_nb.base.errors import CapacityError, PlacementError
from tltrace_nb.core.compile import schedule
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.runtime import jit
from tltrace_nb.core.runtime.blocks import untraced
from tltrace_nb.core.runtime.intercept import Interception, here, plain_builders
from tltrace_nb.core.runtime.intercepted import Intercepted
from tltrace_nb.core.runtime.jit import TracedKernel

N = 256
SM_90A = {"kind": "cuda", "arch": "sm_90a"}


@tilelang.jit(out_idx=[-1], target=SM_90A)
def copy(marked: bool = True, threads: int = 128) -> Any:
    @T.prim_func
    def copy(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(N // threads, threads=threads) as bx:
            if marked:
                trace.record("copy", payload=bx)
            T.copy(A[bx * threads : (bx + 1) * threads], B[bx * threads : (bx + 1) * threads])

    return copy


@pytest.fixture(autouse=True)
def tracing() -> Iterator[None]:
    with trace.tracing(device="cuda"):
        yield


def records(kernel: Any) -> bool:
    return isinstance(kernel, TracedKernel) and "__tlt_record" in kernel.kernel.get_kernel_source()


@pytest.mark.nvcc
def test_a_marked_kernel_is_traced_without_automatic_markers_and_plain_elsewhere() -> None:
    with plain_builders(trace):
        kernel = copy()
        assert records(kernel)
        assert isinstance(kernel, TracedKernel)
        assert copy() is kernel
    assert not records(kernel)
    assert isinstance(kernel, JITKernel)
    assert not records(copy())
    assert kernel.get_kernel_source() == copy(marked=False).get_kernel_source()


@pytest.mark.nvcc
def test_the_untraced_kernel_of_a_traced_one_is_plain_also_within_a_block() -> None:
    with plain_builders(trace):
        kernel = copy()
        assert records(kernel)
        assert type(kernel.untraced) is JITKernel
        assert "__tlt" not in kernel.get_kernel_source()


@pytest.mark.nvcc
def test_an_unmarked_kernel_is_traced_when_automatic_markers_are_asked_for() -> None:
    with plain_builders(trace):
        assert not records(copy(marked=False))
        with trace.tracing(device="cuda", auto=True):
            assert records(copy(marked=False))


@pytest.mark.nvcc
def test_within_untraced_a_program_is_left_alone() -> None:
    with plain_builders(trace), untraced():
        assert type(copy()) is JITKernel


class Failing:
    """Stands in for a step of ours that fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
        self.error = error
        monkeypatch.setattr(jit, "prepare", self)

    def __call__(self, *_: Any) -> Any:
        raise self.error


@pytest.mark.nvcc
def test_what_fails_for_a_reason_of_ours_runs_untraced_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Failing(monkeypatch, PlacementError("kernel copy: its markers\nfind no place"))
    with plain_builders(trace):
        assert type(copy()) is JITKernel
        assert type(copy.compile()) is JITKernel
    assert capsys.readouterr().err.splitlines()[-1:] == [
        "[tltrace] kernel copy runs untraced: its markers find no place"
    ]


def test_a_kernel_for_other_hardware_runs_untraced_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = Kernel("plain")
    compiled = lambda *_, **__: plain  # noqa: E731
    for module in ("tilelang.jit", "tilelang.cache"):
        monkeypatch.setattr(importlib.import_module(module), "cached", compiled)
    with plain_builders(trace):
        assert tilelang.compile(copy.get_tir(), target="c") is plain
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("[tltrace] kernel copy runs untraced: it is compiled by TileLang's cpu backend")


def test_a_setting_that_tilelang_refuses_fails_as_in_the_plain_program() -> None:
    builder = tilelang.jit(copy.func.orig_func, out_idx=[-1], target=SM_90A, execution_backend="none such")
    with plain_builders(trace), pytest.raises(ValueError, match="none such") as failed:
        builder()
    assert failed.value.__context__ is None


def test_an_interrupt_while_it_is_lowered_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    Failing(monkeypatch, KeyboardInterrupt())
    with plain_builders(trace), pytest.raises(KeyboardInterrupt):
        copy()


def test_an_interrupt_inside_a_pass_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """TVM calls Python from its passes; there, an interrupt used to become ``RuntimeError('')``."""
    own = schedule.PreLowerSemanticCheck

    def check(module: Any) -> None:
        own(module)
        (func,) = module.functions.values()
        post_order_visit(func.body, lambda _: signal.raise_signal(signal.SIGINT))

    monkeypatch.setattr(schedule, "PreLowerSemanticCheck", check)
    with plain_builders(trace), pytest.raises(KeyboardInterrupt):
        copy()


def test_an_error_that_lost_its_name_in_tvm_says_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    import tvm_ffi

    class Alarm(Exception):
        pass

    def alarm() -> None:
        raise Alarm

    monkeypatch.setattr(jit, "prepare", lambda *_: tvm_ffi.convert(alarm)())
    with pytest.raises(RuntimeError) as failed:
        jit.compile_traced(copy.get_tir(), Compilation.of(copy), trace.options, lambda _: None)
    said = str(failed.value)
    assert "kernel copy" in said
    assert f"{Path(__file__).name}:" in said
    assert "in alarm" in said


@pytest.mark.nvcc
def test_a_search_is_left_alone_and_what_it_chooses_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[bool] = []

    def measure(_: Any, jit_kernel: Any = None, **__: Any) -> tuple[float, None]:
        measured.append(records(jit_kernel))
        return float(len(measured)), None

    monkeypatch.setattr(AutoTuner, "_benchmark_target", measure)
    monkeypatch.setenv("TILELANG_AUTO_TUNING_DISABLE_CACHE", "1")
    tuned = tilelang.autotune(configs=[{"threads": 64}, {"threads": 32}])(
        tilelang.jit(copy.func.orig_func, out_idx=[-1], target=SM_90A)
    )
    with plain_builders(trace):
        kernel = tuned()
        assert records(kernel)
        assert tuned() is kernel
        assert (kernel.latency, kernel.config) == (1.0, {"threads": 64})
    assert measured == [False, False]
    assert not records(tuned())
    assert len(measured) == 2


class Kernel:
    """What a kernel of one kind or the other returns when it is called."""

    def __init__(self, returns: Any) -> None:
        self._returns = returns

    def __call__(self, *_: Any) -> Any:
        if isinstance(self._returns, Exception):
            raise self._returns
        return self._returns


def test_a_traced_kernel_that_cannot_run_gives_way_to_the_plain_one(capsys: pytest.CaptureFixture[str]) -> None:
    interception = Interception(trace)
    failed = lambda error: interception._say("copy", error)  # noqa: E731
    kernel = Intercepted(Kernel(CapacityError("kernel copy: too many")), lambda: Kernel("plain"), lambda: True, failed)
    assert [kernel(), kernel()] == ["plain", "plain"]
    assert capsys.readouterr().err == "[tltrace] kernel copy runs untraced: too many\n"


def test_an_error_of_the_programs_own_passes_through() -> None:
    kernel = Intercepted(Kernel(ValueError("shape")), lambda: Kernel("plain"), lambda: True, lambda _: None)
    with pytest.raises(ValueError, match="shape"):
        kernel()


def test_four_hundred_overlapping_blocks_in_two_threads_leave_tilelang_as_it_was() -> None:
    own = JITKernel.__call__, AutoTuner.run, threading.Thread.start
    start, wrong = threading.Barrier(2), []

    def blocks(number: int) -> None:
        start.wait(60)
        for turn in range(200):
            with trace.tracing(number == 1, device="cuda"), plain_builders(trace) as mine:
                found = here()
                if found is not (mine if number == 1 else None):
                    wrong.append((number, turn))
            if here() is not None:
                wrong.append((number, turn, "after"))

    workers = [threading.Thread(target=blocks, args=(number,)) for number in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
    assert (JITKernel.__call__, AutoTuner.run, threading.Thread.start) == own
