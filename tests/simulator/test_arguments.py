"""Wrong arguments of a virtual run are named: which parameter, what it takes, what came, what to do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilelang
import tilelang.language as T
import torch
from kernels import BY_NAME

from tltrace_nb import trace
from tltrace_nb.core.runtime.virtual import compile_virtual, simulate


def _add(dtype: str = "float32") -> Any:
    @T.prim_func
    def add(A: T.Tensor((8, 4), dtype), B: T.Tensor((8, 4), dtype), C: T.Tensor((8, 4), dtype)):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(8, 4):
                C[i, j] = A[i, j] + B[i, j]

    return add


def _dynamic() -> Any:
    n = T.dynamic("n")
    m = T.dynamic("m")

    @T.prim_func
    def dynamic(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n, m), "float32")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            for i in T.Parallel(32):
                if bx * 32 + i < n:
                    C[bx * 32 + i, 0] = A[bx * 32 + i] + B[bx * 32 + i]

    return dynamic


def _scaled() -> Any:
    @T.prim_func
    def scaled(A: T.Tensor((32,), "float32"), count: T.int32, factor: T.float32, B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                B[i] = T.if_then_else(i < count, A[i] * factor, 0.0)

    return scaled


KERNELS = {build.__name__: compile_virtual(build()) for build in (_add, _dynamic, _scaled)}
A = torch.zeros(8, 4)
V = torch.zeros(32)


@pytest.mark.parametrize(
    ("kernel", "inputs", "error", "message"),
    [
        ("_add", (A,) * 4, TypeError, "kernel add takes 3 inputs (A, B, C), got 4"),
        ("_add", (A, None), TypeError, "kernel add: B: expected a NumPy array or a torch tensor, got NoneType"),
        ("_add", (A, 3.0), TypeError, "kernel add: B: expected a NumPy array or a torch tensor, got float"),
        ("_add", (A, [[0.0]]), TypeError, "kernel add: B: expected a NumPy array or a torch tensor, got list"),
        (
            "_add",
            (A, A.to("meta")),
            TypeError,
            "kernel add: B: the virtual GPU takes tensors of the CPU, got one on meta",
        ),
        ("_add", (A, A.half()), TypeError, "kernel add: B is float32, got float16; convert it"),
        ("_add", (A, A.int()), TypeError, "kernel add: B is float32, got int32; convert it"),
        ("_add", (A, A.flatten()), ValueError, "kernel add: B has 2 dimensions, [8, 4], got shape [32]"),
        ("_add", (A, A[:7]), ValueError, "kernel add: B has the shape [8, 4], got [7, 4]; pass a tensor of that shape"),
        ("_add", (A, torch.zeros(4, 8).T), ValueError, "B has the strides [4, 1], got [1, 8]; pass B.contiguous()"),
        ("_add", (A, np.zeros((8, 8), np.float32)[:, ::2]), ValueError, "B has the strides [4, 1], got [8, 2]"),
        ("_dynamic", (V, V[:9], A), ValueError, "B has the shape [32] (n = 32), got [9]"),
        ("_dynamic", (V, V), ValueError, "C: its extent m does not follow from the inputs before it; pass that tensor"),
        (
            "_scaled",
            (V, 1.5, 2.0),
            TypeError,
            "kernel scaled: count is a scalar of the type int32, got float; pass an int",
        ),
        (
            "_scaled",
            (V, 3, V),
            TypeError,
            "kernel scaled: factor is a scalar of the type float32, got Tensor; pass a float",
        ),
        ("_scaled", (V, 3), TypeError, "kernel scaled: factor is a scalar, which is no output; pass its value"),
    ],
)
def test_a_wrong_input_is_named(kernel: str, inputs: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        KERNELS[kernel].run(inputs)
    assert message in str(caught.value)
    assert f"kernel {kernel.removeprefix('_')}" in str(caught.value)


@pytest.mark.parametrize("out_idx", [3, -4, [2, 2], [-1, 2], "C", [None], 1.5])
def test_a_wrong_out_idx_lists_the_parameters(out_idx: Any) -> None:
    with pytest.raises(ValueError, match=r"kernel add: out_idx=.*; give positions.*: 0 A, 1 B, 2 C; negative ones"):
        KERNELS["_add"].run((A, A), out_idx)


def test_right_arguments_of_every_kind_are_taken() -> None:
    outputs, _ = KERNELS["_scaled"].run((V + 1, np.int64(3), np.float32(2.0)))
    assert outputs.tolist() == [2.0] * 3 + [0.0] * 29
    outputs, _ = KERNELS["_add"].run((A + 1, A + 2), out_idx=2)
    assert (outputs == 3).all()
    one_row = torch.as_strided(torch.zeros(64), (8, 4), (4, 1))
    assert KERNELS["_add"].run((A, A, one_row))[0] is None


@pytest.mark.parametrize(
    ("kernel", "got"),
    [
        (lambda: 42, "42"),
        (lambda: _add, "function"),
        (lambda: tilelang.jit(_add), "JITImpl"),
        (lambda: trace.jit(_add), "TraceJit"),
    ],
)
def test_what_is_no_kernel_is_said(kernel: Callable[[], Any], got: str) -> None:
    with pytest.raises(
        TypeError, match=f"kernel=.*{got}.*: give a T.prim_func, or what a @trace.jit builder returns: call the"
    ):
        trace.simulate(kernel(), A, A)


def test_a_wrong_gpu_is_said() -> None:
    with pytest.raises(ValueError, match="gpu='h300': give one of 'h200', 'h100'"):
        trace.simulate(_add(), A, A, gpu="h300")
    with pytest.raises(TypeError, match=r"gpu=90: give one of 'h200'.*, or a tltrace_nb.base.gpus.Gpu"):
        trace.simulate(_add(), A, A, gpu=90)


def test_a_kernel_that_tilelang_does_not_schedule_keeps_tilelangs_error_and_names_the_gpu() -> None:
    @T.prim_func
    def nested(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(64):
                for j in T.Parallel(64):
                    A[i, j] = 0.0
                A[i, 0] = 1.0

    with pytest.raises(ValueError, match="Nested parallel loops are not allowed") as caught:
        simulate(nested, [torch.zeros(64, 64)], gpu="a100")
    assert caught.value.__notes__ == ["kernel nested: TileLang does not schedule it for sm_80, the a100 model"]


def test_an_operator_that_the_architecture_lacks_has_tilelangs_error_with_its_line_and_names_the_gpu() -> None:
    specialised = BY_NAME["specialised_gemm"]
    with pytest.raises(Exception, match=r"TMA is not available for src=A, dst=A_shared\s.*gemm.py:\d+") as caught:
        compile_virtual(specialised.build(), "a100", pass_configs=specialised.pass_configs)
    assert caught.value.__notes__ == ["kernel specialised: TileLang does not schedule it for sm_80, the a100 model"]
