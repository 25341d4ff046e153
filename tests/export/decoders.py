"""Readers of what the exports write, made from the formats' descriptions alone.

In: the bytes of a file. Out: :class:`Read`, the slices, instants and arrows that a viewer would show: events are put in
order of time, keeping the file's order among equals, an end closes the slice opened last on its track, and an arrow
joins the slices that are open where its ends stand. This is how Perfetto's trace processor and chrome://tracing read.
"""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Fields = dict[int, list[Any]]


@dataclass
class Shown:
    """A slice or an instant; ``track`` is the names from the top down, ``end`` is ``None`` until a slice is closed."""

    track: tuple[str, ...]
    name: str
    start: int
    end: int | None
    args: dict[str, Any]
    source: str
    instant: bool = False
    depth: int = 0


@dataclass
class Read:
    """What a file shows. ``about`` is what it says of its trace, ``losses`` of each writer that lost something."""

    shown: list[Shown] = field(default_factory=list)
    arrows: list[tuple[Shown, Shown]] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    losses: list[dict[str, Any]] = field(default_factory=list)
    lost_arrows: int = 0


class Replay:
    """A viewer's stacks: one per track."""

    def __init__(self, read: Read) -> None:
        self.read = read
        self.open: dict[Any, list[Shown]] = defaultdict(list)
        self.leaving: dict[int, Shown] = {}

    def begin(self, key: Any, shown: Shown) -> Shown:
        shown.depth = len(self.open[key])
        self.read.shown.append(shown)
        if not shown.instant:
            self.open[key].append(shown)
        return shown

    def end(self, key: Any, time: int) -> Shown:
        shown = self.open[key].pop()
        shown.end = time
        return shown

    def leave(self, number: int, shown: Shown) -> None:
        assert number not in self.leaving
        self.leaving[number] = shown

    def arrive(self, number: int, shown: Shown) -> None:
        if number in self.leaving:
            self.read.arrows.append((self.leaving.pop(number), shown))
        else:
            self.read.lost_arrows += 1

    def finish(self) -> Read:
        assert not any(self.open.values())
        return self.read


# ---- Perfetto


def wire(data: bytes) -> Fields:
    """The fields of a message by number: integers, 8-byte strings and byte strings."""
    fields: Fields = defaultdict(list)
    at = 0
    while at < len(data):
        tag, at = unsigned(data, at)
        match tag & 7:
            case 0:
                value, at = unsigned(data, at)
                fields[tag >> 3].append(value)
            case 1:
                fields[tag >> 3].append(data[at : at + 8])
                at += 8
            case 2:
                size, at = unsigned(data, at)
                assert at + size <= len(data)
                fields[tag >> 3].append(data[at : at + size])
                at += size
            case other:
                raise AssertionError(f"wire type {other}")
    return fields


def unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            assert value < 1 << 64
            return value, at


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def one(fields: Fields, number: int, default: Any = None) -> Any:
    values = fields.get(number, [])
    assert len(values) <= 1
    return values[0] if values else default


def table(interned: Fields, number: int) -> dict[int, Fields]:
    """The entries of one kind of interned data by their id."""
    entries = [wire(entry) for entry in interned.get(number, [])]
    assert len({one(entry, 1) for entry in entries}) == len(entries)
    assert all(one(entry, 1) > 0 for entry in entries)
    return {one(entry, 1): entry for entry in entries}


def annotation(data: bytes, names: dict[int, Fields]) -> tuple[str, Any]:
    fields = wire(data)
    iid, own = one(fields, 1), one(fields, 10)
    assert (iid is None) != (own is None)
    name = (one(names[iid], 2) if own is None else own).decode()
    (kind,) = set(fields) - {1, 10}
    value = one(fields, kind)
    match kind:
        case 2:
            return name, bool(value)
        case 4:
            return name, signed(value)
        case 5:
            return name, struct.unpack("<d", value)[0]
        case 6:
            return name, value.decode()
        case other:
            raise AssertionError(f"annotation value in field {other}")


def read_perfetto(data: bytes) -> Read:
    packets = [wire(packet) for packet in wire(data)[1]]
    assert {one(packet, 10) for packet in packets} == {1}
    assert one(packets[0], 13) == 1
    assert all(12 not in packet for packet in packets[1:])
    interned = wire(one(packets[0], 12))
    names, keys, sources = (table(interned, number) for number in (2, 3, 4))
    tracks = {one(track, 1): track for packet in packets if 60 in packet for track in (wire(one(packet, 60)),)}
    path: dict[int, tuple[str, ...]] = {}
    for id_, track in tracks.items():  # a parent comes before its children
        if 3 in track:
            path[id_] = (one(wire(one(track, 3)), 6).decode(),)
        else:
            path[id_] = (*path[one(track, 5)], one(track, 2).decode())
    ranks = [(one(track, 5), one(track, 12)) for track in tracks.values()]
    assert len(set(ranks)) == len(ranks)
    timed = [packet for packet in packets if 11 in packet]
    assert all(one(packet, 13) == 2 for packet in timed)
    replay = Replay(Read())
    for packet in sorted(timed, key=lambda packet: one(packet, 8)):
        time, event = one(packet, 8), wire(one(packet, 11))
        track = one(event, 11)
        args = dict(annotation(each, keys) for each in event.get(4, []))
        match one(event, 9):
            case 1 | 3 as type_:
                name = one(event, 23) or one(names[one(event, 10)], 2)
                place = sources[one(event, 34)] if 34 in event else {}
                source = one(place, 2, b"").decode() + (f":{one(place, 4)}" if 4 in place else "")
                shown = Shown(path[track], name.decode(), time, time if type_ == 3 else None, args, source, type_ == 3)
                if path[track][-1] == "about this trace":
                    (replay.read.losses.append if replay.read.about else replay.read.about.update)(args)
                    continue
                replay.begin(track, shown)
            case 2:
                shown = replay.end(track, time)
            case other:
                raise AssertionError(f"event type {other}")
        for id_ in event.get(47, []):
            replay.leave(struct.unpack("<Q", id_)[0], shown)
        for id_ in event.get(48, []):
            replay.arrive(struct.unpack("<Q", id_)[0], shown)
    return replay.finish()


# ---- Chrome


def nothing_but_json(text: str) -> Any:
    raise AssertionError(f"{text} is not JSON")


def read_chrome(data: bytes) -> Read:
    file = json.loads(data, parse_float=Decimal, parse_constant=nothing_but_json)
    read = Read(about=file["otherData"], losses=file["losses"])
    replay = Replay(read)
    names: dict[tuple[str, Any], str] = {}
    for event in file["traceEvents"]:
        if event["ph"] == "M" and event["name"].endswith("_name"):
            names[event["name"], (event["pid"], event["tid"])] = event["args"]["name"]
    for event in sorted((event for event in file["traceEvents"] if event["ph"] != "M"), key=lambda event: event["ts"]):
        key = event["pid"], event["tid"]
        time = int(Decimal(event["ts"]) * 1000)
        match event["ph"]:
            case "B" | "i" as phase:
                track = (file["otherData"]["kernel"], names["process_name", (key[0], 0)], names["thread_name", key])
                args = {name: number(value) for name, value in event["args"].items()}
                instant = phase == "i"
                assert not instant or event["s"] == "t"
                source = args.pop("source", "")
                replay.begin(key, Shown(track, event["name"], time, time if instant else None, args, source, instant))
            case "E":
                replay.end(key, time)
            case "s":
                replay.leave(event["id"], replay.open[key][-1])
            case "f":
                assert event["bp"] == "e"
                replay.arrive(event["id"], replay.open[key][-1])
            case other:
                raise AssertionError(f"phase {other}")
    return replay.finish()


def number(value: Any) -> Any:
    """A value of ``args``; floats are written exactly, what JSON has no number for as a string."""
    if isinstance(value, Decimal):
        return float(value)
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value
