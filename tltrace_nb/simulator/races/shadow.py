"""What was last done to every place of a memory, and by whom: where two accesses meet that nothing orders.

In: accesses, each with the clocks of who makes it. Out: :class:`Conflict`. The scheme is that of FastTrack (Flanagan
and Freund, 2009): the last write of a place is one moment of one agent, its reads since then one moment of each agent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tltrace_nb.simulator.memory import Array
from tltrace_nb.simulator.races.clocks import Clocks

READ, WRITE, UPDATE = 0, 1, 2
"""Kinds of accesses; updates are atomic, and do not race with each other."""
ELSEWHERE = -1
"""The agent of accesses by another CTA."""
_PAGE = 1024


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses to one place: the sites and agents of both, the warp that made or began the second.

    ``unfenced``: only the proxy fence is missing between them.
    """

    first: int
    first_agent: int
    second: int
    second_agent: int
    warp: int
    place: int
    unfenced: bool = False


class Shadow:
    """One memory of ``size`` places; ``paged`` where few of them are touched, of a tensor, by one CTA after another.

    What two CTAs do is ordered if all CTAs have met between the two, thus if their epochs differ. ``found`` is told of
    conflicts.
    """

    def __init__(self, size: int, clocks: Clocks, found: Callable[[Conflict], None], paged: bool = False):
        self._clocks = clocks
        self._found = found
        self._pages = np.full(size // _PAGE + 1, -1, np.int64) if paged else None
        held = 0 if paged else size
        self._writer, self._written = np.zeros(held, np.int16), np.zeros(held, np.int32)
        self._write_site, self._atomic = np.zeros(held, np.int32), np.zeros(held, bool)
        self._epoch = 0
        self._elsewhere: dict[int, tuple[Array, Array]] = {}
        self._row_of = np.full(clocks.known.shape[1], -1)
        self._readers = np.zeros(0, np.int64)
        self._read, self._read_site = np.zeros((0, held), np.int32), np.zeros((0, held), np.int32)

    def next_cta(self, clocks: Clocks) -> None:
        """Another CTA begins: what was done so far was done elsewhere."""
        self._leave_epoch(0)
        self._clocks = clocks

    def _leave_epoch(self, following: int) -> None:
        """Note for the CTAs to come what this one has done since all CTAs met: a site of each place, and who wrote."""
        site, wrote = self._done_elsewhere()
        written, read = self._written > 0, (self._read > 0).any(axis=0)
        if len(self._read):
            site = np.where(read & ~wrote, self._read_site.max(axis=0), site)
        site = np.where(written, self._write_site, site)
        self._elsewhere[self._epoch] = site, wrote | (written & ~self._atomic)
        self._written[:], self._read[:] = 0, 0
        self._epoch = following

    def _done_elsewhere(self) -> tuple[Array, Array]:
        """What other CTAs have done in this epoch, for every place that is held."""
        held = len(self._written)
        site, wrote = self._elsewhere.get(self._epoch, (np.zeros(0, np.int32), np.zeros(0, bool)))
        if more := held - len(site):
            site, wrote = np.pad(site, (0, more)), np.pad(wrote, (0, more))
            self._elsewhere[self._epoch] = site, wrote
        return site, wrote

    def access(
        self, kind: int, places: Any, warps: Any, agents: Any, moments: Any, site: int, asynchronous: bool = False
    ) -> None:
        """Warps access places, or begin asynchronous work that does: one warp a slice, or each of an array its place.

        ``agents`` and ``moments``: who accesses and when, the warps themselves or their work. ``asynchronous``: the
        work sees of the warps' writes what proxy fences have made visible. Sites count from 1.
        """
        if self._pages is not None:
            places = self._held(places)
            if self._epoch != self._clocks.epoch:
                self._leave_epoch(self._clocks.epoch)
        known = self._clocks.known
        sees = self._clocks.fenced if asynchronous and kind == READ else known
        writer, written = self._writer[places], self._written[places]
        late = sees[warps, writer] < written
        if kind == UPDATE:
            late &= ~self._atomic[places]
        if kind != READ:  # threads that store at one place in one statement store the same
            late &= (self._write_site[places] != site) | (writer >= self._clocks.warps)
        if late.any():
            i = int(np.argmax(late))
            only_fence = bool(known[_at(warps, i), writer[i]] >= written[i])
            self._tell(self._write_site, writer[i], site, agents, warps, places, i, only_fence)
        if self._epoch in self._elsewhere:
            others, wrote = self._done_elsewhere()
            late = (others[places] > 0) & (others[places] != site) & (wrote[places] | (kind == WRITE))
            if late.any():
                self._tell(others, ELSEWHERE, site, agents, warps, places, int(np.argmax(late)))
        if kind == READ:
            self._note_read(places, agents, moments, site)
            return
        if len(self._readers):
            read = self._read[:, places]
            if read.any():
                seen = known[:, self._readers][warps]
                late = read > (seen.T if seen.ndim > 1 else seen[:, None])
                if late.any():
                    row, i = (int(x) for x in np.unravel_index(int(np.argmax(late)), late.shape))
                    self._tell(self._read_site[row], self._readers[row], site, agents, warps, places, i)
                self._read[:, places] = 0
        self._writer[places], self._written[places] = agents, moments
        self._write_site[places], self._atomic[places] = site, kind == UPDATE

    def _note_read(self, places: Any, agents: Any, moments: Any, site: int) -> None:
        rows = self._row_of[agents]
        if np.min(rows) < 0:
            for agent in np.unique(np.asarray(agents)[rows < 0]):
                self._row_of[agent] = len(self._readers)
                self._readers = np.append(self._readers, agent)
                one = np.zeros((1, self._read.shape[1]), np.int32)
                self._read, self._read_site = np.vstack([self._read, one]), np.vstack([self._read_site, one])
            rows = self._row_of[agents]
        self._read[rows, places] = moments
        self._read_site[rows, places] = site

    def _tell(
        self, sites: Array, agent: Any, site: int, agents: Any, warps: Any, places: Any, i: int, unfenced: bool = False
    ) -> None:
        place = places.start + i if isinstance(places, slice) else int(places[i])
        first = int(sites[place])
        if self._pages is not None:
            page = int(np.flatnonzero(self._pages == place // _PAGE)[0])
            place = page * _PAGE + place % _PAGE
        self._found(Conflict(first, int(agent), site, int(_at(agents, i)), int(_at(warps, i)), place, unfenced))

    def _held(self, places: Array) -> Array:
        """Where places are held, whose pages come when they are touched."""
        assert self._pages is not None
        pages = places // _PAGE
        for page in np.unique(pages[self._pages[pages] < 0]):
            self._pages[page] = len(self._writer) // _PAGE
            for name in ("_writer", "_written", "_write_site", "_atomic"):
                array = getattr(self, name)
                setattr(self, name, np.append(array, np.zeros(_PAGE, array.dtype)))
            more = np.zeros((len(self._readers), _PAGE), np.int32)
            self._read = np.hstack([self._read, more])
            self._read_site = np.hstack([self._read_site, more])
        held: Array = self._pages[pages] * _PAGE + places % _PAGE
        return held


def _at(values: Any, i: int) -> Any:
    return values[i] if np.ndim(values) else values
