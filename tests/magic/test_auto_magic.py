"""``%%tltrace --auto``: kernels of plain ``@tilelang.jit`` without a marker, while the cell runs and no longer."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from tilelang.jit import JITImpl

from tltrace_nb import trace
from tltrace_nb.core.compile import devices
from tltrace_nb.core.compile.auto.options import AutoOptions
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.runtime import jit
from tltrace_nb.core.runtime.intercept import plain_builders
from tltrace_nb.core.runtime.intercepted import Intercepted
from tltrace_nb.magic import parse

N = 256

CELL = """%%tltrace --auto -o captured
import tilelang
import tilelang.language as T
import torch

@tilelang.jit(out_idx=[-1])
def build(n=256):
    @T.prim_func
    def twice(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(4, threads=64) as bx:
            tile = T.alloc_shared((64,), "float32")
            T.copy(A[bx * 64], tile)
            for i in T.Parallel(64):
                B[bx * 64 + i] = tile[i] * 2.0
    return twice

float(build()(torch.ones(256)).sum())
"""


def _copy() -> Any:
    @tilelang.jit(out_idx=[-1])
    def plain() -> Any:
        @T.prim_func
        def copy(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
            with T.Kernel(2, threads=128) as bx:
                T.copy(A[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])

        return copy

    return plain


@pytest.fixture(autouse=True)
def no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_has_cuda", lambda: False)
    monkeypatch.setattr(trace, "_kept", type(trace._kept)())
    monkeypatch.setattr(trace, "_state", type(trace._state)())


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    made = InteractiveShell.instance()
    made.run_cell("%load_ext tltrace_nb")
    yield made
    InteractiveShell.clear_instance()


def _run(shell: InteractiveShell, cell: str) -> tuple[Any, str]:
    with capture_output() as captured:
        result = shell.run_cell(cell)
    return result, captured.stdout + captured.stderr


def test_an_unmarked_kernel_of_the_cell_is_traced_with_the_cell_s_lines(shell: InteractiveShell) -> None:
    result, _ = _run(shell, CELL)
    assert result.error_in_exec is None
    assert result.result == 512.0
    events = shell.user_ns["captured"].events
    assert set(events["name"]) == {"copy A → tile", "parallel tile → B"}
    lines = {str(source).rpartition(":")[2] for source in events["source"]}
    assert lines == {"12", "13"}  # the magic is line 1


def test_everything_is_as_before_afterwards(shell: InteractiveShell) -> None:
    before = (JITImpl.__call__, JITImpl.compile, trace.enabled, trace.options)
    _run(shell, CELL)
    assert (JITImpl.__call__, JITImpl.compile, trace.enabled, trace.options) == before
    assert shell.user_ns["build"]._kernel_cache == {}


def test_also_when_the_cell_fails(shell: InteractiveShell) -> None:
    before = (JITImpl.__call__, JITImpl.compile, trace.enabled, trace.options)
    result, _ = _run(shell, CELL + "1 / 0\n")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert len(shell.user_ns["captured"].events) == 8
    assert (JITImpl.__call__, JITImpl.compile, trace.enabled, trace.options) == before
    assert shell.user_ns["build"]._kernel_cache == {}


def test_a_kernel_built_before_is_built_anew_and_is_back_afterwards(shell: InteractiveShell) -> None:
    builder = _copy()
    old = object()
    builder._kernel_cache["key"] = old
    shell.user_ns.update(builder=builder, torch=torch, n=N)
    _run(shell, "%%tltrace --auto -o captured --no-show\nbuilder()(torch.ones(n))")
    assert set(shell.user_ns["captured"].events["name"]) == {"copy A → B"}
    assert builder._kernel_cache == {"key": old}


def test_on_and_ignore_choose(shell: InteractiveShell) -> None:
    for options, names in (
        ("--on copy", {"copy A → tile"}),
        ("--on all --ignore 'copy *'", {"parallel tile → B"}),
        ("--ignore parallel", {"copy A → tile"}),
    ):
        _run(shell, CELL.replace("--auto", options))
        assert set(shell.user_ns["captured"].events["name"]) == names


def test_what_was_not_marked_is_said(shell: InteractiveShell) -> None:
    _, text = _run(shell, CELL.replace("--auto", "--on gemm"))
    assert "[tltrace] automatic markers: the kernel has no operator of those that were asked for" in text


def test_options_of_the_line() -> None:
    assert parse("--auto").options.auto == AutoOptions()
    assert parse("--on copy,gemm --ignore fill x").options.auto == AutoOptions(("copy", "gemm"), ("fill",))
    assert parse("--on 'gemm A*'").options.auto == AutoOptions(("gemm A*",))
    assert parse("x").options.auto is None
    with trace.tracing(auto="all"):
        assert parse("x").options.auto == AutoOptions(("all",))
        assert parse("--auto x").options.auto == AutoOptions()
    with pytest.raises(UsageError, match=r"on='coppy': give 'light', 'all', 'copy'"):
        parse("--on coppy")


# ---- with a card, whose compiler is not called here


class Kernel:
    """What TileLang would have compiled."""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any, Compilation]]:
    """What would be compiled for the card with its markers recording: model, options and how."""
    asked: list[tuple[Any, Any, Compilation]] = []

    def compile_for(model: Any, func: Any, how: Compilation, options: Any, captured: Any) -> Kernel:
        asked.append((model, options.auto, how))
        return Kernel()

    monkeypatch.setattr(devices, "_has_cuda", lambda: True)
    monkeypatch.setattr(jit, "compile_for", compile_for)
    plain = lambda *_, **__: Kernel()  # noqa: E731
    for module in ("tilelang.jit", "tilelang.cache"):
        monkeypatch.setattr(importlib.import_module(module), "cached", plain)
    return asked


def is_traced(kernel: Any) -> bool:
    return type(kernel) is Intercepted


def test_with_a_card_plain_builders_are_traced_there(compiled: list[Any]) -> None:
    builder = _copy()
    assert not is_traced(builder())
    with trace.tracing(auto="copy"), plain_builders(trace):
        assert is_traced(builder())
        assert builder() is builder()
    assert not is_traced(builder())
    assert compiled == [(None, AutoOptions(("copy",)), Compilation(out_idx=[-1]))]


def test_with_a_card_and_without_auto_those_without_markers_are_left_alone(compiled: list[Any]) -> None:
    with trace.tracing(), plain_builders(trace):
        assert not is_traced(_copy()())
    with trace.tracing(auto=True), plain_builders(trace):
        trace.disable()
        assert not is_traced(_copy()())
    assert compiled == []
