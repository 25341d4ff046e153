"""Pointers in variables and tables of addresses: what lies there is read and written, or it is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilelang.language as T
import torch

from tltrace_nb.core.runtime.virtual import compile_virtual, simulate
from tltrace_nb.simulator.errors import MemoryAccessError, UnsupportedError

GPUS = ("a100", "h200")


def table(tensors: list[torch.Tensor]) -> torch.Tensor:
    return torch.tensor([t.data_ptr() for t in tensors], dtype=torch.int64)


def _grouped(groups: int, M: int, N: int, K: int) -> Any:
    @T.prim_func
    def grouped(ap: T.Tensor((groups,), T.ptr), bp: T.Tensor((groups,), T.ptr), cp: T.Tensor((groups,), T.ptr)):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), groups, threads=128) as (bx, by, bz):
            A = T.make_tensor(ap[bz], (M, K), "float16")
            B = T.make_tensor(bp[bz], (K, N), "float16")
            C = T.make_tensor(cp[bz], (M, N), "float32")
            A_s = T.alloc_shared((64, 32), "float16")
            B_s = T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[by * 64, k * 32], A_s)
                T.copy(B[k * 32, bx * 64], B_s)
                T.gemm(A_s, B_s, acc)
            T.copy(acc, C[by * 64, bx * 64])

    return grouped


@pytest.mark.parametrize("gpu", GPUS)
def test_a_grouped_gemm_finds_its_operands_through_tables_of_addresses(gpu: str) -> None:
    a = [torch.randn(100, 64).half() for _ in range(3)]
    b = [torch.randn(64, 128).half() for _ in range(3)]
    c = [torch.zeros(100, 128) for _ in range(3)]
    simulate(_grouped(3, 100, 128, 64), [table(a), table(b), table(c)], gpu=gpu)
    for x, w, y in zip(a, b, c, strict=True):
        torch.testing.assert_close(y, x.float() @ w.float(), rtol=1e-3, atol=1e-2)


def test_time_alone_needs_no_contents() -> None:
    nothing = [np.zeros(2, np.int64)] * 3
    _, timed = simulate(_grouped(2, 64, 64, 64), nothing, functional=False)
    tensors = [[torch.zeros(64, 64, dtype=d) for _ in range(2)] for d in (torch.half, torch.half, torch.float)]
    _, whole = simulate(_grouped(2, 64, 64, 64), [table(each) for each in tensors])
    assert np.array_equal(timed.slots, whole.slots)


def _rows(groups: int, K: int) -> Any:
    @T.prim_func
    def rows(xp: T.Tensor((groups,), T.ptr), yp: T.Tensor((groups,), T.ptr), sizes: T.Tensor((groups,), "int32")):
        with T.Kernel(groups, threads=128) as b:
            m = sizes[b]
            X = T.make_tensor(xp[b], (m, K), "bfloat16")
            Y = T.make_tensor(yp[b], (m, K), "float32")
            for i in T.serial(T.ceildiv(m, 4)):
                for j, k in T.Parallel(4, K):
                    if i * 4 + j < m:
                        Y[i * 4 + j, k] = X[i * 4 + j, k] * 2.0

    return rows


def test_extents_may_differ_from_cta_to_cta() -> None:
    sizes = [5, 0, 9]
    x = [torch.randn(m, 64).bfloat16() for m in sizes]
    y = [torch.zeros(m, 64) for m in sizes]
    simulate(_rows(3, 64), [table(x), table(y), torch.tensor(sizes, dtype=torch.int32)])
    for given, made in zip(x, y, strict=True):
        assert torch.equal(made, given.float() * 2)


def _counted(groups: int) -> Any:
    @T.prim_func
    def counted(xp: T.Tensor((groups,), T.ptr)):
        with T.Kernel(4, threads=64):
            tx = T.get_thread_binding()
            for g in T.serial(groups):
                X = T.make_tensor(xp[g], (64,), "float32")
                T.atomic_add(X[tx], 1.0)

    return counted


def test_a_pointer_takes_another_address_in_each_iteration() -> None:
    x = [torch.zeros(64) for _ in range(3)]
    simulate(_counted(3), [table(x)])
    assert all((each == 4).all() for each in x)


def _from_address() -> Any:
    @T.prim_func
    def moved(address: T.int64, Y: T.Tensor((128,), "float16")):
        with T.Kernel(2, threads=64) as b:
            X = T.make_tensor_from_addr(address + T.int64(b * 128), (64,), "float16")
            T.copy(X, Y[b * 64 : b * 64 + 64])

    return moved


def test_addresses_may_be_computed_and_point_into_a_tensor() -> None:
    x, y = torch.randn(200).half(), torch.zeros(128).half()
    simulate(_from_address(), [x.data_ptr() + 16, y])
    assert torch.equal(y, x[8:136])


def test_an_argument_of_the_kernel_is_found_by_its_address_even_if_it_is_no_torch_tensor() -> None:
    y = np.arange(128, dtype=np.float16)
    simulate(_from_address(), [y.ctypes.data, y])
    assert np.array_equal(y, np.arange(128))


def _strided() -> Any:
    @T.prim_func
    def strided(xp: T.Tensor((1,), T.ptr), Y: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=64):
            X = T.make_tensor(xp[0], (16, 16), "float32", strides=(32, 1))
            for i, j in T.Parallel(16, 16):
                Y[i, j] = X[i, j]

    return strided


def test_a_tensor_at_an_address_may_have_strides() -> None:
    x, y = torch.randn(16, 32)[:, :16], torch.zeros(16, 16)
    simulate(_strided(), [table([x]), y])
    assert torch.equal(y, x)


def _guarded(groups: int) -> Any:
    @T.prim_func
    def guarded(xp: T.Tensor((groups,), T.ptr), Y: T.Tensor((groups,), "float32")):
        with T.Kernel(groups, threads=32) as b:
            X = T.make_tensor(xp[b], (4,), "float32")
            if xp[b] != 0:
                Y[b] = X[0]

    return guarded


def test_an_address_of_nothing_is_no_error_where_nobody_goes_there() -> None:
    x, y = torch.ones(4), torch.zeros(2)
    simulate(_guarded(2), [torch.tensor([0, x.data_ptr()]), y])
    assert y.tolist() == [0, 1]


def _missing(x: torch.Tensor) -> int:
    return 64


def _uneven(x: torch.Tensor) -> int:
    return x.data_ptr() + 2


WRONG: list[tuple[str, Callable[[torch.Tensor], int], str]] = [
    ("nothing", _missing, r"accesses X\[0\]: the address 0x40 lies in no argument of the kernel, and in no torch tens"),
    ("uneven", _uneven, "is no multiple of the 4 bytes of a float32"),
]


@pytest.mark.parametrize(("address", "says"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_is_accessed_at_a_wrong_address_is_an_error(address: Callable[[torch.Tensor], int], says: str) -> None:
    x = torch.ones(8)
    with pytest.raises(MemoryAccessError, match=f"kernel guarded, CTA.*{says}"):
        simulate(_guarded(1), [torch.tensor([address(x)]), torch.zeros(1)])


def test_rows_past_the_end_of_the_memory_are_an_error() -> None:
    a, b = [torch.ones(70, 64).half()], [torch.ones(64, 64).half()]
    c = [torch.zeros(128, 64)]
    with pytest.raises(MemoryAccessError, match=r"A \(the tensor at .* has memory for 70 of its 128 rows\)"):
        simulate(_grouped(1, 128, 64, 64), [table(a), table(b), table(c)])


def _by_thread() -> Any:
    @T.prim_func
    def by_thread(xp: T.Tensor((32,), T.ptr), Y: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            X = T.make_tensor(xp[tx], (4,), "float32")
            Y[tx] = X[1]

    return by_thread


def test_a_pointer_of_each_thread_s_own_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="kernel by_thread.*pointers that differ from thread to thread"):
        compile_virtual(_by_thread())


def _unwritten() -> Any:
    @T.prim_func
    def unwritten(xp: T.Tensor((1,), T.ptr)):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            X = T.make_tensor(xp[0], (32,), "float32")
            s = T.alloc_shared((64,), "float32")
            s[tx] = X[tx]
            X[tx] = X[tx] + 1.0
            X[tx] = T.if_then_else(tx < 31, s[tx], s[tx + 1])

    return unwritten


def test_unwritten_memory_is_an_error_where_no_run_can_be_taken_back() -> None:
    x = torch.zeros(32)
    with pytest.raises(MemoryAccessError, match=r"reads s\[32\] before anything was written"):
        simulate(_unwritten(), [table([x])])


def test_a_tensor_that_is_gone_is_not_found_by_its_address() -> None:
    gone = table([torch.zeros(1 << 20)])
    with pytest.raises(MemoryAccessError, match="no torch tensor of the CPU that is alive; keep the tensors"):
        simulate(_guarded(1), [gone, torch.zeros(1)])
