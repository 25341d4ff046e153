"""Each marker finds its place in a dry run of TileLang's scheduler, which must do as it does without markers.

In: a PrimFunc with placeholders, its schedule without them, the scheduler. Out: :class:`Placed`, or an error that names
the marker that would change the schedule, or get lost in it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from tltrace_nb.base.errors import PayloadError, PlacementError
from tltrace_nb.core.compile.anchors import attach
from tltrace_nb.core.compile.carried import strip
from tltrace_nb.core.compile.dead import dead_sites
from tltrace_nb.core.compile.holds import role_scopes
from tltrace_nb.core.compile.ir import loads, walk
from tltrace_nb.core.compile.numbering import MarkedKernel, is_site, read_sites, site_id
from tltrace_nb.core.compile.payloads import check_moving_payloads, without_payload
from tltrace_nb.core.compile.placement import is_peeled, leaves_in, leaves_of_producer, place, same_schedule, sites_in
from tltrace_nb.core.compile.schedule import Scheduler
from tltrace_nb.data.sites import EventKind, Site


@dataclass(frozen=True, slots=True)
class Placed:
    """A kernel whose markers have found their places: numbered, attached to operators, and scheduled with them."""

    marked: MarkedKernel
    anchored: Any
    placed: Any

    @property
    def sites(self) -> frozenset[int]:
        """The sites that record somewhere."""
        return frozenset(sites_in(self.placed))


@dataclass(frozen=True, slots=True)
class _Attached:
    """A kernel with its markers on operators, its schedule, and the sites that the schedule has lost."""

    anchored: Any
    scheduled: Any
    lost: frozenset[int] = frozenset()


def placed(func: Any, bare: Any, scheduler: Scheduler) -> Placed:
    """Number, attach, schedule and place a kernel's markers; ``bare`` is its schedule without them.

    Raises ``PlacementError`` and ``PayloadError`` for the author's markers that have no place.
    """
    marked = read_sites(func)
    check_moving_payloads(marked)
    if not marked.sites:
        return Placed(marked, strip(func), place(bare, marked))
    found = _attached(marked, bare, scheduler)
    if found is None or found.lost:
        raise _refusal(marked, bare, scheduler, found)
    return Placed(marked, found.anchored, place(found.scheduled, marked))


def _attached(marked: MarkedKernel, bare: Any, scheduler: Scheduler) -> _Attached | None:
    """The kernel as it is scheduled like the bare one; ``None`` if each way to attach markers changes the schedule."""
    everywhere = role_scopes(bare) > role_scopes(marked.func)
    of_warps = everywhere and any(group.per != "group" for group in marked.groups)
    lossy = None
    for inline_lets, carry_in_value in itertools.product((False, True), (True, False)):
        how = {"everywhere": everywhere, "carry_in_value": carry_in_value, "inline_lets": inline_lets}
        dead: set[int] = set()
        producers: set[int] = set()
        whole = None
        for _ in range(3):  # again, knowing what the scheduler proves to be dead code or gives to the producer
            anchored = attach(marked, **how, peels=not everywhere, dead=dead, producers=producers)
            scheduled = scheduler(anchored)
            if not same_schedule(scheduled, bare):
                break
            if everywhere and is_peeled(scheduled):  # this refuses what is lost
                attach(marked, **how, peels=True, dead=dead, producers=producers)
            lost = _lost(sites_in(anchored) - sites_in(scheduled), marked, scheduler)
            found = _Attached(anchored, scheduled, lost)
            known, producers = producers, leaves_of_producer(scheduled) if of_warps else set()
            if lost:
                lossy = found
                dead = leaves_in(anchored) - leaves_in(scheduled)
            elif producers <= known:
                return found
            else:
                whole = found
        if whole is not None:
            return whole
    return lossy


def _lost(missing: set[int], marked: MarkedKernel, scheduler: Scheduler) -> frozenset[int]:
    """Those of the sites missing in a schedule that are in no dead code."""
    return frozenset(missing - dead_sites(marked, scheduler)) if missing else frozenset()


def _refusal(marked: MarkedKernel, bare: Any, scheduler: Scheduler, found: _Attached | None) -> Exception:
    """Why a kernel's markers have no place."""
    guilty = _payload_to_blame(marked, bare, scheduler)
    if guilty is not None:
        return PayloadError(
            f"kernel {marked.name}, {guilty.source}: reading the payload of {guilty.name!r} would change TileLang's "
            f"schedule on {scheduler.architecture}; give an expression of loop indices, block indices or kernel "
            "parameters"
        )
    where = ", ".join(dict.fromkeys(s.source for s in marked.sites if found is None or s.id in found.lost))
    what = "would change" if found is None else "would be dropped by"
    return PlacementError(
        f"kernel {marked.name}: markers at {where} {what} TileLang's schedule on {scheduler.architecture}; "
        "put the markers around tile operators (T.copy, T.gemm, T.Parallel loops), or outside the pipelined loop"
    )


def _payload_to_blame(marked: MarkedKernel, bare: Any, scheduler: Scheduler) -> Site | None:
    """The first of the author's markers without whose payload the kernel works; only one that reads memory is tried."""
    reading = {site_id(s) for s, _ in walk(marked.func.body) if is_site(s) and loads(s.value.args[2])}
    for site in marked.sites:
        if site.id in reading and site.kind is not EventKind.RANGE_END:
            found = _attached(without_payload(marked, site.id), bare, scheduler)
            if found is not None and not found.lost:
                return site
    return None
