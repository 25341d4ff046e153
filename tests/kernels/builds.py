"""Builds of a reference kernel, as CUDA source: never marked, stripped, traced either way. No compiler is run."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tilelang.backend.module import create_backend_context
from tilelang.engine.lower import lower_with_context

from kernels import MODULES, Reference
from tltrace_nb.core.compile import lowering, numbering, schedule
from tltrace_nb.core.compile.auto.options import Auto
from tltrace_nb.core.compile.for_plain_jit import lower
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.plans import BarePlan
from tltrace_nb.core.compile.schedule import Scheduler


@dataclass(frozen=True)
class Source:
    """A generated kernel: its CUDA text, and what its host code must know of it, parameter by parameter."""

    cuda: str
    host: str
    attributes: dict[str, str]


class _Silent:
    """A ``trace`` whose markers leave nothing in a kernel."""

    def range(self, *_: Any, **__: Any) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    group = range

    def record(self, *_: Any, **__: Any) -> None:
        return None

    range_start = range_end = dag = record


@contextlib.contextmanager
def unmarked() -> Iterator[None]:
    """Within, the builders of the reference kernels emit no markers at all."""
    with pytest.MonkeyPatch.context() as patch:
        for module in MODULES:
            patch.setattr(module, "trace", _Silent())
        yield


def target_of(architecture: str) -> Any:
    """The target that a GPU of this architecture has."""
    return schedule.resolve_target({"kind": "cuda", "arch": architecture})


def prepared(reference: Reference, architecture: str, options: TraceOptions | None = None) -> lowering.Lowering:
    """The lowering of a reference kernel, not cached: a test may have changed how it is made."""
    target = target_of(architecture)
    with target:
        return lowering.prepare(reference.build(), Scheduler(target, reference.pass_configs), options or TraceOptions())


def traced(reference: Reference, architecture: str, options: TraceOptions | None = None) -> Source:
    """Traced the way of ``@trace.jit``."""
    return generated(prepared(reference, architecture, options), reference, architecture)


def automatic(reference: Reference, architecture: str, auto: Auto) -> lowering.Lowering:
    """The lowering of a reference kernel whose author wrote no markers, automatically marked."""
    with unmarked():
        func = reference.build()
    target = target_of(architecture)
    with target:
        return lowering.prepare(func, Scheduler(target, reference.pass_configs), TraceOptions.of(auto=auto))


def generated(low: lowering.Lowering, reference: Reference, architecture: str) -> Source:
    """The source of a lowering of a reference kernel."""
    target = target_of(architecture)
    context = schedule.context_with(low.at_boundary, target, at_device=BarePlan(low, target).at_device)
    return _generate(low.anchored, context, reference.pass_configs)


def planned(
    low: lowering.Lowering, build: Callable[[], Any], architecture: str, pass_configs: dict[str, Any]
) -> tuple[Source, Source, str]:
    """The source of a lowering, the bare kernel's with the plan that it goes by, and the note on that plan.

    ``build`` gives the kernel. TileLang builds some kernels in more than one way, so a build of its own may differ.
    """
    target = target_of(architecture)
    plan = BarePlan(low, target)
    context = schedule.context_with(low.at_boundary, target, at_device=plan.at_device)
    traced = _generate(low.anchored, context, pass_configs)
    kept = schedule.context_with(lambda module: module, target, at_device=lambda _: plan.bare)
    return traced, _generate(numbering.strip(build()), kept, pass_configs), plan.note


def traced_again(reference: Reference, architecture: str) -> Source:
    """Traced the way of ``trace.finalize``; raises ``PlacementError`` where that way is closed."""
    with target_of(architecture):
        recording = lower(reference.build(), TraceOptions(), reference.pass_configs)
    return plain(recording, architecture, reference.pass_configs)


@functools.cache
def stripped(reference_name: str, architecture: str) -> Source:
    """With markers, stripped."""
    from kernels import BY_NAME

    reference = BY_NAME[reference_name]
    return plain(numbering.strip(reference.build()), architecture, reference.pass_configs)


def never_marked(reference: Reference, architecture: str) -> Source:
    """Built by a builder that emitted no marker."""
    with unmarked():
        func = reference.build()
    assert not numbering.has_markers(func)
    return plain(func, architecture, reference.pass_configs)


def plain(func: Any, architecture: str, pass_configs: dict[str, Any]) -> Source:
    """A PrimFunc through TileLang's own pipeline."""
    return _generate(func, create_backend_context(target_of(architecture), None, "auto"), pass_configs)


def _generate(func: Any, context: Any, pass_configs: dict[str, Any]) -> Source:
    with schedule.pass_context(pass_configs), context.target:
        artifact = lower_with_context(func, context)
    attributes = {
        f"{name}.{key}": _shown(kernel, key, value)
        for name, kernel in ((v.name_hint, f) for v, f in artifact.device_mod.functions.items())
        for key, value in (kernel.attrs or {}).items()
    }
    return Source(artifact.kernel_source, artifact.host_mod.script(), attributes)


def _shown(kernel: Any, key: str, value: Any) -> str:
    """An attribute as text; parameters by name, for their positions depend on which is used first."""
    if key == "tl.readonly_param_indices":
        return str(sorted(str(kernel.params[int(i)].name) for i in value))
    return str(value)
