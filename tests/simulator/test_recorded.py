"""The virtual GPU records the events that an H200 recorded for the same kernel, on the same tracks and in order."""

from __future__ import annotations

import pytest
from kernels import BY_NAME, record
from kernels.tracks import tracks

from tltrace_nb import load, trace
from tltrace_nb.demo import RECORDED


@pytest.mark.parametrize("name", record.RECORDED)
def test_the_events_are_those_of_the_card(name: str) -> None:
    reference = BY_NAME[name]
    with trace.tracing():
        trace.simulate(reference.build(), *reference.inputs("cpu"), out_idx=list(reference.out_idx), gpu="h200")
    assert trace.last is not None
    assert tracks(trace.last) == tracks(load(RECORDED / f"{name}.tltrace"))
