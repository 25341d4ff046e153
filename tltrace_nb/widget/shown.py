"""Which timelines a notebook's cells show, so that running a cell again ends what it showed before.

In: timelines, and explorers with theirs, that are displayed. Out: nothing; what no cell shows any more is closed.
Jupyter keeps every widget, and all its events, until someone closes it: without this, a cell that is run fifty times
leaves fifty of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


class Closable(Protocol):
    """What can be shown, and ended."""

    def close(self) -> None: ...


@dataclass(eq=False)
class _Cell:
    """What one execution of a cell shows."""

    execution: str
    timelines: list[Closable] = field(default_factory=list)


class Shown:
    """The timelines shown by each cell of one notebook."""

    def __init__(self) -> None:
        self._cells: dict[str, _Cell] = {}

    def add(self, timeline: Closable, cell: str, execution: str) -> None:
        """``timeline`` is displayed by an execution of ``cell``; what earlier ones showed is gone from the screen."""
        known = self._cells.get(cell)
        if known is None or known.execution != execution:
            self._cells[cell] = _Cell(execution, [timeline])
            still = {id(each) for one in self._cells.values() for each in one.timelines}
            for old in known.timelines if known else ():
                if id(old) not in still:
                    old.close()
        elif timeline not in known.timelines:
            known.timelines.append(timeline)


def note(timeline: Closable, shell: Any) -> None:
    """``timeline`` is being displayed in ``shell``. Does nothing where the front end does not name its cells."""
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    cell = (parent or {}).get("metadata", {}).get("cellId")
    execution = (parent or {}).get("header", {}).get("msg_id")
    if cell and execution:
        shown: Shown = vars(shell).setdefault("_tltrace_shown", Shown())
        shown.add(timeline, cell, execution)
