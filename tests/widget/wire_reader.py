"""Reads what ``wire.encode`` writes, in plain Python, from the documentation of ``wire`` alone."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tltrace_nb.widget.wire import Wire


@dataclass(frozen=True)
class Read:
    """One event as it was read."""

    cta: int
    thread: int
    lane: str
    group: str
    name: str
    source: str
    start: int
    end: int
    kind: str
    truncated: bool
    payload: int | float | None
    payload_end: int | float | None
    id: int


def columns(wire: Wire) -> dict[str, list[Any]]:
    at, found = 0, {}
    for spec in json.loads(wire.header)["columns"]:
        length, width = spec["length"], spec["width"]
        planes = [wire.columns[at + p * length : at + (p + 1) * length] for p in range(width)]
        at += width * length
        bits = [sum(plane[i] << (8 * p) for p, plane in enumerate(planes)) for i in range(length)]
        if spec["code"] == "int":
            found[spec["name"]] = [int(spec["least"]) + value for value in bits]
        else:
            packed, kind = ("<I", "<f") if spec["code"] == "f32" else ("<Q", "<d")
            found[spec["name"]] = [struct.unpack(kind, struct.pack(packed, value))[0] for value in bits]
    assert at == len(wire.columns)
    return found


def xor(value: float, low: int, high: int) -> float:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return float(struct.unpack("<d", struct.pack("<Q", bits ^ (low | high << 32)))[0])


def read(wire: Wire) -> list[Read]:
    """All events, in wire order."""
    header, column = json.loads(wire.header), columns(wire)
    events: list[Read] = []
    at = 0
    for lane, count in enumerate(column["lane_count"]):
        time = int(header["origin"]) + column["lane_first"][lane]
        for i in range(at, at + count):
            time += column["gap"][i]
            site, flags, begin = column["site"][i], column["flags"][i], column["payload"][i]
            if "change" in column:
                end = begin + column["change"][i]
            else:
                end = xor(begin, column["change_low"][i], column["change_high"][i])
            events.append(
                Read(
                    cta=column["lane_cta"][lane],
                    thread=column["lane_thread"][lane],
                    lane=header["lane_names"][column["lane_lane"][lane]],
                    group=header["groups"][column["lane_group"][lane]],
                    name=header["names"][column["site_name"][site]],
                    source=header["sources"][column["site_source"][site]],
                    start=time,
                    end=time + column["duration"][i],
                    kind="instant" if flags & 1 else "range",
                    truncated=bool(flags & 2),
                    payload=begin if flags & 4 else None,
                    payload_end=end if flags & 8 else None,
                    id=column["id"][i] if "id" in column else i,
                )
            )
        at += count
    return events
