"""Plain TileLang programs on a card: however a program gets its kernel it is traced there, and results are equal."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from tilelang.autotuner import AutoTuner
from tilelang.jit import JITKernel

from tltrace_nb import load, trace
from tltrace_nb.core.compile import cache
from tltrace_nb.core.runtime.intercept import plain_builders

N = 4096
bound_before = tilelang.compile


def scaled(marked: bool = True, threads: int = 128) -> Any:
    @T.prim_func
    def scaled(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(N // threads, threads=threads) as bx:
            if marked:
                trace.record("scale", payload=bx)
            for i in T.Parallel(threads):
                B[bx * threads + i] = A[bx * threads + i] * 2.0

    return scaled


plain = tilelang.jit(scaled, out_idx=[-1])
tuned = tilelang.autotune(configs=[{"threads": 64}, {"threads": 256}], warmup=2, rep=5)(
    tilelang.jit(scaled, out_idx=[-1])
)


@tilelang.jit
def eager(A):  # type: ignore[no-untyped-def]
    n = T.const("n")
    A: T.Tensor[[n], T.float32]
    B = T.empty((n,), T.float32)
    with T.Kernel(n // 128, threads=128) as bx:
        trace.record("scale", payload=bx)
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] * 2.0
    return B


def by_builder() -> Any:
    return plain()


def by_compile_of_the_builder() -> Any:
    return plain.compile()


def by_tilelang_compile() -> Any:
    return tilelang.compile(scaled(), out_idx=[-1])


def by_name_bound_before() -> Any:
    return bound_before(scaled(), out_idx=[-1])


def by_par_compile() -> Any:
    return tilelang.par_compile([scaled(), scaled(threads=64)], out_idx=[-1])[0]


def by_par_compile_of_the_builder() -> Any:
    return plain.par_compile([(True, 128), {"threads": 64}])[0]


def by_thread() -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(plain).result()


def by_factory() -> Any:
    return functools.cache(plain)()


def by_autotune() -> Any:
    return tuned()


def by_tuner() -> Any:
    tuner = AutoTuner.from_kernel(scaled, configs=[{"threads": 64}, {"threads": 256}])
    return tuner.set_compile_args(out_idx=[-1]).run(warmup=2, rep=5).kernel


FAMILIES = [
    by_builder,
    by_compile_of_the_builder,
    by_tilelang_compile,
    by_name_bound_before,
    by_par_compile,
    by_par_compile_of_the_builder,
    by_thread,
    by_factory,
    by_autotune,
    by_tuner,
    lambda: eager,
]


@pytest.fixture
def values() -> Any:
    return torch.randn(N, device="cuda")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_every_way_to_a_kernel_gives_a_traced_one(family: Callable[[], Any], values: Any) -> None:
    before = trace.last
    with trace.tracing(device="cuda"), plain_builders(trace):
        kernel = family()
        assert torch.equal(kernel(values), values * 2)
    assert trace.last is not None
    assert trace.last is not before
    assert sorted(trace.last.events["payload"]) == list(range(len(trace.last.ctas)))
    recorded = trace.last
    assert torch.equal(kernel(values), values * 2)
    assert trace.last is recorded, "the block is over"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_without_tracing_a_marked_kernel_is_a_plain_one(family: Callable[[], Any], values: Any) -> None:
    before = trace.last
    kernel = family()
    assert torch.equal(kernel(values), values * 2)
    assert trace.last is before
    if isinstance(kernel, JITKernel):
        assert "__tlt" not in kernel.get_kernel_source()


def test_automatic_markers_trace_a_program_without_any(values: Any) -> None:
    with trace.tracing(device="cuda", auto="all"), plain_builders(trace):
        assert torch.equal(plain(False)(values), values * 2)
    assert trace.last is not None
    assert len(trace.last.events) > 0


def test_torchs_autograd_calls_a_traced_kernel_in_a_thread_of_its_own(values: Any) -> None:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(_: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(_: Any, gradient: Any) -> Any:
            return plain()(gradient.contiguous())

    x = values.clone().requires_grad_()
    before = trace.last
    with trace.tracing(device="cuda"), plain_builders(trace):
        Scale.apply(x).sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 2))
    assert trace.last is not before


@pytest.mark.parametrize("backend", ["tvm_ffi", "cython", "nvrtc"])
def test_each_execution_backend_is_traced(backend: str, values: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilelang.cuda.execution_backend import CUDA_EXECUTION_BACKENDS

    if not next(spec for spec in CUDA_EXECUTION_BACKENDS if spec.name == backend).is_available():
        pytest.skip(f"{backend} needs packages that are not here")
    monkeypatch.setenv("TILELANG_EXECUTION_BACKEND", backend)
    before = trace.last
    with trace.tracing(device="cuda"), plain_builders(trace):
        kernel = tilelang.compile(scaled(), out_idx=[-1])
        assert kernel.execution_backend == backend
        assert torch.equal(kernel(values), values * 2)
    assert trace.last is not before


def test_a_damaged_kernel_in_the_cache_is_built_anew(
    tmp_path: Path, values: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLTRACE_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        with trace.tracing(device="cuda"), plain_builders(trace):
            assert torch.equal(plain.compile()(values), values * 2)
        (library,) = cache.cache_dir().glob("*/kernel.so")
        library.write_bytes(library.read_bytes()[:16384])


PROGRAM = """
import multiprocessing, sys
import tilelang, tilelang.language as T, torch

@tilelang.jit(out_idx=[-1])
def twice(n):
    @T.prim_func
    def twice(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // 128, threads=128) as bx:
            for i in T.Parallel(128):
                B[bx * 128 + i] = A[bx * 128 + i] * 2.0
    return twice

def work(n):
    return twice(n)(torch.ones(n, device="cuda")).sum().item()

if __name__ == "__main__":
    if sys.argv[1:] == ["spawn"]:
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            print(pool.map(work, [1024, 2048], chunksize=1))
    else:
        print(work(1024))
"""


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["program.py"], ["program"]),
        (["program.py", "spawn"], None),
        (["-m", "torch.distributed.run", "--nproc-per-node", "2", "program.py"], ["run-rank0", "run-rank1"]),
    ],
    ids=["alone", "spawn", "torchrun"],
)
def test_tltrace_run_reaches_every_process(arguments: list[str], names: list[str] | None, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "tltrace_nb.cli", "run", "--auto", "--output", "out", *arguments]
    ran = subprocess.run(
        command, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=False, timeout=500
    )
    assert ran.returncode == 0, ran.stderr
    files = sorted((tmp_path / "out").glob("*.tltrace"))
    assert names is None or [file.stem for file in files] == names
    assert files
    assert all(len(load(file)) > 0 for file in files)
