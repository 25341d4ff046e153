"""The strands of one CTA, run to their ends: which waits for what.

In: strands with their code, in the order in which they go first. Out: whether all came to their ends. Each runs as far
as it gets before the next one does: what the clocks do not order is a race, even if it does not show.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from tltrace_nb.simulator.races.barriers import ALL_CTAS, Meeting, Phased, joined
from tltrace_nb.simulator.races.clocks import Clocks
from tltrace_nb.simulator.races.strands import Strand


class Run:
    """One CTA."""

    def __init__(self, strands: list[Strand], clocks: Clocks):
        self._clocks = clocks
        self._ready = deque(strands)
        self._live = {strand.index for strand in strands}
        self._waiting: list[tuple[Strand, Phased, int, Any]] = []
        self._meetings: dict[int, Meeting] = defaultdict(Meeting)
        self._expected: dict[int, int] = {}

    def finish(self) -> bool:
        """Run until nobody can go on; whether all are done."""
        while self._ready:
            strand = self._ready.popleft()
            request = next(strand.code, None)
            if request is None:
                self._live.discard(strand.index)
                for name in list(self._meetings):
                    self._check(name)
            elif isinstance(request[0], Phased):
                self._waiting.append((strand, *request))
                self._look(first=True)
            else:
                self._meet(strand, *request)
            self._look()
        return not self._live

    def _look(self, first: bool = False) -> None:
        """Let those go on whose mbarriers have passed; ``first``: before all others."""
        still = []
        for strand, barrier, parity, mask in self._waiting:
            if barrier.passed(parity):
                strand.passed(barrier, parity, mask)
                (self._ready.appendleft if first else self._ready.append)(strand)
            else:
                still.append((strand, barrier, parity, mask))
        self._waiting = still

    def _meet(self, strand: Strand, name: int, expected: int, mask: Any, waits: bool) -> None:
        meeting = self._meetings[name]
        warps = strand.warps(mask)
        meeting.told = joined(meeting.told, self._clocks.release(warps))
        meeting.threads += strand.count(mask)
        self._expected[name] = expected
        if waits:
            meeting.waiting.append((strand, warps))
        else:
            self._ready.append(strand)
        self._check(name)

    def _check(self, name: int) -> None:
        meeting, expected = self._meetings[name], self._expected[name]
        here = {strand.index for strand, _ in meeting.waiting}
        if meeting.threads < expected if expected else not here >= self._live:
            return
        del self._meetings[name]
        if name == ALL_CTAS:
            self._clocks.epoch += 1
        for strand, warps in meeting.waiting:
            assert meeting.told is not None
            self._clocks.acquire(warps, meeting.told)
            self._ready.append(strand)
