"""Slots built from a list of records, as a device would have left them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tltrace_nb.data import slots as layout
from tltrace_nb.data.chosen import CtaRuns
from tltrace_nb.data.sites import EventKind, Keep, Launch, PayloadType, Site, SiteTable, Writer

GHZ = 2
"""Cycles per ns of the synthetic SMs."""


@dataclass(frozen=True, slots=True)
class Rec:
    """One marker executed by a writer (a number) of a CTA (a row)."""

    cta: int
    writer: int
    clock: int
    site: int
    payload: int = 0


def span(
    id_: int,
    name: str,
    *,
    lane: str = "main",
    group: str = "default",
    payload: PayloadType = PayloadType.INT32,
    end_payload: PayloadType | None = None,
) -> tuple[Site, Site]:
    """The begin site ``id_`` and the end site ``id_ + 1`` of a range."""
    begin = Site(id_, EventKind.RANGE_BEGIN, name, lane, group, payload, f"kernel.py:{id_ + 1}", id_)
    return begin, replace(
        begin, id=id_ + 1, kind=EventKind.RANGE_END, payload=payload if end_payload is None else end_payload
    )


def instant(
    id_: int, name: str, *, lane: str = "main", group: str = "default", payload: PayloadType = PayloadType.INT32
) -> Site:
    """An instant site."""
    return Site(id_, EventKind.INSTANT, name, lane, group, payload, f"kernel.py:{id_ + 1}")


def table(
    *sites: Site,
    writers: Iterable[Writer] = (Writer(0, "default", None, 0),),
    capacity: int = 16,
    grid: tuple[int | None, int | None, int | None] = (1, 1, 1),
    flows: tuple[tuple[str, str], ...] = (),
    keep: Keep = Keep.FIRST,
    ctas: tuple[int, ...] | None = None,
    launches: tuple[Launch, ...] | None = None,
) -> SiteTable:
    """A site table with defaults fit for one thread of one CTA."""
    chosen = None if ctas is None else CtaRuns.of(ctas)
    launches = (Launch("kernel", grid, (128, 1, 1)),) if launches is None else launches
    return SiteTable("kernel", sites, tuple(writers), flows, launches, capacity, keep, chosen, capacity)


def build(
    of: SiteTable,
    records: Iterable[Rec],
    *,
    rows: int = 1,
    entry: int = 1000,
    exit_: int = 10_000,
    unfinished: Iterable[tuple[int, int]] = (),
    absent: Iterable[tuple[int, int]] = (),
    sm: Mapping[int, int] | None = None,
) -> npt.NDArray[np.int64]:
    """The slots after the given (row, writer) executed ``records`` in the order given."""
    slots = np.zeros((rows, len(of.writers), layout.slot_words(of.capacity)), np.int64)
    head, body = slots[..., :6].view(layout.HEADER)[..., 0], slots.view(layout.RECORD)[..., layout.HEADER_RECORDS :]
    head["state"] = layout.STATE_DONE
    head["entry_clock"], head["exit_clock"] = entry, exit_
    head["entry_ns"], head["exit_ns"] = entry // GHZ, exit_ // GHZ
    head["thread"] = [writer.thread for writer in of.writers]
    for row in range(rows):
        head["sm"][row] = row if sm is None else sm[row]
    for record in records:
        mine = head[record.cta, record.writer]
        at = int(mine["executed"])
        if at < of.capacity or of.keep is Keep.LAST:
            body[record.cta, record.writer, at % of.capacity] = (record.clock, record.site, record.payload & 0xFFFFFFFF)
        head["executed"][record.cta, record.writer] += 1
    for row, writer in unfinished:
        head[row, writer]["state"] = layout.STATE_OPEN
        for field in ("executed", "exit_clock", "exit_ns"):
            head[field][row, writer] = 0
        head["state"][row, writer] = layout.STATE_OPEN
    for row, writer in absent:
        slots[row, writer] = 0
    return slots
