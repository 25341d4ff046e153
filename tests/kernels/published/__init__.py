"""Kernels in the manner of what people publish, unmarked: what TileLang plans for them must not depend on tracing.

They are written for what the passes behind layout inference decide on: shared buffers of different lifetimes,
reductions over several of them, workspaces, partial barriers, guards within and around loops, proxy fences and casts.
"""

from kernels.published import attention, casts, memory, norms, products, scans
from kernels.reference import Reference

KERNELS: tuple[Reference, ...] = tuple(
    kernel for module in (norms, casts, products, attention, scans, memory) for kernel in module.KERNELS
)
