"""The command line: ``tltrace open``, ``summary``, ``convert``, ``compare`` for traces, ``tltrace run`` for a script.

In: ``.tltrace`` files, or a Python program. Out: exit code 0; 1 where a file cannot be read or written or a package is
missing; 2 for a wrong command line; of ``run``, that of the program. What goes wrong is one line on stderr. A command
is a function that ``_parser`` registers.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tltrace_nb._version import __version__
from tltrace_nb.base.errors import TraceError

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes; the last is a shell's for SIGINT."""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file that ``convert`` writes: its name, the suffixes that ask for it, and who writes it."""

    name: str
    suffixes: tuple[str, ...]
    write: Callable[[Trace, Path], Path]


FORMATS = (
    Format("html", (".html", ".htm"), lambda trace, path: trace.to_html(path)),
    Format("perfetto", (".pftrace", ".perfetto-trace", ".pftrace.gz"), lambda trace, path: trace.to_perfetto(path)),
    Format("chrome", (".json", ".json.gz"), lambda trace, path: trace.to_chrome(path)),
    Format("parquet", (".parquet",), lambda trace, path: trace.to_parquet(path)),
    Format("svg", (".svg",), lambda trace, path: trace.to_svg(path)),
    Format("png", (".png",), lambda trace, path: trace.to_png(path)),
)


PAGES_OF = ("auto", "all", "none")
"""What ``run --html`` takes."""


class _UnknownKindError(TraceError):
    """What is to be written is no kind of file that there is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    try:
        given = parser.parse_args(arguments)
    except SystemExit as stop:  # argparse has said what is wrong, or has printed the help
        return stop.code if isinstance(stop.code, int) else WRONG_USE
    try:
        code: int | None = given.command(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (TraceError, OSError, ModuleNotFoundError) as error:
        print(f"tltrace: {_line(error)}", file=sys.stderr)
        return WRONG_USE if isinstance(error, _UnknownKindError) else FAILED
    return DONE if code is None else code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tltrace", description="Make, look at and convert traces of TileLang kernels."
    )
    parser.add_argument("--version", action="version", version=f"tltrace {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], int | None], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        added.set_defaults(command=command)
        return added

    def add_for_file(
        name: str, command: Callable[[argparse.Namespace], int | None], text: str
    ) -> argparse.ArgumentParser:
        added = add(name, command, text)
        added.add_argument("file", type=Path, metavar="FILE", help="a .tltrace file")
        return added

    add_for_file("open", _open, "show the timeline in the browser")
    summary = add("summary", _summary, "print what the trace holds: device, counts, losses, a table of names")
    summary.add_argument("path", type=Path, metavar="FILE", help="a .tltrace file, or a folder: each of those in it")
    convert = add_for_file("convert", _convert, "write the trace as another kind of file")
    convert.add_argument("out", type=Path, metavar="OUT", help="the file to write, over what is there")
    known = ", ".join(f"{each.name} ({' '.join(each.suffixes)})" for each in FORMATS)
    names = [each.name for each in FORMATS]
    convert.add_argument("--to", choices=names, help=f"the kind of file; by default OUT's suffix says: {known}")

    compare = add("compare", _compare, "say what changed from one trace to another, beyond the noise")
    for name in ("before", "after"):
        text = "a .tltrace file, or a folder with those of repeated runs"
        compare.add_argument(name, type=Path, metavar=name.upper(), help=text)
    compare.add_argument("--by", choices=["name", "payload", "track"], default="name", help="what is compared")
    compare.add_argument("--least", type=float, default=0.02, help="the least change that counts (default: 0.02)")

    grade = add("grade", _grade, "run handed-in notebooks of the course, and say what each answer is worth")
    grade.add_argument(
        "lesson", type=Path, metavar="LESSON", help="the lesson's notebook, the teacher's or the students'"
    )
    grade.add_argument("handed_in", type=Path, nargs="+", metavar="NOTEBOOK", help="what students have handed in")
    grade.add_argument("--csv", type=Path, metavar="FILE", help="also write the grades as a table")

    run = add("run", _run, "run a Python program with tracing on, and write what it traced")
    run.add_argument("--auto", action="store_true", help="mark what the author has not, kernels of @tilelang.jit too")
    run.add_argument("--on", metavar="WHAT", help="what --auto marks: light (default), all, or names and kinds")
    run.add_argument("--device", default="auto", help="auto, cuda, virtual or virtual:MODEL (default: auto)")
    run.add_argument("--output", default="debug", metavar="DIR", help="folder for the timelines (default: debug)")
    run.add_argument(
        "--keep-launches",
        metavar="WHICH",
        help="write these launches of each kernel and shape: first, last, slowest, all, a number (the latest so many), "
        "'every 10', or several, with commas (default: the last is written)",
    )
    run.add_argument(
        "--html",
        choices=PAGES_OF,
        default="auto",
        help="pages: of the kernels that took longest (default), all, or none",
    )
    run.add_argument(
        "--torch-profiler",
        action="store_true",
        help="also profile the program with torch.profiler, and write one file of the profile and the traces in it",
    )
    run.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module, as for python -m")
    run.add_argument("script", metavar="SCRIPT")
    run.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the script's own arguments")
    return parser


def _open(given: argparse.Namespace) -> None:
    trace = _load(given.file)
    page = Path(tempfile.mkdtemp(prefix="tltrace-")) / f"{given.file.stem}.html"
    try:
        trace.to_html(page, title=given.file.stem)
    except BaseException:
        shutil.rmtree(page.parent, ignore_errors=True)
        raise
    print(page)
    if not webbrowser.open(page.as_uri()):
        raise TraceError(f"found no browser to start; open {page} in one")


def _summary(given: argparse.Namespace) -> None:
    from tltrace_nb.data.tracefile import files_at

    files = files_at(given.path)
    for number, each in enumerate(files):
        if len(files) > 1:
            print("\n" * (number > 0) + f"{each}:")
        _print_summary(_load(each))


def _print_summary(trace: Trace) -> None:
    from tltrace_nb.base.numbers import number
    from tltrace_nb.base.words import clean
    from tltrace_nb.data.headline import TABLE_NAMES, by_name

    print(repr(trace))
    names = by_name(trace.events)
    rows = [("name", "count", "total cycles", "mean", "p50", "p99")]
    for name, count, total, mean, p50, p99 in names.iloc[:TABLE_NAMES, :5].itertuples():
        rows.append((clean(str(name)), f"{count:,}", number(total), number(mean, 1), number(p50), number(p99)))
    if names.empty:
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()
    for name, *cells in rows:
        numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        print("  ".join((name.ljust(widths[0]), *numbers)))
    if len(names) > TABLE_NAMES:
        print(f"{len(names) - TABLE_NAMES:,} more names")


def _convert(given: argparse.Namespace) -> None:
    kind = _format(given.out, given.to)
    print(kind.write(_load(given.file), given.out))


def _compare(given: argparse.Namespace) -> None:
    from tltrace_nb.analysis.compare import compare

    try:
        result = compare(given.before, given.after, by=given.by, least=given.least)
    except ValueError as error:
        raise TraceError(str(error)) from None
    print(result.attrs["verdict"])
    if len(result):
        print(f"\n{result.to_string(index=False)}")
    for note in result.notes:
        print(f"note: {note}")


def _grade(given: argparse.Namespace) -> int:
    from tltrace_nb.course import grading

    lesson, grades, failed = grading.read(given.lesson), {}, False
    for path in given.handed_in:
        try:
            grades[path.name] = grading.graded(lesson, grading.read(path), Path.cwd())
        except grading.HandedInError as error:
            failed = True
            print(f"tltrace: {path}: {_line(error)}", file=sys.stderr)
    print(grading.table(grades))
    if given.csv is not None:
        grading.write_csv(grades, given.csv)
    return FAILED if failed else DONE


def _run(given: argparse.Namespace) -> int:
    """The program's own exit code; what it had launched when it ended, or failed, is written and told."""
    from tltrace_nb.core.api import trace
    from tltrace_nb.processes import Run, traced_program
    from tltrace_nb.report import report, say
    from tltrace_nb.script import run_as_main

    auto = None if given.on is None and not given.auto else given.on or True
    stem = given.script.rpartition(".")[2] if given.module else Path(given.script).stem
    before, said = trace.launches, trace.say
    profiling: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    if given.torch_profiler:
        from tltrace_nb import profiled

        profiling = profiled.profiling()
    try:
        with traced_program(Run(given.output, stem, given.device, auto, given.keep_launches)) as traced:
            trace.say = say
            with profiling as prof:
                code = run_as_main(given.script, given.arguments, module=given.module)
            with contextlib.suppress(OSError):  # it is told when all is written
                sys.stdout.flush()
            if traced.is_child:  # forked, and come out of the program as its parent does
                traced.write()
                return code
            try:
                told = report(trace, before, stem, pages=given.html, every=given.keep_launches is not None)
                if prof is not None:
                    for line in profiled.write(prof, trace.since(before), trace.output, stem):
                        say(line)
                children = traced.children_wrote()
                for line in children:
                    say(line)
                if not told and not children:
                    say(f"{given.script} ran, but nothing was traced; --auto marks kernels of @tilelang.jit too")
            except Exception as error:  # whatever it is, the program has ended, and its exit code is what counts
                say(f"what was traced could not be told: {type(error).__name__}: {_line(error)}")
    except ValueError as error:  # of the switch: those of the program have been told
        raise TraceError(str(error)) from None
    finally:
        trace.say = said
    return code


def _format(out: Path, wanted: str | None) -> Format:
    """The format asked for by name, else by the suffix of the file to write."""
    for each in FORMATS:
        if each.name == wanted or (wanted is None and out.name.lower().endswith(each.suffixes)):
            return each
    suffixes = " ".join(suffix for each in FORMATS for suffix in each.suffixes)
    raise _UnknownKindError(f"{out}: its suffix tells no kind of file; give one of {suffixes}, or --to")


def _load(path: Path) -> Trace:
    from tltrace_nb.core.loading import load

    return load(path)


def _line(error: Exception) -> str:
    """An error in words, on one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
