"""What an explorer runs: kernels of a builder, or a function that returns traces.

In: what the caller gave to ``explore``. Out: :class:`Kernels` or :class:`Traces`, which make a trace of parameters. The
switch, ``trace.last`` and ``trace.history`` are left alone: other cells go on using them.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tltrace_nb.base.checks import wrong
from tltrace_nb.core.compile.devices import CUDA, DEFAULT_MODEL
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.trace import Trace
from tltrace_nb.explorer.worker import Check

if TYPE_CHECKING:
    from tltrace_nb.base.gpus import Gpu
    from tltrace_nb.core.api import TraceSwitch

Inputs = Sequence[Any] | Callable[..., Sequence[Any]] | None
"""Tensors, a function that makes them from the parameters, or ``None``: made from the kernel's signature."""


class Subject(Protocol):
    """What can be explored. ``name`` stands in messages, ``signature`` has the parameters."""

    @property
    def name(self) -> str: ...

    @property
    def signature(self) -> inspect.Signature: ...

    def run(self, values: Mapping[str, Any], gpu: Any, check: Check) -> Trace:
        """The trace for these parameters. ``check`` raises once it is no longer wanted."""


@dataclass(frozen=True)
class Kernels:
    """A ``@trace.jit`` or ``@tilelang.jit`` builder. Without values: only what control flow depends on is computed."""

    builder: Any
    options: TraceOptions
    inputs: Inputs = None
    _made: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return str(self.builder.__name__)

    @property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.builder.__wrapped__)  # the builder itself would ask the switch for a device

    def run(self, values: Mapping[str, Any], gpu: str | Gpu, check: Check) -> Trace:
        func, how, tensors = self.builder.marked(**values)
        outputs = how.outputs or []
        inputs = tensors or self._inputs(func, {i % len(func.params) for i in outputs}, values)
        check()
        if gpu == CUDA:
            return self._on_card(func, how, inputs, check)
        from tltrace_nb.core.runtime.virtual import compile_virtual

        kernel = compile_virtual(func, gpu, self.options, functional=False, pass_configs=how.pass_configs)
        check()
        _, trace = kernel.run(inputs, outputs, progress=lambda _done, _all: check())
        return trace

    def _on_card(self, func: Any, how: Any, inputs: Sequence[Any], check: Check) -> Trace:
        from tltrace_nb.core.runtime.jit import compile_traced
        from tltrace_nb.simulator.memory import as_tensor

        kernel = compile_traced(func, how, self.options, lambda _: None)
        check()
        tensors = [each if hasattr(each, "is_cuda") else as_tensor(each) for each in inputs]
        return kernel.run(tuple(each.cuda() for each in tensors))[1]

    def _inputs(self, func: Any, outputs: set[int], values: Mapping[str, Any]) -> Sequence[Any]:
        if callable(self.inputs):
            return self.inputs(**values)
        if self.inputs is not None:
            return self.inputs
        from tltrace_nb.explorer.inputs import arrays, signature_of

        signature = signature_of(func, outputs)
        if signature not in self._made:  # moves that change no shape find the arrays of the move before
            self._made.clear()
            self._made[signature] = arrays(signature)
        made: Sequence[Any] = self._made[signature]
        return made


@dataclass(frozen=True)
class Traces:
    """A function that returns a trace: recorded ones, or runs of its own."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def run(self, values: Mapping[str, Any], gpu: Any, check: Check) -> Trace:
        del gpu  # it has none, unless among its parameters
        returned = self.function(**values)
        check()
        if not isinstance(returned, Trace):
            raise TypeError(
                f"{self.name} returned {type(returned).__name__}: explore takes a @trace.jit or @tilelang.jit builder, "
                "or a function that returns a Trace, such as tltrace_nb.load(path)"
            )
        return returned


def subject(builder: Any, inputs: Inputs, switch: TraceSwitch) -> Subject:
    """What ``builder`` is. Raises ``TypeError`` for something that cannot be called or that ``inputs`` do not suit."""
    jit = sys.modules.get("tltrace_nb.core.runtime.jit")
    tilelang = sys.modules.get("tilelang.jit")
    if tilelang is not None and isinstance(builder, tilelang.JITImpl):
        builder = switch.auto(builder)
        jit = sys.modules["tltrace_nb.core.runtime.jit"]
    if jit is not None and isinstance(builder, jit.TraceJit):
        return Kernels(builder, switch.options.with_auto(builder.auto), inputs)
    if not callable(builder):
        may = "a @trace.jit or @tilelang.jit builder, or a function that returns a Trace"
        wrong("builder", builder, may, TypeError)
    if inputs is not None:
        raise TypeError("explore: inputs= are those of a kernel; a function that returns a Trace has its own")
    return Traces(builder)


def gpus(gpu: Any) -> list[Any]:
    """The GPUs to run kernels on, the first one at first: a name, a model, or several; ``None`` for all.

    Raises ``ValueError`` for a name that there is not.
    """
    from tltrace_nb.base.gpus import PRESETS, a_gpu

    if gpu is None:
        here = [CUDA] if importlib.util.find_spec("torch") and _has_card() else []
        return [DEFAULT_MODEL, *(name for name in PRESETS if name != DEFAULT_MODEL), *here]
    asked = list(gpu) if isinstance(gpu, list | tuple) else [gpu]
    for each in asked:
        if not (isinstance(each, str) and each == CUDA):
            a_gpu("gpu", each)
    if not asked:
        raise ValueError(f"gpu=[]: give at least one of {', '.join([*PRESETS, CUDA])}")
    return asked


def _has_card() -> bool:
    import torch

    return bool(torch.cuda.is_available())
