"""What real kernels are made of, construct by construct: the virtual GPU computes what PyTorch does."""

from __future__ import annotations

import pytest
from construct_kernels import CASES, check


@pytest.mark.parametrize(("name", "gpu"), [(name, gpu) for name, case in CASES.items() for gpu in case.gpus])
def test_results_equal_torch(name: str, gpu: str) -> None:
    trace = check(CASES[name], gpu)
    assert trace.meta.device == "virtual"
    assert trace.meta.gpu == f"{gpu} model"
