"""Every preset runs; large grids run in the time that teaching allows."""

from __future__ import annotations

import time

import pytest
import torch
from kernels import BY_NAME, elementwise, gemm

from tltrace_nb.simulator.machine import PRESETS
from tltrace_nb.simulator.run import compile_virtual, simulate


@pytest.mark.parametrize("gpu", PRESETS)
@pytest.mark.parametrize("name", ["add", "gemm_3", "softmax"])
def test_every_preset_gives_the_same_numbers(name: str, gpu: str) -> None:
    reference = BY_NAME[name]
    inputs = reference.inputs("cpu")
    outputs, trace = simulate(reference.build(), inputs, out_idx=reference.out_idx, gpu=gpu)
    torch.testing.assert_close(outputs, reference.expected(*inputs), rtol=reference.rtol, atol=reference.atol)
    assert (trace.meta.device, trace.meta.gpu, trace.meta.driver) == ("virtual", f"{gpu} model", "")


@pytest.mark.full
def test_large_grids_are_quick() -> None:
    a, b = torch.randn(1024, 1024).half(), torch.randn(1024, 1024).half()
    product = gemm.pipelined(3, 1024, 1024, 1024, 128, 128, 32)
    assert _seconds(compile_virtual(product), (a, b)) < 5
    assert _seconds(compile_virtual(product, functional=False), (a, b)) < 1
    x = torch.randn(4096 * 512)
    assert _seconds(compile_virtual(elementwise.add(4096 * 512)), (x, x)) < 5


def _seconds(kernel, inputs) -> float:
    start = time.perf_counter()
    kernel.run(inputs)
    return time.perf_counter() - start
