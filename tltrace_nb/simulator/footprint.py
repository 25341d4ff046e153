"""What one CTA of a compiled launch takes from its SM.

In: a :class:`~tltrace_nb.simulator.program.Program` and the GPU. Out: a ``base.gpus.Footprint``, estimated: the
registers are the compiler's choice, and buffers of shared memory that are never in use together share a place, as
TileLang's allocator has it.
"""

from __future__ import annotations

import math
from typing import Any

from tvm import tirx

from tltrace_nb.base.gpus import Footprint, Gpu
from tltrace_nb.core.compile.ir import Stmt, children, walk
from tltrace_nb.simulator.memory import dtype_of
from tltrace_nb.simulator.packed import PACKED
from tltrace_nb.simulator.program import Program
from tltrace_nb.simulator.spills import BASE_REGISTERS
from tltrace_nb.simulator.storage import number
from tltrace_nb.simulator.thread_groups import accesses

REALLOCATED_REGISTERS = 240
"""Registers of a thread of a kernel that TileLang specialises, whose consumers ask for as many (cubins of the sweeps:
240 with 160 to 256 threads, 168 with 384)."""
_SPECIALISED, _MOST_REALLOCATING = "kWarpSpecializationScope", 512
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
            sizes[use.buffer.data] = max(sizes.get(use.buffer.data, 0), _bytes(use.buffer, scalars))
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


def shared_buffers(program: Program, scalars: dict[Any, int]) -> dict[str, int]:
    """Bytes of each shared buffer, by its name."""
    return {str(u.buffer.name): _bytes(u.buffer, scalars) for u in program.buffers if u.scope.startswith("shared")}


def _bytes(buffer: Any, scalars: dict[Any, int]) -> int:
    found = dtype_of(str(buffer.dtype))
    size = math.prod(number(e, scalars) for e in buffer.shape) * (found.itemsize if found else 1)
    return size // 2 if str(buffer.dtype) in PACKED else size


def _steps(s: Stmt) -> list[Stmt]:
    """The statements in order; a loop is one, for what it uses it uses in its next turn again."""
    if isinstance(s, (tirx.For, tirx.While)) or not children(s):
        return [s]
    return [step for child in children(s) for step in _steps(child)]


def _registers(program: Program, gpu: Gpu, threads: int) -> int:
    held = 0
    for data, buffer in {u.buffer.data: u.buffer for u in program.buffers if u.scope == "local.fragment"}.items():
        found, spread = dtype_of(str(buffer.dtype)), program.spreads.get(data)
        held += spread.values * found.itemsize if found and spread else 0
    # Warp groups give registers to each other; the launch itself asks for an even share.
    even = gpu.registers_per_sm // (-(-threads // 128) * 128) // 8 * 8
    specialised = any(getattr(s, "attr_key", "") == _SPECIALISED for s, _ in walk(program.shape.body))
    if gpu.wgmma and specialised and threads <= _MOST_REALLOCATING:
        return min(REALLOCATED_REGISTERS, even)
    return min(BASE_REGISTERS + held // 4, gpu.registers_per_thread, even)
