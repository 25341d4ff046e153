"""Running kernels by hand, on the GPU or the virtual one, and writing what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.checks import called, checked, file, number, optional, stem, tensors, text, whole, wrong
from tltrace_nb.core.api.arguments import a_kernel, rows_or_trace
from tltrace_nb.core.api.launches import Launches
from tltrace_nb.core.compile.auto.options import Auto
from tltrace_nb.core.runtime.launch import TracedLaunch

if TYPE_CHECKING:
    from tltrace_nb.core.runtime.overhead import Overhead
    from tltrace_nb.core.trace import Trace
    from tltrace_nb.data.rows import Instant, Slice


class Runs(Launches):
    """What runs kernels, decodes what they recorded, and writes it down."""

    @checked(
        compiled=called("a compiled kernel"),
        inputs=tensors,
        stem=stem,
        repeat=whole(1, most=1_000_000),
    )
    def run(self, compiled: Any, inputs: tuple[Any, ...], *, stem: str, repeat: int = 1) -> Any:
        """Run a kernel and return its outputs alone: one tensor, or a tuple of several.

        A traced kernel leaves its trace in ``last`` and, while tracing is on, dumps it under ``stem``. ``repeat``: run
        it so often; all their traces stay, as the last so many of ``history``, what ``compare`` takes, and the last is
        dumped. Raises ``NotTracedError`` when tracing is on and the kernel was built without, and ``ValueError`` for a
        ``repeat`` below 1.
        """
        from tltrace_nb.core.runtime.dumps import written
        from tltrace_nb.core.runtime.running import run

        taken: list[TracedLaunch] = []

        def take(launch: TracedLaunch) -> None:
            taken.append(launch)
            self.captured(launch, pinned=repeat > 1)

        for _ in range(repeat):
            outputs, launch = run(compiled, tuple(inputs), must_trace=self.enabled, started=take)
            if launch is not None and all(launch is not other for other in taken):
                take(launch)
        if launch is not None and self.enabled:
            last = launch
            self.say(written(lambda: self.dump(last.trace(), compiled, stem=stem), "timeline {base}.html"))
        return outputs

    @checked(step_limit=optional(whole(1)))
    def simulate(
        self,
        kernel: Any,
        *inputs: Any,
        out_idx: Any = None,
        gpu: Any = "h200",
        functional: bool = True,
        auto: Auto = None,
        step_limit: int | None = None,
        uninitialised: str = "note",
        every_cta: bool = False,
        races: str = "note",
    ) -> Any:
        """Run a kernel on the virtual GPU: its outputs; the trace is in ``last``.

        ``kernel``: a PrimFunc, marked or bare, or what a ``@trace.jit`` builder made. ``inputs``: torch tensors of the
        CPU or NumPy arrays. ``out_idx``: parameters to allocate and return, by default the trailing ones not passed.
        ``gpu``: a model's name or a ``base.gpus.Gpu``. ``functional=False`` computes only what control flow and
        payloads depend on; of a large grid whose CTAs do the same a sample runs then, which the others repeat, as the
        trace's ``meta.note`` says, unless ``every_cta``. ``auto``: mark what the author has not, see ``auto``; ``None``
        follows the switch. ``step_limit``: iterations of ``while`` loops that a thread may do. ``uninitialised``: what
        reading memory is that nobody has written: a "note" where nothing depends on it, else an error; or always
        "error" or "zero". ``races``: what two accesses to one element are that nothing orders, one of them a write: a
        "note" on the trace, an "error", or nothing that anybody looks for, "off". A long run shows its progress and may
        be interrupted; whatever goes wrong while it runs, what was recorded until then is in ``last``. Errors as
        ``core.runtime.virtual.simulate``.

        >>> c = trace.simulate(matmul, a, b, gpu="classroom")
        """
        from tltrace_nb.core.runtime.virtual import compile_virtual
        from tltrace_nb.simulator.engine import STEP_LIMIT
        from tltrace_nb.simulator.progress import progress_bar

        func = getattr(kernel, "source", getattr(kernel, "prim_func", kernel))
        if type(func).__name__ != "PrimFunc":
            wrong(
                "kernel",
                kernel,
                "a T.prim_func, or what a @trace.jit builder returns: call the builder first",
                TypeError,
            )
        options = self.options.with_auto(auto)
        virtual = compile_virtual(
            func,
            gpu,
            options,
            functional=functional,
            uninitialised=uninitialised,
            every_cta=every_cta,
            races=races,
        )
        limit = STEP_LIMIT if step_limit is None else step_limit
        with progress_bar(virtual.name) as progress:
            return virtual.run(inputs, out_idx, started=self.captured, progress=progress, step_limit=limit)[0]

    @checked(inputs=tensors)
    def overhead(self, kernel: Any, inputs: tuple[Any, ...]) -> Overhead:
        """What tracing costs: the stripped kernel beside ``kernel``, which ``@trace.jit`` built with tracing on.

        Slowdown, noise, cycles of a record on this GPU, whether to believe the trace; as ``runtime.overhead.measure``.
        The kernel's traces of that shape in ``history`` note the slowdown in their ``meta`` and wear it as a badge.

        >>> print(trace.overhead(matmul, (a, b)))
        """
        from tltrace_nb.core.runtime.overhead import measure

        found = measure(kernel, tuple(inputs))
        shape = kernel.launches.shape(inputs)
        for launch in self._kept.launches():
            trace = launch.trace()
            if trace.table == kernel.table and getattr(launch, "shape", None) == shape:
                trace.meta = replace(trace.meta, slowdown=(found.slowdown, found.noise))
        return found

    @checked(compiled=a_kernel)
    def decode(self, compiled: Any, slots: Any) -> Trace:
        """The trace in the ``slots`` that a traced kernel returned; iterates as ``Slice`` and ``Instant`` rows.

        Raises ``NotTracedError`` for an untraced kernel and ``SlotsError`` for slots that are not this kernel's.
        """
        from tltrace_nb.core.runtime.running import decode

        return decode(compiled, slots)

    @checked(events=rows_or_trace, stem=stem)
    def dump(self, events: Trace | Iterable[Slice | Instant], compiled: Any, *, stem: str) -> str:
        """Write the timeline to ``output/stem.html`` (and the trace to ``.tltrace``), never over another file.

        Returns the base path without extension: ``stem``, else ``stem_1``, ``stem_2`` ... Raises ``OSError`` where a
        file cannot be written; the trace, which is small, is written first.
        """
        from tltrace_nb.core.runtime.dumps import free_base

        with free_base(Path(self.output), stem, ".html") as base:
            if hasattr(events, "save"):
                events.save(f"{base}.tltrace")
            self.export_html(events, f"{base}.html", compiled=compiled, title=stem)
        return str(base)

    @checked(events=rows_or_trace, path=file, title=text, sm_clock_ghz=optional(number(above=0)))
    def export_html(
        self,
        events: Trace | Iterable[Slice | Instant],
        path: str | Path,
        *,
        compiled: Any,
        title: str = "",
        sm_clock_ghz: float | None = None,
    ) -> None:
        """Write events as one HTML file that needs no network. ``sm_clock_ghz`` is used where no clock was measured."""
        from tltrace_nb.core.runtime.dumps import export_html

        export_html(events, Path(path), compiled, title, sm_clock_ghz)
