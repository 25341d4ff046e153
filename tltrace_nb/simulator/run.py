"""``simulate``: a kernel on the virtual GPU, from its tensors to its outputs and its trace.

In: a PrimFunc, marked or bare, and inputs. Out: the outputs, as a compiled kernel returns them, and a
:class:`~tltrace_nb.core.trace.Trace` whose ``meta`` says that no card was there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import tirx

from tltrace_nb.core.environment import describe
from tltrace_nb.core.ir import ROOT_BLOCK, walk
from tltrace_nb.core.lowering import Lowering, check_budget, prepare
from tltrace_nb.core.options import TraceOptions
from tltrace_nb.core.reach import LaunchShape, launches
from tltrace_nb.core.schedule import resolve_target, schedule
from tltrace_nb.core.sites import TABLE_ATTRIBUTE
from tltrace_nb.core.trace import Trace
from tltrace_nb.simulator.engine import Engine, Launch, Progress
from tltrace_nb.simulator.errors import SimulationError, UnsupportedError
from tltrace_nb.simulator.footprint import footprint
from tltrace_nb.simulator.machine import Gpu, occupancy, preset
from tltrace_nb.simulator.memory import Array, as_array, as_tensor, dtype_of
from tltrace_nb.simulator.needs import needed_data
from tltrace_nb.simulator.program import Program, compile_launch
from tltrace_nb.simulator.recording import Recorder
from tltrace_nb.simulator.registers import written_out
from tltrace_nb.simulator.storage import Layout, number

_UNGUARDED = "tl.disable_safe_memory_legalize"


@dataclasses.dataclass(frozen=True)
class VirtualKernel:
    """A kernel scheduled and compiled for one virtual GPU; ``run`` it on any inputs.

    ``ready`` is the scheduled, recording PrimFunc, the IR that the CUDA path compiles next.
    """

    lowering: Lowering
    ready: Any
    gpu: Gpu
    options: TraceOptions
    shapes: tuple[LaunchShape, ...]
    programs: tuple[Program, ...]
    annotations: tuple[dict[str, Any], ...]
    strict: bool
    guarded: bool

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.lowering.table.kernel

    def run(
        self,
        inputs: Sequence[Any],
        out_idx: Sequence[int] | int | None = None,
        *,
        started: Callable[[Trace], None] | None = None,
        progress: Progress | None = None,
    ) -> tuple[Any, Trace]:
        """The outputs and the trace of one run. ``out_idx`` as ``tilelang.compile``.

        ``started`` gets the trace before it fills, which keeps what was recorded when the run is interrupted;
        ``progress`` is called when a CTA is done, with their number and that of all. A ``SimulationError`` carries the
        trace of what was recorded until then.
        """
        arrays, scalars, outputs = self._bind(inputs, out_idx)
        table = self.lowering.table
        grids: list[tuple[int, int, int]] = []
        for shape in self.shapes:
            x, y, z = (number(e, scalars) for e in shape.grid)
            grids.append((x, y, z))
        rows = sum(x * y * z for x, y, z in grids) if table.ctas is None else len(table.ctas)
        check_budget(table, rows, self.options.budget)
        writers, words = (int(e) for e in self.lowering.slots.shape[1:])
        slots = np.zeros((rows, writers, words), np.int64)
        taken = (footprint(program, self.gpu) for program in self.programs)
        origin = dataclasses.replace(
            describe(table, tuple(grids)),
            device="virtual",
            gpu=f"{self.gpu.name} model",
            driver="",
            cuda="",
            resources=tuple((each.registers, each.shared) for each in taken),
        )
        trace = Trace(slots, table, origin)
        if started is not None:
            started(trace)
        engine = Engine(self.gpu, Recorder(slots, table.tag), progress)
        try:
            for program, grid, annotations in zip(self.programs, grids, self.annotations, strict=True):
                layout = Layout(self.name, program, arrays, scalars, grid, annotations, self.strict, self.guarded)
                places = self._places(program)
                launch = Launch(self.name, program, grid, layout.cluster, places, layout.values, layout.make_cta)
                engine.run(launch)
        except SimulationError as error:
            error.trace = trace
            raise
        trace.meta = dataclasses.replace(origin, work=(engine.flop, float(sum(a.nbytes for a in arrays.values()))))
        return outputs, trace

    def _bind(
        self, inputs: Sequence[Any], out_idx: Sequence[int] | int | None
    ) -> tuple[dict[Any, Array], dict[Any, int], Any]:
        """The parameters' arrays by their buffers' data, the scalars, and the outputs to return."""
        params = list(self.ready.params[:-1])
        if out_idx is None:
            made = list(range(len(inputs), len(params)))
        else:
            made = [i % len(params) for i in ([out_idx] if isinstance(out_idx, int) else out_idx)]
        taken = [i for i in range(len(params)) if i not in made]
        if len(taken) != len(inputs):
            raise TypeError(
                f"kernel {self.name} takes {len(taken)} inputs "
                f"({', '.join(self._parameter(params[i]) for i in taken)}), got {len(inputs)}"
            )
        arrays: dict[Any, Array] = {}
        scalars: dict[Any, int] = {}
        for i, value in zip(taken, inputs, strict=True):
            self._take(params[i], value, arrays, scalars)
        torch_like = any(not isinstance(v, (np.ndarray, int, float)) for v in inputs) or not inputs
        outputs = []
        for i in made:
            buffer = self.ready.buffer_map[params[i]]
            shape = tuple(number(e, scalars) for e in buffer.shape)
            array = np.zeros(shape, dtype_of(str(buffer.dtype)))
            arrays[buffer.data] = array
            outputs.append(as_tensor(array) if torch_like else array)
        if not outputs:
            return arrays, scalars, None
        return arrays, scalars, outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _take(self, param: Any, value: Any, arrays: dict[Any, Array], scalars: dict[Any, int]) -> None:
        buffer = self.ready.buffer_map.get(param)
        if buffer is None:
            scalars[param] = value
            return
        what = f"kernel {self.name}: {buffer.name}"
        try:
            array = as_array(value)
        except TypeError as error:
            raise TypeError(f"{what}: {error}") from None
        wanted = dtype_of(str(buffer.dtype))
        if wanted is not None and array.dtype != wanted:
            if array.dtype.itemsize != wanted.itemsize or array.dtype.kind not in "iu":
                raise TypeError(f"{what} is {buffer.dtype}, got {array.dtype}")
            array = array.view(wanted)
        if array.ndim != len(buffer.shape):
            raise ValueError(f"{what} has {len(buffer.shape)} dimensions, got shape {list(array.shape)}")
        for extent, actual in zip((*buffer.shape, *buffer.strides), (*array.shape, *_strides(array)), strict=False):
            if isinstance(extent, tirx.Var):
                scalars.setdefault(extent, int(actual))
        shape = [number(e, scalars) for e in buffer.shape]
        if list(array.shape) != shape:
            raise ValueError(f"{what} has the shape {shape}, got {list(array.shape)}")
        arrays[buffer.data] = array

    def _parameter(self, param: Any) -> str:
        return str(self.ready.buffer_map[param].name if param in self.ready.buffer_map else param.name)

    def _places(self, program: Program) -> int:
        """CTAs that an SM holds."""
        try:
            return occupancy(self.gpu, footprint(program, self.gpu)).ctas
        except ValueError as error:
            raise SimulationError(f"kernel {self.name}: {error}") from None


def compile_virtual(
    func: Any,
    gpu: str | Gpu = "h200",
    options: TraceOptions | None = None,
    *,
    functional: bool = True,
    strict: bool = True,
    pass_configs: dict[str, Any] | None = None,
) -> VirtualKernel:
    """Schedule a PrimFunc for a virtual GPU, place its markers, and compile it for :meth:`VirtualKernel.run`.

    Raises ``UnsupportedError`` for what the virtual GPU does not execute, ``ValueError`` for an unknown GPU, and what
    ``lowering.prepare`` raises.
    """
    model = preset(gpu) if isinstance(gpu, str) else gpu
    if TABLE_ATTRIBUTE in (func.attrs or {}):
        raise UnsupportedError(
            f"kernel {func.attrs['global_symbol']}: trace.finalize has lowered it for a CUDA device; give the PrimFunc "
            "with its markers, or build it with @trace.jit"
        )
    options = TraceOptions() if options is None else options
    target = resolve_target({"kind": "cuda", "arch": model.architecture})
    with target:
        lowering = prepare(func, target, options, pass_configs)
        ready = lowering.instrument(schedule(lowering.anchored, target, pass_configs))
    shapes = tuple(dataclasses.replace(s, body=written_out(s.body)) for s in launches(ready))
    notes = tuple(
        dict(s.annotations) for s, _ in walk(ready.body) if isinstance(s, tirx.SBlock) and s.name_hint == ROOT_BLOCK
    )
    everything: Callable[[Any], bool] = lambda _: True  # noqa: E731
    programs = tuple(
        compile_launch(
            lowering.table.kernel,
            shape,
            model,
            everything if functional else needed_data(shape.body),
            annotations,
            list(ready.buffer_map.values()),
        )
        for shape, annotations in zip(shapes, notes, strict=True)
    )
    guarded = not bool((pass_configs or {}).get(_UNGUARDED, False))
    return VirtualKernel(lowering, ready, model, options, shapes, programs, notes, strict and functional, guarded)


def simulate(
    func: Any,
    inputs: Sequence[Any],
    *,
    out_idx: Sequence[int] | int | None = None,
    gpu: str | Gpu = "h200",
    options: TraceOptions | None = None,
    functional: bool = True,
    strict: bool = True,
    pass_configs: dict[str, Any] | None = None,
) -> tuple[Any, Trace]:
    """Run a PrimFunc on a virtual GPU: its outputs (one tensor, a tuple of several, or ``None``) and its trace.

    ``inputs`` are torch tensors of the CPU or NumPy arrays; they are changed where the kernel writes to them. What
    ``out_idx`` names is allocated, zeroed, by default the trailing parameters that were not passed.
    ``functional=False`` computes only what control flow, addresses or payloads depend on. ``strict``: reading shared
    memory before it was written is an error.

    >>> c, trace = simulate(matmul, [a, b], gpu="classroom")
    """
    kernel = compile_virtual(func, gpu, options, functional=functional, strict=strict, pass_configs=pass_configs)
    return kernel.run(inputs, out_idx)


def _strides(array: Array) -> list[int]:
    return [s // array.dtype.itemsize for s in array.strides]
