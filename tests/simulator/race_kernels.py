"""Kernels with and without a synchronisation that they need, and inputs for them."""

from __future__ import annotations

from typing import Any

import tilelang.language as T
import torch

NO_BARRIERS_ADDED = {"tl.disable_thread_storage_sync": True}
"""TileLang then adds none of its own."""


def halves(*shape: int) -> torch.Tensor:
    """Unit normals."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).half()


def specialised(arrive: str = "behind", loaded_wait: bool = True, empty_wait: bool = True) -> Any:
    """A product of 128³ in two roles; ``arrive``: where consumers say that they have read a stage."""

    @T.prim_func
    def specialised(
        A: T.Tensor((128, 256), "float16"), B: T.Tensor((256, 128), "float16"), C: T.Tensor((128, 128), "float16")
    ):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((2, 128, 64), "float16")
            b = T.alloc_shared((2, 64, 128), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            loaded = T.alloc_barrier([128, 128])
            empty = T.alloc_barrier([128, 128])
            tx = T.get_thread_binding()
            if tx < 128:
                T.clear(c)
                for k in range(4):
                    if loaded_wait:
                        T.mbarrier_wait_parity(loaded[k % 2], k // 2 % 2)
                    if arrive == "before":
                        T.mbarrier_arrive(empty[k % 2])
                    T.gemm(a[k % 2, :, :], b[k % 2, :, :], c)  # product
                    if arrive == "behind":
                        T.mbarrier_arrive(empty[k % 2])
                T.copy(c, C)
            else:
                for k in range(4):
                    if empty_wait:
                        T.mbarrier_wait_parity(empty[k % 2], (k // 2 + 1) % 2)
                    T.tma_copy(A[:, k * 64 : k * 64 + 64], a[k % 2, :, :], barrier=loaded[k % 2])  # load A
                    T.tma_copy(B[k * 64 : k * 64 + 64, :], b[k % 2, :, :], barrier=loaded[k % 2])  # load B
                    T.mbarrier_arrive(loaded[k % 2])

    return specialised


def exchange(sync: bool = True) -> Any:
    """Every thread writes one element and reads its neighbour's."""

    @T.prim_func
    def exchange(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((128,), "float32")
            tx = T.get_thread_binding()
            s[tx] = A[tx]  # give
            if sync:
                T.sync_threads()
            B[tx] = s[127 - tx]  # take

    return exchange


def in_turns(second_sync: bool = True) -> Any:
    """As ``exchange``, twice through the same memory."""

    @T.prim_func
    def in_turns(A: T.Tensor((2, 128), "float32"), B: T.Tensor((2, 128), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((128,), "float32")
            tx = T.get_thread_binding()
            for k in T.serial(2):
                s[tx] = A[k, tx]
                T.sync_threads()
                B[k, tx] = s[127 - tx]
                if second_sync:
                    T.sync_threads()

    return in_turns


def copied(wait: bool = True) -> Any:
    """A cp.async copy of every thread, of which another thread reads."""

    @T.prim_func
    def copied(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((512,), "float32")
            T.async_copy(A, s)
            if wait:
                T.ptx_wait_group(0)
                T.sync_threads()
            for i in T.Parallel(512):
                B[i] = s[511 - i]

    return copied


def neighbours(shift: int) -> Any:
    """CTAs that update a tensor in place; with a ``shift`` they read what others write."""

    @T.prim_func
    def neighbours(A: T.Tensor((1024,), "float32")):
        with T.Kernel(4, threads=128) as bx:
            tx = T.get_thread_binding()
            A[bx * 128 + tx] = A[bx * 128 + tx + shift] * 2.0

    return neighbours


def handed_on(meet: bool) -> Any:
    """CTAs that read what their neighbours wrote, and write it again; ``meet``: behind a meeting of all CTAs, twice."""

    @T.prim_func
    def handed_on(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), "float32")):
        with T.Kernel(4, threads=128) as bx:
            tx = T.get_thread_binding()
            A[bx * 128 + tx] = 1.0
            if meet:
                T.sync_grid()
            B[bx * 128 + tx] = A[(bx + 1) % 4 * 128 + tx]
            if meet:
                T.sync_grid()
            A[(bx + 2) % 4 * 128 + tx] = 2.0

    return handed_on


def scanned(dim: int) -> Any:
    """Sums along one axis of shared memory."""

    @T.prim_func
    def scanned(A: T.Tensor((16, 128), "float32"), B: T.Tensor((16, 128), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((16, 128), "float32")
            T.copy(A, s)
            T.cumsum(s, dim=dim)
            T.copy(s, B)

    return scanned


def counted(atomic: bool) -> Any:
    """All threads add to one element of shared memory."""

    @T.prim_func
    def counted(A: T.Tensor((128,), "int32"), B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((1,), "int32")
            tx = T.get_thread_binding()
            if tx == 0:
                s[0] = 0
            T.sync_threads()
            if atomic:
                T.atomic_add(s[0], A[tx])
            else:
                s[0] = s[0] + A[tx]
            T.sync_threads()
            if tx == 0:
                B[0] = s[0]

    return counted
