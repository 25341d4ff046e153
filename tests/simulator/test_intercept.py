"""Plain ``@tilelang.jit`` under ``%%tltrace`` where there is no card: on the virtual GPU, while the cell runs."""

from __future__ import annotations

import asyncio
import functools
import importlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from IPython.core.interactiveshell import InteractiveShell
from tilelang.autotuner.tuner import AutoTuneImpl, AutoTuner
from tilelang.jit import JITImpl, JITKernel

from tltrace_nb import trace
from tltrace_nb.core.compile import devices
from tltrace_nb.core.runtime.intercept import plain_builders
from tltrace_nb.core.runtime.jit import VirtualTracedKernel
from tltrace_nb.simulator.errors import UnsupportedError

N = 256

CELL = """%%tltrace -o captured
import tilelang
import tilelang.language as T
import torch
from tltrace_nb import trace

@tilelang.jit(out_idx=[-1])
def build(n=256):
    @T.prim_func
    def twice(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(4, threads=64) as bx:
            with trace.range("twice", payload=bx):
                for i in T.Parallel(64):
                    B[bx * 64 + i] = A[bx * 64 + i] * 2.0
    return twice

float(build()(torch.ones(256)).sum())
"""


@tilelang.jit(out_idx=[-1])
def plain(marked: bool = True) -> Any:
    @T.prim_func
    def copy(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            if marked:
                trace.record("copy", payload=bx)
            T.copy(A[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])

    return copy


@pytest.fixture(autouse=True)
def no_card(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(devices, "_has_cuda", lambda: False)
    with trace.tracing():
        yield


def test_a_cell_traces_what_the_plain_decorator_builds() -> None:
    shell = InteractiveShell.instance()
    try:
        shell.run_cell("%load_ext tltrace_nb")
        result = shell.run_cell(CELL)
        assert result.error_in_exec is None
        assert result.result == 512.0
        assert shell.user_ns["captured"].events["payload"].tolist() == [0, 1, 2, 3]
    finally:
        InteractiveShell.clear_instance()


def everything_of_tilelang() -> tuple[Any, ...]:
    """What the interception could have changed."""
    jit, cache = (importlib.import_module(f"tilelang.{name}") for name in ("jit", "cache"))
    own = JITImpl.__call__, JITImpl.compile, JITKernel.__call__, AutoTuneImpl.__call__, AutoTuner.run
    return jit.cached, cache.cached, tilelang.compile, *own, threading.Thread.start


def outputs(kernel: Any) -> list[float]:
    return kernel(torch.arange(float(N))).tolist()  # type: ignore[no-any-return]


IN_ORDER = torch.arange(float(N)).tolist()


def test_nothing_stays_afterwards() -> None:
    before = everything_of_tilelang()
    with plain_builders(trace):
        assert everything_of_tilelang() != before
        assert isinstance(plain(), VirtualTracedKernel)
    assert everything_of_tilelang() == before
    assert plain._kernel_cache == {}
    assert len(plain._call_form_cache) == 0


def test_nothing_stays_after_an_error() -> None:
    before = everything_of_tilelang()

    def fail() -> None:
        with plain_builders(trace):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert everything_of_tilelang() == before


def test_a_kernel_that_stays_behind_records_nothing_more() -> None:
    with plain_builders(trace):
        kernel = plain()
        assert outputs(kernel) == IN_ORDER
    recorded = trace.last
    assert outputs(kernel) == IN_ORDER
    assert trace.last is recorded
    with plain_builders(trace):
        outputs(kernel)
    assert trace.last is not recorded


def test_a_factory_that_remembers_its_kernels_keeps_none_that_records() -> None:
    factory = functools.cache(plain)
    with plain_builders(trace):
        outputs(factory())
    recorded = trace.last
    outputs(factory())
    assert trace.last is recorded


def by_builder() -> Any:
    return plain()


def by_compile_of_the_builder() -> Any:
    return plain.compile()


def by_tilelang_compile() -> Any:
    return tilelang.compile(plain.get_tir(), out_idx=[-1])


def by_name_bound_before() -> Any:
    return bound_before(plain.get_tir(), out_idx=[-1])


def by_par_compile() -> Any:
    return tilelang.par_compile([plain.get_tir(), plain.get_tir(False)], out_idx=[-1])[0]


def by_par_compile_of_the_builder() -> Any:
    return plain.par_compile([(True,), {"marked": False}])[0]


def by_thread() -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(plain).result()


def by_task() -> Any:
    async def build() -> Any:
        return await asyncio.to_thread(plain)

    return asyncio.run(build())


def by_autotune() -> Any:
    return tuned()


def by_autotune_compile() -> Any:
    return tuned.compile()


bound_before = tilelang.compile


@tilelang.autotune(configs=lambda *_: [{"threads": 64}, {"threads": 32}])
@tilelang.jit(out_idx=[-1])
def tuned(threads: int = 128) -> Any:
    @T.prim_func
    def copy(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(N // threads, threads=threads) as bx:
            trace.record("copy", payload=bx)
            T.copy(A[bx * threads : (bx + 1) * threads], B[bx * threads : (bx + 1) * threads])

    return copy


FAMILIES = {
    by_builder: 2,
    by_compile_of_the_builder: 2,
    by_tilelang_compile: 2,
    by_name_bound_before: 2,
    by_par_compile: 2,
    by_par_compile_of_the_builder: 2,
    by_thread: 2,
    by_task: 2,
    by_autotune: 4,
    by_autotune_compile: 4,
}
"""Ways to get a kernel, and how many CTAs it has."""


@pytest.mark.parametrize(("family", "ctas"), FAMILIES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_every_way_to_a_kernel_gives_a_traced_one(family: Callable[[], Any], ctas: int) -> None:
    before = trace.last
    with plain_builders(trace):
        assert outputs(family()) == IN_ORDER
    assert trace.last is not None
    assert trace.last is not before
    assert trace.last.events["payload"].tolist() == list(range(ctas))


@tilelang.jit
def eager(A):  # type: ignore[no-untyped-def]
    n = T.const("n")
    A: T.Tensor[[n], T.float32]
    B = T.empty((n,), T.float32)
    with T.Kernel(2, threads=128) as bx:
        trace.record("copy", payload=bx)
        T.copy(A[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])
    return B


def test_an_eager_builder_is_traced_at_its_call() -> None:
    before = trace.last
    with plain_builders(trace):
        assert eager(torch.arange(float(N))).tolist() == IN_ORDER
    assert trace.last is not None
    assert trace.last is not before
    assert trace.last.events["payload"].tolist() == [0, 1]


def test_options_that_change_in_a_block_hold_for_a_builder_that_has_its_kernel() -> None:
    with plain_builders(trace):
        outputs(plain())
        with trace.tracing(ctas=1):
            outputs(plain())
    assert trace.last is not None
    assert trace.last.events["payload"].tolist() == [0]


def test_a_block_without_tracing_inside_leaves_the_program_alone() -> None:
    with plain_builders(trace), trace.tracing(False), pytest.raises(ValueError, match="target"):
        plain()  # as without a device


@pytest.mark.nvcc
def test_a_program_that_names_its_target_is_compiled_for_it() -> None:
    builder = tilelang.jit(plain.func.orig_func, out_idx=[-1], target={"kind": "cuda", "arch": "sm_90a"})
    with plain_builders(trace):
        assert "__tlt_record" in builder().kernel.get_kernel_source()


def test_a_finalized_kernel_is_refused_with_the_way() -> None:
    @tilelang.jit(out_idx=trace.out_idx(1))
    def build() -> Any:
        return trace.finalize(plain.func())

    with plain_builders(trace), pytest.raises(UnsupportedError, match=r"kernel copy.*trace\.finalize.*@trace\.jit"):
        build()(torch.ones(N))
