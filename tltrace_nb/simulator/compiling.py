"""A kernel made ready for a virtual GPU: scheduled, with its markers placed, and compiled into Python.

In: a PrimFunc, marked or bare, and a GPU model. Out: a :class:`~tltrace_nb.simulator.run.SimulatedKernel`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx

from tltrace_nb.base.checks import a, checked, flag, mapping, one_of, optional
from tltrace_nb.base.errors import TraceError
from tltrace_nb.base.gpus import Gpu, a_gpu
from tltrace_nb.core.compile.active_threads import launches
from tltrace_nb.core.compile.interrupts import named_errors
from tltrace_nb.core.compile.ir import ROOT_BLOCK, source_of, walk
from tltrace_nb.core.compile.lowering import Lowering, prepare
from tltrace_nb.core.compile.names import imported_sources
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler, resolve_target
from tltrace_nb.data.sites import TABLE_ATTRIBUTE
from tltrace_nb.simulator.errors import UnsupportedError, unsupported
from tltrace_nb.simulator.externs import as_operations
from tltrace_nb.simulator.fragments import spreads
from tltrace_nb.simulator.liveness import needed_data
from tltrace_nb.simulator.predicates import as_branches
from tltrace_nb.simulator.program import compile_launch
from tltrace_nb.simulator.races.kernel import Checked, checked_once
from tltrace_nb.simulator.refusals import undecided, undecided_outside
from tltrace_nb.simulator.registers import written_out
from tltrace_nb.simulator.run import RACES, SimulatedKernel
from tltrace_nb.simulator.source_lines import lines
from tltrace_nb.simulator.unwritten import KINDS
from tltrace_nb.simulator.vectors import by_element

_UNGUARDED = "tl.disable_safe_memory_legalize"

Kernel = TypeVar("Kernel", bound=SimulatedKernel)


@checked(
    func=a(tirx.PrimFunc, "a T.prim_func, or what a @trace.jit builder returns: call the builder first"),
    options=optional(a(TraceOptions, "TraceOptions")),
    functional=flag,
    uninitialised=one_of(KINDS),
    every_cta=flag,
    races=one_of(RACES),
    pass_configs=optional(mapping),
)
def compile_for(
    kind: type[Kernel],
    func: Any,
    gpu: str | Gpu = "h200",
    options: TraceOptions | None = None,
    *,
    functional: bool = True,
    uninitialised: str = "note",
    every_cta: bool = False,
    races: str = "note",
    pass_configs: dict[str, Any] | None = None,
) -> Kernel:
    """Schedule a PrimFunc for a virtual GPU, place its markers, and compile it into a ``kind`` of kernel.

    ``functional=False`` computes only what control flow, addresses or payloads depend on, and prints nothing; of a
    large grid whose CTAs do the same a sample runs, unless ``every_cta``, and the others repeat it. With values, too, a
    sample then tells the times, and CTAs compute their values together (``simulator.batch``).
    ``uninitialised``: what reading shared memory or a fragment is that nobody has written: an "error"; a "note" where
    no output, branch or address depends on it, else an error; or a "zero". Of an output that was allocated it is an
    error. ``races``: what two accesses are that nothing orders, an "error", a "note", or nothing, "off".

    Raises ``UnsupportedError`` for what the virtual GPU does not execute, ``ValueError`` for an unknown GPU, and what
    ``lowering.prepare`` raises.
    """
    model = a_gpu("gpu", gpu)
    if TABLE_ATTRIBUTE in (func.attrs or {}):
        raise UnsupportedError(
            f"kernel {func.attrs['global_symbol']}: trace.finalize has lowered it for a CUDA device; give the PrimFunc "
            "with its markers, or build it with @trace.jit"
        )
    options = TraceOptions() if options is None else options
    target = resolve_target({"kind": "cuda", "arch": model.architecture})
    with named_errors(str(func.attrs["global_symbol"])), target, _naming(func, model):
        scheduler = Scheduler(target, pass_configs)
        lowering = prepare(func, scheduler, options, sms=model.sms)
        ready = lowering.instrument(scheduler(lowering.anchored))
        layouts = spreads(ready, target)
    _refuse_undecided(ready, lowering)
    shapes = tuple(
        dataclasses.replace(s, body=by_element(written_out(as_branches(as_operations(s.body))), ready))
        for s in launches(ready)
    )
    notes = tuple(
        dict(s.annotations) for s, _ in walk(ready.body) if isinstance(s, tirx.SBlock) and s.name_hint == ROOT_BLOCK
    )
    everything: Callable[[Any], bool] = lambda _: True  # noqa: E731
    source = "\n".join(dict.fromkeys(imported_sources(lowering.bare)))
    programs = tuple(
        compile_launch(
            lowering.table.kernel,
            shape,
            model,
            everything if functional else needed_data(shape.body),
            annotations,
            list(ready.buffer_map.values()),
            layouts,
            lines(shape.body, lowering.marked.func, lowering.table, number),
            source,
        )
        for number, (shape, annotations) in enumerate(zip(shapes, notes, strict=True))
    )
    guarded = not bool((pass_configs or {}).get(_UNGUARDED, False))
    asked = uninitialised if functional else "zero"
    checked = checked_once(func, Checked(lowering.bare, target, pass_configs, model, _lines_of(lowering)))
    return kind(
        lowering, ready, model, options, shapes, programs, notes, functional, asked, guarded, every_cta, races, checked
    )


def _lines_of(lowering: Lowering) -> Callable[[Any], str]:
    """Which line a statement of the scheduled kernel without markers comes from; worked out when one is asked for."""

    @functools.cache
    def found() -> dict[Any, str]:
        bodies = enumerate(launches(lowering.bare))
        every = (lines(s.body, lowering.marked.func, lowering.table, i).statements for i, s in bodies)
        return {statement: line for each in every for statement, line in each.items()}

    return lambda statement: found().get(statement, "")


def _refuse_undecided(ready: Any, lowering: Lowering) -> None:
    """Refuse what ``decisions`` does not name, before anything rewrites it."""
    name = lowering.table.kernel
    for what, statement in undecided_outside(ready):
        raise UnsupportedError(unsupported(name, source_of(statement), what, statement))
    for launch, shape in enumerate(launches(ready)):
        for statement, _ in walk(shape.body):
            for what in undecided(statement):
                where = lines(shape.body, lowering.marked.func, lowering.table, launch)
                raise UnsupportedError(unsupported(name, where.statements[statement], what, statement))


@contextlib.contextmanager
def _naming(func: Any, model: Gpu) -> Iterator[None]:
    """Have errors of TileLang's, which reach the user whole, say for which GPU the kernel was to be scheduled."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, TraceError) and str(error):
            name, arch = func.attrs["global_symbol"], model.architecture
            error.add_note(f"kernel {name}: TileLang does not schedule it for {arch}, the {model.name} model")
        raise
