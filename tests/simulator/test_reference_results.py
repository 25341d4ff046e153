"""Every reference kernel on the virtual GPU: PyTorch's numbers, and the records that its schedule implies."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
import torch
from kernels import BY_NAME, REFERENCES, panels
from kernels.replay import Mark, Placed, placed, replay
from kernels.tiers import tier

from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.sites import COLUMN, ROW
from tltrace_nb.data.slots import STATE_DONE, headers, records

GPU_OF = {"sm_80": "a100", "sm_90a": "h200"}

BY_DATA = {
    "branches": "a condition on a loaded flag",
    "collatz": "a while loop on a value",
    "flash_decoding": "the paper machine runs one launch",
    "grouped_gemm": "the group is found in a table",
    "guarded_tile": "a condition on a loaded flag",
    "only_markers": "a condition on a loaded flag",
    "ragged_pipeline": "trip counts come from memory",
    "rasterised_dynamic": "the shape is not on paper",
    "rasterised_launches": "the paper machine runs one launch",
    "spent_condition": "a condition on a variable",
    "stream_k": "a while loop on a variable",
    "top_k": "conditions on scores",
    "two_launches": "the paper machine runs one launch",
    "dynamic_add": "the shape is not on paper",
}
"""Reference kernels that ``kernels.replay`` cannot follow, because their way depends on more than indices."""

CASES = [pytest.param(r.name, a, id=f"{r.name}-{a}", marks=tier(r)) for r in REFERENCES for a in r.architectures]


@functools.cache
def traced(name: str, architecture: str, functional: bool = True) -> tuple[Any, Any, Trace]:
    """(tensors after the run, expected outputs, trace)"""
    reference = BY_NAME[name]
    kernel = compile_virtual(
        reference.build(), GPU_OF[architecture], pass_configs=reference.pass_configs, functional=functional
    )
    inputs = reference.inputs("cpu")
    expected = reference.expected(*(t.clone() for t in inputs))
    outputs, trace = kernel.run(inputs, list(reference.out_idx))
    return (inputs[-1] if outputs is None else outputs), expected, trace


def sequence(trace: Trace, row: int, writer: int) -> list[tuple[int, int]]:
    """The (site, payload bits) that a writer recorded in a CTA."""
    executed = int(headers(trace.slots)[row, writer]["executed"])
    mine = records(trace.slots)[row, writer][:executed]
    return [(int(r["site"]), int(r["payload"])) for r in mine]


@pytest.mark.some(8)
@pytest.mark.parametrize(("name", "architecture"), CASES)
def test_results_equal_torch(name: str, architecture: str) -> None:
    reference = BY_NAME[name]
    outputs, expected, _ = traced(name, architecture)
    for got, wanted in zip(_tuple(outputs), _tuple(expected), strict=True):
        assert tuple(got.shape) == tuple(wanted.shape)
        torch.testing.assert_close(got.float(), wanted.float(), rtol=reference.rtol, atol=reference.atol)


@pytest.mark.parametrize(("name", "architecture"), CASES)
def test_every_writer_finishes_and_nothing_is_lost(name: str, architecture: str) -> None:
    *_, trace = traced(name, architecture)
    head = headers(trace.slots)
    entered = head["state"] != 0
    assert (head["state"][entered] == STATE_DONE).all()
    assert (head["tag"][entered] == trace.table.tag).all()
    assert (head["executed"] <= trace.table.capacity).all()
    assert (head["exit_clock"] >= head["entry_clock"])[entered].all()
    assert head["entry_clock"][entered].min() >= 1
    assert not trace.events.truncated.any()


@pytest.mark.parametrize(("name", "architecture"), [c for c in CASES if c.values[0] not in BY_DATA])
def test_records_are_those_of_the_schedule(name: str, architecture: str) -> None:
    *_, trace = traced(name, architecture)
    kernel = placed(BY_NAME[name], architecture)
    grid = trace.meta.grids[0]
    for cta in sorted({0, math.prod(grid) - 1}):
        block = _block(trace, cta)
        recorded: set[int] = set()
        passed: set[int] = set()
        for writer in trace.table.writers:
            wanted = _on_paper(kernel, writer.thread, block)
            got = sequence(trace, cta, writer.index)
            mine = {site for site, _ in got}
            assert got == [w for w in _known(wanted, got) if w[0] in mine], (name, cta, writer)
            recorded |= mine
            passed |= {site for site, _ in wanted}
        assert recorded == passed


@pytest.mark.some(3)
@pytest.mark.parametrize("name", ["gemm_3", "attention", "paged_gemm", "collatz", "histogram", "split_k", "row_sum"])
def test_time_and_records_do_not_depend_on_the_arithmetic(name: str) -> None:
    *_, functional = traced(name, "sm_90a")
    *_, skipped = traced(name, "sm_90a", functional=False)
    assert np.array_equal(functional.slots, skipped.slots)


def _block(trace: Trace, cta: int) -> tuple[int, int, int]:
    """The indices that a CTA's block has in its kernel."""
    grid, order = trace.meta.grids[0], trace.table.launches[0].rasterisation
    block = (cta % grid[0], cta // grid[0] % grid[1], cta // (grid[0] * grid[1]))
    if order is None:
        return block
    walk = {ROW: panels.row, COLUMN: panels.column}[order.function]
    return walk(order.panel // order.cluster, order.cluster, block, grid)


def _on_paper(kernel: Placed, thread: int, block: tuple[int, int, int]) -> list[tuple[int, int | None]]:
    return [(e.site, e.payload) for e in replay(kernel, thread, block) if isinstance(e, Mark)]


def _known(wanted: list[tuple[int, int | None]], got: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The records on paper; a payload that comes from memory is taken as recorded."""
    found: dict[int, list[int]] = {}
    for site, payload in got:
        found.setdefault(site, []).append(payload)
    result = []
    for site, payload in wanted:
        actual = found[site].pop(0) if found.get(site) else 0
        result.append((site, actual if payload is None else payload & 0xFFFFFFFF))
    return result


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
