"""Plain ``@tilelang.jit`` under ``%%tltrace`` where there is no card: on the virtual GPU, while the cell runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from IPython.core.interactiveshell import InteractiveShell
from tilelang.jit import JITImpl

from tltrace_nb import trace
from tltrace_nb.core import devices
from tltrace_nb.core.intercept import plain_builders
from tltrace_nb.core.jit import VirtualTracedKernel
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


def test_nothing_stays_afterwards() -> None:
    before = JITImpl.compile
    with plain_builders(trace):
        assert JITImpl.compile is not before
        assert isinstance(plain(), VirtualTracedKernel)
    assert JITImpl.compile is before
    assert plain._kernel_cache == {}
    assert len(plain._call_form_cache) == 0


def test_nothing_stays_after_an_error() -> None:
    before = JITImpl.compile

    def fail() -> None:
        with plain_builders(trace):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert JITImpl.compile is before


def test_with_a_card_nothing_is_intercepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_has_cuda", lambda: True)
    before = JITImpl.compile
    with plain_builders(trace):
        assert JITImpl.compile is before


def test_a_finalized_kernel_is_refused_with_the_way() -> None:
    @tilelang.jit(out_idx=trace.out_idx(1))
    def build() -> Any:
        return trace.finalize(plain.func())

    with plain_builders(trace), pytest.raises(UnsupportedError, match=r"kernel copy.*trace\.finalize.*@trace\.jit"):
        build()(torch.ones(N))
