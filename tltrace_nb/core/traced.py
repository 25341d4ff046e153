"""A compiled kernel that records, on a CUDA device or on the virtual GPU.

In: what was compiled, and how it was lowered. Out: callables that take and return what the untraced kernel does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tilelang.jit.kernel import JITKernel
from tvm import tirx
from tvm.arith import Analyzer

from tltrace_nb.core.errors import DeviceError
from tltrace_nb.core.lowering import Lowering, check_budget
from tltrace_nb.core.options import TraceOptions
from tltrace_nb.core.resources import resources
from tltrace_nb.core.sites import SiteTable, table_rows

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace
    from tltrace_nb.simulator.run import VirtualKernel


@dataclass(frozen=True)
class TracedKernel:
    """A compiled kernel that records. Calling it takes and returns what the untraced kernel does.

    Each call appends a :class:`~tltrace_nb.core.trace.Trace` to ``trace.history``. Attributes that are not named here
    are those of the ``JITKernel`` inside (``get_kernel_source``, ``params``, ...).
    """

    source: Any
    kernel: JITKernel
    lowering: Lowering
    options: TraceOptions
    captured: Callable[[Trace], None]
    dynamic_shared: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<kernel {self.table.kernel}, which records: call it with its inputs>"

    @property
    def table(self) -> SiteTable:
        """The kernel's site table."""
        return self.lowering.table

    @functools.cached_property
    def resources(self) -> tuple[tuple[int, int], ...] | None:
        """Registers per thread and bytes of shared memory per CTA of each launch, where they can be known."""
        found = resources(self.kernel, self.dynamic_shared)
        return found if found is not None and len(found) == len(self.table.launches) else None

    def __call__(self, *inputs: Any) -> Any:
        """Run the kernel and capture its trace. Raises ``CapacityError`` when the slots exceed the budget."""
        outputs, trace = self.run(inputs)
        self.captured(trace)
        return outputs

    def run(self, inputs: tuple[Any, ...]) -> tuple[Any, Trace]:
        """One run: the outputs, and its trace, which is not put into the history."""
        slots, grids = self.allocate(inputs)
        outputs = self.kernel(*inputs, slots)
        return outputs, self.trace(slots, grids)

    def allocate(self, inputs: tuple[Any, ...]) -> tuple[Any, tuple[tuple[int, int, int], ...]]:
        """Zeroed slots for one run on these inputs, ``int64[rows, writers, words]``, and the grids of the launches."""
        import torch

        grids = self._grids(inputs)
        rows = table_rows(self.table)
        if rows is None:
            rows = sum(x * y * z for x, y, z in grids)
        check_budget(self.table, rows, self.options.budget)
        writers, words = (int(extent) for extent in self.lowering.slots.shape[1:])
        device = next((t.device for t in inputs if isinstance(t, torch.Tensor)), torch.device("cuda"))
        if device.type != "cuda" or not torch.cuda.is_available():
            raise DeviceError(
                f"kernel {self.table.kernel} was built for a CUDA device, and "
                + (
                    "these tensors are on the CPU: move them there, or build it for the virtual GPU"
                    if torch.cuda.is_available()
                    else "there is none here: build it for the virtual GPU"
                )
                + ", device='virtual'"
            )
        return torch.zeros((rows, writers, words), dtype=torch.int64, device=device), grids

    def trace(self, slots: Any, grids: tuple[tuple[int, int, int], ...]) -> Trace:
        """The trace in filled slots."""
        from tltrace_nb.core.environment import describe
        from tltrace_nb.core.trace import Trace

        return Trace(slots, self.table, replace(describe(self.table, grids), resources=self.resources))

    def _grids(self, inputs: tuple[Any, ...]) -> tuple[tuple[int, int, int], ...]:
        """The grid of every launch, shape variables read off the inputs."""
        func = self.lowering.anchored
        outputs = {i % len(func.params) for i in self.kernel.out_idx or ()}
        taken = [p for i, p in enumerate(func.params[:-1]) if i not in outputs]
        values: dict[Any, int] = {}
        for parameter, value in zip(taken, inputs, strict=False):
            buffer = func.buffer_map.get(parameter)
            if buffer is None:
                values[parameter] = value
                continue
            for extent, actual in zip(buffer.shape, value.shape, strict=False):
                if isinstance(extent, tirx.Var):
                    values[extent] = int(actual)
        by_name = {str(var.name): tirx.const(v, "int32") for var, v in values.items()}

        def number(e: Any) -> int:
            named = {v: by_name[str(v.name)] for v in _variables(e) if str(v.name) in by_name}
            return int(Analyzer().simplify(tirx.stmt_functor.substitute(e, named)) if named else e)

        return tuple((number(x), number(y), number(z)) for x, y, z in self.lowering.grids)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)


@dataclass(frozen=True)
class VirtualTracedKernel:
    """A kernel that runs on the virtual GPU and records. Calling it takes and returns what the compiled kernel does.

    Tensors are those of the CPU, of torch or NumPy. A long run shows its progress and may be interrupted: what was
    recorded until then is in ``trace.last``.
    """

    source: Any
    virtual: VirtualKernel
    out_idx: list[int] | None
    captured: Callable[[Trace], None]

    def __repr__(self) -> str:
        return f"<kernel {self.table.kernel}, which records on the virtual GPU: call it with its inputs>"

    @property
    def table(self) -> SiteTable:
        """The kernel's site table."""
        return self.virtual.lowering.table

    def __call__(self, *inputs: Any) -> Any:
        """Run the kernel and capture its trace. Errors as ``simulator.run.VirtualKernel.run``."""
        return self.run(inputs, self.captured)[0]

    def run(self, inputs: tuple[Any, ...], started: Callable[[Trace], None] | None = None) -> tuple[Any, Trace]:
        """One run: the outputs, and its trace, which only ``started`` gets before the end."""
        from tltrace_nb.simulator.progress import progress_bar

        out_idx: list[int] = [] if self.out_idx is None else self.out_idx
        with progress_bar(self.table.kernel) as progress:
            outputs, trace = self.virtual.run(inputs, out_idx, started=started, progress=progress)
        return list(outputs) if isinstance(outputs, tuple) else outputs, trace


def _variables(e: Any) -> list[Any]:
    found: list[Any] = []
    tirx.stmt_functor.post_order_visit(e, lambda node: found.append(node) if isinstance(node, tirx.Var) else None)
    return found
