"""What threads say to each other, bits, words and vectors, and memory whose extents are known late."""

from __future__ import annotations

import pytest
from construct_kernels import check
from thread_kernels import CASES


@pytest.mark.parametrize(("name", "gpu"), [(name, gpu) for name, case in CASES.items() for gpu in case.gpus])
def test_results_equal_torch(name: str, gpu: str) -> None:
    check(CASES[name], gpu)
