"""Every preset runs; large grids run in the time that teaching allows."""

from __future__ import annotations

import pytest
import tilelang.language as T
import torch
from kernels import BY_NAME

from tltrace_nb import trace
from tltrace_nb.base.gpus import PRESETS
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.virtual import simulate


@pytest.mark.some(3)
@pytest.mark.parametrize("gpu", PRESETS)
@pytest.mark.parametrize("name", ["add", "gemm_3", "softmax"])
def test_every_preset_gives_the_same_numbers(name: str, gpu: str) -> None:
    reference = BY_NAME[name]
    inputs = reference.inputs("cpu")
    outputs, trace = simulate(reference.build(), inputs, out_idx=reference.out_idx, gpu=gpu)
    torch.testing.assert_close(outputs, reference.expected(*inputs), rtol=reference.rtol, atol=reference.atol)
    assert (trace.meta.device, trace.meta.gpu, trace.meta.driver) == ("virtual", f"{gpu} model", "")


def test_a_marker_takes_a_cycle_even_beside_others() -> None:
    """What the frames believe of a header's count (``data.reading``)."""

    def mark() -> None:
        for number in range(200):
            trace.record(f"number {number}")

    @T.prim_func
    def crowded(A: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            mark()
            A[0] = 1.0

    _, captured = simulate(crowded, [torch.zeros(32)], options=TraceOptions.of(max_events=3))
    assert captured.losses[["executed", "recorded", "lost", "corrupt"]].to_numpy().tolist() == [[200, 3, 197, 0]]
