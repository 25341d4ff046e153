"""A traced kernel in a CUDA graph: the trace belongs to the graph, and reads what its last replay did."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from kernels.attributes import BLOCK, SIZE, doubled_sum, expected

from tltrace_nb.base.errors import TraceError
from tltrace_nb.core.api import TraceSwitch
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.core.runtime.traced import TracedKernel

CTAS = SIZE // BLOCK


class Captured:
    """A graph of some launches, the tensors that it reads and writes, and the traces of its launches."""

    def __init__(self, launches: int = 1) -> None:
        self.launches: list[TracedLaunch] = []
        self.a, self.b = (torch.randn(SIZE, device="cuda") for _ in range(2))
        self.kernel = kernel(self.launches)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.kernel(self.a, self.b)  # loads the module
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self.launches.clear()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(launches):
                self.out = self.kernel(self.a, self.b)

    @property
    def traces(self) -> list[Any]:
        return [each.trace() for each in self.launches]


def kernel(launches: list[TracedLaunch]) -> TracedKernel:
    return compile_traced(doubled_sum(), Compilation(out_idx=[-1]), TraceOptions(), launches.append)


def entry(trace: Any) -> int:
    """The time at which the launch's first CTA began, in ns of the card."""
    return int(trace.slots[..., 3].min())


def test_before_the_first_replay_there_are_no_events() -> None:
    captured = Captured()
    assert captured.launches[0].graph
    assert len(captured.traces[0]) == 0


def test_after_each_replay_refresh_reads_that_replay() -> None:
    captured = Captured()
    (mine,) = captured.traces
    entries = []
    for _ in range(3):
        captured.a.normal_()
        captured.graph.replay()
        assert sorted(mine.refresh().events["payload"]) == list(range(CTAS))
        assert mine.losses.empty
        entries.append(entry(mine))
    assert entries == sorted(set(entries))
    assert torch.equal(captured.out, expected(captured.a, captured.b))
    assert "refresh()" in mine.meta.note


def test_the_first_look_after_a_replay_needs_no_refresh() -> None:
    captured = Captured()
    captured.graph.replay()
    assert len(captured.traces[0]) == CTAS


def test_a_copy_keeps_a_replay_s_events() -> None:
    captured = Captured()
    captured.graph.replay()
    (mine,) = captured.traces
    kept, before = copy.copy(mine), entry(mine)
    captured.graph.replay()
    assert entry(mine.refresh()) > before == entry(kept)


def test_launches_of_one_graph_have_traces_of_their_own() -> None:
    captured = Captured(launches=3)
    captured.graph.replay()
    entries = [entry(each) for each in captured.traces]
    assert len(entries) == 3
    assert entries == sorted(set(entries))


def test_launches_outside_do_not_touch_a_graph_s_slots() -> None:
    captured = Captured()
    captured.graph.replay()
    (mine,) = captured.traces
    before = entry(mine)
    for _ in range(50):
        captured.kernel(captured.a, captured.b)
    assert entry(mine.refresh()) == before
    with pytest.raises(TraceError, match="the trace of one launch"):
        captured.launches[-1].trace().refresh()


def test_a_graph_of_many_launches_stays_within_the_budget() -> None:
    switch = TraceSwitch()
    traced = compile_traced(doubled_sum(), Compilation(out_idx=[-1]), TraceOptions(), switch.captured)
    a, b = (torch.randn(SIZE, device="cuda") for _ in range(2))
    traced(a, b)
    switch.enable(budget=4 * traced.launches.plan(()).nbytes)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(200):
            out = traced(a, b)
    for _ in range(2):
        graph.replay()
        assert torch.equal(out, expected(a, b))
        assert switch.last is not None
        assert sorted(switch.last.refresh().events["payload"]) == list(range(CTAS))
    assert sum(each.device_bytes for each in switch.history) <= switch.options.budget


def test_replays_stay_right_when_the_trace_is_gone() -> None:
    captured = Captured()
    captured.launches.clear()
    for _ in range(3):
        captured.a.normal_()
        junk = [torch.full((1 << 16,), 7.0, device="cuda") for _ in range(8)]
        captured.graph.replay()
        assert torch.equal(captured.out, expected(captured.a, captured.b))
        assert all((each == 7.0).all() for each in junk)
