"""Views of one trace share their selection.

In: timelines. Out: nothing; when one's selection changes, the others follow. A view may show a part of the trace only,
so a selection travels as labels of ``trace.events``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from tltrace_nb.core.trace import VIEWS

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.render.lanes import TraceLike
    from tltrace_nb.widget.timeline import Timeline


class Link:
    """The timelines of one trace. It keeps none of them alive."""

    def __init__(self) -> None:
        self._members: WeakSet[Timeline] = WeakSet()
        self._selected: pd.Index[Any] | None = None
        self._busy = False

    def add(self, timeline: Timeline) -> None:
        """From now on ``timeline`` follows the others, and they follow it. It begins with what they have selected."""
        if self._selected is not None:
            timeline.select_labels(self._selected)
        self._members.add(timeline)

    def remove(self, timeline: Timeline) -> None:
        self._members.discard(timeline)

    def share(self, origin: Timeline, labels: pd.Index[Any]) -> None:
        """Select the rows with these labels in all members but ``origin``."""
        if self._busy:
            return
        self._selected = labels
        self._busy = True
        try:
            for member in [*self._members]:
                if member is not origin:
                    member.select_labels(labels)
        finally:
            self._busy = False


def link_of(trace: TraceLike) -> Link:
    """The link of ``trace``; it lives as long as the trace does."""
    link: Link = vars(trace).setdefault(VIEWS, Link())
    return link
