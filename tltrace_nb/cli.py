"""The command line: ``tltrace open FILE``, ``tltrace summary FILE``, ``tltrace convert FILE OUT``.

In: ``.tltrace`` files. Out: exit code 0; 1 where a file cannot be read or written, or a package is missing; 2 for a
wrong command line. What goes wrong is one line on stderr. A command is a function that ``_parser`` registers.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tltrace_nb._version import __version__
from tltrace_nb.core.errors import TraceError

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    try:
        given = parser.parse_args(arguments)
    except SystemExit as stop:  # argparse has said what is wrong, or has printed the help
        return stop.code if isinstance(stop.code, int) else WRONG_USE
    try:
        given.command(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return INTERRUPTED
    except (TraceError, OSError, ModuleNotFoundError) as error:
        print(f"tltrace: {_line(error)}", file=sys.stderr)
        return FAILED
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tltrace", description="Look at and convert traces of TileLang kernels.")
    parser.add_argument("--version", action="version", version=f"tltrace {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        added.set_defaults(command=command)
        added.add_argument("file", type=Path, metavar="FILE", help="a .tltrace file")
        return added

    add("open", _open, "show the timeline in the browser")
    add("summary", _summary, "print what the trace holds: device, counts, losses, a table of names")
    convert = add("convert", _convert, "write the trace as another kind of file")
    convert.add_argument("out", type=Path, metavar="OUT", help="the file to write, over what is there")
    known = ", ".join(f"{each.name} ({' '.join(each.suffixes)})" for each in FORMATS)
    names = [each.name for each in FORMATS]
    convert.add_argument("--to", choices=names, help=f"the kind of file; by default OUT's suffix says: {known}")
    return parser


def _open(given: argparse.Namespace) -> None:
    trace = _load(given.file)
    page = Path(tempfile.mkdtemp(prefix="tltrace-")) / f"{given.file.stem}.html"
    trace.to_html(page, title=given.file.stem)
    print(page)
    if not webbrowser.open(page.as_uri()):
        raise TraceError(f"found no browser to start; open {page} in one")


def _summary(given: argparse.Namespace) -> None:
    from tltrace_nb.core.summary import TABLE_NAMES, by_name, number
    from tltrace_nb.core.words import clean

    trace = _load(given.file)
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


def _format(out: Path, wanted: str | None) -> Format:
    """The format asked for by name, else by the suffix of the file to write."""
    for each in FORMATS:
        if each.name == wanted or (wanted is None and out.name.lower().endswith(each.suffixes)):
            return each
    suffixes = " ".join(suffix for each in FORMATS for suffix in each.suffixes)
    raise TraceError(f"{out}: its suffix tells no kind of file; give one of {suffixes}, or --to")


def _load(path: Path) -> Trace:
    from tltrace_nb.core.trace import load

    return load(path)


def _line(error: Exception) -> str:
    """An error in words, on one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
