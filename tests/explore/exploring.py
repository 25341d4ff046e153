"""Small kernels to explore, and what an explorer shows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tilelang
import tilelang.language as T

from tltrace_nb import trace

if TYPE_CHECKING:
    from tltrace_nb.explorer.explorer import Explorer


@trace.jit(out_idx=[-1])
def scale(N, block=128, threads=64, stages=1):
    @T.prim_func
    def scale(A: T.Tensor((N, 64), "float16"), B: T.Tensor((N, 64), "float16")):
        with T.Kernel(T.ceildiv(N, block), threads=threads) as bx:
            tile = T.alloc_shared((block * stages, 64), "float16")
            with trace.range("load", payload=bx):
                T.copy(A[bx * block, 0], tile[0:block, 0:64])
            with trace.range("store", payload=bx):
                T.copy(tile[0:block, 0:64], B[bx * block, 0])

    return scale


@tilelang.jit(out_idx=[-1])
def plain(N, block=64):
    @T.prim_func
    def plain(A: T.Tensor((N, 64), "float16"), B: T.Tensor((N, 64), "float16")):
        with T.Kernel(T.ceildiv(N, block), threads=64) as bx:
            tile = T.alloc_shared((block, 64), "float16")
            T.copy(A[bx * block, 0], tile)
            T.copy(tile, B[bx * block, 0])

    return plain


@tilelang.jit
def eager(A, block: int = 64):
    M, N = T.const("M N")
    A: T.Tensor[[M, N], T.float16]
    B = T.empty((M, N), "float16")
    with T.Kernel(T.ceildiv(M, block), threads=64) as bx:
        tile = T.alloc_shared((block, 64), "float16")
        T.copy(A[bx * block, 0], tile)
        T.copy(tile, B[bx * block, 0])
    return B


@trace.jit(out_idx=[-1])
def gather(N, pages=4):
    """Its control flow depends on its inputs: a scalar, and how often a row is read."""

    @T.prim_func
    def gather(A: T.Tensor((N, 64), "float16"), often: T.Tensor((1,), "int32"), B: T.Tensor((N, 64), "float16")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((N, 64), "float16")
            for i in T.serial(often[0]):
                with trace.range("turn", payload=i):
                    T.copy(A, tile)
            T.copy(tile, B)

    return gather


@trace.jit(out_idx=[-1])
def open_shape(block=64):
    N = T.dynamic("N")

    @T.prim_func
    def open_shape(A: T.Tensor((N, 64), "float16"), B: T.Tensor((N, 64), "float16")):
        with T.Kernel(T.ceildiv(N, block), threads=64) as bx:
            tile = T.alloc_shared((block, 64), "float16")
            with trace.range("load"):
                T.copy(A[bx * block, 0], tile)
            T.copy(tile, B[bx * block, 0])

    return open_shape


@dataclass(frozen=True)
class Shown:
    """What the one timeline of an explorer shows."""

    title: str
    events: int
    instead: str


def shown(explorer: Explorer) -> Shown:
    header = json.loads(explorer.timeline.header)
    return Shown(header["title"], header["events"], explorer.timeline.instead)


def move(explorer: Explorer, **values: Any) -> None:
    """Move controls, and wait for what comes of it."""
    for name, value in values.items():
        explorer.controls[name].value = value
    assert explorer.wait(120)
