"""Which line of the author's source each statement of a launch comes from.

In: the body of a scheduled launch, the kernel as it was written, its site table. Out: :class:`Lines`.

TileLang's passes make statements of their own, and drop the lines of some of the author's. Such a statement has, in
this order: the line of the one statement of the kernel as written that writes the same buffer; ``near`` the line of its
neighbour (a wait belongs to what comes after it, all else to what came before); ``near`` that of what is around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.anchors import written_buffers
from tltrace_nb.core.compile.device import RECORD
from tltrace_nb.core.compile.ir import ROOT_BLOCK, Stmt, children, op_name, source_of, walk
from tltrace_nb.data.sites import SiteTable

NEAR = "near "
_RECORD_SITE = 3
"""Which argument of a record call is the site."""


@dataclass(frozen=True, slots=True)
class Lines:
    """``file:line`` of a launch's ``T.Kernel`` and of each of its statements, empty where nothing is known."""

    launch: str
    statements: dict[Stmt, str]


def lines(body: Stmt, written: Any, table: SiteTable, number: int = 0) -> Lines:
    """The lines of a scheduled body, which is that of the launch of this number in ``written``, the kernel as built."""
    roots = [s for s, _ in walk(written.body) if isinstance(s, tirx.SBlock) and s.name_hint == ROOT_BLOCK]
    launch = source_of(roots[number])
    return Lines(launch, _Lines(written, table).of(body, launch))


class _Lines:
    def __init__(self, written: Any, table: SiteTable):
        self._sites = [site.source for site in table.sites]
        self._writers: dict[str, set[str]] = {}
        for statement, _ in walk(written.body):
            source = source_of(statement)
            for buffer in written_buffers(statement) if source else ():
                self._writers.setdefault(str(buffer.name), set()).add(source)
        self._exact: dict[Stmt, str] = {}
        self._found: dict[Stmt, str] = {}

    def of(self, body: Stmt, launch: str) -> dict[Stmt, str]:
        self._exact = {statement: self._own(statement) for statement, _ in walk(body)}
        self._visit(body, _near(launch))
        return self._found

    def _visit(self, statement: Stmt, around: str) -> None:
        self._found[statement] = self._exact[statement] or around
        steps = children(statement)
        for i, step in enumerate(steps):
            before, after = reversed(steps[:i]), steps[i + 1 :]
            nearby = (*after, *before) if "wait" in op_name(step) else (*before, *after)
            self._visit(step, _near(self._first([step, *nearby]) or self._found[statement]))

    def _first(self, statements: Iterable[Stmt]) -> str:
        """The first line of the author's, markers aside."""
        inside: Iterator[Stmt] = (s for outer in statements for s, _ in walk(outer) if not _is_record(s))
        return next((self._exact[s] for s in inside if self._exact[s]), "")

    def _own(self, statement: Stmt) -> str:
        if _is_record(statement):
            return self._sites[int(statement.value.args[_RECORD_SITE])]
        if source := source_of(statement):
            return source
        sources = [self._writers.get(str(buffer.name), set()) for buffer in written_buffers(statement)]
        return next((source for found in sources if len(found) == 1 for source in found), "")


def _is_record(statement: Stmt) -> bool:
    return op_name(statement).startswith(RECORD)


def _near(source: str) -> str:
    return source if not source or source.startswith(NEAR) else f"{NEAR}{source}"
