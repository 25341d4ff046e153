"""The memory behind an address: pointers in variables, tensors of pointers.

In: the arrays of a launch; an address that the kernel has computed or loaded. Out: a :class:`View` of what lies there.
An address is believed where memory is that this process holds: an argument of the kernel, or any torch tensor of the
CPU that is alive, whose ``data_ptr()`` it then is. Whatever lies elsewhere, or goes on beyond the tensor's end, is an
error when it is accessed.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import gc
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from tvm import tirx

from tltrace_nb.core.compile.ir import Stmt, post_order_visit
from tltrace_nb.simulator.errors import MemoryAccessError
from tltrace_nb.simulator.memory import Array, Mask, View

POINTED = "global, behind a pointer"
"""The scope of buffers whose data is a variable of the kernel's."""


def behind_pointers(body: Stmt) -> dict[Any, list[Any]]:
    """The buffers that a launch sees through each of its pointers, by the pointer's variable."""
    bound: dict[Any, list[Any]] = {}
    buffers: dict[Any, None] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Bind) and str(node.var.dtype) == "handle":
            bound[node.var] = []
        elif isinstance(node, (tirx.BufferLoad, tirx.BufferStore)):
            buffers[node.buffer] = None

    post_order_visit(body, visit)
    for buffer in buffers:
        if buffer.data in bound:
            bound[buffer.data].append(buffer)
    return bound


class Addresses:
    """The memory of this process that a launch may reach by its address."""

    def __init__(self, arrays: Iterable[Array], guarded: bool):
        """``guarded``: TileLang guards accesses, as in :class:`View`."""
        self._arrays = list(arrays)
        self._guarded = guarded
        self._views: dict[Any, View] = {}

    def view(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any], name: str
    ) -> View:
        """A buffer at an address; ``strides`` in elements, empty where rows follow each other."""
        key = address, shape, strides, dtype
        if key not in self._views:
            self._views[key] = self._view(address, tuple(map(int, shape)), tuple(map(int, strides)), dtype, name)
        return self._views[key]

    def _view(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any], name: str
    ) -> View:
        size = dtype.itemsize
        where = f"the address {address:#x}"
        memory = self._from(address)
        if address % size:
            return _Nowhere(shape, dtype, name, f"{where} is no multiple of the {size} bytes of a {dtype}")
        if memory is None:
            what = f"{where} lies in no argument of the kernel, and in no torch tensor of the CPU that is alive"
            return _Nowhere(shape, dtype, name, f"{what}; keep the tensors whose data_ptr() the kernel gets")
        apart = strides or tuple(int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape)))
        whole = 0 in shape or 1 + sum((n - 1) * s for n, s in zip(shape, apart, strict=True)) <= len(memory) // size
        if not whole:  # as many rows as are there
            row = 1 + sum((n - 1) * s for n, s in zip(shape[1:], apart[1:], strict=True))
            rows = max(0, (len(memory) // size - row) // max(apart[0], 1) + 1)
            name = f"{name} (the tensor at {where} has memory for {rows} of its {shape[0]} rows)"
            shape = (rows, *shape[1:])
            if not rows:
                return _Nowhere(shape, dtype, name, f"{where} has {len(memory)} bytes behind it")
        flat = memory[: len(memory) // size * size].view(dtype)
        array = np.lib.stride_tricks.as_strided(flat, shape, tuple(s * size for s in apart))
        return View(array, name, self._guarded and whole)

    def _from(self, address: int) -> Array | None:
        """The bytes from an address on to the end of what lies there."""
        for starts, memories in (self._given, self._alive):
            i = bisect.bisect_right(starts, address) - 1
            if i >= 0 and address < starts[i] + len(memories[i]):
                return memories[i][address - starts[i] :]
        return None

    @functools.cached_property
    def _given(self) -> tuple[list[int], list[Array]]:
        """The arrays of the launch as bytes, by their addresses."""
        return _by_address(a.reshape(-1).view(np.uint8) for a in self._arrays if a.flags.c_contiguous)

    @functools.cached_property
    def _alive(self) -> tuple[list[int], list[Array]]:
        """The torch tensors of the CPU that are alive now, as bytes by their addresses; they are kept alive."""
        torch: Any = sys.modules.get("torch")
        if torch is None:
            return [], []
        found: dict[int, Array] = {}
        for each in gc.get_objects():
            if not issubclass(type(each), torch.Tensor):
                continue
            with contextlib.suppress(Exception):  # tensors without memory raise whatever they raise
                if each.device.type == "cpu" and each.untyped_storage().nbytes():
                    storage = each.untyped_storage()
                    found[storage.data_ptr()] = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
        return _by_address(found.values())


def _by_address(memories: Iterable[Array]) -> tuple[list[int], list[Array]]:
    ordered = sorted(((m.ctypes.data, m) for m in memories if m.size), key=lambda pair: pair[0])
    return [start for start, _ in ordered], [memory for _, memory in ordered]


class _Nowhere(View):
    """A buffer at an address that is not to be believed: an error once it is accessed."""

    __slots__ = ("_why",)

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], name: str, why: str):
        super().__init__(np.broadcast_to(np.zeros((), dtype), shape), name)
        self._why = why

    def note(self, mask: Mask, index: tuple[Any, ...], *_: Any) -> None:
        """Every access comes here first."""
        if np.any(mask):
            first = [int(np.ravel(i)[0]) for i in index if np.size(i)]
            raise MemoryAccessError(f"accesses {self.name}{first}: {self._why}")
