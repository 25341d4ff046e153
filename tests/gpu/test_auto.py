"""Unmodified kernels on the card, automatically marked: untouched results and source, and every iteration recorded."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from kernels.plain import SMALL, Plain
from kernels.source import untraced
from kernels.tracks import tracks
from tilelang.jit import JITImpl

from tltrace_nb import trace
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import TracedKernel, compile_traced
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.core.trace import Trace

CHOICES = ("light", "all")

CELL = """%%tltrace --auto -o captured --no-show
import tilelang
import tilelang.language as T
import torch

@tilelang.jit(out_idx=[-1])
def build(n=256):
    @T.prim_func
    def twice(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(4, threads=64) as bx:
            for i in T.Parallel(64):
                B[bx * 64 + i] = A[bx * 64 + i] * 2.0
    return twice

float(build()(torch.ones(256, device="cuda")).sum())
"""


@functools.cache
def _untraced(plain: Plain) -> tuple[Any, Any]:
    """The compiled kernel as its author has it, and its output."""
    kernel = plain.builder(*plain.arguments)
    return kernel, kernel(*plain.inputs("cuda"))


@functools.cache
def _traced(plain: Plain, auto: str) -> tuple[TracedKernel, Any, Trace]:
    captured: list[TracedLaunch] = []
    func = plain.builder.get_tir(*plain.arguments)
    kernel = compile_traced(func, Compilation.of(plain.builder), TraceOptions.of(auto=auto), captured.append)
    output = kernel(*plain.inputs("cuda"))
    return kernel, output, captured[-1].trace()


@pytest.mark.parametrize("auto", CHOICES)
@pytest.mark.parametrize("plain", SMALL, ids=str)
def test_the_result_is_the_untraced_kernel_s_bit_by_bit_and_right(plain: Plain, auto: str) -> None:
    _, output, _ = _traced(plain, auto)
    assert torch.equal(output, _untraced(plain)[1])
    right = plain.expected(*plain.inputs("cuda"))
    torch.testing.assert_close(output, right, rtol=1e-2, atol=plain.atol)


@pytest.mark.parametrize("auto", CHOICES)
@pytest.mark.parametrize("plain", SMALL, ids=str)
def test_the_traced_source_without_tracing_is_the_untraced_source(plain: Plain, auto: str) -> None:
    kernel, _, _ = _traced(plain, auto)
    assert untraced(kernel.kernel.get_kernel_source()) == _untraced(plain)[0].get_kernel_source()


@pytest.mark.parametrize("auto", CHOICES)
@pytest.mark.parametrize("plain", SMALL, ids=str)
def test_every_cta_records_every_iteration_of_what_its_loops_hold(plain: Plain, auto: str) -> None:
    _, _, found = _traced(plain, auto)
    per_cta = found.events.dropna(subset="payload").groupby(["name", "cta"], observed=True)["payload"]
    for name, count in plain.iterations.items():
        passes = found.events[found.events["name"] == name]["source"].nunique()  # of loops with such an operator
        payloads = [sorted(values) for (of, _), values in per_cta if of == name]
        assert payloads == [sorted([*range(count // passes)] * passes)] * len(found.ctas)
    assert not found.events["truncated"].any()
    assert (found.sites["count"] > 0).all()
    assert len(found.losses) == 0
    assert found.meta.note == ""


@pytest.mark.parametrize("auto", CHOICES)
@pytest.mark.parametrize("plain", SMALL, ids=str)
def test_the_virtual_gpu_records_the_same_events(plain: Plain, auto: str) -> None:
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("the model is an H200")
    virtual = compile_virtual(plain.builder.get_tir(*plain.arguments), "h200", TraceOptions.of(auto=auto))
    _, simulated = virtual.run(plain.inputs("cpu"))
    assert tracks(simulated) == tracks(_traced(plain, auto)[2])


def test_a_compiled_kernel_is_traced_as_it_is() -> None:
    gemm = SMALL[0]
    kernel, output = _untraced(gemm)
    assert torch.equal(trace.auto(kernel)(*gemm.inputs("cuda")), output)
    assert trace.last is not None
    assert trace.last.events["name"].eq("gemm A_shared·B_shared").sum() == 4 * gemm.iterations["gemm A_shared·B_shared"]


def test_copies_come_before_the_product_that_reads_them() -> None:
    """Issue, arrival and use of each tile, in this order, on the hardware's clock."""
    _, _, found = _traced(SMALL[0], "light")
    first = found.events[found.events["cta"] == 0].set_index("payload")
    issued = first[first["name"] == "copy A → A_shared"]["start"]
    arrived = first[first["name"] == "ready A_shared + B_shared"]["start"]
    used = first[first["name"] == "gemm A_shared·B_shared"]["start"]
    assert (issued.sort_index() < arrived.sort_index()).all()
    assert (arrived.sort_index() <= used.sort_index()).all()


@pytest.fixture
def shell() -> Iterator[Any]:
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="needs IPython")
    shell = interactive.InteractiveShell.instance()
    shell.run_cell("%load_ext tltrace_nb")
    yield shell
    interactive.InteractiveShell.clear_instance()


def test_the_magic_traces_what_the_plain_decorator_builds_and_restores_everything(shell: Any) -> None:
    call, compile = JITImpl.__call__, JITImpl.compile
    result = shell.run_cell(CELL)
    assert result.error_in_exec is None
    assert result.result == 512.0
    assert shell.user_ns["captured"].events["name"].tolist() == ["parallel A → B"] * 4
    assert (JITImpl.__call__, JITImpl.compile) == (call, compile)
    seen = len(trace.history)
    assert float(shell.user_ns["build"]()(torch.ones(256, device="cuda")).sum()) == 512.0
    assert len(trace.history) == seen


def test_a_kernel_from_before_the_cell_is_traced_inside_and_untraced_after(shell: Any) -> None:
    gemm = SMALL[0]
    before = gemm.builder(*gemm.arguments)
    shell.user_ns.update(gemm=gemm.builder, arguments=gemm.arguments, inputs=gemm.inputs("cuda"))
    result = shell.run_cell("%%tltrace --auto -o captured --no-show\ngemm(*arguments)(*inputs)\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert len(shell.user_ns["captured"].events) > 0
    assert gemm.builder(*gemm.arguments) is before
