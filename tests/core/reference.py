"""A decoder for comparison: plain Python, one record at a time, no NumPy tricks. Slow and obvious."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tltrace_nb.data import slots as layout
from tltrace_nb.data.sites import EventKind, Keep, PayloadType, SiteTable


@dataclass
class Event:
    """One row of the events, ``rank`` and ``last`` its first and last record by number in the thread."""

    name: str
    kind: str
    cta: int
    thread: int
    lane: str
    start: int
    end: int
    payload: int | None
    payload_end: int | None
    truncated: bool
    rank: int
    last: float
    depth: int = 0
    parent: int | None = None


@dataclass
class Reference:
    """The events in order, and (row, writer) to unmatched ends."""

    events: list[Event] = field(default_factory=list)
    unmatched: dict[tuple[int, int], int] = field(default_factory=dict)


def signed(bits: int) -> int:
    """32 bits as an int32."""
    return bits - (1 << 32) if bits >= 1 << 31 else bits


def decode(slots: npt.NDArray[np.int64], table: SiteTable) -> Reference:
    """Decode finished, well-formed slots of int32 payloads whose rows are the CTAs."""
    found = Reference()
    heads, bodies = layout.headers(slots), layout.records(slots)
    lanes = list(dict.fromkeys(site.lane for site in table.sites))
    for row in range(len(slots)):
        base = min(int(heads[row, writer.index]["entry_clock"]) for writer in table.writers)
        of_cta: list[Event] = []
        for writer in table.writers:
            head, body = heads[row, writer.index], bodies[row, writer.index]
            executed = int(head["executed"])
            numbers = range(min(executed, table.capacity))
            if table.keep is Keep.LAST and executed > table.capacity:
                numbers = range(executed - table.capacity, executed)
            opened: list[tuple[int, Event, int]] = []  # range, event, payload bits
            exit_ = int(head["exit_clock"]) - base
            for number in numbers:
                clock, site_id, bits = (int(x) for x in body[number % table.capacity])
                site, at = table.sites[site_id], clock - base
                value = None if site.payload is PayloadType.NONE else signed(bits)
                if site.kind is EventKind.RANGE_END:
                    same = [entry for entry in opened if entry[0] == site.range]
                    exact = [entry for entry in same if entry[2] == bits]
                    if not same:
                        found.unmatched[row, writer.index] = found.unmatched.get((row, writer.index), 0) + 1
                        continue
                    chosen = (exact or same)[-1]
                    opened.remove(chosen)
                    event = chosen[1]
                    event.end, event.payload_end, event.truncated, event.last = at, value, False, number
                    continue
                kind = "instant" if site.kind is EventKind.INSTANT else "range"
                event = Event(
                    site.name, kind, row, writer.thread, site.lane, at, at, value, None, False, number, number
                )
                of_cta.append(event)
                if kind == "range":
                    event.end, event.truncated, event.last = exit_, True, float("inf")
                    opened.append((site.range, event, bits))
        of_cta.sort(key=lambda event: (event.thread, lanes.index(event.lane), event.rank))
        for index, event in enumerate(of_cta):
            for candidate in range(index - 1, -1, -1):
                outer = of_cta[candidate]
                if (outer.thread, outer.lane) != (event.thread, event.lane):
                    break
                if outer.kind == "range" and outer.last >= event.last:
                    event.parent, event.depth = candidate + len(found.events), outer.depth + 1
                    break
        found.events += of_cta
    return found
