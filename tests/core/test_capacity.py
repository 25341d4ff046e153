"""How many records a writer has room for: what the loops need, the default where no constant bounds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T

from tltrace_nb import trace
from tltrace_nb.core import lowering, schedule
from tltrace_nb.core.options import DEFAULT_MAX_EVENTS, TraceOptions

BLOCK = 32


def capacity(turns: Callable[[Any, Any, Any], Any]) -> int:
    """The room for a loop around one instant; ``turns`` gets a dimension, loaded numbers and the block index."""
    n = T.dynamic("n")

    @T.prim_func
    def looped(A: T.Tensor((n,), "float32"), Counts: T.Tensor((4,), "int32"), Small: T.Tensor((4,), "uint8")):
        with T.Kernel(T.ceildiv(n, BLOCK), threads=BLOCK) as bx:
            for i in T.serial(turns(n, (Counts, Small), bx)):
                trace.record("turn", payload=i)

    target = schedule.resolve_target({"kind": "cuda", "arch": "sm_80"})
    with target:
        return lowering.prepare(looped, target, TraceOptions.of()).table.capacity


@pytest.mark.parametrize(
    ("turns", "records"),
    [
        (lambda n, memory, bx: 7, 7),
        (lambda n, memory, bx: T.min(T.ceildiv(n, BLOCK), 8), 8),
        (lambda n, memory, bx: T.min(memory[0][0], 5), 5),
        (lambda n, memory, bx: memory[0][0] % 4 + 1, 4),
        (lambda n, memory, bx: T.cast(memory[1][0], "int32"), 255),
    ],
    ids=["constant", "least of a dimension", "least of a loaded number", "remainder", "small type"],
)
def test_a_loop_that_a_constant_bounds_has_room_for_all_its_turns(turns: Callable[..., Any], records: int) -> None:
    assert capacity(turns) == records


@pytest.mark.parametrize(
    "turns",
    [
        lambda n, memory, bx: n,
        lambda n, memory, bx: T.ceildiv(n, BLOCK),
        lambda n, memory, bx: memory[0][0],
        lambda n, memory, bx: T.ceildiv(memory[0][0], BLOCK),
        lambda n, memory, bx: T.ceildiv((bx + 1) * 64, BLOCK),
    ],
    ids=["dimension", "part of a dimension", "loaded number", "part of a loaded number", "index in a dynamic grid"],
)
def test_a_loop_that_only_the_run_bounds_has_the_default(turns: Callable[..., Any]) -> None:
    assert capacity(turns) == DEFAULT_MAX_EVENTS
