"""A large grid by the runs of a few of its CTAs: the others repeat them, each at its time on its SM.

In: a launch, the classes of its CTAs, and the engine that is to go on after it. Out: the slots of all CTAs, the time
that the launch takes, and a note. How long a CTA takes is what its like took in its part of the grid, with the memory
and the units of an SM as busy as there; when and where it starts is worked out for every CTA.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.data.slots import HEADER_RECORDS, RECORD
from tltrace_nb.simulator.classes import Classes
from tltrace_nb.simulator.engine import CLOCK_STEP_OF_SM, Engine, Launch
from tltrace_nb.simulator.memory import Array
from tltrace_nb.simulator.recording import Recorder
from tltrace_nb.simulator.sampling import Sample, sample
from tltrace_nb.simulator.thread_group import Cta

_TRIED = 8
"""CTAs that are run alone, to see how many events one takes."""
_GOLDEN = (5**0.5 - 1) / 2
"""Steps of this part of a grid come to all of its parts alike, whatever its rows are."""
_AT_ONCE = 1 << 22
"""Words of slots that are made together."""
_PLACE, _CLOCKS, _TIMES = 1, (2, 4), (3, 5)
"""Words of a slot's header: its thread and SM; clocks of entry and exit, and their times in ns."""


@dataclass(frozen=True, slots=True)
class Ran:
    """When one CTA of the sample got its place and left it, on which SM, and the flop that it did."""

    start: float
    end: float
    sm: int
    flop: float


class _Numbered(Recorder):
    """Records of CTAs in rows of their own, whether or not they are traced."""

    def __init__(self, slots: npt.NDArray[np.int64], tag: int, numbers: Array):
        super().__init__(slots, tag)
        self._rows = {int(number): row for row, number in enumerate(numbers)}

    def row(self, cta: int) -> int:  # noqa: ARG002 (what the kernel asks for is not what is kept here)
        return 0

    def enter(self, c: Any, row: Any, writer: Any, capacity: int, ring: bool) -> None:  # noqa: ARG002
        super().enter(c, self._rows[c.cta.number], writer, capacity, ring)


def repeated(
    engine: Engine,
    launch: Launch,
    classes: Classes,
    rows: Array,
    slots: npt.NDArray[np.int64],
    tag: int,
    budget: float = 1.0,
) -> str | None:
    """Run a launch by a sample of its CTAs; ``None``, with nothing done, where all of them are to run.

    ``rows``: of each CTA in the ``slots``, -1 for those that are not traced; ``budget``: the part of it that the sample
    may take.
    """
    total = math.prod(launch.grid)
    tried = np.unique((np.arange(1, _TRIED + 1) * _GOLDEN % 1 * total).astype(np.int64))
    alone = [_run(engine, launch, np.array([n]), engine.gpu, 1.0, slots.shape[1:], tag)[2] for n in tried.tolist()]
    found = sample(classes.of, launch.places, engine.gpu, sum(alone) / len(alone), budget)
    if found is None:
        return None
    ran, kept, _ = _run(engine, launch, found.numbers, found.gpu, found.stands_for, slots.shape[1:], tag)
    start, sm, end = _scheduled(engine, launch.places, np.array([r.end - r.start for r in ran])[found.like])
    _fill(slots, kept, engine.gpu, found, ran, classes, rows, start, sm)
    engine.flop += float(np.array([r.flop for r in ran])[found.like].sum())
    engine.now = end + engine.gpu.launch_latency_ns * engine.gpu.clock_ghz
    kinds = "all the same" if classes.count == 1 else f"of {classes.count:,} kinds"
    return (
        f"{len(ran):,} of {total:,} CTAs, {kinds}, were simulated, on {found.gpu.sms} of {engine.gpu.sms} SMs; the "
        "others repeat them (every_cta=True simulates all)"
    )


def _run(
    engine: Engine, launch: Launch, numbers: Array, gpu: Gpu, stands_for: float, shape: tuple[int, ...], tag: int
) -> tuple[list[Ran], npt.NDArray[np.int64], int]:
    """Run these CTAs on a part of the GPU: what each took, their slots, and the number of events."""
    slots = np.zeros((len(numbers), *shape), np.int64)
    part = Engine(gpu, _Numbered(slots, tag, numbers), engine.progress, engine.step_limit, stands_for)
    part.now = engine.now
    ran: dict[int, Ran] = {}

    def done(cta: Cta, end: float) -> None:
        ran[cta.number] = Ran(cta.start, end, cta.sm.number, cta.flop)

    part.run(replace(launch, numbers=numbers.tolist(), done=done))
    return [ran[number] for number in numbers.tolist()], slots, part.events


def _scheduled(engine: Engine, places: int, durations: Array) -> tuple[Array, Array, float]:
    """When and on which SM each CTA starts, dispatched in order as CTA slots get free, and when the last one ends."""
    gpu = engine.gpu
    dispatched = engine.now - gpu.dispatch_cycles
    start, sm = np.empty(len(durations)), np.empty(len(durations), np.int64)
    held: list[tuple[float, int, int]] = []
    for number, duration in enumerate(durations.tolist()):
        if number < places * gpu.sms:
            time, on = engine.now, number % gpu.sms
        else:
            time, _, on = heapq.heappop(held)
        time = dispatched = max(time, dispatched + gpu.dispatch_cycles)
        start[number], sm[number] = time, on
        heapq.heappush(held, (time + duration, number, on))
    return start, sm, max(held)[0]


def _fill(
    slots: npt.NDArray[np.int64],
    kept: npt.NDArray[np.int64],
    gpu: Gpu,
    found: Sample,
    ran: list[Ran],
    classes: Classes,
    rows: Array,
    start: Array,
    sm: Array,
) -> None:
    """Write the slots of every traced CTA: those of its like, at its time on its SM and with its payloads."""
    traced = np.flatnonzero(rows >= 0)
    order = traced[np.argsort(found.like[traced], kind="stable")]
    bounds = np.searchsorted(found.like[order], np.arange(len(ran) + 1))
    for place, (cta, run) in enumerate(zip(found.numbers.tolist(), ran, strict=True)):
        ctas = order[bounds[place] : bounds[place + 1]]
        at_once = max(1, _AT_ONCE // max(1, kept[place].size))
        for first in range(0, len(ctas), at_once):
            some = ctas[first : first + at_once]
            later = np.floor(start[some]).astype(np.int64) - int(run.start)
            clock = later + CLOCK_STEP_OF_SM * (sm[some] - run.sm)
            slots[rows[some]] = _moved(kept[place], gpu, classes, cta, some, run.sm, sm[some], clock)


def _moved(
    words: npt.NDArray[np.int64], gpu: Gpu, classes: Classes, cta: int, ctas: Array, sm: int, to: Array, clock: Array
) -> npt.NDArray[np.int64]:
    """The slots of a CTA on an SM as those of others on SMs ``to``, with clocks that are ahead by ``clock``."""
    moved = np.repeat(words[None], len(ctas), axis=0)
    entered = words[:, 0] != 0
    moved[..., _PLACE] += np.where(entered, (to - sm)[:, None], 0)
    for at, ns in zip(_CLOCKS, _TIMES, strict=True):
        moved[..., at] += np.where(entered, clock[:, None], 0)
        cycles = np.where(entered, moved[..., at] - 1 - CLOCK_STEP_OF_SM * to[:, None], 0)
        moved[..., ns] = (cycles / gpu.clock_ghz).astype(np.int64) // gpu.timer_step_ns * gpu.timer_step_ns
    written = moved.view(RECORD)[..., HEADER_RECORDS:]
    recorded = written["clock"][0] != 0
    written["clock"] += np.where(recorded, clock[:, None, None], 0)
    for site in classes.shifts:
        here = recorded & (written["site"][0] == site)
        if here.any():
            added = (classes.shift(site, ctas) - classes.shift(site, np.array([cta]))).astype(np.uint32)
            written["payload"] += np.where(here, added[:, None, None], np.uint32(0))
    return moved
