"""The packets of a Perfetto file: field numbers, the tree of tracks, and slices with their arguments.

In: names, times, plain values. Out: bytes, packet by packet.

The field numbers are those of ``protos/perfetto/trace/perfetto_trace.proto`` of https://github.com/google/perfetto,
release v59.1. Readers that are too old for the order of siblings (``_RANK``, ``_MERGING``) pass over it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from tltrace_nb.export.protobuf import double, fixed64, integer, message, string
from tltrace_nb.export.steps import Phase

PACKET = 1
"""Of Trace; the other numbers without a comment are those of TracePacket."""
TIMESTAMP, SEQUENCE, TRACK_EVENT, INTERNED, FLAGS, DESCRIPTOR = 8, 10, 11, 12, 13, 60
_STATE_CLEARED, _NEEDS_STATE = 1, 2
# TrackDescriptor
_UUID, _NAME, _PROCESS, _PARENT, _ORDERING, _RANK, _MERGING = 1, 2, 3, 5, 11, 12, 15
_EXPLICIT, _NO_MERGING = 3, 2
# ProcessDescriptor
_PID, _PROCESS_NAME, _LABELS = 1, 6, 8
ANNOTATION, TYPE, NAME_IID, TRACK_UUID, EVENT_NAME, SOURCE_IID = 4, 9, 10, 11, 23, 34
"""Of TrackEvent."""
FLOW, TERMINATING_FLOW = 47, 48
TYPES = {Phase.BEGIN: 1, Phase.END: 2, Phase.INSTANT: 3}
EVENT_NAMES, ANNOTATION_NAMES, SOURCES = 2, 3, 4
"""Of InternedData: EventName, DebugAnnotationName and SourceLocation."""
IID, TEXT, LINE = 1, 2, 4
OF_NAME, BOOL_VALUE, INT_VALUE, DOUBLE_VALUE, STRING_VALUE, OWN_NAME = 1, 2, 4, 5, 6, 10
"""Of DebugAnnotation."""


class Tree:
    """The tracks of a file: processes, and tracks inside of each other in the order in which they are asked for."""

    def __init__(self) -> None:
        self._bodies: list[bytes] = []
        self._known: dict[tuple[int, Hashable], int] = {}
        self._ranks: dict[int, int] = defaultdict(int)
        self._processes = 0

    def process(self, name: str, label: str = "") -> int:
        """The id of a new process."""
        self._processes += 1
        about = integer(_PID, self._processes) + string(_PROCESS_NAME, name)
        about += string(_LABELS, label) if label else b""
        self._bodies.append(
            integer(_UUID, len(self._bodies) + 1) + message(_PROCESS, about) + integer(_ORDERING, _EXPLICIT)
        )
        return len(self._bodies)

    def inside(self, parent: int, key: Hashable, name: str) -> int:
        """The id of the track of this key inside of another, described when first asked for."""
        if (parent, key) not in self._known:
            id_ = self._known[parent, key] = len(self._bodies) + 1
            order = integer(_ORDERING, _EXPLICIT) + integer(_RANK, self._ranks[parent]) + integer(_MERGING, _NO_MERGING)
            self._bodies.append(integer(_UUID, id_) + string(_NAME, name) + integer(_PARENT, parent) + order)
            self._ranks[parent] += 1
        return self._known[parent, key]

    def packets(self) -> bytes:
        """The descriptors of all, parents first."""
        return b"".join(message(PACKET, integer(SEQUENCE, 1) + message(DESCRIPTOR, body)) for body in self._bodies)


def interned(sequence: int, body: bytes) -> bytes:
    """The packet that begins a sequence, with the words that its events have by number."""
    return message(PACKET, integer(SEQUENCE, sequence) + integer(FLAGS, _STATE_CLEARED) + message(INTERNED, body))


def of_event(sequence: int) -> bytes:
    """What the packet of an event begins with."""
    return integer(SEQUENCE, sequence) + integer(FLAGS, _NEEDS_STATE)


def begun(
    track: int,
    time: int,
    name: str,
    values: Mapping[str, Any],
    *,
    leaving: Iterable[int] = (),
    arriving: Iterable[int] = (),
    lasts: bool = True,
) -> bytes:
    """The packet of a slice's begin, or of an instant, with the flows that leave it and arrive at it."""
    event = integer(TYPE, TYPES[Phase.BEGIN if lasts else Phase.INSTANT]) + integer(TRACK_UUID, track)
    event += string(EVENT_NAME, name) + named_values(values)
    event += b"".join(fixed64(FLOW, flow) for flow in leaving)
    event += b"".join(fixed64(TERMINATING_FLOW, flow) for flow in arriving)
    return message(PACKET, of_event(1) + integer(TIMESTAMP, time) + message(TRACK_EVENT, event))


def ended(track: int, time: int) -> bytes:
    """The packet of a slice's end."""
    event = integer(TYPE, TYPES[Phase.END]) + integer(TRACK_UUID, track)
    return message(PACKET, of_event(1) + integer(TIMESTAMP, time) + message(TRACK_EVENT, event))


def named_values(values: Mapping[str, Any]) -> bytes:
    """Annotations whose names are not interned."""
    return b"".join(annotation(string(OWN_NAME, key), value) for key, value in values.items())


def annotation(name: bytes, value: Any) -> bytes:
    """An annotation, its value in the field of its type."""
    if isinstance(value, bool):
        field = integer(BOOL_VALUE, value)
    elif isinstance(value, int):
        field = integer(INT_VALUE, value)
    elif isinstance(value, float):
        field = double(DOUBLE_VALUE, value)
    else:
        field = string(STRING_VALUE, str(value))
    return message(ANNOTATION, name + field)
