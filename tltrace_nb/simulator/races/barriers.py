"""Barriers that carry what threads know from those who arrive to those who wait.

In: arrivals, each with what the arriving warps tell. Out: what those who wait come after, once a phase is complete.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tltrace_nb.simulator.memory import Array

Told = tuple[Array, Array]

ALL_CTAS = -1
"""The barrier at which the CTAs of a grid meet, or those of a cluster; other barriers have the hardware's numbers."""


def joined(one: Told | None, other: Told) -> Told:
    """What two tell together."""
    return other if one is None else (np.maximum(one[0], other[0]), np.maximum(one[1], other[1]))


@dataclass(slots=True)
class Phased:
    """One mbarrier. ``transfers`` is the agent of the TMA copies that it counts, ``made`` who initialised it, and when.

    ``done`` has what the last complete phase of each parity told.
    """

    name: str
    transfers: int
    count: int = 0
    pending: int = 0
    bytes: int = 0
    phase: int = 0
    made: tuple[int, int] | None = None
    told: Told | None = None
    done: list[Told | None] = field(default_factory=lambda: [None, None])

    def passed(self, parity: int) -> bool:
        """Whether the phase of that parity is complete."""
        return (self.phase & 1) != parity

    def arrive(self, told: Told, count: int, expected: int = 0) -> None:
        """Threads arrive; so many more bytes are to come in this phase."""
        self.told = joined(self.told, told)
        self.pending -= count
        self.bytes += expected
        self._settle()

    def receive(self, count: int) -> None:
        """Bytes come."""
        self.bytes -= count
        self._settle()

    def _settle(self) -> None:
        if self.pending > 0 or self.bytes or self.told is None:
            return
        told = self.told
        told[0][self.transfers] = told[1][self.transfers] = self.phase + 1
        self.done[self.phase & 1] = told
        self.phase, self.pending, self.told = self.phase + 1, self.count, None


@dataclass(slots=True)
class Meeting:
    """Threads at a barrier of the CTA that has a number: those that wait there, and all that have come."""

    waiting: list[Any] = field(default_factory=list)
    threads: int = 0
    told: Told | None = None
