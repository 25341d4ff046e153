"""The names among which the colours of a view are given out.

In: the traces of a view. Out: :class:`Names`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tltrace_nb.base.palette import name_colors
from tltrace_nb.render.text import full_names

if TYPE_CHECKING:
    from tltrace_nb.data.frames import TraceLike


@dataclass(frozen=True, slots=True)
class Names:
    """All names, and those of them that only full traces have, which take no colour from the others."""

    all: frozenset[str]
    full: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *traces: TraceLike) -> Names:
        """Those of all events, also of those that are not shown."""
        names = frozenset(str(name) for trace in traces for name in trace.events["name"].unique())
        return cls(names, frozenset(name for trace in traces for name in full_names(trace)))

    def __or__(self, other: Names) -> Names:
        return Names(self.all | other.all, self.full | other.full)

    def colors(self) -> dict[str, str]:
        """The colour of each."""
        return name_colors(self.all, self.full)
