"""TileLang's own CUDA pass pipeline, opened at two places: where the schedule is final and layouts are not yet chosen,
and behind the last pass that plans (shared memory, barriers, fences), where host and device are functions of their own.

In: a PrimFunc of tile operators and a target. Out: the PrimFunc as TileLang schedules it (:func:`schedule`), the module
that it plans for a scheduled one (:func:`planned`), or a backend context whose pipeline calls functions of ours at
those places (:func:`context_with`).

The pass list is not copied. TileLang's two pipeline functions are run as they are, with two names of their globals
bound to stand-ins: ``tilelang.transform.LayoutInference``, the first pass after software pipelining, and
``MakePackedAPI``, the first after planning. Nothing is patched; the stand-ins are seen only by the copies of the
functions that are made here.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import tilelang
from tilelang import tvm

from tltrace_nb.base.errors import VersionError
from tltrace_nb.core.compile.upstream import (
    BackendContext,
    PassPipeline,
    PreLowerSemanticCheck,
    auto_detect_target,
    create_backend_context,
    cuda_pipeline,
    normalize_pass_configs,
)

KNOWN_TILELANG = "0.1.15"
"""The release whose pipeline the tests have compared; others are accepted when their pipeline has the same shape."""

DEFAULT_ARCHITECTURE = "sm_90a"

_FIRST_PASS_AFTER_SCHEDULING = "LayoutInference"
_FIRST_PASS_AFTER_PLANNING = "MakePackedAPI"
_SHOWS_LAYOUTS = "LayoutVisual"

AtBoundary = Callable[[Any], Any]


class _Reached(Exception):  # noqa: N818 (it is news, no error)
    """Ends a dry run of the pipeline at one of its boundaries."""

    def __init__(self, module: Any):
        super().__init__("reached")
        self.module = module


def _stop(module: Any) -> Any:
    raise _Reached(module)


def _pass_on(module: Any) -> Any:
    return module


class _Namespace:
    """An object that looks like another one but for a few names."""

    def __init__(self, base: Any, **names: Any):
        self._base = base
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)


def resolve_target(target: Any = None) -> Any:
    """The target to schedule for, with its host; as ``resolve_context``."""
    return resolve_context(target, None, "auto").target


def resolve_context(target: Any, target_host: Any, execution_backend: str | None) -> BackendContext:
    """What TileLang compiles with when it is given these: settings of its environment stand in for ``None``.

    Where it would take the device's target and there is no device, the target is sm_90a. Raises TileLang's own errors.
    """
    if target is None:
        target = tilelang.env.get_default_target()
    if execution_backend is None:
        execution_backend = tilelang.env.get_default_execution_backend()
    if target == "auto" and tvm.target.Target.current(allow_none=True) is None:
        try:
            auto_detect_target()
        except ValueError:
            target = {"kind": "cuda", "arch": DEFAULT_ARCHITECTURE}
    return create_backend_context(target, target_host, execution_backend)


def schedule(func: Any, target: Any, pass_configs: dict[str, Any] | None = None) -> Any:
    """The PrimFunc after TileLang's passes up to ``InjectSoftwarePipeline``: tile operators, scheduled.

    ``target`` is a ``tvm.target.Target`` with a host, from ``resolve_target``. TileLang's own errors pass through
    whole.
    """
    pipeline = _pipeline_with(_stop)
    module = tvm.IRModule({func.attrs["global_symbol"]: func})
    try:
        with pass_context(pass_configs), target:
            PreLowerSemanticCheck(module)
            pipeline(module, target)
    except _Reached as scheduled:
        (result,) = scheduled.module.functions.values()
        return result
    raise AssertionError("the pipeline ended without reaching the boundary")


@dataclass(frozen=True, slots=True)
class Scheduler:
    """TileLang's scheduler for one target, with one set of pass configs."""

    target: Any
    pass_configs: dict[str, Any] | None = None

    def __call__(self, func: Any) -> Any:
        """The PrimFunc, scheduled; as ``schedule``."""
        return schedule(func, self.target, self.pass_configs)

    @property
    def architecture(self) -> str:
        """The architecture that it schedules for."""
        return str(self.target.attrs["arch"])


def planned(scheduled: Any, target: Any) -> Any:
    """The module with host and device functions that TileLang's passes make of a scheduled PrimFunc, all planned.

    It runs the passes between the two places, in the current pass context.
    """

    def take(_: Any) -> Any:
        return tvm.IRModule({scheduled.attrs["global_symbol"]: scheduled})

    try:
        with target:
            _pipeline_with(take, _stop, shows_layouts=False)(tvm.IRModule(), target)
    except _Reached as reached:
        return reached.module
    raise AssertionError("the pipeline ended without reaching the boundary")


def context_with(
    at_boundary: AtBoundary,
    target: Any,
    execution_backend: str | None = "auto",
    at_device: AtBoundary = _pass_on,
) -> BackendContext:
    """TileLang's backend context for a target, ``opened``."""
    return opened(create_backend_context(target, None, execution_backend), at_boundary, at_device)


def opened(context: BackendContext, at_boundary: AtBoundary, at_device: AtBoundary = _pass_on) -> BackendContext:
    """A backend context whose pipeline passes the module through functions of ours.

    ``at_boundary`` gets it scheduled, ``at_device`` split into host and device functions, with all planned.
    """
    kind = context.target.kind.name
    pipelines = {**context.module.pipelines, kind: PassPipeline(kind, _pipeline_with(at_boundary, at_device))}
    return replace(context, module=replace(context.module, pipelines=pipelines))


@contextlib.contextmanager
def pass_context(pass_configs: dict[str, Any] | None) -> Iterator[None]:
    """TVM's pass context with the author's pass configs, as ``JITKernel`` sets it."""
    with tvm.transform.PassContext(opt_level=3, config=normalize_pass_configs(pass_configs) or {}):
        yield


def _pipeline_with(
    at_boundary: AtBoundary, at_device: AtBoundary = _pass_on, *, shows_layouts: bool = True
) -> Callable[[Any, Any], Any]:
    body, prologue = cuda_pipeline.CUDAPassPipelineBody, cuda_pipeline.CUDAPassPipelineBodyPrologue
    for function, name in (
        (body, prologue.__name__),
        (prologue, _FIRST_PASS_AFTER_SCHEDULING),
        (body, _FIRST_PASS_AFTER_PLANNING),
    ):
        if name not in function.__code__.co_names:
            raise VersionError(
                f"TileLang {tilelang.__version__} has a CUDA pass pipeline that this tltrace_nb does not know "
                f"(no {name} in {function.__name__}); install "
                f"tilelang=={KNOWN_TILELANG} or a newer tltrace_nb"
            )
    names: dict[str, Any] = {} if shows_layouts else {_SHOWS_LAYOUTS: _pass_on}
    opened = _rebind(prologue, tilelang=_passing_through(at_boundary, _FIRST_PASS_AFTER_SCHEDULING), **names)
    pipeline: Callable[[Any, Any], Any] = _rebind(
        body, tilelang=_passing_through(at_device, _FIRST_PASS_AFTER_PLANNING), **{prologue.__name__: opened}
    )
    return pipeline


def _passing_through(function: AtBoundary, name: str) -> Any:
    """``tilelang``, but its pass ``name`` gets what ``function`` makes of the module."""
    its_pass = getattr(tilelang.transform, name)

    def function_then_pass() -> Callable[[Any], Any]:
        return lambda module: its_pass()(function(module))

    return _Namespace(tilelang, transform=_Namespace(tilelang.transform, **{name: function_then_pass}))


def _rebind(function: Any, **names: Any) -> Any:
    """A copy of a function that sees other objects under some of its global names."""
    return types.FunctionType(
        function.__code__, {**function.__globals__, **names}, function.__name__, function.__defaults__
    )
