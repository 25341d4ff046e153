"""The programs without a card: their headers, their builds for a Hopper GPU, their runs on the virtual GPU."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from programs.building import built, cuda, invariant, traced
from programs.header import AUTO, MARKED, Program, programs
from programs.running import VIRTUAL, WAYS, outcomes, ways_on
from tltrace_nb.core.compile.numbering import has_markers

ALL = programs()
QUICK = {"gemm_plain", "marked_branches", "raises"}
"""Programs that are also built and run where the heavy tier is left out."""

WITHOUT_BUILDS = {"no_guard"}
"""Programs that do their work when they are imported."""

REFUSED = {"many_ctas"}
"""Programs whose traces have no room; what is kept of them is chosen when they run."""


def tiered(chosen: list[Program]) -> list[object]:
    heavy = pytest.mark.full
    return [pytest.param(p, id=p.name, marks=() if p.name in QUICK else heavy) for p in chosen]


def test_there_are_enough_of_them() -> None:
    marked = [program for program in ALL if program.marked]
    either = [program for program in ALL if program.either]
    assert len(ALL) >= 64
    assert len(marked) >= 15
    assert len(either) >= len(ALL) // 2


@pytest.mark.parametrize("program", ALL, ids=str)
def test_a_program_imports_the_tracer_only_where_it_has_markers(program: Program) -> None:
    assert ("tltrace_nb" in program.path.read_text(encoding="utf-8")) == program.marked


@pytest.mark.parametrize("program", ALL, ids=str)
def test_a_program_says_how_its_kernels_are_built(program: Program) -> None:
    assert bool(program.builds) != (program.name in WITHOUT_BUILDS)


@pytest.mark.parametrize("program", tiered(ALL))
def test_its_kernels_build_and_are_the_ones_that_it_predicts(program: Program) -> None:
    kernels = built(program)
    for kernel in kernels:
        assert "__global__" in cuda(kernel)
    if program.builds and program.predictions:
        assert {kernel.kernel for kernel in kernels} == {each.kernel for each in program.predictions}


@pytest.mark.parametrize("program", tiered([p for p in ALL if p.builds and p.name not in REFUSED]))
@pytest.mark.parametrize("auto", [None, "light", "all"])
def test_every_event_that_it_predicts_has_a_marker(program: Program, auto: str | None) -> None:
    for kernel in built(program):
        if auto is None and not has_markers(kernel.func):
            continue
        _, names, _ = traced(kernel, auto)
        kinds = [MARKED] * has_markers(kernel.func) + [AUTO] * (auto is not None)
        patterns = [
            pattern
            for each in program.predictions
            if each.kernel == kernel.kernel and each.kind in kinds
            for pattern, _ in each.events
        ]
        missing = [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in names)]
        assert missing == [], f"{kernel.kernel} has {sorted(names)}"


@pytest.mark.some(2)
@pytest.mark.parametrize("program", tiered([p for p in ALL if p.builds and p.name not in REFUSED]))
@pytest.mark.parametrize("auto", ["light", "all"])
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_its_kernels_are_the_untraced_ones_but_for_records(program: Program, auto: str, architecture: str) -> None:
    found = {kernel.kernel: invariant(kernel, auto, architecture) for kernel in built(program)}
    assert False not in found.values(), found


@pytest.mark.some(1)
@pytest.mark.parametrize("program", tiered([p for p in ALL if p.either]))
def test_it_runs_on_the_virtual_gpu_in_every_way(program: Program) -> None:
    found = list(outcomes(program, WAYS, VIRTUAL))
    assert [each.way for each in found] == list(ways_on(VIRTUAL))
    wrong = {each.way: (each.differences, each.stderr[-2000:]) for each in found if not each.ok}
    assert wrong == {}
