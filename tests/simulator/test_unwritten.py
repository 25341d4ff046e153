"""Reading what nobody has written: a note where nothing depends on it, else an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T
import torch

from tltrace_nb import trace
from tltrace_nb.core.runtime.virtual import compile_virtual, simulate
from tltrace_nb.simulator.errors import MemoryAccessError, UnwrittenError


def rows_past_the_end(step: int = 0) -> Any:
    """A product over rows of which the last were never loaded, and whose results nobody stores; ``step`` is added."""

    @T.prim_func
    def rows_past_the_end(
        A: T.Tensor((64, 64), "float16"), N: T.Tensor((1,), "int32"), C: T.Tensor((64, 64), "float32")
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            for i, j in T.Parallel(64, 64):
                if i < N[0]:
                    a[i, j] = A[i, j]
            T.clear(c)
            with trace.range("product", payload=N[0]):
                T.gemm(a, a, c, transpose_B=True)  # product
            for i, j in T.Parallel(64, 64):
                if i < N[0] + step and j < N[0] + step:
                    C[i, j] += c[i, j]

    return rows_past_the_end


def inputs() -> tuple[torch.Tensor, ...]:
    a = torch.randn(64, 64, generator=torch.Generator().manual_seed(0)).half()
    return a, torch.tensor([40], dtype=torch.int32), torch.ones(64, 64)


def test_what_is_read_and_thrown_away_is_a_note() -> None:
    a, n, c = inputs()
    _, found = simulate(rows_past_the_end(), [a, n, c], out_idx=[])
    wanted = torch.ones(64, 64)
    wanted[:40, :40] += (a.float() @ a.float().T)[:40, :40]
    torch.testing.assert_close(c, wanted, rtol=1e-2, atol=1e-2)
    assert "reads a[40, 0] before anything was written there" in found.meta.note
    assert "no output, branch or address depends on it" in found.meta.note
    assert [(e.name, e.payload) for e in found] == [("product", 40)]


def test_it_is_an_error_where_it_is_asked_to_be() -> None:
    with pytest.raises(UnwrittenError, match=r"reads a\[40, 0\] before anything was written there"):
        simulate(rows_past_the_end(), inputs(), out_idx=[], uninitialised="error")
    a, n, c = inputs()
    _, found = simulate(rows_past_the_end(), [a, n, c], out_idx=[], uninitialised="zero")
    assert found.meta.note == ""


def test_one_row_too_many_that_is_stored_is_an_error() -> None:
    with pytest.raises(UnwrittenError, match="its value reaches an output, a payload, a branch or an address"):
        simulate(rows_past_the_end(step=1), inputs(), out_idx=[])


def _decides_a_branch() -> Any:
    @T.prim_func
    def branch(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            flag = T.alloc_shared((64,), "int32")
            if A[0] > 5:
                flag[tx] = 1
            if flag[0] < 0:
                B[tx] = A[tx] + 1
            else:
                B[tx] = A[tx]

    return branch


def _decides_an_address() -> Any:
    @T.prim_func
    def address(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            places = T.alloc_shared((64,), "int32")
            if A[0] > 5:
                places[tx] = 1
            B[tx] = A[places[tx] % 64]

    return address


def _decides_a_payload() -> Any:
    @T.prim_func
    def payload(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            held = T.alloc_shared((64,), "int32")
            if A[0] > 5:
                held[tx] = 1
            value = T.alloc_var("int32", init=0)
            value = held[0]
            with trace.range("copy", payload=value):
                B[tx] = A[tx]

    return payload


def _is_the_larger() -> Any:
    @T.prim_func
    def larger(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            held = T.alloc_shared((64,), "float32")
            if A[0] > 5.0:
                held[tx] = 1.0
            B[tx] = T.max(A[tx], held[tx])

    return larger


@pytest.mark.parametrize("build", [_decides_a_branch, _decides_an_address, _decides_a_payload, _is_the_larger])
def test_what_decides_something_is_an_error(build: Callable[[], Any]) -> None:
    dtype = torch.float32 if build is _is_the_larger else torch.int32
    with pytest.raises(UnwrittenError, match=r"reads .* before anything was written there"):
        simulate(build(), [torch.arange(64).to(dtype)])


def test_an_output_that_was_allocated_may_not_be_read_before_it_is_written() -> None:
    @T.prim_func
    def thrown_away(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            B[tx] = (B[tx] & A[tx]) + 1

    with pytest.raises(MemoryAccessError, match=r"reads B\[0\]"):
        simulate(thrown_away, [torch.zeros(64, dtype=torch.int32)])


def test_unknown_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="uninitialised='maybe': give one of 'note', 'error', 'zero'"):
        compile_virtual(rows_past_the_end(), uninitialised="maybe")
