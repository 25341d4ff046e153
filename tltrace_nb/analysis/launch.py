"""What is known of a trace's launches and of the GPU they ran on.

In: a trace, and what the caller knows better. Out: a :class:`LaunchFacts` per launch, and the trace's own caveats in
words. The GPU's rates and limits are those of ``base.gpus``; its rules of occupancy are used here, too.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tltrace_nb.base.gpus import PRESETS, Footprint, Gpu, Occupancy, a_gpu, occupancy
from tltrace_nb.base.numbers import count
from tltrace_nb.data.chosen import CtaRuns
from tltrace_nb.data.headline import losses as losses_in_words

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.data.sites import SiteTable
    from tltrace_nb.data.trace_data import TraceData
    from tltrace_nb.data.tracefile import TraceMeta

_TAKEN = (("how many registers", "registers="), ("how much shared memory", "shared="))


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """One launch. ``ctas``: of the whole grid; ``limit``: what an SM holds at once, ``None`` where it is not known.

    ``exact``: whether the limit counts registers and shared memory; without them it is an upper bound.
    """

    kernel: str
    ctas: int
    threads: int
    limit: Occupancy | None
    exact: bool

    @property
    def warps(self) -> int:
        """Warps of one CTA."""
        return -(-self.threads // 32)


def gpu_of(meta: TraceMeta, gpu: str | Gpu | None = None) -> Gpu | None:
    """The model of the GPU in ``meta``, unless ``gpu`` (a model or its name) is given; ``None`` where none is known.

    The name of a GPU, "NVIDIA GeForce RTX 4090", names a model when its words do, in this order and side by side.
    """
    if gpu is not None:
        return a_gpu("gpu", gpu)
    words = re.findall(r"[a-z0-9]+", meta.gpu.lower())
    runs = {"".join(words[i : i + n]) for n in (1, 2) for i in range(len(words))}
    return next((model for name, model in PRESETS.items() if name in runs), None)


def launches(
    trace: TraceData, gpu: Gpu | None, registers: int | None = None, shared: int | None = None
) -> tuple[list[LaunchFacts], list[str]]:
    """The launches of a trace, and what is not known of them.

    ``registers`` per thread and ``shared`` bytes per CTA stand in where ``trace.meta`` has none. Raises ``ValueError``
    where one CTA takes more than an SM has.
    """
    facts: list[LaunchFacts] = []
    notes: list[str] = []
    if gpu is None:
        notes.append(
            f"the GPU {trace.meta.gpu or '(unnamed)'} is none whose limits are known here, so what an SM could hold is "
            f"not told: pass gpu=, one of {', '.join(PRESETS)}, or a tltrace_nb.base.gpus.Gpu"
        )
    for number, launch in enumerate(trace.table.launches):
        known = trace.meta.resources[number] if trace.meta.resources else (None, None)
        taken = tuple(
            given if given is not None else own for given, own in zip((registers, shared), known, strict=True)
        )
        threads = math.prod(launch.block)
        limit = None
        if gpu is not None:
            limit = occupancy(gpu, Footprint(threads, taken[0] or 0, taken[1] or 0))
            lacking = [i for i, value in enumerate(taken) if value is None]
            if lacking:
                notes.append(
                    f"{launch.name}: the trace does not say {' and '.join(_TAKEN[i][0] for i in lacking)} "
                    f"a CTA takes, so the limit is an upper bound, by {limit.limited_by}: pass "
                    + " and ".join(_TAKEN[i][1] for i in lacking)
                )
        grid = trace.meta.grids[number] if trace.meta.grids else tuple(extent or 0 for extent in launch.grid)
        facts.append(LaunchFacts(launch.name, math.prod(grid), threads, limit, limit is not None and None not in taken))
    return facts, notes


def caveats(trace: TraceData) -> list[str]:
    """What the trace itself lacks, in words: records lost, ranges cut off, CTAs not traced."""
    return lacks(trace, trace.losses, int(trace.events["truncated"].sum()), len(trace.slots))


class Recorded(Protocol):
    """A trace, in memory or not, as far as it is asked here."""

    @property
    def table(self) -> SiteTable: ...
    @property
    def whole(self) -> bool: ...


def lacks(trace: Recorded, losses: pd.DataFrame, cut: int, ctas: int) -> list[str]:
    """The caveats of a trace that has these ``losses``, so many ranges that never ended, and slots of so many CTAs."""
    notes = losses_in_words(losses)
    if cut:
        notes.append(f"{count(cut, 'range')} never ended: left out, where an end is needed")
    if not trace.whole:
        how = " (ctas=)" if isinstance(trace.table.ctas, CtaRuns) else ""
        notes.append(
            f"only {count(ctas, 'CTA')} of the launch recorded{how}: what the others did, "
            "and with whom they shared an SM, is not known"
        )
    return notes
