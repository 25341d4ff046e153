"""Views of one trace share their selection.

In: timelines. Out: nothing; when one's selection changes, the others follow. A view may show a part of the trace only,
so a selection travels as labels of ``trace.events``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from tltrace_nb.base.attached import attached

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.data.frames import TraceLike


class Member(Protocol):
    """A view whose selection others may set."""

    def select_labels(self, labels: pd.Index[Any]) -> None:
        """Select the rows of the trace's events with these labels."""


class Link:
    """The timelines of one trace. It keeps none of them alive."""

    def __init__(self) -> None:
        self._members: WeakSet[Member] = WeakSet()
        self._selected: pd.Index[Any] | None = None
        self._busy = False

    def add(self, member: Member) -> None:
        """From now on ``member`` follows the others, and they follow it. It begins with what they have selected."""
        if self._selected is not None:
            member.select_labels(self._selected)
        self._members.add(member)

    def remove(self, member: Member) -> None:
        self._members.discard(member)

    def share(self, origin: Member, labels: pd.Index[Any]) -> None:
        """Select the rows with these labels in all members but ``origin``."""
        if self._busy:
            return
        self._selected = labels
        self._busy = True
        try:
            for other in [*self._members]:
                if other is not origin:
                    other.select_labels(labels)
        finally:
            self._busy = False


def link_of(trace: TraceLike) -> Link:
    """The link of ``trace``; it lives as long as the trace does."""
    return attached(trace, Link)
