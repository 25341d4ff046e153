"""What real kernels are made of, construct by construct: the virtual GPU computes what PyTorch does."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T
import torch
from construct_kernels import CASES, check, normal

from tltrace_nb.core.runtime.virtual import simulate


@pytest.mark.some(10)
@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        pytest.param(name, gpu, marks=[pytest.mark.wide] if gpu != case.gpus[-1] else [])
        for name, case in CASES.items()
        for gpu in case.gpus
    ],
)
def test_results_equal_torch(name: str, gpu: str) -> None:
    trace = check(CASES[name], gpu)
    assert trace.meta.device == "virtual"
    assert trace.meta.gpu == f"{gpu} model"


def product(stages: int) -> Any:
    """A product whose loop has an extent that is known at run time."""
    size = T.dynamic("size")

    @T.prim_func
    def product_of_any_length(
        A: T.Tensor((64, size), "float16"), B: T.Tensor((size, 64), "float16"), C: T.Tensor((64, 64), "float32")
    ):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((64, 32), "float16")
            Bs = T.alloc_shared((32, 64), "float16")
            Cl = T.alloc_fragment((64, 64), "float32")
            T.clear(Cl)
            for k in T.Pipelined(T.ceildiv(size, 32), num_stages=stages):
                T.copy(A[0, k * 32], As)
                T.copy(B[k * 32, 0], Bs)
                T.gemm(As, Bs, Cl)
            T.copy(Cl, C)

    return product_of_any_length


@pytest.mark.some(4)
@pytest.mark.parametrize("gpu", ["a100", "h200"])
@pytest.mark.parametrize(("stages", "steps"), [(2, 0), (2, 1), (3, 1), (3, 2), (4, 2), (4, 7)])
def test_a_pipeline_may_have_fewer_turns_than_stages(stages: int, steps: int, gpu: str) -> None:
    """TileLang 0.1.15 itself writes no CUDA for sm_80 here from three stages on: its wait's count is no constant."""
    a, b = normal(64, 32 * steps), normal(32 * steps, 64, seed=1)
    c, _ = simulate(product(stages), [a, b], gpu=gpu)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-2, atol=1e-2)
