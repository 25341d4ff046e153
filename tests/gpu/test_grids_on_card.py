"""Grids on the card: SMs, waves and tail agree with the launch, and no SM holds more than it can."""

from __future__ import annotations

import pytest
import torch
from kernels.grid import SHARED, THREADS, filling

from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced
from tltrace_nb.core.trace import Trace


def run(ctas: int) -> Trace:
    kernel = compile_traced(filling(ctas), Compilation(out_idx=[-1]), TraceOptions(), lambda _: None)
    tile = torch.ones((SHARED // (4 * THREADS), THREADS), device="cuda")
    for _ in range(2):
        result, trace = kernel.run((tile,))
    assert torch.equal(result, tile.sum(dim=0).expand_as(result))
    return trace


@pytest.mark.parametrize("ctas", [1, 131, 132, 133, 264, 1000])
def test_sms_waves_and_residency_follow_from_the_grid(ctas: int) -> None:
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    trace = run(ctas)
    ((_, shared),) = trace.meta.resources or ()
    assert shared >= SHARED
    launch = trace.waves("launch").iloc[0]
    assert (launch["ctas"], launch["places"]) == (ctas, sms)
    assert len(trace.waves("sm")) == min(ctas, sms)
    # CTAs are handed out as SMs become free, so a fast SM may run one more, and waves are at least what the grid needs.
    assert launch["waves"] >= -(-ctas // sms)
    assert trace.waves()["ctas"].iloc[0] == min(ctas, sms)
    occupancy = trace.occupancy()
    assert occupancy["ctas"].max() == 1 == occupancy["limit_ctas"].iloc[0]
    assert trace.ctas["start_ns"].min() == 0
    assert (trace.ctas["end_ns"] > trace.ctas["start_ns"]).all()
