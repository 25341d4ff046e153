"""Grids on the virtual H200: SMs, waves, tail and residency agree with the launch."""

from __future__ import annotations

import numpy as np
import pytest
from kernels.grid import SHARED, THREADS, filling

from tltrace_nb.core.runtime.virtual import simulate
from tltrace_nb.core.trace import Trace

SMS = 132


def run(ctas: int) -> Trace:
    tile = np.zeros((SHARED // (4 * THREADS), THREADS), np.float32)
    return simulate(filling(ctas), [tile], functional=False)[1]


@pytest.mark.some(3)
@pytest.mark.parametrize("ctas", [1, 131, 132, 133, 264, 1000])
def test_sms_waves_and_residency_follow_from_the_grid(ctas: int) -> None:
    trace = run(ctas)
    launch = trace.waves("launch").iloc[0]
    assert (launch["ctas"], launch["places"], launch["waves"]) == (ctas, SMS, -(-ctas // SMS))
    assert launch["quantisation_loss"] == pytest.approx(1 - ctas / (SMS * -(-ctas // SMS)))
    assert len(trace.waves("sm")) == min(ctas, SMS)
    full, rest = divmod(ctas, SMS)
    assert trace.waves()["ctas"].tolist() == [SMS] * full + [rest] * bool(rest)
    occupancy = trace.occupancy()
    assert occupancy["ctas"].max() == 1 == occupancy["limit_ctas"].iloc[0]
    assert trace.ctas["start_ns"].min() == 0


def test_one_cta_too_many_costs_a_wave_of_tail() -> None:
    full, more = (run(ctas).waves("launch").iloc[0] for ctas in (132, 133))
    assert more["duration_ns"] > 1.2 * full["duration_ns"]  # the last has the memory to itself
    assert more["tail_ns"] > 2 * full["tail_ns"]
