"""Kernels on the virtual GPU, and the traces that they leave.

In: a PrimFunc, marked or bare, and inputs. Out: the outputs, as a compiled kernel returns them, and a
:class:`~tltrace_nb.core.trace.Trace` whose ``meta`` says that no GPU was there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.checks import checked, tensors
from tltrace_nb.core.runtime.environment import describe
from tltrace_nb.core.trace import Trace
from tltrace_nb.simulator.compiling import compile_for
from tltrace_nb.simulator.engine import STEP_LIMIT, Progress
from tltrace_nb.simulator.errors import SimulationError
from tltrace_nb.simulator.run import Simulated, SimulatedKernel

if TYPE_CHECKING:
    from tltrace_nb.base.gpus import Gpu
    from tltrace_nb.core.compile.options import TraceOptions


class VirtualKernel(SimulatedKernel):
    """A kernel scheduled and compiled for one virtual GPU; ``run`` it on any inputs."""

    def run(
        self,
        inputs: Sequence[Any],
        out_idx: Sequence[int] | int | None = None,
        *,
        started: Callable[[Trace], None] | None = None,
        progress: Progress | None = None,
        step_limit: int = STEP_LIMIT,
    ) -> tuple[Any, Trace]:
        """The outputs and the trace of one run; arguments as ``execute``.

        ``started`` gets the trace before it fills, which keeps what was recorded when the run is interrupted. Wrong
        arguments raise what ``binding.bind`` raises; a ``SimulationError`` carries the trace of what was recorded until
        then.
        """
        begun: list[Trace] = []

        def begin(simulated: Simulated) -> None:
            begun.append(self._trace(simulated))
            if started is not None:
                started(begun[0])

        try:
            outputs, simulated = self.execute(inputs, out_idx, started=begin, progress=progress, step_limit=step_limit)
        except SimulationError as error:
            error.trace = begun[0] if begun else None
            raise
        trace = begun[0]
        note = "; ".join(filter(None, (trace.meta.note, simulated.note)))
        trace.meta = dataclasses.replace(trace.meta, note=note, work=simulated.work)
        return outputs, trace

    def _trace(self, simulated: Simulated) -> Trace:
        table = self.lowering.table
        meta = dataclasses.replace(
            describe(table, simulated.grids),
            device="virtual",
            gpu=f"{self.gpu.name} model",
            driver="",
            cuda="",
            clock_ghz=self.gpu.clock_ghz,
            resources=simulated.resources,
        )
        return Trace(simulated.slots, table, meta)


def compile_virtual(
    func: Any, gpu: str | Gpu = "h200", options: TraceOptions | None = None, **how: Any
) -> VirtualKernel:
    """Schedule a PrimFunc for a virtual GPU, place its markers, and compile it for :meth:`VirtualKernel.run`.

    ``how``: ``functional``, ``uninitialised``, ``every_cta``, ``races`` and ``pass_configs``, as
    ``simulator.run.compile_for``, errors included.
    """
    return compile_for(VirtualKernel, func, gpu, options, **how)


@checked(inputs=tensors)
def simulate(
    func: Any,
    inputs: Sequence[Any],
    *,
    out_idx: Sequence[int] | int | None = None,
    gpu: str | Gpu = "h200",
    options: TraceOptions | None = None,
    functional: bool = True,
    uninitialised: str = "note",
    every_cta: bool = False,
    races: str = "note",
    pass_configs: dict[str, Any] | None = None,
) -> tuple[Any, Trace]:
    """Run a PrimFunc on a virtual GPU: its outputs (one tensor, a tuple of several, or ``None``) and its trace.

    ``inputs`` are torch tensors of the CPU or NumPy arrays; they are changed where the kernel writes to them. What
    ``out_idx`` names is allocated, zeroed, by default the trailing parameters that were not passed. ``functional``,
    ``uninitialised``, ``every_cta`` and ``races`` as ``simulator.run.compile_for``.

    >>> c, trace = simulate(matmul, [a, b], gpu="classroom")
    """
    kernel = compile_virtual(
        func,
        gpu,
        options,
        functional=functional,
        uninitialised=uninitialised,
        every_cta=every_cta,
        races=races,
        pass_configs=pass_configs,
    )
    return kernel.run(inputs, out_idx)
