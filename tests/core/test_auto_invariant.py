"""Automatic markers leave a kernel alone: its CUDA source, without what tracing adds, is that of the untraced kernel.

Checked with every operator marked, for every reference kernel on every architecture that it is meant for, as if its
author had written no markers.
"""

from __future__ import annotations

import functools

import pytest
from kernels import BY_NAME, REFERENCES, Reference, builds
from kernels.source import untraced, untraced_host
from kernels.tiers import cases

from tltrace_nb.core.compile import numbering
from tltrace_nb.core.compile.for_plain_jit import lower
from tltrace_nb.core.compile.lowering import Lowering
from tltrace_nb.core.compile.options import TraceOptions

CASES = cases(REFERENCES, newest=True)


@functools.cache
def _marked(name: str, architecture: str) -> tuple[Lowering, builds.Source, builds.Source]:
    """The lowering, the traced source, and the bare one that it goes by."""
    reference = BY_NAME[name]
    low = builds.automatic(reference, architecture, "all")
    return low, *builds.planned(low, reference.build, architecture, reference.pass_configs)[:2]


@pytest.mark.some(5)
@pytest.mark.parametrize(("reference", "architecture"), CASES)
def test_the_traced_source_without_tracing_is_the_untraced_source(reference: Reference, architecture: str) -> None:
    _, source, before = _marked(reference.name, architecture)
    assert untraced(source.cuda) == before.cuda
    assert untraced_host(source.host) == before.host


@pytest.mark.parametrize(("reference", "architecture"), CASES)
def test_every_site_is_in_the_source_and_nothing_was_left_out(reference: Reference, architecture: str) -> None:
    low, source, _ = _marked(reference.name, architecture)
    assert [site for site in low.table.sites if f"(uint){site.id}, " not in source.cuda] == []
    assert low.table.note == "" or low.table.sites == ()


OFTEN = {("attention", "sm_90a"), ("dequantising_gemm", "sm_100a"), ("gemm_3", "sm_80"), ("softmax", "sm_80")}
LIGHT = [
    pytest.param(name, architecture, marks=[] if (name, architecture) in OFTEN else [pytest.mark.wide])
    for name in ("attention", "dequantising_gemm", "gemm_3", "persistent", "softmax")
    for architecture in ("sm_80", "sm_90a", "sm_100a")
]


@pytest.mark.some(2)
@pytest.mark.parametrize(("name", "architecture"), LIGHT)
def test_so_do_the_light_ones(name: str, architecture: str) -> None:
    low = builds.automatic(BY_NAME[name], architecture, True)
    assert untraced(builds.generated(low, BY_NAME[name], architecture).cuda) == builds.stripped(name, architecture).cuda


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        pytest.param("attention", "sm_80", marks=pytest.mark.wide),
        ("attention", "sm_90a"),
        ("gemm_3", "sm_80"),
        ("separate_loads", "sm_90a"),
        ("specialised_gemm", "sm_90a"),
    ],
)
def test_so_do_they_beside_the_author_s(name: str, architecture: str) -> None:
    reference = BY_NAME[name]
    source = builds.traced(reference, architecture, TraceOptions.of(auto="all"))
    assert untraced(source.cuda) == builds.stripped(name, architecture).cuda


def test_finalize_marks_too() -> None:
    reference = BY_NAME["gemm_3"]
    with builds.unmarked():
        func = reference.build()
    with builds.target_of("sm_90a"):
        recording = lower(func, TraceOptions.of(auto=True), reference.pass_configs)
    source = builds.plain(recording, "sm_90a", reference.pass_configs)
    assert untraced(source.cuda) == builds.stripped("gemm_3", "sm_90a").cuda


def test_a_marked_kernel_strips_to_the_unmarked_one() -> None:
    from tltrace_nb import trace

    with builds.unmarked():
        func = BY_NAME["attention"].build()
    marked = trace.auto(func, on="all")
    assert numbering.has_markers(marked)
    assert builds.plain(numbering.strip(marked), "sm_90a", {}) == builds.stripped("attention", "sm_90a")
