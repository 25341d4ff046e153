"""Functions of the author's that kernels call, compiled for the host: what they give, and why one is refused."""

from __future__ import annotations

from typing import Any

import device_function_kernels as kernels
import numpy as np
import pytest
import tilelang.language as T
import torch

from tltrace_nb.core.runtime.virtual import compile_virtual, simulate
from tltrace_nb.simulator import device_functions
from tltrace_nb.simulator.errors import SimulationError, UnsupportedError

pytestmark = pytest.mark.cxx

N = kernels.N


def run(kernel: Any, x: torch.Tensor, like: torch.Tensor | None = None, **how: Any) -> torch.Tensor:
    y = torch.zeros_like(x if like is None else like)
    simulate(kernel, [x, y], **how)
    return y


@pytest.mark.parametrize("gpu", ["a100", "h200"])
def test_a_function_gives_a_value_in_every_lane(gpu: str) -> None:
    x = torch.randn(N) * 50
    kernel = kernels.elementwise(lambda v: T.call_extern("float32", "softcap", v, T.float32(30)))
    torch.testing.assert_close(run(kernel, x, gpu=gpu), 30 * torch.tanh(x / 30))


def test_halves_are_rounded_after_each_operation() -> None:
    x = torch.randn(N).half()
    kernel = kernels.elementwise(lambda v: T.call_extern("float16", "scaled", v, v), "float16")
    assert torch.equal(run(kernel, x), x * x + 1)


def test_doubles_and_names_in_a_namespace() -> None:
    x = torch.rand(N, dtype=torch.float64)
    kernel = kernels.elementwise(lambda v: T.call_pure_extern("float64", "mine::wide", v), "float64")
    torch.testing.assert_close(run(kernel, x), torch.sqrt(x) + 1, rtol=1e-15, atol=0)


def test_what_cuda_has_for_bits_and_conversions() -> None:
    x = (torch.randn(N) * 1000).round() + 0.5
    kernel = kernels.elementwise(
        lambda v: T.call_extern("int32", "packed", v, T.cast(T.abs(v), "uint32")), result="int32"
    )
    u = x.abs().to(torch.int64).numpy()
    bits = np.array([int(each).bit_count() + 32 - int(each).bit_length() for each in u])
    bytes_ = (u >> 16 & 255) | 2 << 8 | (u >> 8 & 255) << 16 | 1 << 24  # selectors 2, 6, 1, 7
    expected = np.rint(x.numpy()).astype(np.int64) + bits + bytes_
    assert np.array_equal(run(kernel, x, torch.zeros(N, dtype=torch.int32)).numpy(), expected)


def test_pointers_to_registers_are_read_and_written_lane_by_lane() -> None:
    x = torch.randint(-128, 128, (4 * N,), dtype=torch.int8)
    y = run(kernels.widened(), x, torch.zeros(4 * N))
    expected = x.reshape(-1, 4).float() * 0.5
    expected[1::2] = 0
    assert torch.equal(y.reshape(-1, 4), expected)


@pytest.mark.parametrize("form", ["T.access_ptr", "data", "T.address_of", "access_ptr"])
def test_pointers_have_several_forms(form: str) -> None:
    x = torch.randint(-128, 128, (4 * N,), dtype=torch.int8)
    assert torch.equal(run(kernels.handed_over(form), x, torch.zeros(4 * N)), x.float() * 0.5)


def test_only_lanes_that_come_there_call() -> None:
    x = torch.arange(N, dtype=torch.int32) % 7
    kernel = kernels.by_thread(lambda v: T.call_extern("int32", "divided", 1000, v), lambda v: v > 0)
    expected = torch.where(x > 0, 1000 // x.clamp(min=1), 0)
    assert torch.equal(run(kernel, x), expected.int())
    assert torch.equal(run(kernels.chosen(), x), torch.where(x > 0, expected, -1).int())


def test_what_all_threads_have_in_common_may_decide_a_loop() -> None:
    y = run(kernels.uniform(), torch.tensor([0.25, 3.0, -1.0, 0.5]))
    assert y.tolist() == [6 * 0.25, 3 * 1.0, 0.0, 0.5]


def test_time_alone_calls_nothing_but_what_decides() -> None:
    _, timed = simulate(kernels.widened(), [torch.zeros(4 * N, dtype=torch.int8), torch.zeros(4 * N)], functional=False)
    _, whole = simulate(kernels.widened(), [torch.zeros(4 * N, dtype=torch.int8), torch.zeros(4 * N)])
    assert np.array_equal(timed.slots, whole.slots)


FAILING = [
    (
        kernels.by_thread(lambda v: T.call_extern("int32", "divided", 1, v), lambda v: v < 9),
        "divided divides an integer",
    ),
    (kernels.pointed("nowhere"), "nowhere follows a pointer to nowhere, in lane 0"),
    (kernels.pointed("past"), r"past writes outside of f\[4\]"),
]


@pytest.mark.parametrize(("kernel", "says"), FAILING, ids=["division", "pointer", "past the end"])
def test_a_function_that_fails_ends_the_run_and_not_the_process(kernel: Any, says: str) -> None:
    given = [torch.zeros(N, dtype=torch.int32)] * 2 if "X" in str(kernel.params) else [torch.zeros(N)]
    with pytest.raises(SimulationError, match=rf"CTA \(0, 0, 0\).*the function {says}"):
        simulate(kernel, given)


REFUSED = [
    ("by_thread", kernels.SOURCE, "threadIdx"),
    ("by_warp", kernels.SOURCE, "threadIdx|__shfl_xor_sync"),
    ("by_assembly", kernels.ASSEMBLY, "the source has assembly in it"),
    ("not_there", kernels.PART, "not_there"),
    ("softcap", "__global__ void k() {}" + kernels.PART, "__global__"),
    ("softcap", "__device__ float softcap(float x) { __shared__ float s[2]; return s[0]; }", "__shared__"),
    ("softcap", '#include "of_the_author.h"\n' + kernels.PART, "of_the_author.h"),
]


@pytest.mark.parametrize(("name", "source", "says"), REFUSED)
def test_what_does_not_compile_is_refused_with_the_compilers_reason(name: str, source: str, says: str) -> None:
    kernel = kernels.elementwise(lambda v: T.call_extern("float32", name, v), source=source)
    with pytest.raises(UnsupportedError, match=rf"kernel elementwise, .*py:\d+: .*the function {name} \(.*({says})"):
        compile_virtual(kernel)


def test_a_function_that_is_not_called_may_have_anything_in_it_that_c_has() -> None:
    x = torch.randn(N)
    kernel = kernels.elementwise(lambda v: T.call_extern("float32", "clamp01", v), source=kernels.ASSEMBLY)
    assert torch.equal(run(kernel, x), x.clamp(0, 1))


def test_what_cuda_has_by_itself_needs_no_source() -> None:
    x = torch.tensor([0.5, 1.5, -2.5, 1e20]).repeat(N // 4)
    kernel = kernels.elementwise(lambda v: T.call_extern("int32", "__float2int_rn", v), result="int32", source=None)
    expected = torch.tensor([0, 2, -2, 2**31 - 1], dtype=torch.int32).repeat(N // 4)
    assert torch.equal(run(kernel, x, torch.zeros(N, dtype=torch.int32)), expected)


def test_a_function_of_nobody_s_is_refused_and_where_it_could_be_is_told() -> None:
    kernel = kernels.elementwise(lambda v: T.call_extern("float32", "of_nobody", v), source=None)
    with pytest.raises(UnsupportedError, match=r"the function of_nobody \(it does not compile.*imports no source"):
        compile_virtual(kernel)


def test_a_function_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TLTRACE_CACHE_DIR", str(tmp_path))
    kernel = kernels.elementwise(lambda v: T.call_extern("float32", "clamp01", v))
    compile_virtual(kernel)
    monkeypatch.setattr(device_functions.subprocess, "run", None)
    assert torch.equal(run(kernel, torch.full((N,), 2.0)), torch.ones(N))
