"""The kernels that ask a device something, without one: what they record."""

from __future__ import annotations

import torch

from tltrace_nb.core.runtime.probes import ITERATIONS, empty_ranges, one_instant
from tltrace_nb.core.runtime.virtual import simulate


def test_the_cost_of_a_record_is_asked_of_empty_ranges() -> None:
    _, trace = simulate(empty_ranges(), [torch.zeros(1, dtype=torch.int32)], out_idx=[])
    assert trace.events["payload"].tolist() == list(range(ITERATIONS))
    assert set(trace.events["name"]) == {"empty"}


def test_the_timer_is_asked_by_one_instant() -> None:
    _, trace = simulate(one_instant(), [torch.zeros(1, dtype=torch.int32)], out_idx=[])
    assert trace.events[["kind", "name"]].to_numpy().tolist() == [["instant", "now"]]
