"""The kernels of a program, built without a GPU.

In: a :class:`Program`, whose ``# build:`` lines say how its builders are called. Out: PrimFuncs with what they are
compiled with, their CUDA source, and the names that automatic markers have in them.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from kernels import builds
from kernels.source import compared
from tilelang.backend.module import create_backend_context
from tilelang.engine.lower import lower_with_context

from programs.header import Program
from tltrace_nb.core.compile import lowering, schedule
from tltrace_nb.core.compile.numbering import strip
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler

ARCHITECTURE = "sm_90a"


@dataclass(frozen=True)
class Built:
    """A kernel as its builder made it, with its markers."""

    func: Any
    pass_configs: dict[str, Any]

    @property
    def kernel(self) -> str:
        return str(self.func.attrs["global_symbol"])


def built(program: Program) -> list[Built]:
    """The PrimFuncs of a program's builders; each ``# build:`` line is an expression in the script's own names."""
    if not program.builds:
        return []
    with _imported(program) as module:
        return [_build(line, module) for line in program.builds]


def cuda(kernel: Built) -> str:
    """The CUDA source of a kernel without markers, for a Hopper GPU."""
    target = _target()
    context = create_backend_context(target, None, "auto")
    with schedule.pass_context(kernel.pass_configs), context.target:
        return str(lower_with_context(strip(kernel.func), context).kernel_source)


def invariant(kernel: Built, auto: str, architecture: str) -> bool | None:
    """Whether the traced CUDA source without its records is the untraced one, or the trace notes that it is not.

    ``None``: TileLang does not build the kernel for that architecture.
    """
    target = schedule.resolve_target({"kind": "cuda", "arch": architecture})
    try:
        builds.plain(strip(kernel.func), architecture, kernel.pass_configs)
    except Exception:  # TileLang raises whatever it raises
        return None
    with target:
        low = lowering.prepare(kernel.func, Scheduler(target, kernel.pass_configs), TraceOptions.of(auto=auto))
    recording, plain, note = builds.planned(low, lambda: kernel.func, architecture, kernel.pass_configs)
    if not low.table.sites:
        return recording.cuda == plain.cuda
    ours, theirs = compared(recording.cuda, plain.cuda)
    return ours == theirs or bool(note)


def traced(kernel: Built, auto: str | None) -> tuple[str, set[str], str]:
    """The CUDA source of a traced kernel, the names of its events, and what the table notes of what is left out."""
    target = _target()
    with target:
        low = lowering.prepare(kernel.func, Scheduler(target, kernel.pass_configs), TraceOptions.of(auto=auto))
    context = schedule.context_with(low.at_boundary, target)
    with schedule.pass_context(kernel.pass_configs), context.target:
        source = str(lower_with_context(low.anchored, context).kernel_source)
    return source, {site.name for site in low.table.sites}, low.table.note


def _target() -> Any:
    return schedule.resolve_target({"kind": "cuda", "arch": ARCHITECTURE})


class _Builder:
    """A builder of the script whose call gives the PrimFunc."""

    def __init__(self, builder: Any):
        self.builder = builder

    def __call__(self, *args: Any, **kwargs: Any) -> Built:
        from tltrace_nb.core.runtime.jit import TraceJit

        builder = getattr(self.builder, "jit_impl", self.builder)  # an autotuned one
        if isinstance(builder, TraceJit):
            func, how, _ = builder.marked(*args, **kwargs)
            return Built(func, dict(how.pass_configs or {}))
        func = builder.get_tir(*args, **kwargs) if hasattr(builder, "get_tir") else builder(*args, **kwargs)
        attributes = func.attrs or {}
        configs = {
            **dict(attributes.get("tilelang_pass_configs") or {}),
            **(getattr(builder, "pass_configs", None) or {}),
        }
        return Built(func, configs)


def _build(line: str, module: ModuleType) -> Built:
    """Evaluate one line; what it calls last is the builder."""
    call = ast.parse(line, mode="eval")
    assert isinstance(call.body, ast.Call), line
    builder = eval(ast.unparse(call.body.func), vars(module))
    call.body.func = ast.Name("_builder", ast.Load())
    code = compile(ast.fix_missing_locations(call), line, "eval")
    found = eval(code, {**vars(module), "_builder": _Builder(builder)})
    assert isinstance(found, Built)
    return found


@contextlib.contextmanager
def _imported(program: Program) -> Iterator[ModuleType]:
    """The script as a module, its folder on the path, as when it runs."""
    name = f"_program_{program.name}"
    spec = importlib.util.spec_from_file_location(name, program.path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path = sys.path[:]
    sys.path.insert(0, str(program.path.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path[:] = path
        del sys.modules[name]
