"""Kernels that nobody marked, traced on the card with the bare kernel's plan: results untouched, nothing lost."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import tilelang
import torch
from kernels import Reference
from kernels.published import KERNELS

from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.core.trace import Trace

pytestmark = pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS")  # torch's autograd, in its own thread

MOVED = {"two_pipelines", "layer_norm_backward", "group_norm", "online_softmax", "delta_step", "lifetimes"}
"""Kernels that TileLang plans otherwise when it sees records: the default suite runs these."""

CASES = [pytest.param(k, id=k.name, marks=[] if k.name in MOVED else [pytest.mark.full]) for k in KERNELS]


@pytest.fixture
def kernel(request: pytest.FixtureRequest) -> Reference:
    chosen: Reference = request.param
    major, minor = torch.cuda.get_device_capability()
    if (major, minor) != (9, 0) and "sm_80" not in chosen.architectures:
        pytest.skip(f"written for {', '.join(chosen.architectures)}, this card is sm_{major}{minor}")
    return chosen


@functools.cache
def _run(name: str) -> tuple[Trace, list[torch.Tensor], list[torch.Tensor]]:
    """The trace, and all that the traced and the untraced kernel leave behind: outputs and inputs."""
    kernel = next(each for each in KERNELS if each.name == name)
    captured: list[TracedLaunch] = []
    out_idx = list(kernel.out_idx) or None
    how = Compilation(out_idx=out_idx, pass_configs=kernel.pass_configs)
    traced = compile_traced(kernel.build(), how, TraceOptions.of(auto="all"), captured.append)
    plain = tilelang.compile(kernel.build(), out_idx=out_idx, pass_configs=kernel.pass_configs)
    left = []
    for compiled in (traced, plain):
        inputs = kernel.inputs("cuda")
        returned = compiled(*inputs)
        left.append([*inputs, *([] if out_idx is None else _tensors(returned))])
    return captured[-1].trace(), *left


def _tensors(outputs: Any) -> list[torch.Tensor]:
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


@pytest.mark.parametrize("kernel", CASES, indirect=True)
def test_the_result_is_the_untraced_kernel_s_and_right(kernel: Reference) -> None:
    _, traced, untraced = _run(kernel.name)
    for ours, theirs in zip(traced, untraced, strict=True):
        assert not kernel.exact or torch.equal(ours.view(torch.uint8), theirs.view(torch.uint8))
    expected = _tensors(kernel.expected(*kernel.inputs("cuda")))
    for ours, right in zip(traced[-len(expected) :], expected, strict=True):
        torch.testing.assert_close(ours.float(), right.float(), rtol=kernel.rtol, atol=kernel.atol)


@pytest.mark.parametrize("kernel", CASES, indirect=True)
def test_nothing_is_lost_or_torn_and_the_plan_is_kept(kernel: Reference) -> None:
    trace, *_ = _run(kernel.name)
    losses = trace.losses
    assert losses[["lost", "corrupt", "unmatched_ends"]].to_numpy().sum() == 0, losses
    assert not losses["unfinished"].any()
    assert not trace.events["truncated"].any()
    assert len(trace.ctas) == sum(x * y * z for x, y, z in trace.meta.grids)
    assert "otherwise when it records" not in trace.meta.note
