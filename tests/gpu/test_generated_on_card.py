"""A sample of the generated kernels on the card: traced as untraced, bit for bit, and the events of the source.

Built as TileLang chooses for this card, and not specialised; marked by hand and automatically, in turns.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
import tilelang
import torch
from generated.check import REFUSALS, How, fits
from generated.contract import automatic_differences, differences
from generated.features import leaves_one_iteration
from generated.generator import generate
from generated.interpreter import inputs, interpret
from generated.nodes import Kernel
from generated.render import render

from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.numbering import strip
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.core.trace import Trace

SEEDS = range(60)


def _how(kernel: Kernel, seed: int) -> How:
    gpu = "h200" if torch.cuda.get_device_capability() >= (9, 0) else "a100"
    how = How(gpu, specialised=seed % 3 != 2, auto=(None, None, "light", "all")[seed % 4])
    if not fits(kernel, how):
        pytest.skip("TileLang computes something else in this way, or the card has no clusters")
    return how


@functools.cache
def _run(seed: int) -> tuple[Trace, dict[str, Any], dict[str, Any]]:
    """The trace, and all tensors after the traced and after the untraced kernel."""
    kernel = generate(seed)
    how = _how(kernel, seed)
    func = render(kernel, marked=how.auto is None).build()
    try:
        plain = tilelang.compile(strip(func), pass_configs=how.pass_configs)
    except Exception as error:  # TileLang raises whatever it raises
        pytest.skip(f"TileLang does not compile it unmarked: {type(error).__name__}")
    captured: list[TracedLaunch] = []
    try:
        options = TraceOptions.of(auto=how.auto)
        traced = compile_traced(func, Compilation(pass_configs=how.pass_configs), options, captured.append)
    except REFUSALS as error:
        pytest.skip(f"refused, with a reason: {error}")
    after = []
    for compiled in (traced, plain):
        tensors = {name: torch.from_numpy(array).cuda() for name, array in inputs(kernel).items()}
        compiled(*(tensors[tensor.name] for tensor in kernel.tensors))
        torch.cuda.synchronize()
        after.append({name: tensor.cpu() for name, tensor in tensors.items()})
    return captured[-1].trace(), after[0], after[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_traced_kernel_computes_what_the_untraced_one_does(seed: int) -> None:
    _, traced, untraced = _run(seed)
    source = interpret(generate(seed)).tensors
    if any(not torch.equal(untraced[name], torch.from_numpy(array)) for name, array in source.items()):
        pytest.skip("TileLang's own kernel does not compute what its source says, nor the same twice")
    for name, tensor in untraced.items():
        assert torch.equal(traced[name], tensor), name


@pytest.mark.parametrize("seed", SEEDS)
def test_it_records_what_its_source_says(seed: int) -> None:
    trace, *_ = _run(seed)
    kernel = generate(seed)
    how = _how(kernel, seed)
    if leaves_one_iteration(kernel):
        pytest.skip("TileLang removes a loop of one iteration, so that what breaks out of it leaves the loop around")
    if how.auto:
        assert automatic_differences(render(kernel, marked=False), interpret(kernel), trace) == []
    else:
        assert differences(kernel, interpret(kernel), trace) == []
