"""Profiles and traces of one program on an H200: `benchmarks/within_profile.py` recorded them (driver 580.159.04)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tltrace_nb import load, profile
from tltrace_nb.analysis.placing import GRAPH, Placed, place
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.kineto import Recording, recording

FOLDER = Path(__file__).parents[1] / "recorded" / "profiles"
CASES = ("plain", "graph", "often")


@cache
def program(case: str) -> tuple[Recording, list[Trace], list[Placed]]:
    """A profile, the traces of its kernels, and where they are in it."""
    read = recording("prof", FOLDER / f"{case}.json.gz")
    traces = [load(path) for path in sorted(FOLDER.glob(f"{case}-*.tltrace"))]
    return read, traces, place(traces, read)


@pytest.mark.parametrize("case", CASES)
def test_every_launch_is_found_within_a_microsecond(case: str) -> None:
    _, traces, placed = program(case)
    assert len(traces) > 1
    assert [each.reason for each in placed] == [""] * len(traces)
    assert all(0 < each.error <= 600 for each in placed)


@pytest.mark.parametrize("case", CASES)
def test_no_two_launches_have_one_kernel(case: str) -> None:
    kernels = [id(each.kernel) for each in program(case)[2]]
    assert len(set(kernels)) == len(kernels)


@pytest.mark.parametrize("case", CASES)
def test_every_cta_is_inside_of_its_kernel(case: str) -> None:
    for each in program(case)[2]:
        assert each.kernel is not None
        ctas = each.launch.trace.ctas
        assert each.kernel.start <= each.shift + ctas["start_ns"].min()
        assert each.shift + ctas["end_ns"].max() <= each.kernel.end


@pytest.mark.parametrize("case", CASES)
def test_the_launches_agree_on_the_difference_of_the_clocks(case: str) -> None:
    """Each by itself leaves a range of differences; whatever the right one is, it must be in all of them."""
    placed = program(case)[2]
    least = max(each.kernel.start - each.launch.first for each in placed if each.kernel)
    most = min(each.kernel.end - each.launch.last for each in placed if each.kernel)
    assert least < most


def test_traces_of_a_graph_are_of_its_last_replay() -> None:
    read, _, placed = program("graph")
    launched = {each.correlation for each in read.spans if GRAPH in each.name}
    replayed = [each for each in placed if each.launch.graph]
    assert len(replayed) == 8
    assert {each.kernel.correlation for each in replayed if each.kernel} == {max(filter(None, launched))}
    starts = [each.kernel.start for each in replayed if each.kernel]
    assert starts == sorted(starts)


def test_of_a_hundred_launches_the_slowest_and_the_last_are_found() -> None:
    read, _, placed = program("often")
    same = [kernel for kernel in read.kernels if kernel.name == "rms_norm_kernel"]
    assert len(same) == 100
    assert placed[0].kernel in same[:-1]
    assert placed[1].kernel is same[-1]


@pytest.mark.parametrize("case", CASES)
def test_traces_that_know_only_the_second_of_their_call_are_at_the_same_kernel_or_nowhere(case: str) -> None:
    read, traces, placed = program(case)
    old = [
        Trace(each.slots, each.table, replace(each.meta, captured=f"{each.meta.captured[:19]}+00:00"))
        for each in traces
    ]
    for right, found in zip(placed, place(old, read), strict=True):
        assert found.kernel in (right.kernel, None)


def test_each_alone_is_where_it_is_among_the_others() -> None:
    read, traces, placed = program("plain")
    for trace, among in zip(traces, placed, strict=True):
        (alone,) = place([trace], read)
        assert alone.kernel is among.kernel
        assert abs(alone.shift - among.shift) <= alone.error
        assert alone.error >= among.error - 1


def test_the_launches_of_a_profile_are_a_frame() -> None:
    _, traces, placed = program("plain")
    frame = profile(FOLDER / "plain.json.gz", traces).launches
    assert list(frame["correlation"]) == [each.kernel.correlation for each in placed if each.kernel]
    assert list(frame["kernel"].unique()) == ["rms_norm_kernel", "matmul_kernel"]
    assert (frame["play_ns"] <= 1400).all()
    assert frame["reason"].isna().all()
