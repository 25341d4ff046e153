"""Work, time and roofs, against numbers worked out by hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from kernels.gemm import pipelined
from planned import GHZ, Span, Stay, planned
from recordings import RECORDED

from tltrace_nb import load
from tltrace_nb.analysis import columns
from tltrace_nb.base.gpus import preset
from tltrace_nb.core.runtime.virtual import simulate
from tltrace_nb.core.trace import Trace, TraceMeta

H200 = preset("h200")
PEAK = 4096 * 132 * GHZ * 1e9


def two_ctas() -> Trace:
    """On two SMs, for 1,000 ns, of which a product takes 400."""
    spans = [Span("mma", 200 * GHZ, 600 * GHZ, cta) for cta in range(2)]
    return planned(spans, [Stay(0, 0, 1000), Stay(1, 0, 1000)])


def test_the_launch_achieves_its_work_over_its_span() -> None:
    row = two_ctas().roofline(flop=1e9, bytes=1e6).iloc[0]
    assert row["flop_per_second"] == pytest.approx(1e15)
    assert row["bytes_per_second"] == pytest.approx(1e12)
    assert row["intensity"] == 1000


def test_above_the_ridge_compute_is_the_roof_and_below_it_memory() -> None:
    above, below = (two_ctas().roofline(flop=1e9, bytes=moved).iloc[0] for moved in (1e6, 1e8))
    assert (above["bound"], above["attainable"]) == ("compute", pytest.approx(PEAK))
    assert (below["bound"], below["attainable"]) == ("memory", pytest.approx(10 * H200.hbm_bytes_per_second))
    assert below["efficiency"] == pytest.approx(below["flop_per_second"] / below["attainable"])


def test_work_per_range_is_summed_over_the_ranges() -> None:
    frame = two_ctas().roofline(flop={"mma": 3e6}, bytes=1e6).set_index("name")
    assert frame["flop"].to_dict() == {"(launch)": 6e6, "mma": 6e6}


def test_the_time_of_a_name_is_that_of_all_sms_at_once() -> None:
    row = two_ctas().roofline(flop={"mma": 3e6}).set_index("name").loc["mma"]
    assert row["time_ns"] == pytest.approx(2 * 400 / 132)


def test_the_roof_follows_the_measured_clock_and_the_type() -> None:
    tensor, cuda = (two_ctas().roofline(flop=1, bytes=1e-9, dtype=dtype).iloc[0] for dtype in ("fp16", "cuda"))
    assert tensor["attainable"] / cuda["attainable"] == 16


def test_bytes_alone_are_measured_against_the_memory() -> None:
    frame = two_ctas().roofline(bytes=2.4e6)
    assert frame["efficiency"].iloc[0] == pytest.approx(0.5)
    assert any("no flop= given" in note for note in frame.notes)


def test_without_work_it_says_what_to_pass() -> None:
    frame = two_ctas().roofline()
    assert any("flop= and bytes=" in note for note in frame.notes)
    assert frame.figure()


def test_without_a_clock_the_time_is_not_told() -> None:
    frame = load(RECORDED / "every_thread.tltrace").roofline(flop=1e6, bytes=1e6)
    assert frame["time_ns"].isna().all()
    assert any("clock rate" in note for note in frame.notes)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"flop": {"mmma": 1}}, "there are: mma"),
        ({"flop": 1, "dtype": "fp4"}, "'fp16', 'bf16'"),
        ({"flop": -1}, "not negative"),
        ({"flop": 1, "gpu": "h300"}, "give one of 'h200'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_does(wrong, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        two_ctas().roofline(**wrong)


def test_an_unknown_gpu_is_refused_with_those_known() -> None:
    with pytest.raises(ValueError, match="Imaginary 9000.*gpu="):
        planned([Span("a", 0, 10)], meta=TraceMeta("kernel", gpu="Imaginary 9000")).roofline(flop=1)


@cache
def simulated() -> Trace:
    a, b = np.zeros((256, 512), np.float16), np.zeros((512, 256), np.float16)
    return simulate(pipelined(3), [a, b], functional=False)[1]


def test_the_virtual_gpu_counts_the_work_of_a_gemm(tmp_path) -> None:
    flop, moved = simulated().meta.work
    assert flop == pytest.approx(2 * 256 * 256 * 512, rel=0.01)
    assert moved == 2 * (256 * 512 + 512 * 256 + 256 * 256)
    simulated().save(tmp_path / "gemm.tltrace")
    assert load(tmp_path / "gemm.tltrace").meta == simulated().meta


def test_a_simulated_gemm_stays_under_its_roof() -> None:
    frame = simulated().roofline()
    assert list(frame) == list(columns.ROOFLINE)
    assert 0 < frame["efficiency"].iloc[0] < 1
    assert len(frame.figure().data) == 2


def test_a_recorded_product_comes_near_the_peak_of_its_sm() -> None:
    trace = load(RECORDED / "specialised_gemm.tltrace")
    row = trace.roofline(flop={"mma": 2 * 128 * 128 * 64}).set_index("name").loc["mma"]
    assert 0.8 < row["efficiency"] <= 1
