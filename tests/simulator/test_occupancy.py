"""Occupancy by the CUDA occupancy calculator's rules.

They are those of ``cuda_occupancy.h`` and of the programming guide's technical specifications: the registers of a warp,
rounded up to 256; as many warps as fit into each quarter of the 65,536, times 4, over the warps of a CTA; shared memory
with what the driver reserves (1,024 bytes from 8.0), rounded up to 128 bytes (256 on 7.5); warps and CTAs per SM (7.5:
32, 16; 8.0: 64, 32; 8.6: 48, 16; 8.9: 48, 24; 9.0: 64, 32); on 9.0, 64 barriers. The counts are what a C++ program
around the ``cuda_occupancy.h`` of CUDA 13.0 prints (carve-out 100 %); the comments work the odd ones out by hand.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tltrace_nb.base.gpus import Footprint, occupancy, preset

GPUS = {
    "sm_75": preset("t4"),
    "sm_80": preset("a100"),
    "sm_86": replace(preset("rtx4090"), name="sm_86", architecture="sm_86", max_ctas_per_sm=16),
    "sm_89": preset("rtx4090"),
    "sm_90a": preset("h200"),
}

CASES = [  # architecture, threads, registers, shared memory, barriers -> CTAs, limit
    ("sm_75", 1024, 64, 0, 0, 1, "registers and threads"),
    ("sm_75", 256, 64, 0, 0, 4, "registers and threads"),
    ("sm_75", 256, 65, 0, 0, 3, "registers"),  # 2,304 a warp: 7 in each quarter, 28 of 32
    ("sm_75", 128, 128, 16384, 0, 4, "registers and shared memory"),
    ("sm_75", 32, 32, 0, 0, 16, "CTAs"),
    ("sm_75", 256, 32, 65536, 0, 1, "shared memory"),  # nothing is reserved
    ("sm_75", 96, 96, 8200, 0, 6, "registers"),  # 3,072 a warp: 5 in each quarter, 20 over 3
    ("sm_80", 128, 32, 0, 0, 16, "registers and threads"),
    ("sm_80", 256, 37, 0, 0, 6, "registers"),  # 1,184 become 1,280: 12 in each quarter
    ("sm_80", 256, 64, 0, 0, 4, "registers"),
    ("sm_80", 96, 168, 0, 0, 4, "registers"),  # 5,376 a warp: 3 in each quarter, 12 over 3
    ("sm_80", 128, 255, 0, 0, 2, "registers"),
    ("sm_80", 256, 32, 48128, 0, 3, "shared memory"),  # 49,152 with what is reserved
    ("sm_80", 256, 32, 166912, 0, 1, "shared memory"),
    ("sm_80", 64, 32, 4096, 0, 32, "registers and shared memory and threads and CTAs"),
    ("sm_80", 32, 16, 0, 0, 32, "CTAs"),
    ("sm_80", 1024, 40, 0, 0, 1, "registers"),  # 1,280 a warp: 48 of 64 warps, one CTA of 32
    ("sm_86", 512, 40, 0, 0, 3, "registers and threads"),
    ("sm_86", 128, 64, 24576, 0, 4, "shared memory"),
    ("sm_86", 32, 32, 0, 0, 16, "CTAs"),
    ("sm_86", 1024, 32, 0, 0, 1, "threads"),
    ("sm_86", 256, 48, 101376, 0, 1, "shared memory"),
    ("sm_89", 32, 32, 0, 0, 24, "CTAs"),
    ("sm_89", 192, 80, 0, 0, 4, "registers"),  # 2,560 a warp: 6 in each quarter, 24 over 6
    ("sm_89", 512, 40, 32768, 0, 3, "registers and shared memory and threads"),
    ("sm_89", 128, 40, 7168, 0, 12, "registers and shared memory and threads"),
    ("sm_89", 256, 168, 0, 0, 1, "registers"),  # 3 warps in each quarter, 12 over 8
    ("sm_90a", 256, 168, 49152, 1, 1, "registers"),
    ("sm_90a", 384, 168, 199680, 1, 1, "registers and shared memory"),
    ("sm_90a", 256, 128, 32768, 1, 2, "registers"),
    ("sm_90a", 256, 128, 114688, 1, 2, "registers and shared memory"),
    ("sm_90a", 128, 240, 98304, 1, 2, "registers and shared memory"),
    ("sm_90a", 64, 24, 1, 1, 32, "threads and CTAs"),
    ("sm_90a", 32, 16, 0, 1, 32, "CTAs"),
    ("sm_90a", 1024, 64, 0, 1, 1, "registers"),
    ("sm_90a", 160, 100, 0, 1, 3, "registers"),  # 3,328 a warp: 4 in each quarter, 16 over 5
    ("sm_90a", 384, 168, 0, 1, 1, "registers"),
    ("sm_90a", 128, 32, 0, 16, 4, "barriers"),
    ("sm_90a", 128, 32, 0, 3, 16, "registers and threads"),
    ("sm_90a", 256, 32, 232448, 1, 1, "shared memory"),
    ("sm_90a", 544, 96, 0, 1, 1, "registers"),
    ("sm_90a", 33, 32, 0, 1, 32, "registers and threads and CTAs"),  # two warps
]


@pytest.mark.parametrize(("architecture", "threads", "registers", "shared", "barriers", "ctas", "limit"), CASES)
def test_as_many_ctas_fit_as_cuda_says(architecture, threads, registers, shared, barriers, ctas, limit):
    assert occupancy(GPUS[architecture], Footprint(threads, registers, shared, barriers)).ctas == ctas


@pytest.mark.parametrize(("architecture", "threads", "registers", "shared", "barriers", "ctas", "limit"), CASES)
def test_the_limit_is_named(architecture, threads, registers, shared, barriers, ctas, limit):
    found = occupancy(GPUS[architecture], Footprint(threads, registers, shared, barriers))
    assert found.limited_by == limit


def test_warps_and_their_fraction():
    found = occupancy(preset("h200"), Footprint(160, 100, 0))
    assert (found.warps, found.fraction) == (15, 15 / 64)


def test_a_kernel_may_need_no_registers():
    assert occupancy(preset("a100"), Footprint(32, 0, 0)).ctas == 32


@pytest.mark.parametrize(
    ("gpu", "footprint", "message"),
    [
        ("h200", Footprint(1056, 32, 0), "1,056 threads, 32 more than the 1,024 that h200"),
        ("h200", Footprint(128, 256, 0), "256 registers per thread, 1 more than the 255 that h200"),
        ("h200", Footprint(288, 200, 0), "76,800 registers, 11,264 more than the 65,536"),  # 9 warps count as 12
        ("h200", Footprint(128, 32, 232449), "232,449 bytes of shared memory, 1 more than the 232,448"),
        ("a100", Footprint(128, 32, 232448), "65,536 more than the 166,912 that a100"),
        ("t4", Footprint(128, 32, 65537), "1 more than the 65,536 that t4"),
        ("h200", Footprint(128, 32, 0, 17), "17 barriers, 1 more than the 16"),
    ],
)
def test_what_does_not_fit_says_by_how_much(gpu, footprint, message):
    with pytest.raises(ValueError, match=message):
        occupancy(preset(gpu), footprint)


@pytest.mark.parametrize("footprint", [Footprint(0, 32, 0), Footprint(128, -1, 0), Footprint(128, 32, -1)])
def test_amounts_make_sense(footprint):
    with pytest.raises(ValueError, match="at least one thread"):
        occupancy(preset("h200"), footprint)


MEASURED = json.loads(Path(__file__).with_name("occupancy_h200.json").read_text())


@pytest.mark.parametrize("registers", sorted({row[1] for row in MEASURED["rows"]}))
def test_it_is_what_an_h200_says(registers: int) -> None:
    """Against ``cudaOccupancyMaxActiveBlocksPerMultiprocessor`` on the card, 81 configurations per register count."""
    rows = [row for row in MEASURED["rows"] if row[1] == registers]
    assert len(rows) == 81
    assert [row for row in rows if _ctas(row) != row[3]] == []


def _ctas(row: list[int]) -> int:
    threads, registers, shared, _ = row
    try:
        return occupancy(preset("h200"), Footprint(threads, registers, shared)).ctas
    except ValueError:  # it does not fit at all, for which the runtime says 0
        return 0
