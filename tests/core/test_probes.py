"""The kernels that ask a device something, without one: what they record, and what they are compiled to."""

from __future__ import annotations

from pathlib import Path

import pytest
import tilelang
import torch
from kernels import builds, talking
from kernels.reference import Reference
from tilelang.contrib import nvcc

from tltrace_nb.core.runtime.ping_pong import Role, side
from tltrace_nb.core.runtime.probes import ITERATIONS, empty_ranges, one_instant
from tltrace_nb.core.runtime.virtual import simulate


def test_the_cost_of_a_record_is_asked_of_empty_ranges() -> None:
    _, trace = simulate(empty_ranges(), [torch.zeros(1, dtype=torch.int32)], out_idx=[])
    assert trace.events["payload"].tolist() == list(range(ITERATIONS))
    assert set(trace.events["name"]) == {"empty"}


def test_the_timer_is_asked_by_one_instant() -> None:
    _, trace = simulate(one_instant(), [torch.zeros(1, dtype=torch.int32)], out_idx=[])
    assert trace.events[["kind", "name"]].to_numpy().tolist() == [["instant", "now"]]


def ptx(source: str) -> str:
    root = Path(tilelang.__file__).parent
    where = [f"-I{root / 'src'}", f"-I{root / '3rdparty/cutlass/include'}"]
    return bytes(nvcc.compile_cuda(source, "ptx", "sm_90a", ["-std=c++17", "-w", *where])).decode()


@pytest.mark.nvcc
@pytest.mark.parametrize("role", ["ask", "answer"])
def test_a_side_of_a_ping_pong_sends_a_reading_of_the_timer_that_was_there_before(role: Role) -> None:
    lines = [line.strip() for line in ptx(builds.plain(side(role), "sm_90a", {}).cuda).splitlines()]
    told = [i for i, line in enumerate(lines) if line.startswith("st.relaxed.sys.global")]
    read = [i for i, line in enumerate(lines) if "%globaltimer" in line]
    assert told
    assert min(read) < min(told)
    assert any(line.startswith("ld.relaxed.sys.global") for line in lines)


@pytest.mark.nvcc
def test_a_kernel_that_talks_to_its_peer_releases_and_acquires_in_the_system_s_scope() -> None:
    compiled = ptx(builds.traced(Reference("halves", talking.one_side, lambda _: (), lambda: None), "sm_90a").cuda)
    assert "st.release.sys.global" in compiled
    assert "ld.acquire.sys.global" in compiled
