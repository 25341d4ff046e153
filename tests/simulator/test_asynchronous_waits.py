"""Waits for asynchronous work, against waits that look at all that was ever begun."""

from __future__ import annotations

import random
from typing import Any

import pytest
import tilelang.language as T
import torch

from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.simulator import thread_group
from tltrace_nb.simulator.thread_group import Begun


def test_a_wait_is_for_all_but_the_last_of_what_was_ever_begun() -> None:
    chosen = random.Random(12)
    for _ in range(200):
        begun, ends, now = Begun(), [], 0.0
        for _ in range(60):
            now += chosen.random()
            if chosen.random() < 0.6:
                ends.append(now + 9 * chosen.random())  # what is begun later may be done earlier
                begun.add(ends[-1])
            else:
                left = chosen.randrange(4)
                expected = max([now, *ends[: max(len(ends) - left, 0)]])
                now = max(now, begun.wait(left))
                assert now == expected
            assert max(now, begun.latest) == max([now, *ends])


def test_who_may_leave_more_than_was_begun_waits_for_nothing() -> None:
    begun = Begun()
    for end in (1.0, 2.0, 3.0):
        begun.add(end)
    assert begun.wait(5) == 0.0
    assert begun.wait(2) == 1.0


def test_what_a_thread_group_remembers_does_not_grow_with_its_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a wait looks at what was begun since the one before, however long the loop."""
    lengths: list[int] = []

    class Watched(Begun):
        def add(self, end: float) -> None:
            super().add(end)
            lengths.append(len(self._ends))

    monkeypatch.setattr(thread_group, "Begun", Watched)
    most = {}
    for turns in (20, 400):
        lengths.clear()
        compile_virtual(_pipelined(turns * 32), "a100", functional=False).run(_inputs(turns * 32))
        assert len(lengths) >= turns
        most[turns] = max(lengths)
    assert most[20] == most[400] <= 4


def _pipelined(size: int) -> Any:
    @T.prim_func
    def pipelined(
        A: T.Tensor((64, size), "float16"), B: T.Tensor((size, 64), "float16"), C: T.Tensor((64, 64), "float16")
    ):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(size // 32, num_stages=3):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    return pipelined


def _inputs(size: int) -> list[torch.Tensor]:
    return [torch.zeros(64, size).half(), torch.zeros(size, 64).half()]
