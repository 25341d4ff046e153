"""A trace as packets of a Perfetto file, wherever in it the trace stands.

In: a trace, and its :class:`Place` in the file. Out: packets. SM, CTA, track and sub-track nest. A range is a slice
with its source line, payloads and exact cycles as arguments, an arrow of ``trace.dag`` is a flow. What was lost, and
whether the times are simulated, stands on a first track, "about this trace"; notes are on the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tltrace_nb.export.perfetto_packets import (
    ANNOTATION,
    ANNOTATION_NAMES,
    BOOL_VALUE,
    DOUBLE_VALUE,
    EVENT_NAMES,
    FLOW,
    IID,
    INT_VALUE,
    LINE,
    NAME_IID,
    OF_NAME,
    PACKET,
    SOURCE_IID,
    SOURCES,
    TERMINATING_FLOW,
    TEXT,
    TIMESTAMP,
    TRACK_EVENT,
    TRACK_UUID,
    TYPE,
    TYPES,
    Tree,
    annotation,
    begun,
    ended,
    interned,
    of_event,
)
from tltrace_nb.export.protobuf import FIXED64, VARINT, integer, message, messages, string, tag
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from tltrace_nb.data.trace_data import TraceData

ANNOTATIONS = ("payload", "payload_end", "start_cycles", "duration_cycles", "truncated")
"""What every event may carry, by the number (from 1) under which it is interned."""

_WAYS = ((Phase.BEGIN, Phase.BEGIN), (Phase.BEGIN, Phase.END))
"""Where a flow may begin and end. It belongs to slices, not to points in time, so the earliest is the surest."""


Cta = tuple[int, int, tuple[int, int, int]]
"""SM, CTA and block index."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file a trace stands: inside of the track ``root``, on a ``sequence`` of packets.

    ``shift``: what to add to the trace's times, in ns. ``flows``: the flows of the file before the trace's.
    """

    root: int
    sequence: int = 1
    shift: int = 0
    flows: int = 0


@dataclass(frozen=True, eq=False)
class Laid:
    """A trace on the tracks of a file: ``ids`` are those of the tracks of ``plan``, ``notes`` those of its notes."""

    trace: TraceData
    plan: Steps
    place: Place
    about: int
    notes: tuple[int, ...]
    ids: npt.NDArray[np.int64]

    def words(self) -> bytes:
        """What begins the trace's sequence of packets."""
        return interned(self.place.sequence, _words(self.trace))

    def facts(self) -> Iterator[bytes]:
        """Where the trace comes from, and what was lost."""
        told = provenance(self.trace) | unit_fact(self.plan)
        first = int(self.plan.start.min(initial=0)) + self.place.shift
        yield begun(self.about, first, told["trace"], told, lasts=False)
        for row in loss_rows(self.trace):
            yield begun(self.about, first, f"incomplete: CTA {row['cta']} t{row['thread']}", row, lasts=False)

    def events(self) -> Iterator[bytes]:
        """The notes, and the packets of the events, some thousand at a time."""
        for note, id_ in zip(self.plan.notes, self.notes, strict=True):
            lasts = note.end > note.start
            yield begun(id_, note.start + self.place.shift, note.text, note.about, lasts=lasts)
            if lasts:
                yield ended(id_, note.end + self.place.shift)
        for piece in self.plan.pieces:
            yield from _events(self, piece)


def lay(trace: TraceData, tree: Tree, place: Place, ctas: Iterable[Cta] = ()) -> Laid:
    """Lay a trace out inside of ``place.root``; ``ctas`` have a track also where they have no events."""
    plan = steps(trace)
    about = tree.inside(place.root, "about", "about this trace")
    notes = tuple(tree.inside(place.root, ("notes", note.row), note.track) for note in plan.notes)
    of_tracks = [(track.sm, track.cta, track.block) for track in plan.tracks]
    for sm in sorted({sm for sm, *_ in (*of_tracks, *ctas)}):
        tree.inside(place.root, sm, sm_label(sm))
    ids = []
    for track, cta in zip(plan.tracks, of_tracks, strict=True):
        id_ = tree.inside(cta_track(tree, place.root, cta), (track.thread, track.lane, 0), track.label)
        # the same for the first of its sub-tracks
        ids.append(tree.inside(id_, track.sub, track.label) if track.sub else id_)
    return Laid(trace, plan, place, about, notes, np.array(ids, np.int64))


def cta_track(tree: Tree, root: int, cta: Cta) -> int:
    """The id of the track of a CTA; those of SMs are in order where they were asked for before."""
    sm, number, (x, y, z) = cta
    return tree.inside(tree.inside(root, sm, sm_label(sm)), number, f"CTA {number} ({x}, {y}, {z})")


def _words(trace: TraceData) -> bytes:
    """Names and source lines, each once; an event has the number of its own."""
    parts = [
        message(EVENT_NAMES, integer(IID, number) + string(TEXT, name))
        for number, name in enumerate(trace.events["name"].cat.categories, 1)
    ]
    parts += [
        message(ANNOTATION_NAMES, integer(IID, number) + string(TEXT, name))
        for number, name in enumerate(ANNOTATIONS, 1)
    ]
    for number, source in enumerate(trace.events["source"].cat.categories, 1):
        file, _, line = source.rpartition(":")
        numbered = line.isdecimal() and int(line) < 1 << 32
        place = string(TEXT, file) + integer(LINE, int(line)) if numbered else string(TEXT, source)
        parts.append(message(SOURCES, integer(IID, number) + place))
    return b"".join(parts)


def _events(laid: Laid, piece: Piece) -> Iterator[bytes]:
    """The packets of the steps of a piece, some thousand at a time."""
    plan, place, events = laid.plan, laid.place, piece.part.events
    values = payloads(events, laid.trace.sites)
    changed = values[1].differs(values[0])
    names = Words([integer(NAME_IID, code + 1) for code in range(len(events["name"].cat.categories))])
    sources = [integer(SOURCE_IID, code + 1) for code in range(len(events["source"].cat.categories))]
    places = Words([*sources, b""])  # -1: none
    types = Words([integer(TYPE, number) for _, number in sorted(TYPES.items())])
    name, source = (events[column].cat.codes.to_numpy() for column in ("name", "source"))
    start, duration = (events[column].to_numpy(np.int64) for column in ("start", "duration"))
    truncated = events["truncated"].to_numpy()
    slots = arrows(piece, plan, _WAYS)
    for here, track, phase, row, time in plan.steps(piece, AT_ONCE):
        event = Rows(len(row))
        event.words(types, phase)
        event.constant(tag(TRACK_UUID, VARINT))
        event.varint(laid.ids[track])
        is_first, is_begin = phase != Phase.END, phase == Phase.BEGIN
        event.words(names, name[row], is_first)
        event.words(places, source[row], is_first)
        begin, end = (of.at(row) for of in values)
        _number(event, "start_cycles", start[row], is_first)
        _payload(event, "payload", begin, is_first)
        _number(event, "duration_cycles", duration[row], is_begin)
        _payload(event, "payload_end", end, is_begin & changed[row])
        event.constant(annotation(_KEYS["truncated"], True), is_first & truncated[row])
        for slot in slots:
            number, leaves = slot.number[here], slot.leaves[here]
            for flow, mine in ((FLOW, leaves), (TERMINATING_FLOW, ~leaves & (number > 0))):
                event.constant(tag(flow, FIXED64), mine)
                event.fixed(number + place.flows, mine)
        packet = Rows(len(row))
        packet.constant(of_event(place.sequence) + tag(TIMESTAMP, VARINT))
        packet.varint(time + place.shift)
        packet.append(messages(TRACK_EVENT, event))
        yield messages(PACKET, packet).tobytes()


_KEYS = {key: integer(OF_NAME, number) for number, key in enumerate(ANNOTATIONS, 1)}


def _number(event: Rows, key: str, values: npt.NDArray[np.int64], where: npt.NDArray[np.bool_]) -> None:
    """Add an annotation that is a whole number."""
    note = Rows(len(values))
    note.constant(_KEYS[key] + tag(INT_VALUE, VARINT))
    note.varint(values)
    event.append(messages(ANNOTATION, note), where)


def _payload(event: Rows, key: str, values: Payloads, where: npt.NDArray[np.bool_]) -> None:
    """Add an annotation that is a payload, where there is one."""
    _number(event, key, values.whole, where & (values.kind == WHOLE))
    for kind, field in ((BOOL, BOOL_VALUE), (REAL, DOUBLE_VALUE)):
        mine = where & (values.kind == kind)
        if mine.any():
            note = Rows(len(mine))
            if kind == BOOL:
                note.constant(_KEYS[key] + tag(field, VARINT))
                note.varint(values.whole)
            else:
                note.constant(_KEYS[key] + tag(field, FIXED64))
                note.fixed(values.real)
            event.append(messages(ANNOTATION, note), mine)
