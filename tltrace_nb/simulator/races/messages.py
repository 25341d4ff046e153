"""Races in words: which two accesses, of whom, at which lines, to which element, and what is missing between them.

In: conflicts of a device function's sites, the lines of its statements, the shapes of the kernel's buffers. Out:
:class:`Race`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tltrace_nb.base.gpus import WARP
from tltrace_nb.core.compile.ir import Stmt
from tltrace_nb.simulator.races.clocks import COPIES, PRODUCTS, STORES
from tltrace_nb.simulator.races.device_code import DeviceProgram, Site
from tltrace_nb.simulator.races.shadow import ELSEWHERE, Conflict

_GROUP = 4 * WARP


@dataclass(frozen=True, slots=True)
class Access:
    """One side of a race. ``source``: its ``file:line``, empty where it is unknown; ``who``: threads, or their work."""

    source: str
    who: str
    does: str

    def __str__(self) -> str:
        return f"{self.who} {self.does}{f' ({self.source})' if self.source else ''}"


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses that nothing orders, one of them a write. ``element``: where they meet; ``missing``: what would
    order them.
    """

    first: Access
    second: Access
    element: str
    missing: str

    def __str__(self) -> str:
        return f"race on {self.element}: {self.first}; {self.second}; nothing orders the two; missing: {self.missing}"


class Words:
    """What describes the conflicts of one kernel."""

    def __init__(self, lines: Mapping[Stmt, str], shapes: Mapping[str, tuple[int, ...]]):
        self._lines, self._shapes = lines, shapes

    def race(self, program: DeviceProgram, conflict: Conflict) -> Race:
        """A conflict in words."""
        if not conflict.first:
            site = program.sites[conflict.second - 1]
            name = _barrier(site.name, program)
            made = Access("", _warp(conflict.first_agent, program), f"initialises {name}")
            return Race(made, self._access(program, site, conflict.warp), name, "T.sync_threads() behind it")
        first, second = (program.sites[number - 1] for number in (conflict.first, conflict.second))
        one = self._access(program, first, conflict.first_agent)
        other = self._access(program, second, conflict.second_agent)
        if second.way == "uses":
            return Race(one, other, f"the registers of {first.name}", _WAIT_PRODUCT)
        return Race(one, other, self._element(program, first, second, conflict.place), _missing(program, conflict))

    def _access(self, program: DeviceProgram, site: Site, agent: int) -> Access:
        return Access(self._lines.get(site.statement, ""), _who(agent, program), _does(site))

    def _element(self, program: DeviceProgram, first: Site, second: Site, place: int) -> str:
        uses = {use.name: use for use in program.memories}
        names = []
        for name in dict.fromkeys((second.name, first.name)):
            use = uses[name]
            byte = place if use.scope == "global" else place * program.granule - use.start
            index = byte if use.scope == "global" else byte * 8 // use.bits
            shape = self._shapes.get(name, ())
            if index < math.prod(shape):
                at = [int(i) for i in np.unravel_index(index, shape)]
                names.append(f"{name}{at}")
            else:
                names.append(f"{name}[{index}]")
        return " and ".join(names) + (", which share memory" if len(names) > 1 else "")


_WAIT_PRODUCT = "a wait for the MMA (T.wait_wgmma)"


def _kind(agent: int, program: DeviceProgram) -> int:
    """0 for a warp, then the kinds of ``clocks``, 4 for TMA copies."""
    return min(agent // _warps(program), STORES + 1) if agent >= 0 else ELSEWHERE


def _warps(program: DeviceProgram) -> int:
    return -(-program.shape.threads // WARP)


def _who(agent: int, program: DeviceProgram) -> str:
    kind, warp = _kind(agent, program), agent % _warps(program)
    if kind == ELSEWHERE:
        return "another CTA"
    if kind == PRODUCTS:
        first = warp * WARP // _GROUP * _GROUP
        return f"an MMA of warp group {first // _GROUP} (threads {first}..{first + _GROUP - 1})"
    if kind > STORES:
        return f"a TMA copy that {_mbarrier(agent, program)} counts"
    threads = _warp(warp, program)
    return {0: threads, COPIES: f"a cp.async copy of {threads}", STORES: f"a bulk copy of {threads}"}[kind]


def _warp(warp: int, program: DeviceProgram) -> str:
    last = min((warp + 1) * WARP, program.shape.threads) - 1
    return f"warp {warp} (threads {warp * WARP}..{last})"


def _mbarrier(agent: int, program: DeviceProgram) -> str:
    number = agent - (1 + STORES) * _warps(program)
    for name, size in program.barriers:
        if number < size:
            return f"mbarrier {name}[{number}]"
        number -= size
    return "an mbarrier"


def _barrier(text: str, program: DeviceProgram) -> str:
    """The buffer of a barrier, out of how the program names it."""
    number = text.partition("[")[0].removeprefix("q")
    return f"mbarrier {program.barriers[int(number)][0]}" if number.isdigit() else "an mbarrier"


def _does(site: Site) -> str:
    if site.way in ("arrives at", "waits for"):
        return f"{site.way} it"
    return {"uses": "use them", "copies to": "writes it", "copies from": "reads it", "multiplies": "reads it"}.get(
        site.way, f"{site.way} it"
    )


def _missing(program: DeviceProgram, conflict: Conflict) -> str:
    first, second = (_kind(a, program) for a in (conflict.first_agent, conflict.second_agent))
    if conflict.unfenced:
        return "T.fence_proxy_async() between the write and what reads it asynchronously"
    if first == ELSEWHERE:
        return "atomics, T.sync_grid() or a launch of its own"
    if first > STORES:
        return f"a wait for {_mbarrier(conflict.first_agent, program)}"
    if first == COPIES:
        mine = conflict.first_agent % _warps(program) == conflict.warp
        return f"a wait for the copy (T.ptx_wait_group){'' if mine else ', then T.sync_threads()'}"
    if first == PRODUCTS and second > STORES:
        return "a wait of the copy for an mbarrier at which these threads arrive when they have waited for the MMA"
    if first == PRODUCTS:
        return _WAIT_PRODUCT
    if first == STORES:
        return "a wait for the copy (T.tma_store_wait)"
    if second > STORES:
        return "a wait of the copy for an mbarrier at which these threads arrive behind their access"
    roles = [next(i for i, ids in enumerate(program.strands) if w * WARP in ids) for w in _pair(conflict, program)]
    if roles[0] != roles[1]:
        return "an mbarrier or a named barrier between them"
    return "T.sync_threads() between them"


def _pair(conflict: Conflict, program: DeviceProgram) -> tuple[int, int]:
    return conflict.first_agent % _warps(program), conflict.warp
