"""What the exercises of the course answer: one module of checks a lesson, and how a check says what it found.

A check works the truth out from the evidence that it is given (a trace, a kernel that it runs), never from a number
typed in, and returns a verdict that says why. ``None`` is no answer yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Literal

__all__ = ["Verdict", "partly", "right", "unanswered", "wrong"]

_MARK = {"right": "✓ Right", "wrong": "✗ Not yet", "unanswered": "… Your turn"}
_COLOR = {"right": "#1a7f37", "wrong": "#b35900", "unanswered": "#57606a"}


@dataclass(frozen=True)
class Verdict:
    """What a check says of an answer: right, wrong or not given, and why; ``credit``: what it is worth, from 0 to 1."""

    state: Literal["right", "wrong", "unanswered"]
    why: str
    credit: float = 0.0

    @property
    def right(self) -> bool:
        """Whether the answer is right."""
        return self.state == "right"

    def __repr__(self) -> str:
        return f"{_MARK[self.state]}: {self.why}"

    def _repr_html_(self) -> str:
        mark = f'<b style="color:{_COLOR[self.state]}">{_MARK[self.state]}:</b>'
        return (
            f'<div data-credit="{self.credit:g}" style="border-left:4px solid {_COLOR[self.state]};padding:2px 10px">'
            f"{mark} {escape(self.why)}</div>"
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


def unanswered(hint: str = "put your answer into the cell above, run it, then run this cell again.") -> Verdict:
    """There is no answer yet."""
    return Verdict("unanswered", hint)
