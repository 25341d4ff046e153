"""The cell magic on a card: a kernel written in the cell, run, and its rows in a variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tltrace_nb import trace

CELL = """%%tltrace -o captured --ctas 0:2
import tilelang.language as T
import torch
from tltrace_nb import trace

@trace.jit(out_idx=[-1])
def build(n=256):
    @T.prim_func
    def twice(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(4, threads=64) as bx:
            with trace.range("twice", payload=bx):
                for i in T.Parallel(64):
                    B[bx * 64 + i] = A[bx * 64 + i] * 2.0
    return twice

float(build()(torch.ones(256, device="cuda")).sum())
"""


@pytest.fixture
def shell() -> Iterator[Any]:
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="needs IPython")
    shell = interactive.InteractiveShell.instance()
    shell.run_cell("%load_ext tltrace_nb")
    yield shell
    interactive.InteractiveShell.clear_instance()


def test_a_kernel_written_in_the_cell_is_traced(shell: Any) -> None:
    result = shell.run_cell(CELL)
    assert result.error_in_exec is None
    assert result.result == 512.0
    assert shell.user_ns["captured"].events["payload"].tolist() == [0, 1]
    assert not trace.enabled


def test_the_same_kernel_without_the_magic_is_not(shell: Any) -> None:
    shell.run_cell(CELL)
    seen = len(trace.history)
    assert shell.run_cell("float(build()(torch.ones(256, device='cuda')).sum())").result == 512.0
    assert len(trace.history) == seen
