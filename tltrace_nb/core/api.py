"""``trace``: the namespace that kernel authors use.

In: marks in a kernel, a switch, a compiled kernel. Out: traces. Four groups of methods:

- switch: ``enable``, ``disable``, ``tracing``, ``enabled``, ``output``, ``options``;
- mark, inside a kernel: ``group``, ``range``, ``range_start``, ``range_end``, ``record``, ``dag``;
- mark, from outside: ``auto``;
- build: ``jit``, or ``out_idx`` with ``finalize`` (``lower``, ``strip``) in a plain ``@tilelang.jit`` builder;
- look: ``run``, ``decode``, ``show``, ``last``, ``history``, ``since``, ``clear``, ``dump``, ``export_html``.

Markers are always emitted; a build either lowers or strips them. TileLang is imported by the first call that needs it.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tltrace_nb.base.checks import (
    a,
    called,
    checked,
    file,
    flag,
    listed,
    mapping,
    number,
    optional,
    stem,
    tensors,
    text,
    whole,
    wrong,
)
from tltrace_nb.base.errors import NotTracedError, TokenError
from tltrace_nb.base.notices import say
from tltrace_nb.core.compile.auto.options import LIGHT, WAYS, Auto, AutoOptions
from tltrace_nb.core.compile.devices import AUTO, check_device, model_of
from tltrace_nb.core.compile.options import DEFAULT_BUDGET, Recorded, TraceOptions
from tltrace_nb.core.runtime.blocks import BLOCKS
from tltrace_nb.core.runtime.kept import Kept, Launch, Launched, LaunchesToKeep, Policy, Section, launch_of
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.data.trace_data import a_trace

if TYPE_CHECKING:
    from tltrace_nb.core.compile.markers import AnnoToken, GroupScope, Per, RangeScope
    from tltrace_nb.core.runtime.overhead import Overhead
    from tltrace_nb.core.trace import Trace
    from tltrace_nb.data.rows import Instant, Slice
    from tltrace_nb.distributed import Gathered


def a_primfunc(name: str, value: Any) -> Any:
    """A PrimFunc."""
    from tvm import tirx

    if not isinstance(value, tirx.PrimFunc):
        wrong(name, value, "a PrimFunc, as T.prim_func makes it", TypeError)
    return value


def rows_or_trace(name: str, value: Any) -> Any:
    """A trace, or some of its rows."""
    from tltrace_nb.data.rows import Instant, Slice

    if hasattr(value, "to_html") and hasattr(value, "table"):
        return value
    may = "a Trace, or some of its rows"
    return listed(a((Slice, Instant), may), may)(name, value)


def a_kernel(name: str, value: Any) -> Any:
    """What a builder compiled, or what it compiled that from."""
    if not hasattr(value, "prim_func") and type(value).__name__ != "PrimFunc":
        wrong(name, value, "a compiled kernel", TypeError)
    return value


@dataclass(frozen=True, slots=True)
class _State:
    """One position of the switch."""

    enabled: bool = False
    output: str = "debug"
    device: str = AUTO
    options: TraceOptions = field(default_factory=TraceOptions)
    section: Section = field(default_factory=Section)


class TraceSwitch:
    """The ``trace`` namespace; use the instance of that name.

    ``enable`` and ``disable`` are local to the process. In a ``tracing`` block, which holds for those that
    ``runtime.blocks`` names, they are local to the block, and end with it.
    """

    def __init__(self) -> None:
        self._outside = _State()
        self._kept = Kept()
        self._sections = itertools.count(1)
        self._said_virtual = False
        self.say: Callable[[str], None] = _say
        """How a line of ours is said beside a program's own output; default: ``[tltrace]`` in front, on stdout."""

    # ---- switch

    @property
    def _state(self) -> _State:
        block = BLOCKS.innermost(self)
        state: _State = self._outside if block is None else block.value
        return state

    @_state.setter
    def _state(self, state: _State) -> None:
        block = BLOCKS.innermost(self)
        if block is None:
            self._outside = state
        else:
            block.value = state

    @property
    def enabled(self) -> bool:
        """Whether kernels built now are traced (default ``False``)."""
        return self._state.enabled

    @property
    def output(self) -> str:
        """Folder that ``dump`` writes to (default ``"debug"``)."""
        return self._state.output

    @property
    def options(self) -> TraceOptions:
        """The options that kernels built now are traced with."""
        return self._state.options

    @property
    def keep_launches(self) -> Policy:
        """Which launches of a kernel and shape stay in ``history``."""
        return self._state.section.policy

    @property
    def device(self) -> str:
        """Where ``@trace.jit`` kernels that are built with tracing on run.

        ``"cuda"``; ``"virtual"`` or ``"virtual:MODEL"``, the virtual GPU; ``"auto"`` (default): CUDA where there is a
        device, else the virtual GPU. Setting it raises ``ValueError`` for anything else.
        """
        return self._state.device

    @device.setter
    def device(self, device: str) -> None:
        self._state = replace(self._state, device=check_device("device", device))

    def model(self) -> str | None:
        """The GPU model that kernels built now are simulated on, ``None`` on a CUDA device; says so once."""
        model = model_of(self.device)
        if model is not None and self.device == AUTO and not self._said_virtual:
            self.say(f"no CUDA device here: kernels are traced on the virtual GPU ({model} model)")
            self._said_virtual = True
        return model

    @checked(output=file, device=optional(check_device))
    def enable(
        self,
        output: str = "debug",
        *,
        device: str | None = None,
        max_events: int | None = None,
        keep: Literal["first", "last"] = "first",
        ctas: Recorded | None = None,
        budget: int = DEFAULT_BUDGET,
        auto: Auto = None,
        keep_launches: LaunchesToKeep | None = None,
    ) -> None:
        """Trace the kernels that are built from now on, until the end of the ``tracing`` block, if it is in one.

        ``output``: folder for dumps. ``device``: where ``@trace.jit`` kernels run, as the attribute of that name.
        ``max_events``: records per writer, ``None`` for what the kernel's loops need.
        ``keep``: which records survive when there are more. ``ctas``: of each launch trace at most the first n CTAs, a
        range, these ids, or a ``"sample"``: the first wave and one in 17 of the others, as of launches of 16,384 CTAs
        and more by default. CTAs that do not record run the untraced code. ``budget``: bytes that the slots may take;
        what the author leaves open, CTAs first, is cut to them. ``auto``: mark what the author has not, see ``auto``;
        ``True`` or what its ``on`` takes.
        ``keep_launches``: which launches of a kernel and shape stay in ``history``: ``"first"``, ``"last"``,
        ``"slowest"`` (default: these three), ``"all"``, a number (the latest so many), ``"every 10"``, or several.

        >>> trace.enable()
        >>> trace.enable("out/traces", ctas=8, keep_launches="first, every 100")
        """
        where = self.device if device is None else device
        options = TraceOptions.of(max_events, keep, ctas, budget, auto)
        policy = Policy.of(keep_launches)
        self._state = _State(True, output, where, options, Section(next(self._sections), policy))

    def disable(self) -> None:
        """Strip the markers of the kernels that are built from now on."""
        self._state = replace(self._state, enabled=False)

    @checked(enabled=flag, output=optional(file), everywhere=flag)
    @contextlib.contextmanager
    def tracing(
        self, enabled: bool = True, output: str | None = None, *, everywhere: bool = False, **options: Any
    ) -> Iterator[TraceSwitch]:
        """Turn tracing on (or off) for a block; ``options`` as ``enable``.

        It holds in the block, and in the threads and asyncio tasks that are started there, until the block ends. Other
        threads and tasks see nothing of it, unless it is to hold ``everywhere`` in the process.

        >>> with trace.tracing(max_events=1024):
        ...     kernel = build()
        """
        before = self._state
        with BLOCKS.opened(self, before, everywhere):
            if enabled:
                self.enable(output or before.output, **options)
            else:
                self.disable()
            yield self

    # ---- mark

    def group(self, name: str, lead: int = 0, *, per: Per = "group") -> GroupScope:
        """Who records the markers inside: thread ``lead`` of the block, as the author counts threads.

        ``per="warp"``: lane ``lead % 32`` of every warp; ``per="thread"``: every thread. In a warp-specialised kernel
        the lead is mapped into each role. Where the lead never passes, the first thread that does records.

        >>> with trace.group("consumer", lead=128):
        ...     with trace.range("mma", payload=k): ...
        """
        from tltrace_nb.core.compile.markers import GroupScope

        return GroupScope(name, lead, per)

    def range(self, name: str, lane: str = "main", payload: Any = None) -> RangeScope:
        """Time a span. ``payload`` is recorded at begin and end: an int, float, bool, or a TIR scalar of up to 32 bits.

        >>> for k in T.Pipelined(n, num_stages=3):
        ...     with trace.range("copy", payload=k):
        ...         T.copy(A[by * bm, k * bk], A_shared)
        """
        from tltrace_nb.core.compile.markers import RangeScope

        return RangeScope(name, lane, payload)

    def range_start(self, name: str, lane: str = "main", payload: Any = None) -> AnnoToken:
        """Begin a span where ``with`` does not fit; end it with ``range_end(token)``. Spans need not nest."""
        from tltrace_nb.core.compile.markers import open_range

        return open_range(name, lane, payload)

    def range_end(self, tok: AnnoToken | None) -> None:
        """End the span of a token, with the token's payload; ``None`` does nothing."""
        if tok is None:
            return
        from tltrace_nb.core.compile.markers import AnnoToken, close_range

        if not isinstance(tok, AnnoToken):
            wrong("tok", tok, "the token that range_start returned", TokenError)
        close_range(tok)

    def record(self, name: str, payload: Any = None, lane: str = "main") -> None:
        """Record one instant. ``payload`` as for ``range``."""
        from tltrace_nb.core.compile.markers import emit_instant

        emit_instant(name, payload, lane)

    def dag(self, src_name: str, dst_name: str) -> None:
        """Declare that a CTA's i-th ``src_name`` range leads to its i-th ``dst_name`` range: an arrow in the view."""
        from tltrace_nb.core.compile.markers import declare_flow

        declare_flow(src_name, dst_name)

    def auto(self, kernel: Any, on: str | Iterable[str] = LIGHT, ignore: str | Iterable[str] = ()) -> Any:
        """An unmodified kernel with automatic markers: ranges named after what each operator does, payload: iteration.

        ``kernel``: a ``@tilelang.jit`` builder or a compiled kernel, which gives one that is traced whatever the switch
        says; or a PrimFunc, which gives the PrimFunc marked. ``on`` chooses: ``"light"``, what is cheap; ``"all"``,
        every tile operator, wait, arrival and loop; kinds such as ``"copy"``; patterns of names. ``ignore``: kinds and
        patterns to leave out. What the author has marked is not marked again. Raises ``ValueError`` for an entry that
        is none of these, naming the right ones.

        >>> trace.auto(matmul)(1024, 1024, 1024)(a, b)
        >>> trace.auto(matmul, on="all", ignore="fill")
        """
        from tltrace_nb.core.runtime.jit import automatic

        options = AutoOptions.of(on, ignore, argument="on")
        if options is None:
            wrong("on", on, WAYS)
        return automatic(kernel, options, self)

    # ---- build

    @checked(func=optional(called("the function that builds the kernel")))
    def jit(self, func: Callable[..., Any] | None = None, *, auto: Auto = None, **compile_args: Any) -> Any:
        """``@tilelang.jit`` that builds the traced or the stripped kernel as the switch says when it is called.

        Takes what ``tilelang.jit`` takes, lazy and eager style. A traced kernel returns what the untraced one returns
        and leaves its trace in ``trace.last``. ``auto``: mark what the author has not, see ``auto``; ``None`` follows
        the switch.

        >>> @trace.jit(out_idx=[-1])
        ... def matmul(M, N, K): ...
        """
        from tltrace_nb.core.runtime.jit import jit

        return jit(func, self, auto, **compile_args)

    @checked(n_outputs=whole(0, "a number of outputs, 0 to 1000", 1000), traced=optional(flag))
    def out_idx(self, n_outputs: int, traced: bool | None = None) -> list[int]:
        """``out_idx`` for ``n_outputs`` outputs: one more, the slots, when traced. ``None`` follows the switch.

        >>> @tilelang.jit(out_idx=trace.out_idx(1))
        ... def build(): ...
        """
        count = n_outputs + int(self._traced(traced))
        return list(range(-count, 0))

    @checked(primfunc=a_primfunc, traced=optional(flag), pass_configs=optional(mapping))
    def finalize(
        self,
        primfunc: Any,
        traced: bool | None = None,
        max_events: int | None = None,
        *,
        pass_configs: dict[str, Any] | None = None,
    ) -> Any:
        """Lower the markers when traced, else strip them: what a plain ``@tilelang.jit`` builder returns.

        Pass the same ``traced`` to ``out_idx``, and ``pass_configs`` when ``@tilelang.jit`` gets some: the kernel is
        scheduled here, before TileLang sees it. Errors as ``lower``.
        """
        if self._traced(traced):
            return self.lower(primfunc, max_events, pass_configs=pass_configs)
        return self.strip(primfunc)

    @checked(primfunc=a_primfunc, pass_configs=optional(mapping))
    def lower(self, primfunc: Any, max_events: int | None = None, *, pass_configs: dict[str, Any] | None = None) -> Any:
        """The PrimFunc scheduled, its markers recording, with a trailing output ``slots`` (``int64``).

        Raises ``PlacementError`` where TileLang would schedule it differently the second time, or the grid is dynamic:
        ``@trace.jit`` has neither limit.
        """
        from tltrace_nb.core.compile.for_plain_jit import lower

        options = self.options if max_events is None else self.options.with_max_events(max_events)
        return lower(primfunc, options, pass_configs)

    @checked(primfunc=a_primfunc)
    def strip(self, primfunc: Any) -> Any:
        """The PrimFunc as if it never had markers: the same CUDA source."""
        from tltrace_nb.core.compile.numbering import strip

        return strip(primfunc)

    # ---- look

    @property
    def last(self) -> Trace | None:
        """The latest trace of ``history``, if any."""
        return next(reversed(self.history), None)

    @property
    def history(self) -> tuple[Trace, ...]:
        """The traces of the launches that stay, in the order of the launches.

        Per kernel and shape these are the first, the last and the slowest since ``enable`` or the beginning of a
        ``tracing`` block or cell, or what ``keep_launches`` says, for the latest ``kept.SECTIONS`` blocks and cells.
        All together they take at most the budget of one kernel on the device, and ``kept.HOST_BUDGET`` in all, with the
        frames of those that were looked at: the oldest are copied to the host, and let go in the end, when another
        launch comes in. Whoever holds a trace keeps it.
        """
        return tuple(self._kept.since())

    @property
    def launches(self) -> int:
        """Launches that were traced so far, whether their traces stay or not."""
        return self._kept.count

    @checked(launches=whole(0))
    def since(self, launches: int) -> list[Trace]:
        """The traces that stay of the launches after so many.

        >>> before = trace.launches
        >>> kernel(a, b)
        >>> trace.since(before)
        """
        return self._kept.since(launches)

    @checked(since=whole(0))
    def launched(self, since: int = 0) -> list[Launched]:
        """Per kernel and shape, of those launched after so many launches: how many, median time, what is kept, why."""
        return self._kept.launched(since)

    def clear(self) -> None:
        """Forget all traces, and free their memory."""
        self._kept.clear()

    def captured(self, launch: Launch | Trace, *, pinned: bool = False) -> None:
        """Take a launch, or the trace of one; traced kernels call it. It stays as ``keep_launches`` says, or
        if it is ``pinned``.

        This costs a few microseconds, waits for nothing, and copies nothing but what exceeds the budget.
        """
        state = self._state
        taken = launch if isinstance(launch, TracedLaunch) else launch_of(launch)
        self._kept.add(taken, state.section, state.options.budget, pinned=pinned)

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

    @checked(trace=optional(a_trace))
    def gather(self, trace: Trace | None = None, **options: Any) -> Gathered | None:
        """The traces of all ranks of the process group, by default their last ones, on rank 0; ``None`` elsewhere.

        As ``tltrace_nb.distributed.gather``. Raises ``NotTracedError`` where this rank has no trace yet.
        """
        from tltrace_nb.distributed import gather

        mine = self.last if trace is None else trace
        if mine is None:
            raise NotTracedError("this rank has no trace yet: build a kernel with tracing on, and run it, first")
        return gather(mine, **options)

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

    @checked(trace=optional(a_trace))
    def show(self, trace: Trace | None = None, **view: Any) -> None:
        """Show a trace, by default the last one, as a timeline under the cell; ``view`` as ``Trace.show``."""
        shown = self.last if trace is None else trace
        if shown is None:
            print("no trace yet: trace.enable(), build a kernel with @trace.jit, run it, then trace.show()")
            return
        shown.show(**view)

    def _traced(self, traced: bool | None) -> bool:
        return self.enabled if traced is None else traced


def _say(line: str) -> None:
    say(f"[tltrace] {line}", sys.stdout)


trace = TraceSwitch()
"""The instance: ``from tltrace_nb import trace``."""
