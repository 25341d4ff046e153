"""The switch and the history: what is traced, what is kept, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tltrace_nb.core.api import TraceSwitch
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.sites import SiteTable

TABLE = SiteTable(kernel="k", sites=(), writers=(), flows=(), launches=(), capacity=0)


@dataclass
class DeviceTensor:
    """What a trace needs of a tensor on a device; counts how often it was fetched."""

    nbytes: int
    is_cuda: bool = True
    fetched: list[int] = field(default_factory=list)

    def cpu(self) -> Any:
        self.fetched.append(1)
        return self

    def numpy(self) -> Any:
        return np.zeros((0, 0, 6), np.int64)


def test_tracing_is_off_at_first() -> None:
    assert not TraceSwitch().enabled


def test_the_context_restores_the_switch_after_an_error() -> None:
    switch = TraceSwitch()
    inside = None

    def fail() -> None:
        nonlocal inside
        with switch.tracing(output="elsewhere", max_events=7):
            inside = (switch.enabled, switch.output, switch.options.max_events)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert inside == (True, "elsewhere", 7)
    assert (switch.enabled, switch.output, switch.options.max_events) == (False, "debug", None)


def test_contexts_nest() -> None:
    switch = TraceSwitch()
    with switch.tracing():
        with switch.tracing(False):
            assert not switch.enabled
        assert switch.enabled


def test_out_idx_grows_by_the_slots_when_traced() -> None:
    switch = TraceSwitch()
    assert switch.out_idx(2) == [-2, -1]
    assert switch.out_idx(2, True) == [-3, -2, -1]
    with switch.tracing():
        assert switch.out_idx(1) == [-2, -1]
        assert switch.out_idx(1, False) == [-1]


def captured(switch: TraceSwitch, count: int) -> list[Trace]:
    """What a traced kernel does when it is called so often."""
    traces = [Trace(np.zeros((0, 0, 6), np.int64), TABLE) for _ in range(count)]
    for trace in traces:
        switch.captured(trace)
    return traces


def test_the_history_has_the_launches_that_stay() -> None:
    switch = TraceSwitch()
    traces = captured(switch, 20)
    assert switch.last is traces[-1]
    assert switch.history == (traces[0], traces[-1])
    assert switch.launches == 20


def test_a_block_may_keep_others_and_counts_for_itself() -> None:
    switch = TraceSwitch()
    before = captured(switch, 2)
    with switch.tracing(keep_launches=2):
        inside = captured(switch, 3)
    after = captured(switch, 2)
    assert switch.history == (before[0], *inside[1:], after[1])
    assert switch.since(2) == [*inside[1:], after[1]]


def test_a_wrong_policy_changes_nothing() -> None:
    switch = TraceSwitch()
    with pytest.raises(ValueError, match="keep_launches='best': give 'first', 'last', 'slowest'"):
        switch.enable(keep_launches="best")
    assert not switch.enabled


def test_clear_forgets_all_traces() -> None:
    switch = TraceSwitch()
    captured(switch, 3)
    switch.clear()
    assert (switch.last, switch.history, switch.launched()) == (None, (), [])


def test_the_history_holds_no_more_device_memory_than_one_budget() -> None:
    switch = TraceSwitch()
    switch.enable(budget=100, keep_launches="all")
    tensors = [DeviceTensor(60) for _ in range(3)]
    for tensor in tensors:
        switch.captured(Trace(tensor, TABLE))
    assert [len(tensor.fetched) for tensor in tensors] == [1, 1, 0]


def test_a_trace_is_fetched_once_and_only_when_looked_at() -> None:
    tensor = DeviceTensor(60)
    trace = Trace(tensor, TABLE)
    assert (tensor.fetched, trace.device_bytes) == ([], 60)
    assert len(trace.slots) == len(trace.slots) == 0
    assert (tensor.fetched, trace.device_bytes) == ([1], 0)


def test_show_without_a_trace_says_how_to_get_one(capsys: pytest.CaptureFixture[str]) -> None:
    TraceSwitch().show()
    assert "trace.enable()" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_events": 0}, "max_events"),
        ({"max_events": True}, "max_events"),
        ({"keep": "middle"}, "one of 'first', 'last'"),
        ({"budget": 0}, "budget"),
        ({"ctas": []}, "ctas"),
        ({"ctas": [-1]}, "count from 0"),
        ({"ctas": slice(3, None)}, "with an end"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], says: str) -> None:
    switch = TraceSwitch()
    with pytest.raises((ValueError, TypeError), match=says):
        switch.enable(**options)
    assert not switch.enabled


@pytest.mark.parametrize(
    ("ctas", "ids"), [(3, (0, 1, 2)), (range(2, 6, 2), (2, 4)), (slice(1, 3), (1, 2)), ([5, 1, 5], (1, 5))]
)
def test_ctas_may_be_given_in_several_ways(ctas: Any, ids: tuple[int, ...]) -> None:
    switch = TraceSwitch()
    switch.enable(ctas=ctas)
    assert tuple(switch.options.ctas or ()) == ids
