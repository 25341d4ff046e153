"""Which timelines a notebook's cells show, so that running a cell again ends what it showed before.

In: timelines, and explorers with theirs, that are displayed. Out: nothing; what no cell shows any more is closed.
Jupyter keeps every widget, and all its events, until someone closes it: without this, a cell that is run fifty times
leaves fifty of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

UNNAMED = 16
"""Cells without a name of which the timelines stay; each may hold a million events, and its page as many."""


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
        self._unnamed: list[str] = []

    def add(self, timeline: Closable, cell: str, execution: str, *, named: bool = True) -> None:
        """``timeline`` is displayed by an execution of ``cell``; what earlier ones showed is gone from the screen.

        Of cells that the front end does not name nobody knows when they go: the latest ``UNNAMED`` keep theirs.
        """
        known = self._cells.pop(cell, None)
        if known is not None and known.execution == execution:
            self._cells[cell] = known
            if timeline not in known.timelines:
                known.timelines.append(timeline)
            return
        self._cells[cell] = _Cell(execution, [timeline])
        gone = [known] if known else []
        if not named:
            self._unnamed = [*(each for each in self._unnamed if each != cell), cell]
            if len(self._unnamed) > UNNAMED:
                gone.append(self._cells.pop(self._unnamed.pop(0)))
        still = {id(each) for one in self._cells.values() for each in one.timelines}
        for old in (each for one in gone for each in one.timelines):
            if id(old) not in still:
                old.close()


def note(timeline: Closable, shell: Any) -> None:
    """``timeline`` is being displayed in ``shell``. A cell without a name is known by its code."""
    parent = (shell.get_parent() if hasattr(shell, "get_parent") else None) or {}
    name = parent.get("metadata", {}).get("cellId")
    code = parent.get("content", {}).get("code") or f"display {id(timeline)}"
    shown: Shown = vars(shell).setdefault("_tltrace_shown", Shown())
    execution = parent.get("header", {}).get("msg_id") or ""
    shown.add(timeline, name or f"code {code}", execution, named=bool(name))
