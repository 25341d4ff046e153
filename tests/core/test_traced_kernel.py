"""A traced kernel is the kernel: each public attribute of TileLang's kernel and profiler, used on both.

The kernel is really compiled; launching it takes a card (``tests/gpu``) or the virtual GPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tilelang
import torch
from kernels.attributes import KERNEL, LAUNCHES, PROFILER, doubled_sum, expected, public
from tilelang.autotuner.param import AutotuneResult
from tilelang.jit.adapter import BaseKernelAdapter
from tilelang.profiler import Profiler, TensorSupplyType

from tltrace_nb.base import notices
from tltrace_nb.base.errors import DeviceError
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.numbering import strip
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced, compile_virtual
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.core.runtime.traced import TracedKernel, VirtualTracedKernel

TARGET = {"kind": "cuda", "arch": "sm_90a"}


@pytest.fixture(scope="module")
def plain() -> Any:
    return tilelang.compile(strip(doubled_sum()), out_idx=[-1], target=TARGET)


@pytest.fixture(scope="module")
def traced() -> TracedKernel:
    return compile_traced(doubled_sum(), Compilation(out_idx=[-1], target=TARGET), TraceOptions(), print)


@pytest.fixture(scope="module")
def virtual() -> VirtualTracedKernel:
    return compile_virtual(doubled_sum(), Compilation(out_idx=[-1]), TraceOptions(), lambda _: None, "h200")


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """What has been said on stderr, nothing having been said before."""
    notices.say_once.cache_clear()
    return lambda: capsys.readouterr().err


@pytest.fixture(autouse=True)
def no_second_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """PTX and SASS are of a source: that they are of the right one is asked here, not of nvcc."""
    from tilelang.jit import kernel

    for name in ("get_ptx_from_source", "get_sass_from_source"):
        monkeypatch.setattr(kernel.tl_nvcc, name, lambda code, **_: f"machine code of\n{code}")


@pytest.mark.nvcc
def test_every_public_attribute_of_a_kernel_is_decided_on(plain: Any) -> None:
    assert public(plain) == KERNEL.keys() | LAUNCHES


@pytest.mark.nvcc
def test_every_public_attribute_of_a_profiler_is_decided_on(plain: Any) -> None:
    assert public(plain.get_profiler()) == PROFILER


@pytest.mark.nvcc
@pytest.mark.parametrize("name", sorted(KERNEL))
def test_an_attribute_of_a_traced_kernel_is_the_untraced_one_s(
    name: str, traced: TracedKernel, plain: Any, tmp_path: Path
) -> None:
    assert KERNEL[name](traced, tmp_path) == KERNEL[name](plain, tmp_path)


@pytest.mark.nvcc
@pytest.mark.parametrize("name", sorted(KERNEL))
def test_an_attribute_of_a_virtual_kernel_is_the_untraced_one_s(
    name: str, virtual: VirtualTracedKernel, plain: Any, tmp_path: Path
) -> None:
    assert KERNEL[name](virtual, tmp_path) == KERNEL[name](plain, tmp_path)


@pytest.mark.nvcc
def test_it_is_a_kernel_and_what_runs_has_a_parameter_more(traced: TracedKernel, virtual: VirtualTracedKernel) -> None:
    assert isinstance(traced, tilelang.JITKernel)
    assert isinstance(virtual, tilelang.JITKernel)
    assert len(traced.kernel.params) == len(traced.params) + 1
    assert "__tlt_record" in traced.kernel.get_kernel_source()
    assert "__tlt" not in traced.get_kernel_source()


@pytest.mark.nvcc
def test_its_adapter_has_every_attribute_of_the_untraced_one_s(traced: TracedKernel, plain: Any) -> None:
    assert public(plain.adapter) <= {name for name in public(plain.adapter) if hasattr(traced.adapter, name)}
    assert traced.adapter.get_kernel_source(kernel_only=True) == plain.adapter.get_kernel_source(kernel_only=True)
    assert isinstance(traced.adapter, BaseKernelAdapter)
    with pytest.raises(AttributeError, match="nothing"):
        traced.adapter.nothing  # noqa: B018


def test_an_author_s_negative_position_is_normalised_as_tilelang_does() -> None:
    kernel = compile_virtual(doubled_sum(), Compilation(out_idx=-1), TraceOptions(), print, "h200")
    assert kernel.out_idx == kernel.get_profiler().result_idx == [2]


def test_marking_a_kernel_that_records_keeps_its_own_markers(virtual: VirtualTracedKernel) -> None:
    from tltrace_nb.core.api import TraceSwitch
    from tltrace_nb.core.compile.auto.options import AutoOptions
    from tltrace_nb.core.runtime.jit import automatic

    switch = TraceSwitch()
    switch.device = "virtual"
    again = automatic(virtual, AutoOptions.of("all"), switch)
    assert "sum" in {site.name for site in again.table.sites}


@pytest.mark.nvcc
def test_what_the_autotuner_keeps_of_it_is_the_untraced_kernel(
    traced: TracedKernel, plain: Any, tmp_path: Path
) -> None:
    results = [AutotuneResult(kernel=kernel) for kernel in (traced, plain)]
    for name, result in zip(("traced", "plain"), results, strict=True):
        result._save_kernel_to_disk(tmp_path / name, result.kernel)
    texts = [sorted(p for p in (tmp_path / name).iterdir() if p.suffix != ".so") for name in ("traced", "plain")]
    assert [p.name for p in texts[0]] == [p.name for p in texts[1]] != []
    assert [p.read_text() for p in texts[0]] == [p.read_text() for p in texts[1]]
    assert "__tlt" not in "".join(p.read_text() for p in texts[0])


@pytest.mark.nvcc
def test_times_are_said_once_to_be_the_traced_kernel_s(
    traced: TracedKernel, said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Profiler, "do_bench", lambda self, func=None, *args, **kwargs: (func, args, kwargs))
    profiler = traced.get_profiler()
    assert profiler.do_bench(expected, 10) == (expected, (10,), {})
    assert said() == ""
    assert profiler.do_bench(backend="cupti") == (None, (), {"backend": "cupti"})
    assert profiler.do_bench(traced) == (traced, (), {})
    assert said().count("of the traced kernel") == 1


# ---- the profiler on the virtual GPU


def test_on_the_virtual_gpu_a_kernel_s_results_are_checked_against_a_reference(virtual: VirtualTracedKernel) -> None:
    for supply in TensorSupplyType:
        profiler = virtual.get_profiler(supply)
        assert isinstance(profiler, Profiler)
        profiler.assert_allclose(expected)
        with pytest.raises(AssertionError):
            profiler.assert_allclose(lambda a, b: a + b + 1)
    checked: list[Any] = []
    profiler.manual_assert_close(expected, manual_check_prog=lambda *both: checked.append(both))
    assert torch.equal(checked[0][0][0], checked[0][1][0])
    profiler.assert_consistent(repeat=2)


def test_on_the_virtual_gpu_a_profiler_runs_the_kernel(virtual: VirtualTracedKernel) -> None:
    profiler = virtual.get_profiler(TensorSupplyType.One)
    ones = torch.ones(1024)
    for result in (
        profiler.run_once(),
        profiler(ones, ones),
        profiler.func(ones, ones),
        virtual.torch_function(ones, ones),
    ):
        assert torch.equal(result, torch.full((1024,), 4.0))
    assert torch.equal(virtual.run_once(lambda a, b: a * 0), torch.zeros(1024))


def test_on_the_virtual_gpu_a_time_is_the_model_s_and_says_so_once(said: Any) -> None:
    launches: list[TracedLaunch] = []
    kernel = compile_virtual(doubled_sum(), Compilation(out_idx=[-1]), TraceOptions(), launches.append, "h200")
    profiler = kernel.get_profiler()
    took = profiler.do_bench()
    ctas = launches[-1].trace().ctas
    assert took == pytest.approx((ctas["end_ns"].max() - ctas["start_ns"].min()) / 1e6)
    assert took > 0
    assert profiler.do_bench(kernel, backend="cupti", quantiles=[0.2, 0.5]) == [took, took]
    assert len(launches) == 2
    assert said().count("those of the virtual GPU's model") == 1


def test_on_the_virtual_gpu_the_time_of_another_function_is_refused(virtual: VirtualTracedKernel) -> None:
    profiler = virtual.get_profiler()
    with pytest.raises(DeviceError, match="not of expected: backend='wall'"):
        profiler.do_bench(expected)
    assert profiler.do_bench(expected, backend="wall", n_warmup=1, n_repeat=1, warmup=0, rep=0) > 0


def test_on_the_virtual_gpu_keyword_arguments_are_refused(virtual: VirtualTracedKernel) -> None:
    with pytest.raises(TypeError, match="kernel doubled_sum takes its arguments by position, got a, b"):
        virtual(a=torch.ones(1024), b=torch.ones(1024))
