"""Traces larger than the budget, on a card: cut, said so, and the program goes on; and which launches stay."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T
import torch

from tltrace_nb import trace
from tltrace_nb.base.errors import CapacityError
from tltrace_nb.core.compile.options import DEFAULT_BUDGET
from tltrace_nb.data.chosen import CtaRuns, Sample

THREADS = 32


@trace.jit
def counting(ctas: int, turns: int) -> Any:
    """Every CTA counts its turns, two records each."""

    @T.prim_func
    def counting(A: T.Tensor((ctas,), "float32")):
        with T.Kernel(ctas, threads=THREADS) as bx:
            for i in T.serial(turns):
                with trace.range("turn", payload=i):
                    A[bx] = A[bx] + 1.0

    return counting


@trace.jit
def dynamic(turns: int) -> Any:
    n = T.dynamic("n")

    @T.prim_func
    def dynamic(A: T.Tensor((n,), "float32")):
        with T.Kernel(n, threads=THREADS) as bx:
            for i in T.serial(turns):
                with trace.range("turn", payload=i):
                    A[bx] = A[bx] + 1.0

    return dynamic


def test_sixteen_thousand_ctas_of_1280_records_are_sampled() -> None:
    out = torch.zeros(16384, device="cuda")
    with trace.tracing():
        counting(16384, 640)(out)
    found = trace.last
    assert found is not None
    assert (out >= 1).all()
    chosen = found.table.ctas
    assert isinstance(chosen, Sample)
    assert found.ctas["cta"].tolist() == list(chosen.of_launch(0, (16384, 1, 1)))
    assert 1_000 < len(found.ctas) < 1_200
    assert len(found) == len(found.ctas) * 640
    assert f"CTAs left out: {16384 - len(found.ctas):,} of 16,384" in repr(found)
    assert found.ctas["sm"].nunique() == torch.cuda.get_device_properties(0).multi_processor_count


def test_sixteen_thousand_ctas_of_1280_records_are_cut_to_the_budget() -> None:
    out = torch.zeros(16383, device="cuda")
    with trace.tracing():
        counting(16383, 640)(out)
    found = trace.last
    assert found is not None
    assert found.slots.nbytes <= DEFAULT_BUDGET
    traced = len(found.ctas)
    assert 12_000 < traced < 16_383
    assert len(found) == traced * 640
    assert f"CTAs left out: {16383 - traced:,} of 16,383" in repr(found)
    chosen = found.table.ctas
    assert chosen is not None
    assert found.ctas["cta"].tolist() == list(chosen.of_launch(0, (16383, 1, 1)))


@pytest.mark.parametrize("ctas", [100, 4000, 100_000])
def test_a_grid_of_the_run_is_cut_on_the_card(ctas: int) -> None:
    out = torch.zeros(ctas, device="cuda")
    with trace.tracing(budget=4000 * 16 * (3 + 8)):
        dynamic(4)(out)
    found = trace.last
    assert found is not None
    chosen = found.table.ctas
    assert chosen is not None
    assert not isinstance(chosen, CtaRuns)
    expected = list(chosen.of_launch(0, (ctas, 1, 1)))
    assert len(expected) == min(ctas, 4000)
    assert found.ctas["cta"].tolist() == expected
    assert (found.events.groupby("cta").size() == 4).all()
    assert len(found.losses) == 0


def test_limits_of_the_author_are_theirs() -> None:
    with trace.tracing(ctas=16, max_events=100, budget=1000), pytest.raises(CapacityError, match="over the budget"):
        counting(64, 100)(torch.zeros(64, device="cuda"))


def test_ten_thousand_launches_leave_three_and_no_memory_behind() -> None:
    out = torch.zeros(512, device="cuda")
    with trace.tracing():
        kernel = counting(512, 8)
        for _ in range(1000):
            kernel(out)
        torch.cuda.synchronize()
        held = torch.cuda.memory_allocated()
        before = trace.launches
        for _ in range(10_000):
            kernel(out)
        torch.cuda.synchronize()
    assert trace.launches - before == 10_000
    assert torch.cuda.memory_allocated() - held < DEFAULT_BUDGET
    (launched,) = trace.launched(before)
    assert launched.launches == 11_000
    assert {"last"} <= {word for why, _ in launched.kept for word in why.split(", ")}


def test_the_slowest_launch_stays() -> None:
    """One launch among others has a hundred times the work, as its input says."""

    @trace.jit
    def waiting() -> Any:
        @T.prim_func
        def waiting(Turns: T.Tensor((1,), "int32"), A: T.Tensor((128,), "float32")):
            with T.Kernel(1, threads=128):
                tx = T.get_thread_binding()
                with trace.range("wait", payload=Turns[0]):
                    for _ in T.serial(Turns[0]):
                        A[tx] = A[tx] * 0.5 + 1.0

        return waiting

    out = torch.zeros(128, device="cuda")
    short, long = (torch.tensor([n], dtype=torch.int32, device="cuda") for n in (100, 100_000))
    with trace.tracing():
        kernel = waiting()
        before = trace.launches
        for n in range(100):
            kernel(long if n == 64 else short, out)  # one launch in 32 is timed
    (launched,) = trace.launched(before)
    kept = dict(launched.kept)
    assert kept["slowest"].events["payload"].tolist() == [100_000]
    assert list(kept) == ["first", "slowest", "last"]
    assert launched.median_ns is not None
