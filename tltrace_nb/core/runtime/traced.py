"""A compiled kernel that records, on a CUDA device or on the virtual GPU.

In: what was compiled, and how it was lowered. Out: callables that take and return what the untraced kernel does.
"""

from __future__ import annotations

import functools
import itertools
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import torch
from tilelang.jit.kernel import JITKernel
from tilelang.profiler import Profiler, TensorSupplyType

from tltrace_nb.base.errors import DeviceError, TraceError, shorten
from tltrace_nb.base.notices import say_once
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.lowering import Lowering
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.resources import resources
from tltrace_nb.core.compile.schedule import resolve_target
from tltrace_nb.core.compile.upstream import create_backend_context
from tltrace_nb.core.runtime.blocks import untraced
from tltrace_nb.core.runtime.environment import describe
from tltrace_nb.core.runtime.facade import RecordingKernel
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.core.runtime.planning import LaunchPlanner
from tltrace_nb.core.runtime.stopwatch import Stopwatch
from tltrace_nb.data.sites import SiteTable
from tltrace_nb.data.tracefile import OF_A_GRAPH

if TYPE_CHECKING:
    from tltrace_nb.core.runtime.virtual import VirtualKernel
    from tltrace_nb.core.trace import Trace
    from tltrace_nb.data.tracefile import TraceMeta

TIMED = 32
"""Launches of a kernel that are timed at first, and then one in so many: two CUDA events take 27 µs of the host.

The very first is not, as its time would be that of loading the kernel.
"""

_CURRENT_STREAM = -1
"""What the option ``stream`` of TileLang's execution backends is unless given."""
_NO_OPTIONS: Mapping[str, Any] = {}


class TracedKernel(RecordingKernel):
    """A compiled kernel that records. Calling it takes, returns and raises what the untraced kernel does.

    Each call hands a :class:`~tltrace_nb.core.runtime.launch.TracedLaunch` to ``captured``. ``kernel`` is the
    ``JITKernel`` that records, with a parameter more; its sources are those that run.
    """

    def __init__(
        self,
        source: Any,
        kernel: JITKernel,
        lowering: Lowering,
        options: TraceOptions,
        captured: Callable[[TracedLaunch], None],
        dynamic_shared: dict[str, int] | None = None,
        plan_note: str = "",
    ) -> None:
        outputs = [i % (len(lowering.anchored.params) - 1) for i in kernel.out_idx or ()]
        super().__init__(source, outputs)
        self.kernel = kernel
        self.lowering = lowering
        self.options = options
        self.captured = captured
        self.launches = LaunchPlanner(lowering, outputs)
        self.dynamic_shared = dynamic_shared or {}
        self.plan_note = plan_note
        self._watches: dict[int, Stopwatch] = {}
        self._turns = itertools.count()

    def __repr__(self) -> str:
        return f"<kernel {self.table.kernel}, which records: call it with its inputs>"

    @property
    def table(self) -> SiteTable:
        """The kernel's site table."""
        return self.lowering.table

    verbose = property(attrgetter("kernel.verbose"))
    pass_configs = property(attrgetter("kernel.pass_configs"))
    compile_flags = property(attrgetter("kernel.compile_flags"))

    @functools.cached_property
    def resources(self) -> tuple[tuple[int, int], ...] | None:
        """Registers per thread and bytes of shared memory per CTA of each launch, where they can be known."""
        found = resources(self.kernel, self.dynamic_shared)
        return found if found is not None and len(found) == len(self.table.launches) else None

    def run(self, inputs: tuple[Any, ...]) -> tuple[Any, Trace]:
        """One launch: the outputs, and its trace, which is not captured. Errors as a call's."""
        outputs, launch = self.launch(inputs)
        return outputs, launch.trace()

    def launch(self, inputs: tuple[Any, ...]) -> tuple[Any, TracedLaunch]:
        """One launch: the outputs, and what was launched, which is not captured. Errors as a call's."""
        try:
            return self._record(inputs, _NO_OPTIONS)
        except TraceError:
            raise
        except Exception as error:  # whatever the reason, the untraced kernel's own words are the right ones
            failure = error
        self._run_untraced(inputs, _NO_OPTIONS, failure)
        raise failure

    def prepare(self, inputs: tuple[Any, ...]) -> TracedLaunch:
        """A launch on these inputs up to the launch itself, with slots to record in.

        Raises ``CapacityError`` when the slots exceed the budget.
        """
        shape = self.launches.shape(inputs)
        plan = self.launches.plan(shape)
        current = torch.cuda.current_device()
        first = None
        for value in inputs:
            if isinstance(value, torch.Tensor):
                first = value
                break
        index = current if first is None or not first.is_cuda else first.get_device()
        if index == current:
            seal = _seal(_place(first, index)) if torch.cuda.is_current_stream_capturing() else None
        else:
            with torch.cuda.device(index):
                seal = _seal(_place(first, index)) if torch.cuda.is_current_stream_capturing() else None
        free = None
        if plan.pooled and seal is None:
            free = plan.free_of(index, _stream(index))
            if free:
                try:
                    return TracedLaunch(self, shape, plan, free.pop(), index, None, free)
                except IndexError:  # another thread has just taken the last
                    pass
        make = torch.zeros if plan.zeroed else torch.empty
        slots = make(plan.slots, dtype=torch.int64, device=_place(first, index))
        return TracedLaunch(self, shape, plan, slots, index, seal, free)

    def describe(self, launch: TracedLaunch) -> TraceMeta:
        """Where the trace of one of the kernel's launches comes from."""
        meta = describe(self.table, launch.plan.grids, device=launch.device, started=launch.started)
        if torch.cuda.is_available():
            with torch.cuda.device(launch.device):  # the driver answers where the GPU's context is current
                meta = replace(meta, resources=self.resources)
        notes = (meta.note, self.plan_note, OF_A_GRAPH if launch.graph else "")
        return replace(meta, note="; ".join(filter(None, notes)))

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """The untraced kernel's outputs. Raises ``CapacityError`` when the slots exceed the budget."""
        try:
            outputs, launch = self._record(inputs, options)
        except TraceError:
            raise
        except Exception as error:  # whatever the reason, the untraced kernel's own words are the right ones
            failure = error
        else:
            self.captured(launch)
            return outputs
        outputs = self._run_untraced(inputs, options, failure)
        say_once(f"kernel {self.table.kernel}: a launch was not traced: {type(failure).__name__}: {failure}")
        return outputs

    def _record(self, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, TracedLaunch]:
        """One launch; ``options`` are keyword arguments, which some of TileLang's execution backends take."""
        stream = options.get("stream", _CURRENT_STREAM) if options else _CURRENT_STREAM
        if stream == _CURRENT_STREAM:
            launch = self.prepare(inputs)
            turn = next(self._turns)
            timed = turn and (turn < TIMED or turn % TIMED == 0)
            if timed and not launch.graph and launch.device == torch.cuda.current_device():
                timing = self._watch(launch.device).start()
                outputs = self.kernel(*inputs, launch.slots, **options)
                launch.timing = timing.stop()
                return outputs, launch
        else:  # the memory must be that stream's, so that nothing else is given it before the kernel is done
            external: Any = torch.cuda.ExternalStream
            with torch.cuda.stream(external(stream)):
                launch = self.prepare(inputs)
        return self.kernel(*inputs, launch.slots, **options), launch

    def _watch(self, device: int) -> Stopwatch:
        return self._watches.setdefault(device, Stopwatch())

    def _run_untraced(self, inputs: tuple[Any, ...], options: Mapping[str, Any], failure: Exception) -> Any:
        """The outputs of the untraced kernel, or its own error for these arguments."""
        if not torch.cuda.is_available():
            raise DeviceError(
                f"kernel {self.table.kernel} was built for a CUDA device, and there is none here: build it for the "
                "virtual GPU, device='virtual'"
            ) from failure
        with untraced():  # the call is ours, not the program's
            return self.untraced(*inputs, **options)

    def _context(self) -> Any:
        inner = self.kernel
        return create_backend_context(inner.target, inner.target_host, inner.execution_backend)


class VirtualTracedKernel(RecordingKernel):
    """A kernel that runs on the virtual GPU and records. Calling it takes and returns what the compiled kernel does.

    Tensors are those of the CPU, of torch or NumPy. A long run shows its progress and may be interrupted: what was
    recorded until then is in ``trace.last``.
    """

    verbose = False

    def __init__(
        self,
        source: Any,
        virtual: VirtualKernel,
        how: Compilation,
        captured: Callable[[TracedLaunch], None],
    ) -> None:
        count = len(virtual.lowering.anchored.params) - 1
        self._out_idx = how.outputs or []
        super().__init__(source, [i % count for i in self._out_idx])
        self.virtual = virtual
        self.launches = LaunchPlanner(virtual.lowering, self._outputs)
        self.captured = captured
        self.pass_configs = how.pass_configs
        self.compile_flags = how.flags

    def __repr__(self) -> str:
        return f"<kernel {self.table.kernel}, which records on the virtual GPU: call it with its inputs>"

    @property
    def table(self) -> SiteTable:
        """The kernel's site table."""
        return self.virtual.lowering.table

    def get_profiler(self, tensor_supply_type: TensorSupplyType = TensorSupplyType.Auto) -> Profiler:
        """TileLang's profiler on the virtual GPU: times are the model's; see ``runtime.virtual_profiler``."""
        from tltrace_nb.core.runtime.virtual_profiler import VirtualProfiler

        return VirtualProfiler(self.params, self.out_idx, tensor_supply_type).with_default_adapter(self.adapter)

    def run(self, inputs: tuple[Any, ...]) -> tuple[Any, Trace]:
        """One run: the outputs, and its trace, which is not captured. Errors as ``launch``."""
        outputs, launch = self.launch(inputs)
        return outputs, launch.trace()

    def launch(
        self, inputs: tuple[Any, ...], started: Callable[[TracedLaunch], None] | None = None
    ) -> tuple[Any, TracedLaunch]:
        """One run: the outputs, and what was launched, which only ``started`` gets before the end.

        Errors as ``runtime.virtual.VirtualKernel.run``.
        """
        from tltrace_nb.simulator.progress import progress_bar

        begun: list[TracedLaunch] = []

        def begin(trace: Trace) -> None:
            begun.append(TracedLaunch.of(trace, self, self.launches.shape(inputs)))
            if started is not None:
                started(begun[0])

        with progress_bar(self.table.kernel) as progress:
            outputs, _ = self.virtual.run(inputs, self._out_idx, started=begin, progress=progress)
        return list(outputs) if isinstance(outputs, tuple) else outputs, begun[0]

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Run the kernel and capture its launch. Errors as ``launch``."""
        if options:
            raise TypeError(f"kernel {self.table.kernel} takes its arguments by position, got {', '.join(options)}=")
        try:
            return self.launch(inputs, self.captured)[0]
        except Exception as error:
            shorten(error)
            raise

    def _context(self) -> Any:
        target = resolve_target({"kind": "cuda", "arch": self.virtual.gpu.architecture})
        return create_backend_context(target, None, "auto")


def _stream(index: int) -> int:
    """The handle of a GPU's current stream; ``torch.cuda.current_stream`` makes an object of it, which takes 1 µs."""
    return int(torch._C._cuda_getCurrentRawStream(index))  # noqa: SLF001


def _place(first: torch.Tensor | None, index: int) -> torch.device:
    """Where slots belong: beside the first tensor, and without one on the GPU."""
    return torch.device("cuda", index) if first is None else first.device


def _seal(device: torch.device) -> tuple[Any, int]:
    """A word on the device that each replay of the graph being captured writes, and what it writes."""
    word = secrets.randbits(62)
    return torch.full((1,), word, dtype=torch.int64, device=device), word
