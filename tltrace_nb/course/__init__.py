"""What the exercises of the course answer: one module of checks a lesson, and how a check says what it found.

A check works the truth out from the evidence that it is given (a trace, a kernel that it runs), never from a number
typed in, and returns a verdict that says why. ``None`` is no answer yet.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from typing import Literal

__all__ = ["Mark", "Verdict", "marked", "partly", "right", "unanswered", "wrong"]

NBGRADER = "NBGRADER_EXECUTION"
"""What nbgrader sets where it runs a notebook: there a check's result has to be the number of its points."""

_MARK = {"right": "✓ Right", "wrong": "✗ Not yet", "unanswered": "… Your turn"}
_COLOR = {"right": "#1a7f37", "wrong": "#b35900", "unanswered": "#57606a"}


@dataclass(frozen=True)
class Mark:
    """One criterion of a lab: what it asks, its points, those that were earned, and why no more."""

    asks: str
    points: int
    earned: int
    why: str = ""

    def __str__(self) -> str:
        return f"{self.earned} of {self.points}: {self.asks}" + (f": {self.why}" if self.why else "")


@dataclass(frozen=True)
class Verdict:
    """What a check says of an answer: right, wrong or not given, and why.

    ``credit``: the points that it is worth, out of ``points``; ``marks``: how they come about, where there are several
    criteria.
    """

    state: Literal["right", "wrong", "unanswered"]
    why: str
    credit: float = 0.0
    points: int = 1
    marks: tuple[Mark, ...] = ()

    @property
    def right(self) -> bool:
        """Whether the answer is right."""
        return self.state == "right"

    def __repr__(self) -> str:
        if NBGRADER in os.environ:
            return f"{self.credit:g}"
        return "\n".join([f"{_MARK[self.state]}: {self.why}", *(f"  {mark}" for mark in self.marks)])

    def _repr_html_(self) -> str:
        head = f'<b style="color:{_COLOR[self.state]}">{_MARK[self.state]}:</b> {escape(self.why)}'
        rows = "".join(f"<li>{escape(str(mark))}</li>" for mark in self.marks)
        return (
            f'<div data-credit="{self.credit:g}" style="border-left:4px solid {_COLOR[self.state]};padding:2px 10px">'
            f"{head}{rows and f'<ul>{rows}</ul>'}</div>"
        )


def right(why: str) -> Verdict:
    """The answer is right, and this is what it shows."""
    return Verdict("right", why, 1.0)


def wrong(why: str) -> Verdict:
    """The answer is wrong for this reason; it says where to look, not what to write."""
    return Verdict("wrong", why)


def partly(why: str) -> Verdict:
    """A part of the answer is right: one of two numbers, or a kernel's result; it says what is not."""
    return Verdict("wrong", why, 0.5)


def marked(marks: tuple[Mark, ...]) -> Verdict:
    """An answer with a mark for each criterion: right where all points are earned."""
    earned, points = sum(mark.earned for mark in marks), sum(mark.points for mark in marks)
    return Verdict("right" if earned == points else "wrong", f"{earned} of {points} points.", earned, points, marks)


def unanswered(hint: str = "put your answer into the cell above, run it, then run this cell again.") -> Verdict:
    """There is no answer yet."""
    return Verdict("unanswered", hint)
