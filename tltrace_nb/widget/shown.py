"""Which timelines a notebook's cells show, so that running a cell again ends what it showed before.

In: timelines, and explorers with theirs, that are displayed. Out: nothing; what no cell shows any more is closed.
Jupyter keeps every widget, and all its events, until someone closes it: without this, a cell that is run fifty times
leaves fifty of them. Of cells that are run once each, those run last keep theirs: the others show their still picture
again, as in a notebook that was opened without a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from tltrace_nb.base.attached import attached


class Closable(Protocol):
    """What can be shown, and ended."""

    def close(self) -> None: ...


CELLS = 32
"""Cells whose timelines stay."""
SHARING = 10
"""Of so many cells shown one after the other, one at least has the front end in what is saved of it."""


@dataclass(eq=False)
class _Cell:
    """What one execution of a cell shows."""

    execution: str
    front: bool = False
    timelines: list[Closable] = field(default_factory=list)


class Shown:
    """The timelines shown by each cell of one notebook."""

    def __init__(self) -> None:
        self._cells: dict[str, _Cell] = {}

    def brings_front(self, cell: str) -> bool:
        """Whether the output that ``cell`` displays next is to bring the front end along for itself and others."""
        lately = [*self._cells][-SHARING:]
        if any(self._cells[each].front for each in lately):
            return False
        self._cells[cell].front = True
        return True

    def add(self, timeline: Closable, cell: str, execution: str) -> None:
        """``timeline`` is displayed by an execution of ``cell``; what earlier ones showed is gone from the screen."""
        known = self._cells.pop(cell, None)
        if known is not None and known.execution == execution:
            self._cells[cell] = known  # the latest now
            if timeline not in known.timelines:
                known.timelines.append(timeline)
            return
        gone = [known] if known else []
        self._cells[cell] = _Cell(execution, timelines=[timeline])
        while len(self._cells) > CELLS:
            gone.append(self._cells.pop(next(iter(self._cells))))
        still = {id(each) for one in self._cells.values() for each in one.timelines}
        for old in {id(each): each for one in gone for each in one.timelines if id(each) not in still}.values():
            old.close()


def note(timeline: Closable, shell: Any, *, brings: bool = False) -> bool:
    """``timeline`` is being displayed in ``shell``. A cell that the front end does not name is known by its code.

    Returns whether what is saved of it is to bring the front end along, where it can (``brings``).
    """
    parent = (shell.get_parent() if hasattr(shell, "get_parent") else None) or {}
    name = parent.get("metadata", {}).get("cellId")
    code = parent.get("content", {}).get("code")
    cell = name or (f"code {code}" if code else f"display {id(timeline)}")
    execution = parent.get("header", {}).get("msg_id") or f"run {getattr(shell, 'execution_count', 0)}"
    shown = attached(shell, Shown)
    shown.add(timeline, cell, execution)
    return brings and shown.brings_front(cell)
