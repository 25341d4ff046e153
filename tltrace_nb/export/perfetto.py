"""A trace in Perfetto's own format, for ui.perfetto.dev and its trace processor.

In: a trace. Out: a file of ``TracePacket``\\ s. The kernel is a process; below it nest SM, CTA, track and sub-track. A
range is a slice with its source line, payloads and exact cycles as arguments, an arrow of ``trace.dag`` is a flow. What
was lost, and whether the times are simulated, stands on a first track, "about this trace"; notes are on the next.

The field numbers are those of ``protos/perfetto/trace/perfetto_trace.proto`` of https://github.com/google/perfetto,
release v59.1. Readers that are too old for the order of siblings (``_RANK``, ``_MERGING``) pass over it.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb.base.checks import checked, file
from tltrace_nb.base.files import writing
from tltrace_nb.export.protobuf import FIXED64, VARINT, double, integer, message, messages, string, tag
from tltrace_nb.export.provenance import loss_rows, provenance
from tltrace_nb.export.rows import AT_ONCE, Rows, Words
from tltrace_nb.export.steps import (
    BOOL,
    REAL,
    WHOLE,
    Payloads,
    Phase,
    Piece,
    Steps,
    arrows,
    payloads,
    sm_label,
    steps,
    unit_fact,
)
from tltrace_nb.render.text import badge

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from tltrace_nb.data.trace_data import TraceData

SUFFIX = ".pftrace"

# Trace and TracePacket
_PACKET = 1
_TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _INTERNED, _FLAGS, _DESCRIPTOR = 8, 10, 11, 12, 13, 60
_STATE_CLEARED, _NEEDS_STATE = 1, 2
# TrackDescriptor
_UUID, _NAME, _PROCESS, _PARENT, _ORDERING, _RANK, _MERGING = 1, 2, 3, 5, 11, 12, 15
_EXPLICIT, _NO_MERGING = 3, 2
# ProcessDescriptor
_PID, _PROCESS_NAME, _LABELS = 1, 6, 8
# TrackEvent
_ANNOTATION, _TYPE, _NAME_IID, _TRACK_UUID, _EVENT_NAME, _SOURCE_IID = 4, 9, 10, 11, 23, 34
_FLOW, _TERMINATING_FLOW = 47, 48
_TYPES = {Phase.BEGIN: 1, Phase.END: 2, Phase.INSTANT: 3}
# InternedData: EventName, DebugAnnotationName and SourceLocation
_EVENT_NAMES, _ANNOTATION_NAMES, _SOURCES = 2, 3, 4
_IID, _TEXT, _LINE = 1, 2, 4
# DebugAnnotation
_OF_NAME, _BOOL, _INT, _DOUBLE, _STRING, _OWN_NAME = 1, 2, 4, 5, 6, 10

ANNOTATIONS = ("payload", "payload_end", "start_cycles", "duration_cycles", "truncated")
"""What every event may carry, by the number (from 1) under which it is interned."""

_KERNEL, _ABOUT, _FIRST = 1, 2, 3
"""Track ids: the process, the track about the trace, and the first after them."""

_WAYS = ((Phase.BEGIN, Phase.BEGIN), (Phase.BEGIN, Phase.END))
"""Where a flow may begin and end. It belongs to slices, not to points in time, so the earliest is the surest."""


@checked(path=file)
def write_perfetto(trace: TraceData, path: str | os.PathLike[str]) -> Path:
    """Write ``trace`` to ``path``, packed with gzip where it ends in ``.gz``, and return the path.

    Times are whole ns from the first CTA's entry, or cycles where no clock was measured; the file says which. Perfetto
    does not draw an arrow that points back in time. Raises ``OSError`` where the file cannot be written.
    """
    plan = steps(trace)
    with writing(path) as file:
        ids, of_notes, descriptors = _tree(trace, plan)
        for body in (*_head(trace, plan, descriptors), *_notes(plan, of_notes)):
            file.write(message(_PACKET, body))
        for piece in plan.pieces:
            for packets in _events(trace, plan, piece, np.array(ids, np.int64)):
                file.write(packets)
    return Path(path)


_ON_SEQUENCE = integer(_SEQUENCE, 1)
_OF_EVENT = _ON_SEQUENCE + integer(_FLAGS, _NEEDS_STATE)
"""What the packet of an event begins with."""


def _head(trace: TraceData, plan: Steps, descriptors: list[bytes]) -> Iterator[bytes]:
    """The packets before those of the events."""
    yield _ON_SEQUENCE + integer(_FLAGS, _STATE_CLEARED) + message(_INTERNED, _interned(trace))
    yield from (_ON_SEQUENCE + message(_DESCRIPTOR, body) for body in descriptors)
    first = int(plan.start.min(initial=0))
    for body in _about(trace, plan):
        yield _OF_EVENT + integer(_TIMESTAMP, first) + message(_TRACK_EVENT, body)


def _interned(trace: TraceData) -> bytes:
    """Names and source lines, each once; an event has the number of its own."""
    parts = [
        message(_EVENT_NAMES, integer(_IID, number) + string(_TEXT, name))
        for number, name in enumerate(trace.events["name"].cat.categories, 1)
    ]
    parts += [
        message(_ANNOTATION_NAMES, integer(_IID, number) + string(_TEXT, name))
        for number, name in enumerate(ANNOTATIONS, 1)
    ]
    for number, source in enumerate(trace.events["source"].cat.categories, 1):
        file, _, line = source.rpartition(":")
        numbered = line.isdecimal() and int(line) < 1 << 32
        place = string(_TEXT, file) + integer(_LINE, int(line)) if numbered else string(_TEXT, source)
        parts.append(message(_SOURCES, integer(_IID, number) + place))
    return b"".join(parts)


def _tree(trace: TraceData, plan: Steps) -> tuple[list[int], list[int], list[bytes]]:
    """The id of each track of ``plan``, that of each note's, and the descriptors of all, parents first."""
    worn = badge(trace.meta)
    sign = worn.text if worn and worn.warns else trace.meta.gpu
    kernel = integer(_PID, 1) + string(_PROCESS_NAME, trace.meta.kernel or trace.table.kernel)
    kernel += string(_LABELS, sign) if sign else b""
    bodies = [
        integer(_UUID, _KERNEL) + message(_PROCESS, kernel) + integer(_ORDERING, _EXPLICIT),
        _descriptor(_ABOUT, _KERNEL, "about this trace", 0),
    ]
    known: dict[tuple[Any, ...], int] = {}
    ranks: dict[int, int] = defaultdict(lambda: 1)

    def inside(parent: int, key: tuple[Any, ...], name: str) -> int:
        """The id of a track, described when first asked for."""
        if key not in known:
            known[key] = _FIRST + len(known)
            bodies.append(_descriptor(known[key], parent, name, ranks[parent]))
            ranks[parent] += 1
        return known[key]

    of_notes = [inside(_KERNEL, ("notes", note.row), note.track) for note in plan.notes]
    for sm in sorted({track.sm for track in plan.tracks}):
        inside(_KERNEL, (sm,), sm_label(sm))
    ids = []
    for track in plan.tracks:
        place: tuple[Any, ...] = (track.sm, track.cta)
        x, y, z = track.block
        id_ = inside(known[track.sm,], place, f"CTA {track.cta} ({x}, {y}, {z})")
        place += (track.thread, track.lane)
        id_ = inside(id_, (*place, 0), track.label)
        ids.append(inside(id_, (*place, track.sub), track.label))  # the same for the first of its sub-tracks
    return ids, of_notes, bodies


def _descriptor(id_: int, parent: int, name: str, rank: int) -> bytes:
    order = integer(_ORDERING, _EXPLICIT) + integer(_RANK, rank) + integer(_MERGING, _NO_MERGING)
    return integer(_UUID, id_) + string(_NAME, name) + integer(_PARENT, parent) + order


def _about(trace: TraceData, plan: Steps) -> Iterator[bytes]:
    """An instant with what is known of the trace, then one for each row of ``losses``."""
    told = provenance(trace) | unit_fact(plan)
    yield _about_event(told["trace"], told)
    for row in loss_rows(trace):
        yield _about_event(f"incomplete: CTA {row['cta']} t{row['thread']}", row)


def _about_event(name: str, values: Mapping[str, Any]) -> bytes:
    event = integer(_TYPE, _TYPES[Phase.INSTANT]) + integer(_TRACK_UUID, _ABOUT) + string(_EVENT_NAME, name)
    return event + _named_values(values)


def _named_values(values: Mapping[str, Any]) -> bytes:
    """Annotations whose names are not interned."""
    return b"".join(message(_ANNOTATION, string(_OWN_NAME, key) + _value(value)) for key, value in values.items())


def _notes(plan: Steps, ids: list[int]) -> Iterator[bytes]:
    """The packets of the notes; ``ids`` are those of their tracks."""
    for note, id_ in zip(plan.notes, ids, strict=True):
        lasts = note.end > note.start
        event = integer(_TYPE, _TYPES[Phase.BEGIN if lasts else Phase.INSTANT]) + integer(_TRACK_UUID, id_)
        event += string(_EVENT_NAME, note.text) + _named_values(note.about)
        yield _OF_EVENT + integer(_TIMESTAMP, note.start) + message(_TRACK_EVENT, event)
        if lasts:
            event = integer(_TYPE, _TYPES[Phase.END]) + integer(_TRACK_UUID, id_)
            yield _OF_EVENT + integer(_TIMESTAMP, note.end) + message(_TRACK_EVENT, event)


def _events(trace: TraceData, plan: Steps, piece: Piece, ids: npt.NDArray[np.int64]) -> Iterator[bytes]:
    """The packets of the steps of a piece, some thousand at a time; ``ids`` are those of the tracks."""
    events = piece.part.events
    values = payloads(events, trace.sites)
    changed = values[1].differs(values[0])
    names = Words([integer(_NAME_IID, code + 1) for code in range(len(events["name"].cat.categories))])
    sources = [integer(_SOURCE_IID, code + 1) for code in range(len(events["source"].cat.categories))]
    places = Words([*sources, b""])  # -1: none
    types = Words([integer(_TYPE, number) for _, number in sorted(_TYPES.items())])
    name, source = (events[column].cat.codes.to_numpy() for column in ("name", "source"))
    start, duration = (events[column].to_numpy(np.int64) for column in ("start", "duration"))
    truncated = events["truncated"].to_numpy()
    slots = arrows(piece, plan, _WAYS)
    for here, track, phase, row, time in plan.steps(piece, AT_ONCE):
        event = Rows(len(row))
        event.words(types, phase)
        event.constant(tag(_TRACK_UUID, VARINT))
        event.varint(ids[track])
        is_first, is_begin = phase != Phase.END, phase == Phase.BEGIN
        event.words(names, name[row], is_first)
        event.words(places, source[row], is_first)
        begin, end = (of.at(row) for of in values)
        _number(event, "start_cycles", start[row], is_first)
        _payload(event, "payload", begin, is_first)
        _number(event, "duration_cycles", duration[row], is_begin)
        _payload(event, "payload_end", end, is_begin & changed[row])
        event.constant(_annotation(_KEYS["truncated"], True), is_first & truncated[row])
        for slot in slots:
            number, leaves = slot.number[here], slot.leaves[here]
            for flow, mine in ((_FLOW, leaves), (_TERMINATING_FLOW, ~leaves & (number > 0))):
                event.constant(tag(flow, FIXED64), mine)
                event.fixed(number, mine)
        packet = Rows(len(row))
        packet.constant(_OF_EVENT + tag(_TIMESTAMP, VARINT))
        packet.varint(time)
        packet.append(messages(_TRACK_EVENT, event))
        yield messages(_PACKET, packet).tobytes()


_KEYS = {key: integer(_OF_NAME, number) for number, key in enumerate(ANNOTATIONS, 1)}


def _number(event: Rows, key: str, values: npt.NDArray[np.int64], where: npt.NDArray[np.bool_]) -> None:
    """Add an annotation that is a whole number."""
    note = Rows(len(values))
    note.constant(_KEYS[key] + tag(_INT, VARINT))
    note.varint(values)
    event.append(messages(_ANNOTATION, note), where)


def _payload(event: Rows, key: str, values: Payloads, where: npt.NDArray[np.bool_]) -> None:
    """Add an annotation that is a payload, where there is one."""
    _number(event, key, values.whole, where & (values.kind == WHOLE))
    for kind, field in ((BOOL, _BOOL), (REAL, _DOUBLE)):
        mine = where & (values.kind == kind)
        if mine.any():
            note = Rows(len(mine))
            if kind == BOOL:
                note.constant(_KEYS[key] + tag(field, VARINT))
                note.varint(values.whole)
            else:
                note.constant(_KEYS[key] + tag(field, FIXED64))
                note.fixed(values.real)
            event.append(messages(_ANNOTATION, note), mine)


def _annotation(name: bytes, value: Any) -> bytes:
    return message(_ANNOTATION, name + _value(value))


def _value(value: Any) -> bytes:
    """The value of an annotation in the field of its type."""
    if isinstance(value, bool):
        return integer(_BOOL, value)
    if isinstance(value, int):
        return integer(_INT, value)
    return double(_DOUBLE, value) if isinstance(value, float) else string(_STRING, str(value))
