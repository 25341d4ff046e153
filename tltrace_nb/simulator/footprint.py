"""What one CTA of a compiled launch takes from its SM.

In: a :class:`~tltrace_nb.simulator.program.Program` and the GPU. Out: a ``machine.Footprint``, estimated: the registers
are the compiler's choice, and buffers of shared memory that are never in use together share a place, as TileLang's
allocator has it.
"""

from __future__ import annotations

import math
from typing import Any

from tvm import tirx

from tltrace_nb.core.ir import Stmt, children
from tltrace_nb.simulator.machine import Footprint, Gpu
from tltrace_nb.simulator.memory import dtype_of
from tltrace_nb.simulator.packed import PACKED
from tltrace_nb.simulator.program import Program
from tltrace_nb.simulator.storage import number
from tltrace_nb.simulator.strands import accesses

BASE_REGISTERS = 40
"""Registers of a thread besides its part of the fragments (estimate)."""
_BARRIER_BYTES = 8


def footprint(program: Program, gpu: Gpu, scalars: dict[Any, int] | None = None) -> Footprint:
    """Threads, registers per thread and shared memory of one CTA, whose extents may depend on ``scalars``."""
    threads = program.shape.threads
    return Footprint(threads, _registers(program, gpu, threads), shared_bytes(program, scalars or {}))


def shared_bytes(program: Program, scalars: dict[Any, int]) -> int:
    """Bytes of shared memory: the most that is in use at any step of the kernel, and all barriers."""
    sizes: dict[Any, int] = {}
    for use in program.buffers:
        if use.scope.startswith("shared"):
            found = dtype_of(str(use.buffer.dtype))
            size = math.prod(number(e, scalars) for e in use.buffer.shape) * (found.itemsize if found else 1)
            size //= 2 if str(use.buffer.dtype) in PACKED else 1
            sizes[use.buffer.data] = max(sizes.get(use.buffer.data, 0), size)
    first: dict[Any, int] = {}
    last: dict[Any, int] = {}
    for step, statement in enumerate(_steps(program.shape.body)):
        for data in accesses(statement):
            first.setdefault(data, step)
            last[data] = step
    held = [
        sum(size for data, size in sizes.items() if first.get(data, step) <= step <= last.get(data, step))
        for step in sorted(set(first.values()))
    ]
    barriers = sum(int(e) for use in program.barriers for e in use.buffer.shape)
    return max(held, default=0) + _BARRIER_BYTES * barriers


def _steps(s: Stmt) -> list[Stmt]:
    """The statements in order; a loop is one, for what it uses it uses in its next turn again."""
    if isinstance(s, (tirx.For, tirx.While)) or not children(s):
        return [s]
    return [step for child in children(s) for step in _steps(child)]


def _registers(program: Program, gpu: Gpu, threads: int) -> int:
    fragments = {u.buffer.data: u.buffer for u in program.buffers if u.scope == "local.fragment"}
    held = 4 * sum(math.prod(int(e) for e in buffer.shape) for buffer in fragments.values())
    workers = max(len(strand) for strand in program.strands)
    # Warp groups give registers to each other; the launch itself asks for an even share.
    even = gpu.registers_per_sm // (-(-threads // 128) * 128) // 8 * 8
    return min(BASE_REGISTERS + held // (4 * workers), gpu.registers_per_thread, even)
