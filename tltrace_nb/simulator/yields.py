"""What a thread group asks of the engine when it stops: to wait, to meet others, to start something that goes on
without it.

In: values that the generated code yields. Out: nothing; the engine reads them. A plain
:class:`~tltrace_nb.simulator.costing.Cost` asks for time on the SM's units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tltrace_nb.simulator.costing import Cost

if TYPE_CHECKING:
    from tltrace_nb.simulator.barriers import Mbarrier


@dataclass(frozen=True, slots=True)
class Wait:
    """Until the phase of this parity of an mbarrier is complete."""

    barrier: Mbarrier
    parity: int


@dataclass(frozen=True, slots=True)
class Until:
    """Until a time, for a reason."""

    time: float
    why: str


@dataclass(frozen=True, slots=True)
class Meet:
    """Until all of these thread groups of the CTA that are still there have come to the same place."""

    place: int
    thread_groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sync:
    """At a named barrier. ``scope``: cta, cluster or grid; ``expected``: threads, 0 for all that are there."""

    scope: str
    name: int
    expected: int
    threads: int


@dataclass(frozen=True, slots=True)
class CopyAsync:
    """Start a cp.async copy; ``args`` are those of ``tiles.move``, ``None`` where contents do not matter."""

    cost: Cost
    args: tuple[Any, Any] | None


@dataclass(frozen=True, slots=True)
class Load:
    """Start a load of a fragment, whose registers are ready when it is done; ``number`` is the fragment's."""

    number: int
    cost: Cost


@dataclass(frozen=True, slots=True)
class CopyTma:
    """Start a TMA copy, whose bytes an mbarrier counts."""

    cost: Cost
    barrier: Mbarrier
    bytes: int
    arrives: int
    args: tuple[Any, Any] | None


@dataclass(frozen=True, slots=True)
class Multiply:
    """Start an asynchronous matrix product."""

    cost: Cost
