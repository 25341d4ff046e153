"""What the virtual GPU does not execute is refused by its name and line, before the first CTA runs."""

from __future__ import annotations

from typing import Any

import device_function_kernels as functions
import pytest
import tilelang.language as T

from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.simulator import device_functions
from tltrace_nb.simulator.errors import UnsupportedError


@T.macro
def _arrival_at_another_cta(A, s, tx):
    bar = T.alloc_cluster_barrier(128)
    T.mbarrier_arrive(bar, 1)


@T.macro
def _barrier_of_a_cluster(A, s, tx):
    bar = T.alloc_cluster_barrier(128)
    T.mbarrier_arrive(bar)
    T.mbarrier_wait_parity(bar, 0)


@T.macro
def _multicast(A, s, tx):
    T.copy_cluster(A, s, cluster_mask=3)


@T.macro
def _multicast_with_a_barrier(A, s, tx):
    bar = T.alloc_barrier(1)
    T.tma_copy(A, s, barrier=bar, cluster_mask=3)


@T.macro
def _copy_into_another_cta(A, s, tx):
    d = T.alloc_shared((128, 64), "float16")
    T.copy_cluster(s, d, dst_block=1)


@T.macro
def _ldmatrix(A, s, tx):
    r = T.alloc_local((8,), "float16")
    T.ptx_ldmatrix(T.bool(False), 4, T.access_ptr(s[tx % 16, tx // 16 * 8], "r", 8), T.access_ptr(r[0], "w", 8))


@T.macro
def _mma(A, s, tx):
    a, b, c = T.alloc_local((8,), "float16"), T.alloc_local((4,), "float16"), T.alloc_local((4,), "float32")
    types = ("fp16", "fp16", "fp32")
    T.ptx_mma("float32", "m16n8k16", "row", "col", *types, a.data, 0, b.data, 0, c.data, 0, T.bool(False))


@T.macro
def _descriptor(A, s, tx):
    d = T.alloc_wgmma_desc()
    T.initialize_wgmma_descriptor(d, T.access_ptr(s, "r"), 1, 1, 64)


@T.macro
def _tensor_memory(A, s, tx):
    T.deallocate_tmem(T.alloc_tmem((128, 64), "float32"))


@T.macro
def _random_in_parallel(A, s, tx):
    T.rng_init(7)
    for i, j in T.Parallel(128, 64):
        s[i, j] = T.cast(T.rng_rand_float(), "float16")


@T.macro
def _device_function_of_shared_memory(A, s, tx):
    T.call_extern("handle", "of_the_author", T.address_of(s[tx, 0]))


NAMED = {
    "ptx_arrive_cluster_barrier": _arrival_at_another_cta,
    "barriers of a cluster": _barrier_of_a_cluster,
    "tileop.copy with cluster_mask": _multicast,
    "tileop.tma_copy with cluster_mask": _multicast_with_a_barrier,
    "tileop.copy with dst_block": _copy_into_another_cta,
    "ptx_ldmatrix": _ldmatrix,
    "ptx_mma": _mma,
    "initialize_wgmma_descriptor": _descriptor,
    "deallocate_tmem": _tensor_memory,
    "rng_rand_float inside of T.Parallel": _random_in_parallel,
    "the function of_the_author with a pointer to shared.dyn memory": _device_function_of_shared_memory,
}


@pytest.mark.some(4)
@pytest.mark.parametrize("named", NAMED)
def test_what_is_not_executed_is_named_with_its_line(named: str) -> None:
    construct: Any = NAMED[named]

    @T.prim_func
    def refused(A: T.Tensor((128, 64), "float16")):
        with T.Kernel(2, threads=128, cluster_dims=(2, 1, 1)):
            s = T.alloc_shared((128, 64), "float16")
            construct(A, s, T.get_thread_binding())

    with pytest.raises(UnsupportedError, match=rf"kernel refused, .*test_refused_constructs\.py:\d+: .*{named}"):
        compile_virtual(refused)


def test_a_tensor_of_vectors_is_refused() -> None:
    @T.prim_func
    def vectors(A: T.Tensor((32,), "float32x4"), B: T.Tensor((32,), "float32x4")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            B[tx] = A[tx]

    with pytest.raises(UnsupportedError, match="kernel vectors.*values of the vector type float32x4"):
        compile_virtual(vectors)


def test_pointers_to_memory_of_several_threads_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"the function past with a pointer to shared\.dyn memory"):
        compile_virtual(functions.shared())


def test_without_a_compiler_the_function_is_refused_and_the_reason_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(device_functions.shutil, "which", lambda _: None)
    with pytest.raises(UnsupportedError, match=r"the function clamp01 \(no C\+\+ compiler is on this machine"):
        compile_virtual(functions.elementwise(lambda v: T.call_extern("float32", "clamp01", v)))
