"""Accumulators that do not fit into the registers of their threads.

In: the body of a launch, the layouts of its fragments, the GPU. Out: how many registers of a thread are spilled to
memory at every product, as ptxas does where a thread asks for more than it can have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.core.compile.active_threads import LaunchShape
from tltrace_nb.core.compile.ir import is_region, op_name, walk
from tltrace_nb.simulator.fragments import Spread
from tltrace_nb.simulator.memory import dtype_of

BASE_REGISTERS = 40
"""Registers of a thread besides its part of the fragments (estimate)."""
_REGISTER_BYTES = 4


def accumulators(shape: LaunchShape, spreads: Mapping[Any, Spread]) -> int:
    """Registers in which a thread holds its parts of what products add up."""
    held: dict[Any, int] = {}
    for s, _ in walk(shape.body):
        if op_name(s).removeprefix("tl.tileop.") in ("gemm", "wgmma_gemm"):
            target = s.value.args[2]
            buffer = (target.args[0] if is_region(target) else target).buffer
            kind, spread = dtype_of(str(buffer.dtype)), spreads.get(buffer.data)
            if kind is not None and spread is not None:
                held[buffer.data] = -(-spread.values * kind.itemsize // _REGISTER_BYTES)
    return sum(held.values())


def note(shape: LaunchShape, spreads: Mapping[Any, Spread], gpu: Gpu) -> str:
    """What is to be said of a launch whose accumulators do not fit; empty where they do."""
    if not (over := spilled(shape, spreads, gpu)):
        return ""
    return (
        f"registers spill: accumulators take {accumulators(shape, spreads):,} registers of each thread, {over:,} more "
        "than fit; give the kernel more threads or smaller tiles"
    )


def spilled(shape: LaunchShape, spreads: Mapping[Any, Spread], gpu: Gpu) -> int:
    """Registers of a thread that are written to memory and read again at every product."""
    share = gpu.registers_per_sm // shape.threads
    return max(0, accumulators(shape, spreads) + BASE_REGISTERS - min(gpu.registers_per_thread, share))
