"""Kernels of which some CTAs record, on the card: results untouched, and of those CTAs the events that they have."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang
import torch
from kernels import REFERENCES, Reference
from kernels.tracks import tracks

from tltrace_nb.core.compile import numbering
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.core.trace import Trace


def _tensors(outputs: Any) -> list[torch.Tensor]:
    return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)


def _run(kernel: Any, reference: Reference) -> list[torch.Tensor]:
    inputs = reference.inputs("cuda")
    returned = kernel(*inputs)
    return _tensors(returned if reference.out_idx else inputs[-1])


def _traced(reference: Reference, ctas: Any) -> tuple[Trace, list[torch.Tensor]]:
    captured: list[TracedLaunch] = []
    how = Compilation(out_idx=list(reference.out_idx) or None, pass_configs=reference.pass_configs)
    kernel = compile_traced(reference.build(), how, TraceOptions.of(ctas=ctas), captured.append)
    outputs = _run(kernel, reference)
    return captured[-1].trace(), outputs


@pytest.mark.parametrize(
    "reference", [pytest.param(r, marks=[pytest.mark.full] if r.full else [], id=r.name) for r in REFERENCES]
)
@pytest.mark.parametrize("ctas", [[0], slice(1, 1 << 20, 3), "sample"], ids=["the first", "one in three", "a sample"])
def test_some_ctas_record_what_they_would_with_all(reference: Reference, ctas: Any) -> None:
    plain = tilelang.compile(
        numbering.strip(reference.build()), out_idx=list(reference.out_idx) or None, pass_configs=reference.pass_configs
    )
    whole, _ = _traced(reference, None)
    if isinstance(ctas, slice) and whole.ctas["cta"].max() < 1:
        pytest.skip("a single CTA")
    some, outputs = _traced(reference, ctas)
    if reference.exact:
        assert all(torch.equal(a, b) for a, b in zip(_run(plain, reference), outputs, strict=True))
    chosen = set(some.ctas["cta"])
    assert chosen
    assert chosen <= set(whole.ctas["cta"])
    assert tracks(some) == {key: told for key, told in tracks(whole).items() if key[0] in chosen}
