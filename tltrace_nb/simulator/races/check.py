"""Whether accesses of a kernel race: a few of its CTAs, run as its device functions say.

In: device functions as programs, the kernel's arguments. Out: :class:`Found`, the conflicts of each device function, or
why there is no answer.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import DataType

from tltrace_nb.base.gpus import WARP
from tltrace_nb.simulator.errors import UnsupportedError
from tltrace_nb.simulator.memory import Array, dtype_of
from tltrace_nb.simulator.races.barriers import Phased
from tltrace_nb.simulator.races.clocks import Clocks
from tltrace_nb.simulator.races.device_code import DeviceProgram, MemoryUse
from tltrace_nb.simulator.races.running import Run
from tltrace_nb.simulator.races.shadow import Conflict, Shadow
from tltrace_nb.simulator.races.strands import EnoughError, Memory, Strand

ACCESSES = 20_000
"""How many accesses, by all threads at once, are looked at in one CTA."""

_SHARED_BYTES = 227 << 10
"""What a CTA may have at most. TileLang's plan may be smaller than what the kernel accesses, by a fault of its own."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a check: the conflicts of each device function, one for each two sites; why it did not come to its
    end, empty if it did."""

    conflicts: tuple[tuple[DeviceProgram, Conflict], ...]
    unknown: str = ""


def check(
    programs: Sequence[DeviceProgram], arrays: Mapping[str, Array], scalars: Mapping[str, int], grids: Sequence[Any]
) -> Found:
    """Run some CTAs of each launch. ``arrays`` and ``scalars`` are the kernel's arguments by name; none is changed."""
    conflicts: list[tuple[DeviceProgram, Conflict]] = []
    unknown = ""
    for program, grid in zip(programs, grids, strict=True):
        try:
            launch = _Launch(program, arrays, scalars)
            with np.errstate(all="ignore"):
                found = launch.run(_chosen(program, grid))
            unknown = unknown or ("threads wait for ever" if launch.stuck else "")
        except Exception as error:  # whatever it is, a check that fails ends no run
            unknown = unknown or (str(error).strip().partition("\n")[0] or type(error).__name__)
            continue
        conflicts += [(program, conflict) for conflict in found]
    return Found(tuple(conflicts), unknown)


def _chosen(program: DeviceProgram, grid: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """The CTAs that run: the first, the one in the middle, the last; the neighbours of the first if they may meet."""
    x, y, z = grid
    near = [(1, 0, 0), (0, 1, 0), (0, 0, 1)] if any(m.watched and m.scope == "global" for m in program.memories) else []
    few = [(0, 0, 0), *near, (x // 2, y // 2, z // 2), (x - 1, y - 1, z - 1)]
    return [cta for cta in dict.fromkeys(few) if all(0 <= i < n for i, n in zip(cta, grid, strict=True))]


class _Launch:
    """One launch, CTA by CTA."""

    def __init__(self, program: DeviceProgram, arrays: Mapping[str, Array], scalars: Mapping[str, int]):
        self._program, self._arrays = program, arrays
        self._scalars = tuple(scalars[str(v.name)] for v in program.scalars)
        self._tensors: dict[str, Shadow] = {}
        self._found: dict[tuple[int, int], Conflict] = {}
        self.stuck = False

    def run(self, ctas: Sequence[tuple[int, int, int]]) -> list[Conflict]:
        if len(self._program.strands) > 1:
            self._run(ctas[0], last_first=True)
            self._tensors.clear()  # the same CTA again is no other one
        for cta in ctas:
            self._run(cta, last_first=False)
        return list(self._found.values())

    def _tell(self, conflict: Conflict) -> None:
        self._found.setdefault((conflict.first, conflict.second), conflict)

    def _run(self, cta: tuple[int, int, int], last_first: bool) -> None:
        """Run one CTA. Which strand goes first matters where one waits for what another has told long ago."""
        program = self._program
        warps = -(-program.shape.threads // WARP)
        clocks = Clocks(warps, sum(size for _, size in program.barriers))
        shared = Shadow(max(program.shared_bytes, _SHARED_BYTES) // program.granule + 1, clocks, self._tell)
        values = np.zeros(max(program.shared_bytes, _SHARED_BYTES) + 16, np.uint8)
        for shadow in self._tensors.values():
            shadow.next_cta(clocks)
        memories: dict[int, Memory] = {}
        barriers: dict[int, list[Phased]] = {}
        first = itertools.count()
        for number, (name, size) in enumerate(program.barriers):
            barriers[number] = [Phased(f"{name}[{i}]", clocks.transfers(next(first))) for i in range(size)]

        def memory(number: int) -> Memory:
            if number not in memories:
                use = program.memories[number]
                memories[number] = (
                    self._tensor(use, clocks) if use.scope == "global" else _shared(use, shared, values, program)
                )
            return memories[number]

        budget = [ACCESSES]
        strands = []
        for i, ids in enumerate(program.strands):
            strand = Strand(
                i, np.array(ids, np.int32), program.shape.block, cta, self._scalars, clocks, memory,
                barriers.__getitem__, self._tell, budget,
            )  # fmt: skip
            strand.code = program.run(strand)
            strands.append(strand)
        if last_first:
            strands.reverse()
        with contextlib.suppress(EnoughError):
            self.stuck |= not Run(strands, clocks).finish()

    def _tensor(self, use: MemoryUse, clocks: Clocks) -> Memory:
        array = self._arrays.get(use.name)
        if array is None:
            raise UnsupportedError(f"{use.name} is no argument")
        if use.watched and use.name not in self._tensors:
            self._tensors[use.name] = Shadow(array.size, clocks, self._tell, paged=True)
        values = array.reshape(-1) if use.valued else None
        if values is not None and use.watched:
            values = values.copy()
        return Memory(self._tensors.get(use.name), 0, 8, 1, values, array.size)


def _shared(use: MemoryUse, shadow: Shadow, raw: Array, program: DeviceProgram) -> Memory:
    dtype = dtype_of(use.dtype)
    values = None
    if use.valued and dtype is not None:
        values = raw[use.start :][: (len(raw) - use.start) // dtype.itemsize * dtype.itemsize].view(dtype)
    return Memory(shadow, use.start, int(DataType(use.dtype).bits), program.granule, values)
