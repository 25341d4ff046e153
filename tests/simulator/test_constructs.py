"""What real kernels are made of, construct by construct: the virtual GPU computes what PyTorch does."""

from __future__ import annotations

import pytest
import torch
from construct_kernels import CASES

from tltrace_nb.simulator.run import simulate


@pytest.mark.parametrize(("name", "gpu"), [(name, gpu) for name, case in CASES.items() for gpu in case.gpus])
def test_results_equal_torch(name: str, gpu: str) -> None:
    case = CASES[name]
    inputs = case.inputs()
    expected = case.expected(*inputs)
    outputs, trace = simulate(case.build(), inputs, gpu=gpu)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for got, wanted in zip(outputs, expected, strict=True):
        torch.testing.assert_close(got.float(), wanted.float(), rtol=case.tolerance, atol=case.tolerance)
    assert trace.meta.device == "virtual"
    assert trace.meta.gpu == f"{gpu} model"
