"""How long, and in how much memory, a million events are decoded to frames.

The trace is that of a warp-specialised GEMM: 1250 CTAs of a 2-D grid, a producer and a consumer, two lanes each, a
payload on every marker. One event is one row, here a range of two records. The same slots are also decoded with ranges
that overlap (prefetches, paired by payload). Run as ``python benchmarks/decode.py``.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
import tracemalloc
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tltrace_nb.data import slots as layout
from tltrace_nb.data.decode import decode
from tltrace_nb.data.sites import EventKind, Launch, PayloadType, Site, SiteTable, Writer

GRID = (50, 25, 1)
STEPS = 199
REPEATS = 15


def sites() -> tuple[Site, ...]:
    """Four ranges: ``load`` around ``copy`` in the producer, ``wait`` around ``mma`` in the consumer."""
    ranges = [
        ("load", "main", "producer"),
        ("copy", "tma", "producer"),
        ("wait", "main", "consumer"),
        ("mma", "tensor", "consumer"),
    ]
    found: list[Site] = []
    for name, lane, group in ranges:
        begin = Site(
            len(found), EventKind.RANGE_BEGIN, name, lane, group, PayloadType.INT32, f"gemm.py:{len(found)}", len(found)
        )
        found += [begin, replace(begin, id=len(found) + 1, kind=EventKind.RANGE_END)]
    return tuple(found)


def trace(grid: tuple[int, int, int] = GRID) -> tuple[npt.NDArray[np.int64], SiteTable]:
    """The slots of 800 ranges a CTA, some 1,000,000 in all: per step, each writer opens one range inside another."""
    capacity = 4 * STEPS + 4
    table = SiteTable(
        "gemm",
        sites(),
        (Writer(0, "producer", "producer", 0), Writer(1, "consumer", "consumer", 128)),
        (("copy", "mma"),),
        (Launch("gemm", grid, (256, 1, 1)),),
        capacity,
    )
    rows = math.prod(grid)
    slots = np.zeros((rows, 2, layout.slot_words(capacity)), np.int64)
    head, body = slots[..., :6].view(layout.HEADER)[..., 0], slots.view(layout.RECORD)[..., layout.HEADER_RECORDS :]
    step = np.arange(capacity // 4)
    for writer, order in enumerate(((0, 2, 3, 1), (4, 6, 7, 5))):
        body["site"][:, writer] = np.tile(order, len(step))
        body["payload"][:, writer] = np.repeat(step, 4)
    entry = 1_000_000 + np.arange(rows)[:, None] // 132 * 100_000
    body["clock"] = np.random.default_rng(0).integers(20, 80, body.shape).cumsum(axis=2) + entry[..., None]
    head["executed"], head["state"], head["thread"] = capacity, layout.STATE_DONE, [0, 128]
    head["sm"] = np.arange(rows)[:, None] % 132
    head["entry_clock"], head["exit_clock"] = entry, body["clock"].max(axis=2) + 50
    head["entry_ns"], head["exit_ns"] = head["entry_clock"] // 64 * 32, head["exit_clock"] // 64 * 32
    return slots, table


def later(slots: npt.NDArray[np.int64], cycles: int) -> npt.NDArray[np.int64]:
    """The same so many cycles later, as the next CTAs of a launch."""
    moved = slots.copy()
    head, body = moved[..., :6].view(layout.HEADER)[..., 0], moved.view(layout.RECORD)[..., layout.HEADER_RECORDS :]
    body["clock"] += cycles
    for reading in ("entry", "exit"):
        head[f"{reading}_clock"] += cycles
        head[f"{reading}_ns"] = head[f"{reading}_clock"] // 64 * 32
    return moved


def overlap(slots: npt.NDArray[np.int64], table: SiteTable) -> None:
    """Make the producer prefetch: each ``copy`` begins before the last but one has ended."""
    body, half = slots.view(layout.RECORD)[:, 0, layout.HEADER_RECORDS :], table.capacity // 2
    steady = np.arange(half - 2)
    body["site"] = [2, 2, *np.tile([2, 3], half - 2), 3, 3]
    body["payload"] = [0, 1, *np.stack([steady + 2, steady], axis=1).reshape(-1), half - 2, half - 1]


def straightforward(slots: npt.NDArray[np.int64], table: SiteTable) -> list[dict[str, Any]]:
    """The loop anyone would write first: one record at a time, a stack per range. It finds no depth, parent or ns."""
    events = []
    heads, bodies = layout.headers(slots), layout.records(slots)
    for row in range(len(slots)):
        for writer in table.writers:
            opened: dict[int, list[tuple[int, int]]] = defaultdict(list)
            for record in bodies[row, writer.index][: heads[row, writer.index]["executed"]]:
                site = table.sites[record["site"]]
                if site.kind is EventKind.RANGE_BEGIN:
                    opened[site.range].append((int(record["clock"]), int(record["payload"])))
                elif site.kind is EventKind.RANGE_END:
                    start, payload = opened[site.range].pop()
                    events.append(
                        {"name": site.name, "cta": row, "start": start, "end": int(record["clock"]), "payload": payload}
                    )
    return events


def main() -> None:
    """Print seconds (best, median), peak memory and the ratio to the plain loop."""
    slots, table = trace()
    seconds = []
    for _ in range(REPEATS):
        before = time.perf_counter()
        frames = decode(slots, table)
        seconds.append(time.perf_counter() - before)
    events = len(frames.events)
    before = time.perf_counter()
    plain = len(straightforward(slots[:50], table))
    plain_seconds = (time.perf_counter() - before) * events / plain
    del frames
    tracemalloc.start()
    decoded = decode(slots, table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del decoded
    print(f"events              {events:,} of {2 * events:,} records in {slots.nbytes / 1e6:.1f} MB of slots")
    best, median = min(seconds[:5]), statistics.median(seconds)
    print(f"decode              best of 5 {best:.3f} s, median of {REPEATS} {median:.3f} s")
    print(f"peak extra memory   {peak / 1e6:.1f} MB, {peak / slots.nbytes:.2f} times the slots")
    print(f"plain Python loop   {plain_seconds:.1f} s (from {plain:,} events), {plain_seconds / best:.0f} times slower")
    overlap(slots, table)
    before = time.perf_counter()
    decode(slots, table)
    print(f"with overlapping    {time.perf_counter() - before:.3f} s")


if __name__ == "__main__":
    main()
