"""TileLang's errors of a kernel that does not compile, with the lines that they are about and what helps.

In: the author's PrimFunc, and a block that compiles it. Out: the same error with a note. TileLang says what does not
fit and seldom where: its passes no longer know the line of an operator.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx

from tltrace_nb.base.errors import TraceError
from tltrace_nb.base.words import code_at
from tltrace_nb.core.compile.auto.names import operator
from tltrace_nb.core.compile.ir import source_of, walk

KINDS = {"T.gemm": "gemm", "T.Parallel": "parallel", "T.copy": "copy", "T.reduce": "reduce"}
"""How TileLang's messages call an operator, and of which kind it is here."""
HELP = {
    "Layout infer conflict": (
        "each thread holds a part of a fragment, and the two are spread over the threads in different ways: index "
        "both alike, or pass one of them through shared memory"
    ),
    "No valid warp partition": "choose threads so that the warps divide the tile: 128 or 256 do for most",
}
MOST = 3
"""Lines that are named."""


@contextlib.contextmanager
def explained(func: Any) -> Iterator[None]:
    """Within, an error of TileLang's names the lines of the operators that it is about."""
    try:
        yield
    except TraceError:
        raise
    except Exception as error:
        said = str(error)
        if about := lines_about(func, said):
            error.add_note(f"This is about {'; '.join(about)}")
        for known, what in HELP.items():
            if known in said:
                error.add_note(f"What helps: {what}")
        raise


def lines_about(func: Any, said: str) -> list[str]:
    """``file:line (code)`` of the operators of the kinds that a message has, and of the buffers where it names two."""
    kinds = {kind for name, kind in KINDS.items() if name in said}
    between = re.search(r"between (\w+) and (\w+)", said)
    found = []
    for statement, above in walk(func.body):
        what = operator(statement)
        if what is None or what.kind not in kinds or any(_parallel(outer) for outer in above):
            continue
        names = {str(buffer.name) for buffer in (*what.reads, *what.writes)}
        if between is not None and not names.issuperset(between.groups()):
            continue
        place = source_of(statement)
        code = code_at(place)
        found.append(f"{place} ({code})" if code else place)
    return list(dict.fromkeys(filter(None, found)))[:MOST]


def _parallel(statement: Any) -> bool:
    return isinstance(statement, tirx.For) and statement.kind == tirx.ForKind.PARALLEL
