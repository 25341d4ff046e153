"""Programs of others on a card: traced, each ends, prints and counts as it does untraced and as its header says."""

from __future__ import annotations

import pytest
from programs.header import Program, programs
from programs.running import CUDA, WAYS, outcomes

QUICK = {"gemm_plain", "gemm_profiler", "gemm_bench", "cuda_graph", "exit_code", "marked_gemm", "raises", "swiglu"}
"""Programs that are run where the heavy tier is left out; ``python -m programs`` runs all of them in parallel."""


@pytest.mark.parametrize(
    "program", [pytest.param(p, id=p.name, marks=() if p.name in QUICK else pytest.mark.full) for p in programs()]
)
def test_a_program_runs_in_every_way_as_it_predicts(program: Program) -> None:
    found = list(outcomes(program, WAYS, CUDA))
    assert [each.way for each in found] == list(WAYS)
    wrong = {each.way: (each.differences, each.stderr[-2000:]) for each in found if not each.ok}
    assert wrong == {}
