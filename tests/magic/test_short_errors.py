"""Errors that a student meets are short, name the line, and say what to do, in any cell."""

from __future__ import annotations

import re
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

MOST_LINES = 25
KERNEL = """
import tilelang.language as T
import torch
from tltrace_nb import trace


@trace.jit(out_idx=[-1])
def scale(N, chunk=256):
    @T.prim_func
    def scale(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, chunk), threads=256) as bx:
            for i in T.Parallel(chunk):
                B[bx * chunk + i] = A[bx * chunk + i] * 2.0

    return scale
"""
GEMM = """
@trace.jit(out_idx=[-1])
def matmul(threads):
    @T.prim_func
    def gemm(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=threads):
            A_shared = T.alloc_shared((64, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            D_local = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_shared)
            T.clear(C_local)
            T.gemm(A_shared, A_shared, C_local)
            CHANGED
            T.copy(C_local, C)

    return gemm


with trace.tracing(device="virtual"):
    matmul(THREADS)(torch.zeros(64, 64).half())
"""


@pytest.fixture(scope="module")
def shell() -> Any:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    assert shell.run_cell(KERNEL).success
    yield shell
    InteractiveShell.clear_instance()


def said(shell: Any, cell: str) -> list[str]:
    """What a failing cell shows, line by line."""
    with capture_output() as output:
        assert not shell.run_cell(cell, store_history=True).success
    return re.sub(r"\x1b\[[0-9;]*m", "", output.stdout + output.stderr).splitlines()


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("scale(4096)(torch.ones(4096))", "after trace.enable()"),
        (
            "with trace.tracing(device='virtual'):\n    scale(4096)(torch.ones(100))",
            "A has the shape [4096], got [100]",
        ),
        (
            KERNEL.replace("A[bx * chunk + i]", "A[bx * chunk + j]") + "\nwith trace.tracing():\n    scale(64)",
            "name 'j' is",
        ),
        (GEMM.replace("CHANGED", "pass").replace("THREADS", "96"), "(T.gemm(A_shared, A_shared, C_local))"),
        (
            GEMM.replace("THREADS", "128")
            .replace("CHANGED", "for i, j in T.Parallel(64, 64):\n                D_local[i, j] = C_local[j, i]")
            .replace("T.copy(C_local, C)", "T.gemm(A_shared, A_shared, D_local)\n            T.copy(D_local, C)"),
            "What helps:",
        ),
    ],
    ids=["tracing forgotten", "a tensor of another shape", "a name that is not there", "96 threads", "layouts"],
)
def test_an_error_is_short_and_says_where_and_what_to_do(shell: Any, cell: str, says: str) -> None:
    lines = said(shell, cell)
    assert says in "\n".join(lines)
    assert len([line for line in lines if "TileLang" not in line or "left out" in line]) <= MOST_LINES, lines


def test_all_of_an_error_is_there_for_those_who_ask(shell: Any) -> None:
    short = said(shell, "scale(4096)(torch.ones(4096))")
    assert "(lines of TileLang and tltrace_nb are left out: %tb shows them)" in short
    with capture_output() as output:
        shell.run_line_magic("tb", "")
    assert len(output.stdout.splitlines()) > 2 * len(short)


@pytest.mark.parametrize(
    ("grid", "says"),
    [("N // 256", "only B[:2816] is written"), ("T.ceildiv(N, 256)", "")],
    ids=["rounded down", "rounded up"],
)
def test_rows_that_are_skipped_are_named(grid: str, says: str, capfd: pytest.CaptureFixture[str]) -> None:
    import torch
    from handed_in import handed_in

    from tltrace_nb import trace

    double = handed_in(1, "double", (("T.ceildiv(N, chunk)", grid),), given=True)
    with trace.tracing(device="virtual"):
        _, captured = double(3000).run((torch.ones(3000),))
    assert says in captured.meta.note
    assert bool(captured.meta.note) == bool(says)
