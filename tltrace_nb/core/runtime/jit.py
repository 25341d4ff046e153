"""``@trace.jit`` and the kernels it makes: TileLang's own compiler with our step in the middle of its pipeline.

In: what ``@tilelang.jit`` takes. Out: a callable that builds the traced or the stripped kernel as the switch says when
it is called. Each build has a ``JITImpl`` of its own, and with it TileLang's caches of its own, so the two never mix.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import tilelang
from tilelang.jit import JITImpl
from tilelang.jit.kernel import JITKernel
from tvm import tirx

from tltrace_nb.base.checks import wrong
from tltrace_nb.base.errors import DeviceError, NotTracedError, shorten
from tltrace_nb.core.compile import cache
from tltrace_nb.core.compile.auto.marks import mark
from tltrace_nb.core.compile.auto.options import Auto, AutoOptions
from tltrace_nb.core.compile.carried import carried
from tltrace_nb.core.compile.compilation import OUT_IDX, Compilation
from tltrace_nb.core.compile.devices import AUTO, model_of
from tltrace_nb.core.compile.dumps import without_dumps
from tltrace_nb.core.compile.explained import explained
from tltrace_nb.core.compile.interrupts import named_errors
from tltrace_nb.core.compile.lowering import prepare
from tltrace_nb.core.compile.numbering import strip
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.plans import BarePlan
from tltrace_nb.core.compile.schedule import Scheduler, opened, resolve_context
from tltrace_nb.core.compile.upstream import normalize_pass_configs
from tltrace_nb.core.runtime.facade import RecordingKernel
from tltrace_nb.core.runtime.traced import TracedKernel, VirtualTracedKernel
from tltrace_nb.data.sites import TABLE_ATTRIBUTE, SiteTable

if TYPE_CHECKING:
    from tltrace_nb.core.runtime.launch import TracedLaunch
    from tltrace_nb.core.runtime.switch import Switch

_CUDA = "cuda"
"""TileLang's name for the backend that our pipeline is that of."""


def compile_traced(
    func: Any, how: Compilation, options: TraceOptions, captured: Callable[[TracedLaunch], None]
) -> TracedKernel:
    """Compile a PrimFunc with its markers recording, with all that TileLang would compile it with.

    Errors as ``prepare_build``, and TileLang's own.
    """
    with named_errors(str(func.attrs["global_symbol"])):
        build = prepare_build(func, how, options)
        verbose = tilelang.env.get_default_verbose() if how.verbose is None else how.verbose

        def compiler() -> JITKernel:
            return JITKernel(
                build.lowering.anchored,
                out_idx=build.out_idx,
                verbose=verbose,
                pass_configs=build.pass_configs,
                compile_flags=build.compile_flags,
                backend_context=build.context,
            )

        with build.context.target:
            built = cache.cached(build, compiler)
    return TracedKernel(func, built.kernel, build.lowering, options, captured, built.dynamic_shared, built.note)


def prepare_build(func: Any, how: Compilation, options: TraceOptions) -> cache.Build:
    """A PrimFunc lowered, and all that decides what it is compiled to.

    Errors as ``lowering.prepare``; ``DeviceError`` where the kernel does not become CUDA source.
    """
    how = how.of_function(func)
    context = resolve_context(how.target, how.target_host, how.execution_backend)
    if context.module.name != _CUDA:
        raise DeviceError(
            f"kernel {func.attrs['global_symbol']}: it is compiled by TileLang's {context.module.name} backend, and "
            "only kernels that become CUDA source can be traced"
        )
    with context.target:
        configs = normalize_pass_configs(how.pass_configs)
        lowering = prepare(func, Scheduler(context.target, configs), options)
        positions = None if how.outputs is None else [i % len(func.params) for i in how.outputs]
        if OUT_IDX in (func.attrs or {}):  # negative positions would count the slots
            lowering = replace(lowering, anchored=lowering.anchored.with_attr(OUT_IDX, positions))
        plan = BarePlan(lowering, context.target)
        ours = opened(context, lowering.at_boundary, plan.at_device)
        return cache.Build(lowering, positions, ours, configs, how.flags, lambda: plan.note)


def compile_virtual(
    func: Any, how: Compilation, options: TraceOptions, captured: Callable[[TracedLaunch], None], model: str
) -> VirtualTracedKernel:
    """Prepare a PrimFunc for the virtual GPU. Errors as ``runtime.virtual.compile_virtual``."""
    from tltrace_nb.core.runtime.virtual import compile_virtual as compile_for

    how = how.of_function(func)
    virtual = compile_for(func, model, options, pass_configs=how.pass_configs)
    return VirtualTracedKernel(func, virtual, how, captured)


def compile_for(
    model: str | None, func: Any, how: Compilation, options: TraceOptions, captured: Callable[[TracedLaunch], None]
) -> TracedKernel | VirtualTracedKernel:
    """Compile a PrimFunc with its markers recording, for the virtual GPU when there is a ``model``."""
    if model is None:
        return compile_traced(func, how, options, captured)
    return compile_virtual(func, how, options, captured, model)


def table_of(compiled: Any) -> SiteTable:
    """The site table of a compiled kernel, traced by ``@trace.jit`` or by ``trace.finalize``.

    Raises ``NotTracedError`` for a kernel that was built without tracing.
    """
    if isinstance(compiled, RecordingKernel):
        return compiled.table
    func = compiled if isinstance(compiled, tirx.PrimFunc) else getattr(compiled, "prim_func", None)
    attributes = getattr(func, "attrs", None)
    text = attributes.get(TABLE_ATTRIBUTE) if attributes is not None else None
    if text is None:
        name = (
            attributes["global_symbol"]
            if attributes is not None and "global_symbol" in attributes
            else type(compiled).__name__
        )
        raise NotTracedError(
            f"kernel {name} was built without tracing; call trace.enable() before it is built, and build it with "
            "@trace.jit or return trace.finalize(func) from its builder"
        )
    return SiteTable.from_json(str(text))


class OwnImpl(JITImpl[Any, Any, Any, Any]):
    """A ``JITImpl`` of ours."""

    def get_tir(self, *args: Any, **kwargs: Any) -> Any:
        with without_dumps():
            return super().get_tir(*args, **kwargs)


class _StrippedImpl(OwnImpl):
    """TileLang's own JIT on the kernel without its markers."""

    def get_tir(self, *args: Any, **kwargs: Any) -> Any:
        return strip(super().get_tir(*args, **kwargs))

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().compile(*args, **kwargs)
        except Exception as error:
            if self.target is None and model_of(AUTO) is not None:
                error.add_note(
                    "Without a CUDA device a kernel runs only while it is traced, on the virtual GPU: build it in a "
                    "%%tltrace cell, or after trace.enable()."
                )
            raise


@dataclass
class _TracedImpl(OwnImpl):
    """TileLang's own JIT, compiling with :func:`compile_traced`, or for the virtual GPU when there is a ``model``."""

    options: TraceOptions = field(default_factory=TraceOptions)
    captured: Callable[[Any], None] = field(default=lambda _: None)
    model: str | None = None

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        func = self.get_tir(*args, **kwargs)
        with explained(func):
            return compile_for(self.model, func, Compilation.of(self), self.options, self.captured)

    def par_compile(
        self, configs: Iterable[Any], num_workers: int | None = None, ignore_error: bool = False
    ) -> list[Any]:
        def one(config: Any) -> Any:
            try:
                return self.compile(*config) if isinstance(config, tuple) else self.compile(**config)
            except Exception:
                if ignore_error:
                    return None
                raise

        with ThreadPoolExecutor(num_workers) as pool:
            return list(pool.map(one, configs))


class TraceJit:
    """What ``@trace.jit`` returns: ``@tilelang.jit``'s object, once stripped and once for each set of trace options.

    ``auto``: its automatic markers, ``None`` for what the switch says. ``always``: traced whatever the switch says.
    """

    def __init__(self, plain: JITImpl[Any, Any, Any, Any], switch: Switch, auto: Auto, always: bool = False):
        self._stripped = _StrippedImpl(**{f.name: getattr(plain, f.name) for f in fields(JITImpl)})
        self._switch = switch
        self._auto = auto
        self._always = always
        self._traced: dict[tuple[TraceOptions, str | None], JITImpl[Any, Any, Any, Any]] = {}
        functools.update_wrapper(self, plain.func.orig_func)

    @property
    def _impl(self) -> JITImpl[Any, Any, Any, Any]:
        if not self._switch.enabled and not self._always:
            return self._stripped
        options = self._switch.options.with_auto(self._auto)
        # A builder that names its target is compiled for it, unless the switch names the virtual GPU.
        chosen = self._switch.device != AUTO or self._stripped.target is None
        model = self._switch.model() if chosen else None
        if (options, model) not in self._traced:
            base = {f.name: getattr(self._stripped, f.name) for f in fields(JITImpl)}
            traced = _TracedImpl(**base, options=options, captured=self._switch.captured, model=model)
            self._traced[options, model] = traced
        return self._traced[options, model]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:  # an eager builder is called for each launch: nothing else may stand around it
            return self._impl(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._impl, name)

    @property
    def auto(self) -> Auto:
        """The automatic markers that were asked for where the builder was made."""
        return self._auto

    def marked(self, *args: Any, **kwargs: Any) -> tuple[Any, Compilation, tuple[Any, ...]]:
        """The PrimFunc with its markers in place, how it is to be compiled, and the tensors among the arguments.

        Nothing is compiled, and the switch is not asked.
        """
        func = JITImpl.get_tir(self._stripped, *args, **kwargs)
        _, tensors = self._stripped.func.parse_args(*args, **kwargs)
        return func, Compilation.of(self._stripped).of_function(func), tuple(tensors.values())

    def automatic(self, auto: AutoOptions) -> TraceJit:
        """The same builder with automatic markers, always traced."""
        return TraceJit(self._stripped, self._switch, auto, always=True)


def automatic(kernel: Any, auto: AutoOptions, switch: Switch) -> Any:
    """``trace.auto`` of a PrimFunc, a builder or a compiled kernel. Raises ``TypeError`` for anything else."""
    if isinstance(kernel, tirx.PrimFunc):
        return carried(mark(kernel, auto))
    if isinstance(kernel, TraceJit):
        return kernel.automatic(auto)
    if isinstance(kernel, JITImpl):
        return TraceJit(kernel, switch, auto, always=True)
    if not isinstance(kernel, JITKernel):
        may = "a @tilelang.jit or @trace.jit builder, a kernel that it has compiled, or a PrimFunc"
        wrong("kernel", kernel, may, TypeError)
    func = kernel.source if isinstance(kernel, RecordingKernel) else kernel.prim_func
    return compile_for(switch.model(), func, Compilation.of(kernel), switch.options.with_auto(auto), switch.captured)


def jit(func: Callable[..., Any] | None, switch: Switch, auto: Auto, **compile_args: Any) -> Any:
    """``@tilelang.jit`` whose kernels are traced while the switch is on; see ``TraceSwitch.jit``."""
    AutoOptions.of(auto)
    allowed = inspect.signature(tilelang.jit).parameters.keys() - {"func"}
    unknown = compile_args.keys() - allowed
    if unknown:
        raise TypeError(
            f"trace.jit got {', '.join(sorted(unknown))}; it takes what tilelang.jit takes: "
            f"{', '.join(sorted(allowed))}"
        )

    def decorate(function: Callable[..., Any]) -> TraceJit:
        return TraceJit(tilelang.jit(function, **compile_args), switch, auto)

    return decorate if func is None else decorate(func)
