"""A trace in Perfetto's own format, for ui.perfetto.dev and its trace processor.

In: a trace. Out: a file of ``TracePacket``\\ s. The kernel is a process; below it nest SM, CTA, track and sub-track. A
range is a slice with its source line, payloads and exact cycles as arguments, an arrow of ``trace.dag`` is a flow. What
was lost, and whether the times are simulated, stands on a first track, "about this trace".

The field numbers are those of ``protos/perfetto/trace/perfetto_trace.proto`` of https://github.com/google/perfetto,
release v59.1. Readers that are too old for the order of siblings (``_RANK``, ``_MERGING``) pass over it.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.checks import checked, file
from tltrace_nb.base.files import writing
from tltrace_nb.export.protobuf import double, fixed64, integer, message, string
from tltrace_nb.export.provenance import loss_rows, provenance
from tltrace_nb.export.steps import Phase, Piece, Steps, arrows, payloads, same, sm_label, steps, unit_fact
from tltrace_nb.render.text import badge

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

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
        for body in _packets(trace, plan):
            file.write(message(_PACKET, body))
    return Path(path)


def _packets(trace: TraceData, plan: Steps) -> Iterator[bytes]:
    sequence = integer(_SEQUENCE, 1)
    yield sequence + integer(_FLAGS, _STATE_CLEARED) + message(_INTERNED, _interned(trace))
    ids, descriptors = _tree(trace, plan)
    yield from (sequence + message(_DESCRIPTOR, body) for body in descriptors)
    head = sequence + integer(_FLAGS, _NEEDS_STATE)
    first = int(plan.start.min(initial=0))
    for body in _about(trace, plan):
        yield head + integer(_TIMESTAMP, first) + message(_TRACK_EVENT, body)
    for piece in plan.pieces:
        for time, body in _events(trace, plan, piece, ids):
            yield head + integer(_TIMESTAMP, time) + message(_TRACK_EVENT, body)


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


def _tree(trace: TraceData, plan: Steps) -> tuple[list[int], list[bytes]]:
    """The id of each track of ``plan``, and the descriptors of all, parents first."""
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
    return ids, bodies


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
    notes = (message(_ANNOTATION, string(_OWN_NAME, key) + _value(value)) for key, value in values.items())
    return event + b"".join(notes)


def _events(trace: TraceData, plan: Steps, piece: Piece, ids: list[int]) -> Iterator[tuple[int, bytes]]:
    """The time and the ``TrackEvent`` of every step of a piece."""
    events = piece.part.events
    values = payloads(events, trace.sites)
    names = [integer(_NAME_IID, code + 1) for code in range(len(events["name"].cat.categories))]
    sources = [integer(_SOURCE_IID, code + 1) for code in range(len(events["source"].cat.categories))] + [
        b""
    ]  # -1: none
    name, source = events["name"].cat.codes.tolist(), events["source"].cat.codes.tolist()
    start, duration = events["start"].tolist(), events["duration"].tolist()
    truncated = events["truncated"].tolist()
    on_track = [integer(_TRACK_UUID, id_) for id_ in ids]
    types = {int(phase): integer(_TYPE, number) for phase, number in _TYPES.items()}
    keys = {key: integer(_OF_NAME, number) for number, key in enumerate(ANNOTATIONS, 1)}
    flows = _flows(piece, plan)
    of_payload, of_end, of_start, of_duration, _ = keys.values()
    yes = _annotation(keys["truncated"], True)
    is_begin, is_end = int(Phase.BEGIN), int(Phase.END)
    number = lru_cache(maxsize=1 << 16)(_annotation)  # the same integers come again in every CTA
    for track, phase, row, time in plan.steps(piece):
        body = types[phase] + on_track[track]
        if phase != is_end:
            begin, end = values[row]
            body += names[name[row]] + sources[source[row]] + number(of_start, start[row])
            if begin is not None:
                body += (number if type(begin) is int else _annotation)(of_payload, begin)
            if phase == is_begin:
                body += number(of_duration, duration[row])
                if end is not None and not same(begin, end):
                    body += _annotation(of_end, end)
            if truncated[row]:
                body += yes
        yield time, body + flows.get((row, phase), b"")


def _annotation(name: bytes, value: Any) -> bytes:
    return message(_ANNOTATION, name + _value(value))


def _value(value: Any) -> bytes:
    """The value of an annotation in the field of its type."""
    if isinstance(value, bool):
        return integer(_BOOL, value)
    if isinstance(value, int):
        return integer(_INT, value)
    return double(_DOUBLE, value) if isinstance(value, float) else string(_STRING, str(value))


def _flows(piece: Piece, plan: Steps) -> dict[tuple[int, int], bytes]:
    """What arrows add to a step, by (row, phase)."""
    added: dict[tuple[int, int], bytes] = defaultdict(bytes)
    ends = ((piece.part.flows[side] - piece.label).tolist() for side in ("src", "dst"))
    for src, dst, (number, leave, arrive) in zip(*ends, arrows(piece, plan, _WAYS), strict=True):
        added[src, leave] += fixed64(_FLOW, number)
        added[dst, arrive] += fixed64(_TERMINATING_FLOW, number)
    return added
