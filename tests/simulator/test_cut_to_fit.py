"""Traces larger than the budget, on the virtual GPU: cut to CTAs that say most, said so, and the program goes on."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tilelang.language as T
import torch

from tltrace_nb import trace
from tltrace_nb.core.compile.lowering import prepare
from tltrace_nb.core.compile.options import DEFAULT_BUDGET, TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler, resolve_target
from tltrace_nb.data.chosen import CtaRuns, Cut
from tltrace_nb.data.slots import slots_bytes

THREADS = 32


@pytest.fixture(autouse=True)
def switch() -> Iterator[None]:
    """Tracing on the model of 132 SMs, and as before after each test."""
    with trace.tracing(device="virtual"):
        yield


def counting(grid: tuple[Any, ...], turns: int, size: int = 4096) -> Any:
    """A kernel in which every CTA counts its turns, two records each."""

    @T.prim_func
    def counting(A: T.Tensor((size,), "float32")):
        with T.Kernel(*grid, threads=THREADS) as block:
            bx = block[0] if isinstance(block, (list, tuple)) else block
            for i in T.serial(turns):
                with trace.range("turn", payload=i):
                    A[bx] = A[bx] + 1.0

    return counting


def row_bytes(turns: int) -> int:
    return slots_bytes(1, 1, 2 * turns)


def traced(kernel: Any, *inputs: Any, **options: Any) -> Any:
    """The trace of a run with options of ``trace.enable``, and that it did not fail."""
    with trace.tracing(device="virtual", **options):
        trace.simulate(kernel, *inputs, out_idx=[], functional=False)
    assert trace.last is not None
    return trace.last


def test_more_ctas_than_fit_are_traced_in_part_and_it_is_said() -> None:
    found = traced(counting((1000,), 3), torch.zeros(4096), budget=300 * row_bytes(3))
    expected = [*range(132), *range(136, 136 + 9 * 84, 9), *range(916, 1000)]
    assert found.ctas["cta"].tolist() == sorted(found.events["cta"].unique()) == expected
    assert (found.events.groupby("cta").size() == 3).all()
    assert len(found.ctas) == 300
    assert "CTAs left out: 700 of 1,000" in repr(found)
    assert found.meta.note.startswith(
        "300 of 1,000 CTAs are traced: the first 132, the last 84 and 84 between; budget="
    )


def test_many_ctas_of_1280_records_are_cut_to_the_default_budget() -> None:
    target = resolve_target({"kind": "cuda", "arch": "sm_90a"})
    with target:
        table = prepare(counting((16383,), 640, 16383), Scheduler(target), TraceOptions(), sms=132).table
    assert table.capacity == 1280
    assert isinstance(table.ctas, Cut)
    chosen = table.ctas.of_launch(0, (16383, 1, 1))
    assert 13_000 < chosen.rows < 16_383
    assert slots_bytes(chosen.rows, 1, 1280) <= DEFAULT_BUDGET
    assert len(chosen.runs) == 3


@pytest.mark.parametrize("count", [20, 45, 400])
def test_a_grid_that_only_the_run_knows_is_cut_then(count: int) -> None:
    n = T.dynamic("n")
    most = 45
    with trace.tracing(device="virtual", budget=most * row_bytes(2)):
        trace.simulate(counting((n,), 2, n), torch.zeros(count), out_idx=[], functional=False)
    found = trace.last
    assert found is not None
    whole = Cut((most,), ((1, 1, 1),), 132).of_launch(0, (count, 1, 1))
    assert found.ctas["cta"].tolist() == list(whole)
    assert found.events.groupby("cta")["payload"].apply(list).map(lambda turns: turns == [0, 1]).all()
    assert found.whole == (count <= most)
    assert ("CTAs left out" in repr(found)) == (count > most)


def test_two_dimensions_of_the_run_are_cut_too() -> None:
    n, m = T.dynamic("n"), T.dynamic("m")

    @T.prim_func
    def tiles(A: T.Tensor((n, m), "float32")):
        with T.Kernel(n, m, threads=THREADS) as (bx, by), trace.range("tile", payload=bx + 1000 * by):
            A[bx, by] = 1.0

    found = traced(tiles, torch.zeros(7, 30), budget=30 * slots_bytes(1, 1, 2))
    assert len(found.ctas) == 30
    assert (found.events["payload"] == found.events["block_x"] + 1000 * found.events["block_y"]).all()


def test_records_beyond_the_budget_are_counted() -> None:
    """Where not one CTA has room, a wave has it for as many records as fit."""
    found = traced(counting((8,), 100), torch.zeros(4096), budget=8 * row_bytes(10))
    assert found.table.capacity == 20
    assert found.events.groupby("cta").size().tolist() == [10] * 8
    assert found.losses["lost"].tolist() == [180] * 8
    assert "room for 20 of the 200 records" in found.meta.note


@pytest.mark.parametrize(("ctas", "expected"), [(64, list(range(8))), (3, [0, 1, 2]), (range(1, 100, 3), [1, 4, 7])])
def test_ctas_are_at_most_those_of_the_grid(ctas: Any, expected: list[int]) -> None:
    found = traced(counting((8,), 2), torch.zeros(4096), ctas=ctas)
    assert found.ctas["cta"].tolist() == expected
    assert len(found.losses) == 0


def test_ctas_apply_to_a_grid_of_the_run() -> None:
    n = T.dynamic("n")
    found = traced(counting((n,), 2, n), torch.zeros(5), ctas=8)
    assert (found.ctas["cta"].tolist(), len(found.losses)) == (list(range(5)), 0)


def test_ctas_apply_to_each_of_several_launches() -> None:
    @T.prim_func
    def both(A: T.Tensor((64,), "float32")):
        with T.Kernel(6, threads=THREADS) as bx, trace.range("one", payload=bx):
            A[bx] = 1.0
        with T.Kernel(2, threads=THREADS) as bx, trace.range("two", payload=bx):
            A[bx] = A[bx] + 1.0

    found = traced(both, torch.zeros(64), ctas=4)
    assert found.table.ctas == CtaRuns.of(range(4))
    assert [(str(name), int(value)) for name, value in found.events[["name", "payload"]].to_numpy()] == [
        *(("one", n) for n in range(4)),
        *(("two", n) for n in range(2)),
    ]
    assert found.ctas["cta"].tolist() == [0, 1, 2, 3, 6, 7]


def test_several_launches_share_the_budget() -> None:
    @T.prim_func
    def both(A: T.Tensor((64,), "float32")):
        with T.Kernel(50, threads=THREADS) as bx, trace.range("one", payload=bx):
            A[bx] = 1.0
        with T.Kernel(3, threads=THREADS) as bx, trace.range("two", payload=bx):
            A[bx] = A[bx] + 1.0

    found = traced(both, torch.zeros(64), budget=13 * slots_bytes(1, 1, 2))
    counts = found.events.groupby("name", observed=True)["payload"].apply(list)
    assert counts["two"] == [0, 1, 2]
    assert len(counts["one"]) == 10
    assert (counts["one"][0], counts["one"][-1]) == (0, 49)
    assert "CTAs left out: 40 of 53" in repr(found)


def test_clusters_stay_whole() -> None:
    @T.prim_func
    def paired(A: T.Tensor((64,), "float32")):
        with T.ClusterKernel(64, cluster_dims=2, threads=THREADS) as bx, trace.range("rank", payload=bx):
            A[bx] = 1.0

    found = traced(paired, torch.zeros(64), budget=21 * slots_bytes(1, 1, 2))
    ids = found.ctas["cta"].to_numpy()
    assert len(ids) == 20
    assert (np.bincount(ids // 2)[np.unique(ids // 2)] == 2).all()


def test_a_cut_trace_is_saved_and_loaded(tmp_path: Any) -> None:
    from tltrace_nb import load

    found = traced(counting((100,), 2), torch.zeros(4096), budget=30 * row_bytes(2))
    found.save(tmp_path / "cut.tltrace")
    again = load(tmp_path / "cut.tltrace")
    assert again.table == found.table
    assert again.events.equals(found.events)
    assert repr(again) == repr(found)


def test_a_sample_is_taken_on_the_virtual_gpu_as_on_a_card() -> None:
    found = traced(counting((1000,), 3), torch.zeros(4096), ctas="sample")
    assert found.ctas["cta"].tolist() == [*range(132), *range(132 + 867 % 17, 1000, 17)]
    assert (found.events.groupby("cta").size() == 3).all()
    assert found.meta.note.startswith(
        "184 of 1,000 CTAs are traced: the first wave and one in 17 behind it; the others"
    )


@pytest.mark.parametrize("count", [5, 40, 400])
def test_a_sample_of_a_grid_that_only_the_run_knows_is_taken_then(count: int) -> None:
    n = T.dynamic("n")
    with trace.tracing(device="virtual", ctas="sample"):
        trace.simulate(counting((n,), 2, n), torch.zeros(count), out_idx=[], functional=False)
    assert trace.last is not None
    assert trace.last.ctas["cta"].tolist() == [*range(min(count, 132)), *range(132, count, 17)]
