"""``functional=False`` leaves out arithmetic, not time: a statement costs the same whether or not it is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilelang.language as T
import torch

from tltrace_nb import trace as tl
from tltrace_nb.core.runtime.virtual import simulate

ROW, ROWS = 256, 8


def scaled_by_a_factor_of_the_row() -> Any:
    @T.prim_func
    def scaled(X: T.Tensor((ROWS, ROW), "float16"), Y: T.Tensor((ROWS, ROW), "float16")):
        with T.Kernel(ROWS, threads=128) as row:
            x = T.alloc_fragment((ROW,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, :], x)
            T.reduce_sum(x, total, dim=0)
            with tl.range("store"):
                for j in T.Parallel(ROW):
                    Y[row, j] = X[row, j] * total[0]

    return scaled


def doubled() -> Any:
    @T.prim_func
    def doubled(X: T.Tensor((ROWS, ROW), "float16"), Y: T.Tensor((ROWS, ROW), "float16")):
        with T.Kernel(ROWS, threads=128) as row, tl.range("store"):
            for j in T.Parallel(ROW):
                Y[row, j] = X[row, j] * T.float16(2)

    return doubled


def stored_behind_a_division() -> Any:
    @T.prim_func
    def divided(X: T.Tensor((ROWS, ROW), "float16"), Y: T.Tensor((ROWS // 3 + 1, 3, ROW), "float16")):
        with T.Kernel(1, threads=128):
            for row in T.serial(ROWS):
                with tl.range("store", payload=row):
                    for j in T.Parallel(ROW):
                        Y[row // 3, row % 3, j] = X[row, j]

    return divided


def stored_through_a_table() -> Any:
    @T.prim_func
    def permuted(
        X: T.Tensor((ROWS, ROW), "float16"), Rows: T.Tensor((ROWS,), "int32"), Y: T.Tensor((ROWS, ROW), "float16")
    ):
        with T.Kernel(ROWS, threads=128) as row, tl.range("store"):
            for j in T.Parallel(ROW):
                Y[Rows[row], j] = X[row, j]

    return permuted


def tile() -> torch.Tensor:
    return torch.ones(ROWS, ROW, dtype=torch.float16)


def table() -> torch.Tensor:
    return torch.arange(ROWS - 1, -1, -1, dtype=torch.int32)


@pytest.mark.parametrize(
    ("kernel", "inputs"),
    [
        (scaled_by_a_factor_of_the_row, lambda: [tile()]),
        (stored_behind_a_division, lambda: [tile()]),
        (stored_through_a_table, lambda: [tile(), table()]),
    ],
)
def test_a_store_takes_as_long(kernel: Callable[[], Any], inputs: Callable[[], list[torch.Tensor]]) -> None:
    _, computed = simulate(kernel(), inputs())
    _, skipped = simulate(kernel(), inputs(), functional=False)
    assert np.array_equal(computed.slots, skipped.slots)


def test_a_factor_for_a_whole_row_does_not_scatter_the_row() -> None:
    _, scaled = simulate(scaled_by_a_factor_of_the_row(), [tile()])
    _, plain = simulate(doubled(), [tile()])
    assert scaled.events["duration"].median() == pytest.approx(plain.events["duration"].median(), rel=0.1)


def test_a_ticket_that_nobody_looks_at_is_drawn_all_the_same() -> None:
    @T.prim_func
    def tickets(X: T.Tensor((128,), "int32"), Y: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            drawn = T.alloc_shared((1,), "int32")
            unread = T.alloc_var("int32")
            tx = T.get_thread_binding()
            if tx == 0:
                drawn[0] = 0
            T.sync_threads()
            unread = T.atomic_add(drawn[0], 1, return_prev=True)
            T.sync_threads()
            for turn in T.serial(drawn[0]):
                tl.record("turn", payload=turn)
            Y[tx] = X[tx] + unread

    _, skipped = simulate(tickets, [torch.zeros(128, dtype=torch.int32)], functional=False)
    assert len(skipped.events) == 128
