"""Registers and shared memory of compiled kernels, against CUDA's own occupancy."""

from __future__ import annotations

import ctypes
import math

import pytest
from kernels import BY_NAME
from kernels.reference import Reference

from tltrace_nb.base.gpus import Footprint, occupancy, preset
from tltrace_nb.core.compile import resources
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced

NAMES = ("gemm_3", "attention", "softmax", "specialised_gemm", "two_launches")


def compiled(reference: Reference):
    how = Compilation(out_idx=list(reference.out_idx) or None, pass_configs=reference.pass_configs)
    kernel = compile_traced(reference.build(), how, TraceOptions(), lambda _: None)
    _, trace = kernel.run(reference.inputs("cuda"))
    return kernel, trace


def resident_by_cuda(code: bytes, name: str, threads: int, dynamic: int) -> int:
    """CTAs that the driver says an SM holds at once."""
    driver, module, function, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    assert driver.cuModuleLoadData(ctypes.byref(module), code) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()) == 0
    assert driver.cuFuncSetAttribute(function, 8, dynamic) == 0  # more than 48 KiB must be asked for
    size = ctypes.c_size_t(dynamic)
    assert driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(ctypes.byref(count), function, threads, size) == 0
    driver.cuModuleUnload(module)
    return count.value


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_says_what_its_ctas_take_and_occupancy_is_cudas(name: str) -> None:
    kernel, trace = compiled(BY_NAME[name])
    code = resources._machine_code(kernel.kernel)
    assert code is not None
    assert trace.meta.resources is not None
    for launch, function, (registers, shared) in zip(
        trace.table.launches, kernel.dynamic_shared, trace.meta.resources, strict=True
    ):
        threads = math.prod(launch.block)
        assert 8 <= registers <= 255
        ours = occupancy(preset("h200"), Footprint(threads, registers, shared)).ctas
        assert ours == resident_by_cuda(code, function, threads, kernel.dynamic_shared[function])


def test_the_limit_of_a_real_trace_is_no_upper_bound() -> None:
    _, trace = compiled(BY_NAME["gemm_3"])
    assert not any("upper bound" in note for note in trace.occupancy().notes)


def test_a_kernel_out_of_the_cache_says_the_same(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLTRACE_CACHE_DIR", str(tmp_path))
    first, second = (compiled(BY_NAME["gemm_3"])[1].meta.resources for _ in range(2))
    assert first == second
    assert first is not None
