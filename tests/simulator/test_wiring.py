"""The virtual GPU behind the ordinary API: the switch, ``@trace.jit``, ``simulate``, ``run``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tilelang.language as T
import torch
from tilelang.jit import JITImpl

from tltrace_nb import load, trace
from tltrace_nb.base.errors import DeviceError
from tltrace_nb.core.api import TraceSwitch
from tltrace_nb.core.compile import devices
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import TracedKernel, VirtualTracedKernel

N = 512


@trace.jit(out_idx=[-1])
def scaled(factor: float = 2.0) -> Any:
    @T.prim_func
    def scale(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(4, threads=128) as bx, trace.range("scale", payload=bx):
            for i in T.Parallel(128):
                B[bx * 128 + i] = A[bx * 128 + i] * factor

    return scale


@trace.jit
def eager_add(A, B, block: int = 64):
    M = T.const("M")
    A: T.Tensor[[M], T.float32]
    B: T.Tensor[[M], T.float32]
    C = T.empty((M,), "float32")
    with T.Kernel(T.ceildiv(M, block), threads=block) as bx, trace.range("add", payload=bx):
        for i in T.Parallel(block):
            C[bx * block + i] = A[bx * block + i] + B[bx * block + i]
    return C


@pytest.fixture(autouse=True)
def no_card(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No CUDA device, whatever the machine, and the switch as it was afterwards."""
    monkeypatch.setattr(devices, "_has_cuda", lambda: False)
    with trace.tracing(False):
        yield


def test_a_traced_kernel_runs_where_there_is_no_card() -> None:
    with trace.tracing():
        kernel = scaled()
    assert isinstance(kernel, VirtualTracedKernel)
    assert torch.equal(kernel(torch.ones(N)), torch.full((N,), 2.0))
    assert trace.last is not None
    assert trace.last.events["payload"].tolist() == [0, 1, 2, 3]
    assert (trace.last.meta.device, trace.last.meta.gpu) == ("virtual", "h200 model")
    assert "virtual" in repr(trace.last)


def test_a_traced_kernel_that_was_not_called_says_so_in_a_line() -> None:
    with trace.tracing():
        kernel = scaled()
    assert repr(kernel) == "<kernel scale, which records on the virtual GPU: call it with its inputs>"
    assert repr(compiled(kernel)) == "<kernel scale, which records: call it with its inputs>"


def test_a_kernel_for_a_card_says_on_the_cpu_how_to_get_one_for_the_virtual_gpu() -> None:
    with trace.tracing():
        kernel = scaled()
    with pytest.raises(DeviceError, match=r"kernel scale was built for a CUDA device, .* device='virtual'"):
        compiled(kernel)(torch.ones(N))


def compiled(kernel: VirtualTracedKernel) -> TracedKernel:
    """The same kernel as it would be for a card, but for its machine code."""
    code: Any = SimpleNamespace(out_idx=[1])
    return TracedKernel(kernel.source, code, kernel.virtual.lowering, TraceOptions(), print)


def test_building_untraced_where_there_is_no_card_says_how_it_would_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_target(*_: Any, **__: Any) -> Any:
        raise ValueError("no target was found")

    monkeypatch.setattr(JITImpl, "compile", no_target)
    with pytest.raises(ValueError, match="no target was found") as caught:
        scaled()
    assert any("trace.enable()" in note for note in caught.value.__notes__)


def test_the_eager_style_runs_too() -> None:
    with trace.tracing(device="virtual"):
        assert torch.equal(eager_add(torch.ones(N), torch.ones(N)), torch.full((N,), 2.0))


def test_it_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    switch = TraceSwitch()
    switch.enable()
    assert [switch.model(), switch.model()] == ["h200", "h200"]
    assert capsys.readouterr().out.count("no CUDA device here") == 1


@pytest.mark.parametrize(
    ("device", "model"), [("auto", "h200"), ("cuda", None), ("virtual", "h200"), ("virtual:classroom", "classroom")]
)
def test_a_device_chooses_the_model(device: str, model: str | None) -> None:
    switch = TraceSwitch()
    switch.device = device
    assert switch.model() == model


@pytest.mark.parametrize("device", ["gpu", "cuda:h200", "auto:h200", "virtual:h999", ""])
def test_a_wrong_device_is_refused_with_the_right_ones(device: str) -> None:
    switch = TraceSwitch()
    with pytest.raises(ValueError, match=r"'virtual'|h200, h100"):
        switch.enable(device=device)
    assert (switch.device, switch.enabled) == ("auto", False)


def test_the_device_is_restored() -> None:
    with trace.tracing(device="virtual:t4"):
        assert trace.device == "virtual:t4"
    assert trace.device == "auto"


def test_builds_for_two_devices_do_not_mix() -> None:
    kernels = []
    for device in ("virtual:h200", "virtual:classroom", "virtual:h200"):
        with trace.tracing(device=device):
            kernels.append(scaled())
    assert kernels[0] is kernels[2]
    assert [kernel.virtual.gpu.name for kernel in kernels] == ["h200", "classroom", "h200"]


def test_a_builder_with_a_target_is_compiled_for_it() -> None:
    @trace.jit(out_idx=[-1], target={"kind": "cuda", "arch": "sm_90a"})
    def build() -> Any:
        return scaled._stripped.func()

    assert build._stripped.target is not None
    with trace.tracing():
        assert type(build._impl).__name__ == "_TracedImpl"
        assert build._impl.model is None
    with trace.tracing(device="virtual"):
        assert build._impl.model == "h200"


def test_run_returns_the_outputs_and_dumps(tmp_path: Path) -> None:
    with trace.tracing(output=str(tmp_path)):
        assert torch.equal(trace.run(scaled(), (torch.ones(N),), stem="scale"), torch.full((N,), 2.0))
    assert load(tmp_path / "scale.tltrace").meta.device == "virtual"
    assert "virtual GPU" in (tmp_path / "scale.html").read_text()


def test_simulate_takes_a_kernel_and_numpy() -> None:
    with trace.tracing():
        kernel = scaled(3.0)
    outputs = trace.simulate(kernel, np.ones(N, np.float32), gpu="classroom")
    assert isinstance(outputs, np.ndarray)
    assert (outputs == 3.0).all()
    assert trace.last is not None
    assert trace.last.ctas["sm"].nunique() == 4


def test_a_kernel_of_scalars_alone_gives_tensors() -> None:
    @T.prim_func
    def counted(first: T.int32, B: T.Tensor((N,), "int32")):
        with T.Kernel(4, threads=128) as bx:
            for i in T.Parallel(128):
                B[bx * 128 + i] = first + bx * 128 + i

    assert torch.equal(trace.simulate(counted, 7, out_idx=[-1]), torch.arange(7, 7 + N, dtype=torch.int32))


def test_simulate_takes_a_bare_kernel() -> None:
    @T.prim_func
    def bare(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(4, threads=128) as bx:
            T.copy(A[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])

    assert torch.equal(trace.simulate(bare, torch.arange(N).float()), torch.arange(N).float())
    assert trace.last is not None
    assert (len(trace.last), len(trace.last.ctas)) == (0, 4)


def test_a_kernel_for_a_card_says_that_there_is_none() -> None:
    assert TracedKernel is not VirtualTracedKernel
    with trace.tracing(device="cuda"):
        assert scaled._impl.model is None
