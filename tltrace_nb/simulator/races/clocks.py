"""Vector clocks: what each warp of a CTA knows of the others, and of the asynchronous work that goes on.

In: how many warps and mbarriers there are. Out: :class:`Clocks`. An agent is a warp, or asynchronous work whose ends
are waited for together: the cp.async copies, the wgmma products and the bulk stores of a warp, the TMA copies that one
mbarrier counts. ``known[w, a]`` is the last moment of agent ``a`` that warp ``w`` comes after; ``fenced`` the same as
far as what asynchronous proxies see goes: writes of threads reach it by a proxy fence alone.
"""

from __future__ import annotations

import numpy as np

from tltrace_nb.simulator.memory import Array

COPIES, PRODUCTS, STORES = 1, 2, 3
"""Kinds of asynchronous work of a warp, in the order of their agents behind the warps' own."""


class Clocks:
    """The clocks of one CTA, ``int32[warps, agents]``. ``epoch``: how often it has met the other CTAs."""

    def __init__(self, warps: int, mbarriers: int):
        self.warps = warps
        self.epoch = 0
        self.known = np.zeros((warps, (1 + STORES) * warps + mbarriers), np.int32)
        self.known[np.arange(warps), np.arange(warps)] = 1
        self.fenced = np.zeros_like(self.known)

    def work(self, kind: int, warp: int) -> int:
        """The agent that is one kind of a warp's asynchronous work."""
        return kind * self.warps + warp

    def transfers(self, mbarrier: int) -> int:
        """The agent that is the TMA copies counted by an mbarrier."""
        return (1 + STORES) * self.warps + mbarrier

    def now(self, warps: Array) -> Array:
        """The warps' own moments."""
        return self.known[warps, warps]

    def release(self, warps: Array) -> tuple[Array, Array]:
        """What warps tell others at a barrier; what they do from here on is not part of it."""
        told = self.known[warps].max(axis=0), self.fenced[warps].max(axis=0)
        self.known[warps, warps] += 1
        return told

    def acquire(self, warps: Array, told: tuple[Array, Array]) -> None:
        """Warps come after what others told."""
        for mine, theirs in zip((self.known, self.fenced), told, strict=True):
            mine[warps] = np.maximum(mine[warps], theirs)

    def fence(self, warps: Array) -> None:
        """A proxy fence: what warps know, asynchronous work that they begin sees."""
        self.fenced[warps] = np.maximum(self.fenced[warps], self.known[warps])

    def finish(self, kind: int, warp: int, moment: int) -> None:
        """A warp has waited for asynchronous work of its own, up to a moment of it.

        Products read what cp.async copies have written without a proxy fence, as CUTLASS has them do.
        """
        agent = self.work(kind, warp)
        for clock in (self.known, self.fenced):
            clock[warp, agent] = max(clock[warp, agent], moment)
