"""Traces of schedules that were planned, so that what an analysis must find is known before.

In: ranges and CTAs with their times. Out: a ``Trace`` decoded from slots, as a device would have left them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tltrace_nb.core.trace import Trace, TraceMeta
from tltrace_nb.data import slots as layout
from tltrace_nb.data.chosen import CtaRuns
from tltrace_nb.data.sites import EventKind, Launch, PayloadType, Site, SiteTable, Writer

GHZ = 2
"""Cycles per ns of every SM."""


@dataclass(frozen=True)
class Span:
    """A range of one thread of a CTA, in cycles since the CTA's entry. ``end=None``: it never ends."""

    name: str
    start: int
    end: int | None
    cta: int = 0
    thread: int = 0
    payload: int | None = None
    lane: str = "main"


@dataclass(frozen=True)
class Stay:
    """A CTA on its SM, from ``start`` to ``end``, in ns."""

    sm: int
    start: int
    end: int


def planned(
    spans: Sequence[Span],
    stays: Sequence[Stay] | None = None,
    *,
    flows: Iterable[tuple[str, str]] = (),
    threads: int = 256,
    roles: dict[int, str] | None = None,
    meta: TraceMeta | None = None,
    ctas: tuple[int, ...] | None = None,
    capacity: int | None = None,
) -> Trace:
    """The trace of these ranges; ``stays`` default to one SM per CTA, long enough for all ranges.

    Without ranges there is one, ``work``, over each CTA.
    Where several records of a thread fall on one cycle, ends come first. ``roles`` are those of the threads.
    """
    spans = spans or [Span("work", 0, GHZ * (s.end - s.start), cta) for cta, s in enumerate(stays or ())]
    writers = sorted({span.thread for span in spans} | {0})
    kinds = list(dict.fromkeys((s.name, s.thread, s.lane, s.payload is not None) for s in spans))
    sites: list[Site] = []
    number: dict[tuple[str, int, str, bool], int] = {}
    for kind in kinds:
        name, thread, lane, paid = kind
        number[kind] = len(sites)
        type_ = PayloadType.INT32 if paid else PayloadType.NONE
        begin = Site(len(sites), EventKind.RANGE_BEGIN, name, lane, f"t{thread}", type_, "kernel.py:1", len(sites))
        sites += [begin, replace(begin, id=len(sites) + 1, kind=EventKind.RANGE_END)]
    rows = max([span.cta for span in spans] + [len(stays or ()) - 1, 0]) + 1
    records: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    for span in spans:
        site = number[span.name, span.thread, span.lane, span.payload is not None]
        mine = records.setdefault((span.cta, writers.index(span.thread)), [])
        # Of begins on one cycle the longer range is the outer; of ends the shorter.
        length = 1 << 40 if span.end is None else span.end - span.start
        mine.append((span.start, 1, -length, site))
        if span.end is not None:
            mine.append((span.end, 0 if length else 2, length, site + 1))
        records[span.cta, writers.index(span.thread)] = mine
    most = max(map(len, records.values()), default=0)
    longest = max([s.start if s.end is None else s.end for s in spans], default=0)
    stays = [Stay(cta, 0, longest // GHZ + 1000) for cta in range(rows)] if stays is None else stays
    grid = (max([rows, *(cta + 1 for cta in ctas or ())]), 1, 1)
    table = SiteTable(
        "kernel",
        tuple(sites),
        tuple(Writer(i, f"t{thread}", (roles or {}).get(thread), thread) for i, thread in enumerate(writers)),
        tuple(flows),
        (Launch("kernel", grid, (threads, 1, 1)),),
        most if capacity is None else capacity,
        ctas=None if ctas is None else CtaRuns.of(ctas),
    )
    slots = np.zeros((rows, len(writers), layout.slot_words(table.capacity)), np.int64)
    head, body = slots[..., :6].view(layout.HEADER)[..., 0], layout.records(slots)
    head["state"], head["thread"] = layout.STATE_DONE, writers
    for cta, stay in enumerate(stays):
        head["sm"][cta] = stay.sm
        head["entry_ns"][cta], head["exit_ns"][cta] = stay.start, stay.end
        head["entry_clock"][cta], head["exit_clock"][cta] = 10_000 + stay.start * GHZ, 10_000 + stay.end * GHZ
    payloads = {(s.cta, s.thread, s.name, s.lane, time): s.payload or 0 for s in spans for time in (s.start, s.end)}
    for (cta, writer), mine in records.items():
        head["executed"][cta, writer] = len(mine)
        for i, (time, _, _, site) in enumerate(sorted(mine)[: table.capacity]):
            key = (cta, writers[writer], sites[site].name, sites[site].lane, time)
            body[cta, writer, i] = (10_000 + stays[cta].start * GHZ + time, site, payloads[key])
    return Trace(
        slots,
        table,
        meta or TraceMeta("kernel", gpu="NVIDIA H200", grids=(grid,)),
    )
