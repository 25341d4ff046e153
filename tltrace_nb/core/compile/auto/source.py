"""Where the author wrote the statements of a kernel.

In: statements of the unscheduled PrimFunc, which bear the lines that TileLang noted while it built them. Out:
``file:line`` for each.

For a macro of TileLang's own, such as ``T.reduce_max``, TileLang notes a line of itself. The author's line is then
looked up in the source, between the lines of the statements before and behind.
"""

from __future__ import annotations

import ast
import itertools
import linecache
from collections.abc import Iterator
from pathlib import Path

import tilelang

from tltrace_nb.core.compile.ir import Stmt, op_name, shown_source, walk
from tltrace_nb.core.compile.upstream import get_stmt_span

_LIBRARY = Path(tilelang.__file__).parent

_Line = tuple[str, int]


def sources_of(statements: list[Stmt], around: str) -> list[str]:
    """The source line of each statement of a sequence, ``around`` where it cannot be told."""
    lines = [_line(statement) for statement in statements]
    found = [*lines]
    for before, behind in _gaps(lines):
        file, after = max(noted for s, _ in walk(statements[before]) if (noted := _line(s)) is not None)
        other_file, until = lines[behind] or ("", 0)
        if file != other_file:
            continue
        calls = _calls(file, after, until)
        for verb in {_verb(statement) for statement in statements[before + 1 : behind]}:
            gap = [i for i in range(before + 1, behind) if _verb(statements[i]) == verb]
            written = [number for name, number in calls if verb and name.startswith(verb)]
            if len(gap) == len(written):
                for i, number in zip(gap, written, strict=True):
                    found[i] = (file, number)
    return [around if line is None else shown_source(*line) for line in found]


def _gaps(lines: list[_Line | None]) -> Iterator[tuple[int, int]]:
    """Pairs of positions with known lines, between which there are only unknown ones."""
    known = [i for i, line in enumerate(lines) if line is not None]
    yield from ((a, b) for a, b in itertools.pairwise(known) if b - a > 1)


def _line(statement: Stmt) -> _Line | None:
    """File and line that TileLang noted; ``None`` where it noted nothing, or a place in itself."""
    span = get_stmt_span(statement)
    if span is None or _LIBRARY in Path(str(span.source_name.name)).parents:
        return None
    return str(span.source_name.name), int(span.line)


def _verb(statement: Stmt) -> str:
    """How the names of the functions begin that make this operator: ``reduce`` for ``T.reduce_max``."""
    return op_name(statement).rpartition(".")[2].partition("_")[0]


def _calls(file: str, after: int, until: int) -> list[tuple[str, int]]:
    """The calls that are statements of their own strictly between two lines: name and line, in order."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    calls = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    named = [(ast.unparse(call.func).rpartition(".")[2], call.lineno) for call in calls]
    return sorted(((name, line) for name, line in named if after < line < until), key=lambda call: call[1])
