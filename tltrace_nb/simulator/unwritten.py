"""Whether it matters what a kernel reads where nobody has written.

In: runs that can be repeated with other contents of such memory. Out: nothing, or the error that it is.

A value that depends on nothing the kernel wrote may be anything on a GPU. Where it decides an output, a payload, a
branch or an address, runs that differ in nothing but that memory differ; where they store the same, access the same
places and end in the same cycle, it is loaded and thrown away, as rows past the end of a group are. The contents are
such that arithmetic tells them apart: no numbers, large ones, and large negative ones, in every type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np
from tvm import tirx

from tltrace_nb.core.compile.ir import REGION, WRITTEN, Stmt, post_order_visit
from tltrace_nb.simulator.errors import SimulationError, UnwrittenError
from tltrace_nb.simulator.memory import Array
from tltrace_nb.simulator.packed import PACKED

KINDS = ("note", "error", "zero")
"""What reading such memory may be: a note if it does not matter, an error in any case, or a zero without a word."""
_CONTENTS = (0xFF, 0x7E, 0xFB)
"""Bytes: NaN or -1; 8.5e37 as float32, 25,000 as float16; -2.6e36, -65,000."""


def stored(body: Stmt) -> set[Any]:
    """The data of the buffers that a body may write."""
    found: set[Any] = set()

    def visit(node: Any) -> None:
        if isinstance(node, tirx.BufferStore):
            found.add(node.buffer.data)
        elif isinstance(node, tirx.Call):
            name = str(getattr(node.op, "name", ""))
            if name in ("tl.access_ptr", "tirx.address_of") or (name == REGION and int(node.args[1]) & WRITTEN):
                found.add(node.args[0].buffer.data)
            elif name == "tirx.tvm_access_ptr" and int(node.args[4]) & WRITTEN:
                found.add(node.args[1])

    post_order_visit(body, visit)
    return found


class Watch:
    """One run with a given content of unwritten memory: what is accessed, and what is stored in ``outputs``."""

    def __init__(self, content: int, outputs: Set[Any]):
        self.outputs = outputs
        self._content = content
        self._seen = hashlib.blake2b()

    def see(self, what: Any) -> None:
        """Indices of an access, or values that are stored."""
        self._seen.update(np.ascontiguousarray(what).tobytes())

    def memory(self, size: int, dtype: np.dtype[Any]) -> Array:
        """Memory of so many bytes that nobody has written; it holds values of the type."""
        bits = 1 if dtype.kind == "b" else 15 if dtype.name in PACKED else 255
        return np.full(size, self._content & bits, np.uint8)

    def end(self, time: float, slots: Array) -> tuple[float, bytes, bytes]:
        """What tells this run from another: its time, all accesses, the records."""
        return time, self._seen.digest(), hashlib.blake2b(slots.tobytes()).digest()


class Before:
    """What a run changes, as it was: arrays that come from outside, which are copied, and those that were zero."""

    def __init__(self, given: Sequence[Array], zeros: Sequence[Array]):
        self._given = [(array, array.copy()) for array in given]
        self._zeros = zeros

    def restore(self) -> None:
        """Bring all arrays back."""
        for array, before in self._given:
            array[...] = before
        for array in self._zeros:
            array[...] = np.zeros((), array.dtype)


def settle(run: Callable[[Watch], Any], before: Before, outputs: Set[Any], error: UnwrittenError) -> None:
    """Raise the error of a read if what it read matters. ``run(watch)`` makes a whole run and tells its end."""
    ends = set()
    for content in _CONTENTS:
        before.restore()
        try:
            ends.add(run(Watch(content, outputs)))
        except SimulationError as other:
            raise _mattering(error, f"with other contents the kernel fails: {other}") from None
        if len(ends) > 1:
            raise _mattering(error, "its value reaches an output, a payload, a branch or an address") from None


def _mattering(error: UnwrittenError, why: str) -> UnwrittenError:
    return UnwrittenError(f"{error} ({why})")
