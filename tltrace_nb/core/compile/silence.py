"""Why a marker may record nothing: what is known of that before the kernel runs, in words.

In: the sites of a kernel, those that have a place in its schedule, and who writes. Out: :class:`Silence`, the reasons
by site, and a note on the ranges and instants that may be missing although threads pass them.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from tltrace_nb.core.compile.numbering import MarkedKernel
from tltrace_nb.core.compile.recording_threads import Plan
from tltrace_nb.data.sites import EventKind

_DEAD = "TileLang proves that this code never runs"
_ABSENT = "no thread of the block comes here"
_CHOOSE = "trace.group(..., lead=) chooses another thread, per='thread' all of them"


@dataclass(frozen=True, slots=True)
class Silence:
    """The sites that cannot record, or may not, each with the reason; and what of it the author should know at once."""

    reasons: tuple[tuple[int, str], ...]
    note: str

    @classmethod
    def of(cls, marked: MarkedKernel, placed: Set[int], plan: Plan) -> Silence:
        """``placed`` are the sites that stand somewhere in the scheduled kernel."""
        reasons = {site.id: _DEAD for site in marked.sites if site.id not in placed}
        reasons |= dict.fromkeys(plan.absent, _ABSENT)
        for site, thread in plan.undecided.items():
            reasons[site] = f"thread {thread} records here, and its own data have not let it come; {_CHOOSE}"
        names = [
            f"{site.name!r} ({site.source}) by thread {plan.undecided[site.id]}"
            for site in marked.sites
            if site.id in plan.undecided and site.kind is not EventKind.RANGE_END
        ]
        note = (
            f"recorded by one thread that comes there or not as its own data say: {', '.join(dict.fromkeys(names))}; "
            f"{_CHOOSE}"
        )
        return cls(tuple(sorted(reasons.items())), note if names else "")
