"""``%tltrace`` and ``%%tltrace``: run a line or a cell with tracing on, and show what was captured.

In: the text of a cell. Out: its usual output, then the timeline. The text goes through IPython's own transformer,
compiler and display hook, under a file name that ``inspect`` can read: TileLang reads the source of its kernels.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand

from tltrace_nb.base.errors import own_frames
from tltrace_nb.core.api import trace
from tltrace_nb.core.compile.auto.options import LIGHT, AutoOptions
from tltrace_nb.core.compile.devices import check_device
from tltrace_nb.core.compile.dumps import without_dumps
from tltrace_nb.core.compile.options import SAMPLE, Recorded, TraceOptions, cta_runs
from tltrace_nb.core.runtime.intercept import plain_builders
from tltrace_nb.core.runtime.kept import Policy
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.chosen import CtaRuns

_FLAGS = ("--auto", "--no-show")
_VALUED = ("--on", "--ignore", "--device", "--max-events", "--ctas", "--keep", "--keep-launches", "--name", "-o")
_OPTIONS = (
    "--auto, --on SPEC, --ignore SPEC, --device DEVICE, --max-events N, --ctas SPEC, --keep first|last, "
    "--keep-launches SPEC, --name STEM, -o VAR, --no-show"
)
_VALUE = re.compile(r"""\s*("[^"]*"|'[^']*'|\S+)""")
_HEAD = "# %%tltrace\n"
"""Stands for the line of the magic, so that line numbers are those of the cell as its author sees it."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the line of the magic asks for; ``code`` is what follows the options."""

    options: TraceOptions
    device: str
    launches: Policy
    stem: str | None
    variable: str | None
    show: bool
    code: str


@magics_class
class TraceMagics(Magics):
    """The magics of this package, registered by ``%load_ext tltrace_nb``."""

    shell: Any

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def tltrace(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Run code with tracing on and show the timeline of the kernels that ran.

        Usage, as a cell magic and as a line magic::

          %%tltrace [--auto] [--on SPEC] [--ignore SPEC] [--device DEVICE] [--max-events N] [--ctas SPEC]
                    [--keep first|last] [--keep-launches SPEC] [--name STEM] [-o VAR] [--no-show]
          CODE

          %tltrace [options] CODE      one line
          %tltrace                     show the last trace again

        Kernels that have markers and are built while the code runs are traced, those of plain ``@tilelang.jit`` as
        those of ``@trace.jit``; where there is no CUDA device, on the virtual GPU. With ``--auto`` none needs markers.
        A kernel object that exists already stays as it was built, so build it in the cell too. One of a plain builder
        that the cell leaves behind records only in such cells. Threads and tasks that the cell starts are part of it,
        as long as it runs. The code prints, displays and fails as it does without the magic; after an error, what was
        captured before it is shown. Afterwards the switch is as it was.

        Options::

          --auto             mark the operators that the author has not marked: see trace.auto
          --on SPEC          the same for some of them: light (the default), all, or kinds and patterns: copy,gemm
          --ignore SPEC      the same without some of them: fill,"copy C_local*"
          --device DEVICE    auto, cuda, virtual or virtual:MODEL (default: trace.device, at first auto)
          --max-events N     records per writer (default: what the loops of the kernel need)
          --ctas SPEC        which CTAs record: 8 (at most the first eight), 0:16 (a range), 0,5,131 (these), sample
          --keep first|last  which records stay when there are more than N
          --keep-launches SPEC  which launches of a kernel and shape stay: first,last,slowest (the default), all, 5 (the
                             latest five), "every 10"
          --name STEM        also write the shown trace to STEM.html and STEM.tltrace in the folder trace.output
          -o VAR             assign the trace to VAR: a Trace, a list of them when those of several launches stay, else
                             None
          --no-show          capture, but show nothing

        Examples::

          %%tltrace
          kernel = matmul(1024, 1024, 1024)
          kernel(a, b)

          %%tltrace --ctas 0:4 -o gemm --name gemm
          matmul(1024, 1024, 1024)(a, b)

          %%tltrace --auto
          unmarked(1024, 1024, 1024)(a, b)

          %tltrace -o t softmax(4096)(x)
          t.events.query("name == 'load'").duration.describe()
        """
        request = parse(line)
        if cell is None and not request.code:
            self._present([trace.last] if trace.last else [], request, "")
            return None
        if cell is None:
            return self._run_line(request, {} if local_ns is None else local_ns)
        if request.code:
            raise UsageError(f"%%tltrace takes options only, the code goes below it: {request.code!r}")
        self._run_cell(request, cell)
        return None

    def _run_cell(self, request: Request, cell: str) -> None:
        __tracebackhide__ = True
        try:
            tree, name = self._parse(cell, _HEAD)
            if not tree.body:
                return
            interactivity = self.shell.ast_node_interactivity
            if DisplayHook.semicolon_at_end_of_expression(cell):  # type: ignore[no-untyped-call]
                interactivity = "none"
            steps = [self.shell.compile(node, name, mode) for node, mode in _steps(tree.body, interactivity)]
        except SyntaxError as error:
            if not self._is_the_cell(cell):
                raise
            # IPython shows a syntax error without a traceback and calls it an error before execution.
            self.shell.displayhook.exec_result.error_before_exec = error
            self.shell.showsyntaxerror()
            return

        def run() -> None:
            __tracebackhide__ = True
            with self.shell.display_trap:
                for step in steps:
                    exec(step, self.shell.user_global_ns, self.shell.user_ns)

        self._trace(request, run, tree, name)

    def _run_line(self, request: Request, local_ns: dict[str, Any]) -> Any:
        __tracebackhide__ = True
        tree, name = self._parse(request.code, "")
        *before, last = tree.body or [ast.Pass()]
        if isinstance(last, ast.Expr):
            value = self.shell.compile(ast.Expression(last.value), name, "eval")
        else:
            value, before = None, tree.body
        body: CodeType = self.shell.compile(ast.Module(before, []), name, "exec")

        def run() -> Any:
            __tracebackhide__ = True
            exec(body, self.shell.user_global_ns, local_ns)
            return None if value is None else eval(value, self.shell.user_global_ns, local_ns)

        return self._trace(request, run, tree, name)

    def _parse(self, text: str, head: str) -> tuple[ast.Module, str]:
        """The text as IPython would run it, and the file name under which ``inspect`` finds it."""
        code = head + self.shell.transform_cell(text)
        if self.shell.should_run_async(text, transformed_cell=code):
            raise UsageError("%tltrace cannot await at the top level of a cell; use 'with trace.tracing():' there")
        running = self.shell.displayhook.exec_result or self.shell  # IPython counts on before it runs a cell
        name = self.shell.compile.cache(code, running.execution_count, raw_code=text)
        return self.shell.transform_ast(self.shell.compile.ast_parse(code, filename=name)), name

    def _is_the_cell(self, body: str) -> bool:
        """Whether the magic is all that IPython is running now."""
        result = self.shell.displayhook.exec_result
        raw = getattr(getattr(result, "info", None), "raw_cell", None) or ""
        return raw.lstrip().startswith("%%tltrace") and raw.rstrip().endswith(body.rstrip())

    def _trace(self, request: Request, run: Callable[[], Any], tree: ast.AST, name: str) -> Any:
        __tracebackhide__ = True
        kernels = self._kernels(tree)
        before = trace.launches
        options = request.options
        try:
            with (
                trace.tracing(
                    device=request.device,
                    max_events=options.max_events,
                    keep=options.keep.value,
                    ctas=options.ctas,
                    budget=options.budget,
                    auto=options.auto,
                    keep_launches=request.launches,
                ),
                plain_builders(trace) as interception,
                without_dumps(),
            ):
                value = run()
        except BaseException as error:
            _show_from(error, name, self.shell)
            captured = trace.since(before)
            if captured:
                with _secondary("show what was captured before the error"):
                    self._present(captured, request, "", trace.launches - before, before)
            raise
        captured = trace.since(before)
        why = "" if captured else self._reason(kernels, list(interception.built_before))
        self._present(captured, request, why, trace.launches - before, before)
        return value

    def _present(
        self, captured: list[Trace], request: Request, why_nothing: str, launches: int = 1, before: int = 0
    ) -> None:
        """Assign, dump and show the traces of so many launches, those after ``before``, and say what is not shown."""
        if request.variable is not None:
            self.shell.user_ns[request.variable] = captured if len(captured) > 1 else next(iter(captured), None)
        if not captured:
            print(
                f"[tltrace] nothing was captured: {why_nothing}" if why_nothing else "[tltrace] there is no trace yet"
            )
            return
        last = captured[-1]
        if launches > 1 or not request.show:
            print(f"[tltrace] {_where(len(captured), launches, request)}")
        if last.meta.note:
            print(f"[tltrace] {last.meta.note}")
        elif not last.table.sites:
            from tltrace_nb.data.headline import UNMARKED  # and pandas, which loading the magics does not need

            print(f"[tltrace] {UNMARKED}")
        if request.stem is not None:
            from tltrace_nb.core.runtime.dumps import written

            stem = request.stem
            print(f"[tltrace] {written(lambda: trace.dump(last, None, stem=stem))}")
        if request.show and len(captured) > 1:
            self._show_launches(captured, before)
        elif request.show:
            last.show()

    def _show_launches(self, captured: list[Trace], before: int) -> None:
        """All launches that stay on one time axis."""
        from tltrace_nb.render.launches import Kept, together
        from tltrace_nb.widget.display import show

        groups = list(enumerate(trace.launched(before)))
        known = {id(each): Kept(each, why, group.launches, n) for n, group in groups for why, each in group.kept}
        show(together([known[id(each)] for each in captured]))

    def _kernels(self, tree: ast.AST) -> dict[str, Any]:
        """The names in the code that stand for builders, or for kernels that do not record, now."""
        tilelang = sys.modules.get("tilelang.jit")
        if tilelang is None:
            return {}
        from tltrace_nb.core.runtime.facade import RecordingKernel

        names = {node.id: None for node in ast.walk(tree) if isinstance(node, ast.Name)}
        values = {name: self.shell.user_ns.get(name) for name in names}
        return {
            name: value
            for name, value in values.items()
            if isinstance(value, (tilelang.JITKernel, tilelang.JITImpl)) and not isinstance(value, RecordingKernel)
        }

    def _reason(self, kernels: dict[str, Any], built_before: list[str]) -> str:
        """Why nothing was captured: by name where the code names a kernel that cannot record, else in general."""
        here = {name: value for name, value in kernels.items() if self.shell.user_ns.get(name) is value}
        if not here and built_before:
            were = f"kernel{'s' * (len(built_before) > 1)} {', '.join(built_before)}"
            return (
                f"{were} had been built before this cell, and what exists stays as it is: build it in the cell "
                "(behind an lru_cache, clear that first), or run trace.auto(kernel) instead of the kernel."
            )
        if not here:
            return (
                "no kernel that @trace.jit built in this cell ran. A kernel is traced when it is called: "
                "builder(sizes)(tensors). One that was built before tracing was on stays untraced: build it in this "
                "cell. One with trace.finalize needs trace.run(kernel, inputs, stem=...)."
            )
        from tilelang.jit import JITImpl

        from tltrace_nb.base.errors import NotTracedError
        from tltrace_nb.core.runtime.jit import table_of

        reasons = []
        for name, value in here.items():
            if isinstance(value, JITImpl):
                reasons.append(
                    f"{name} is built by @tilelang.jit: use @trace.jit, which takes the same arguments, or --auto."
                )
                continue
            try:
                table_of(value)
            except NotTracedError:
                reasons.append(f"{name} was built before tracing was on and stays untraced: build it in this cell.")
            else:
                reasons.append(f"{name} returns its slots: run it with trace.run({name}, inputs, stem=...).")
        return " ".join(reasons)


def parse(line: str) -> Request:
    """The options at the start of a line, and the code after them. Raises ``UsageError`` naming the right ones."""
    given: dict[str, str] = {}
    rest = line.strip()
    while rest.startswith("-"):
        option, _, after = rest.partition(" ")
        option, has_value, value = option.partition("=")
        rest = after.lstrip()
        if option == "--":
            break
        if option in given or (option in _FLAGS and has_value):
            raise UsageError(f"{option} is given twice or takes no value; the options are {_OPTIONS}")
        if option not in _FLAGS + _VALUED:
            raise UsageError(f"unknown option {option}; the options are {_OPTIONS}")
        if option in _VALUED and not has_value:
            found = _VALUE.match(rest)
            if found is None:
                raise UsageError(f"{option} needs a value; the options are {_OPTIONS}")
            value, rest = found[1], rest[found.end() :].lstrip()
        given[option] = value.strip("\"'")
    variable, stem = given.get("-o"), given.get("--name")
    if variable is not None and not variable.isidentifier():
        raise UsageError(f"-o {variable}: give the name of a variable")
    if stem is not None and (not stem or "/" in stem or stem.startswith(".")):
        raise UsageError(f"--name {stem}: give a file name without folder or extension; the folder is trace.output")
    try:
        device = check_device("device", given.get("--device", trace.device))
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        launches = Policy.of(given.get("--keep-launches", trace.keep_launches if trace.enabled else None))
    except ValueError as error:
        raise UsageError(f"--keep-launches: {error}") from None
    return Request(_options(given), device, launches, stem, variable, "--no-show" not in given, rest)


def _options(given: dict[str, str]) -> TraceOptions:
    """The options of the switch where it is on, else the defaults, changed as given."""
    base = trace.options if trace.enabled else TraceOptions()
    try:
        max_events = int(given["--max-events"]) if "--max-events" in given else base.max_events
    except ValueError:
        raise UsageError(f"--max-events {given['--max-events']}: give a number") from None
    keep: Any = given.get("--keep", base.keep.value)
    ctas = cta_ids(given["--ctas"]) if "--ctas" in given else base.ctas
    try:
        auto = AutoOptions.of(given.get("--on", LIGHT), given.get("--ignore", ()), argument="on")
        asked = any(option in given for option in ("--auto", "--on", "--ignore"))
        return TraceOptions.of(max_events, keep, ctas, base.budget, auto if asked else base.auto)
    except ValueError as error:
        raise UsageError(str(error)) from None


def cta_ids(spec: str) -> Recorded:
    """``8``: the first eight; ``0:16`` or ``0:16:2``: a range; ``0,5,131`` or ``0:4,9``: these; ``5,``: only CTA 5;
    ``sample``: one in so many."""
    if spec == SAMPLE:
        return SAMPLE
    if spec.isdecimal():
        return int(spec)
    ranges: list[range] = []
    try:
        for part in filter(None, spec.split(",")):
            match [int(bound or 0) for bound in part.split(":")]:
                case [one]:
                    ranges.append(range(one, one + 1))
                case bounds:
                    ranges.append(range(*bounds))
        return cta_runs("ctas", CtaRuns.of_ranges(ranges))
    except (TypeError, ValueError):
        raise UsageError(
            f"--ctas {spec}: give 8 (the first eight), 0:16 (a range), 0,5,131 (these) or sample"
        ) from None


def _where(count: int, launches: int, request: Request) -> str:
    """How many traces of how many launches there are, and where."""
    held = "trace.last" if count == 1 else f"trace.history[-{count}:]"
    head = "1 trace" if count == 1 else f"{count} traces"
    if launches > count:
        stay = "that of 1 stays" if count == 1 else f"those of {count} stay"
        head = f"{launches:,} launches, {stay} (--keep-launches chooses)"
    shown = (", it is shown" if count == 1 else ", they are shown") if request.show else ""
    kept = held if request.variable is None else f"{request.variable} and in {held}"
    return f"captured {head}{shown}; {'it is' if count == 1 else 'all are'} in {kept}"


def _steps(body: list[ast.stmt], interactivity: str) -> Iterator[tuple[ast.Module | ast.Interactive, str]]:
    """Each statement with its mode of compilation: ``single`` where IPython would display its value."""
    nodes = list(body)
    last = nodes[-1]
    if interactivity == "last_expr_or_assign":
        targets = last.targets if isinstance(last, ast.Assign) else [getattr(last, "target", None)]
        if isinstance(last, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and len(targets) == 1:
            target = targets[0]
            if isinstance(target, ast.Name):
                value = ast.Expr(ast.Name(target.id, ast.Load()))
                nodes.append(ast.fix_missing_locations(ast.copy_location(value, last)))
        interactivity = "last_expr"
    if interactivity == "last_expr":
        interactivity = "last" if isinstance(nodes[-1], ast.Expr) else "none"
    first_shown = {"all": 0, "last": len(nodes) - 1}.get(interactivity, len(nodes))
    for number, node in enumerate(nodes):
        if number < first_shown:
            yield ast.Module([node], []), "exec"
        else:
            yield ast.Interactive([node]), "single"


def _show_from(error: BaseException, name: str, shell: Any) -> None:
    """Let IPython draw the traceback of ``error`` from the cell's own frame on, as without the magic.

    Between the author's lines stand a dozen frames of TileLang and of this package, which say nothing to the author of
    a typo in a kernel: they are left out the first time.
    """

    def render() -> list[str]:
        top = error.__traceback__
        while top is not None and top.tb_frame.f_code.co_filename != name:
            top = top.tb_next
        shown = own_frames(top)
        lines: list[str] = shell.InteractiveTB.structured_traceback(
            type(error), error, shown or top or error.__traceback__, tb_offset=0
        )
        if shown is not None and shown is not top:
            lines.append("(lines of TileLang and tltrace_nb are left out: %tb shows them)")
            error._render_traceback_ = whole  # type: ignore[attr-defined]
        return lines

    def whole() -> list[str]:
        lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
        return lines

    if not hasattr(error, "_render_traceback_"):
        try:
            error._render_traceback_ = render  # type: ignore[attr-defined]
        except AttributeError:  # an exception with slots: the traceback shows the magic, too
            return


@contextmanager
def _secondary(what: str) -> Iterator[None]:
    """Report an error instead of raising it, while another one is on its way."""
    try:
        yield
    except Exception as error:  # whatever it is, the first one matters more
        print(f"[tltrace] could not {what}: {type(error).__name__}: {error}", file=sys.stderr)
