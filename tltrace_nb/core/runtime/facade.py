"""A kernel that records, with the face of the kernel that does not.

In: the author's PrimFunc, and what runs it. Out: :class:`RecordingKernel`, a ``JITKernel`` whose calls are traced and
whose every other attribute is the untraced kernel's: parameters, outputs, sources, machine code, libraries. What only a
compiled kernel knows is answered by the untraced kernel itself, which is compiled when first asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import tilelang.cache
from tilelang.jit.kernel import JITKernel
from tilelang.profiler import Profiler, TensorSupplyType

from tltrace_nb.base.notices import say_once
from tltrace_nb.core.compile.numbering import strip
from tltrace_nb.core.compile.upstream import BaseKernelAdapter, extrac_params
from tltrace_nb.core.runtime.blocks import untraced

if TYPE_CHECKING:
    from tltrace_nb.core.compile.upstream import BackendContext
    from tltrace_nb.data.sites import SiteTable

TIMED = (
    "times measured here are of the traced kernel, which takes a little longer than the untraced one: "
    "trace.overhead(kernel, inputs) measures both"
)


class RecordingKernel(JITKernel):
    """A ``JITKernel`` that compiles nothing by itself: how it is called is a subclass's, the rest ``untraced`` answers.

    ``source`` is the PrimFunc with the author's markers, ``outputs`` are the positions of the allocated parameters.
    """

    from_tilelang_function = JITKernel.from_tilelang_function
    from_database = JITKernel.from_database

    def __init__(self, source: Any, outputs: list[int]) -> None:
        self.source = source
        self._outputs = outputs

    @abstractmethod
    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Run the kernel on the author's arguments, capture the launch, return the author's outputs."""

    @property
    @abstractmethod
    def table(self) -> SiteTable:
        """The kernel's site table."""

    @abstractmethod
    def _context(self) -> BackendContext:
        """The backend, target and execution backend that the untraced kernel is compiled with."""

    @property
    def torch_function(self) -> Any:
        """The kernel as a function: a traced launch, as the kernel called."""
        return self.__call__

    @cached_property
    def prim_func(self) -> Any:
        """The author's PrimFunc, without markers."""
        return strip(self.source)

    @cached_property
    def untraced(self) -> JITKernel:
        """The same kernel as it is without tracing, compiled now or found in TileLang's cache."""
        context = self.backend_context
        with untraced():  # also inside a block that traces what TileLang compiles
            return tilelang.cache.cached(
                self.prim_func,
                list(self._outputs) or None,
                target=context.target,
                target_host=context.target_host,
                execution_backend=self.execution_backend,
                verbose=self.verbose,
                pass_configs=self.pass_configs,
                compile_flags=self.compile_flags,
            )

    @cached_property
    def backend_context(self) -> BackendContext:
        """As the untraced kernel's."""
        return self._context()

    backend = property(attrgetter("backend_context.module"))
    target = property(attrgetter("backend_context.target"))
    target_host = property(attrgetter("backend_context.target_host"))
    execution_backend_spec = property(attrgetter("backend_context.execution_backend"))
    execution_backend = property(attrgetter("backend_context.execution_backend.name"))

    @cached_property
    def artifact(self) -> Any:
        """The untraced kernel's; ``None`` where TileLang took it from its cache."""
        return self.untraced.artifact

    @cached_property
    def adapter(self) -> RecordingAdapter:
        """What the profiler calls; each call is a traced launch."""
        return RecordingAdapter(self)

    @property
    def params(self) -> list[Any]:
        """The author's parameters."""
        params: list[Any] = self.adapter.params
        return params

    def get_profiler(self, tensor_supply_type: TensorSupplyType = TensorSupplyType.Auto) -> Profiler:
        """TileLang's profiler on the traced kernel: what it times is the traced kernel, which it says once."""
        return RecordingProfiler(self.params, self.out_idx, tensor_supply_type).with_default_adapter(self.adapter)


class RecordingAdapter(BaseKernelAdapter):
    """The adapter of a :class:`RecordingKernel`: calls are traced, all else is the untraced kernel's adapter's."""

    def __init__(self, kernel: RecordingKernel) -> None:
        self.kernel = kernel
        self.params = extrac_params(kernel.prim_func)
        self.result_idx = self._legalize_result_idx(list(kernel._outputs))  # noqa: SLF001 (the two are one)
        self._post_init()

    def _convert_torch_func(self) -> Any:
        return self.kernel.torch_function

    def get_kernel_source(self, *args: Any, **kwargs: Any) -> Any:
        """As the untraced kernel's."""
        return self.kernel.untraced.adapter.get_kernel_source(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "kernel" not in vars(self):
            raise AttributeError(name)
        return getattr(self.kernel.untraced.adapter, name)


class RecordingProfiler(Profiler):
    """TileLang's profiler, which says once that the times are the traced kernel's."""

    def do_bench(self, func: Any = None, *args: Any, **kwargs: Any) -> Any:
        """As ``tilelang.profiler.Profiler.do_bench``."""
        if func is None or isinstance(func, (RecordingKernel, RecordingAdapter)):
            say_once(TIMED)
        return super().do_bench(func, *args, **kwargs)
