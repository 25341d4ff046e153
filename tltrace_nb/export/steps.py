"""A trace as begins, ends and instants on tracks that nest: what Perfetto's and Chrome's formats have in common.

In: a trace. Out: :class:`Steps`. Both formats know only slices that lie inside each other on a track. Ranges that
cross are therefore spread over *sub-tracks*, each of which nests; a track that nests has one. (The rows of a picture,
``lanes.sub_rows``, hold no two events at a time; a sub-track holds a whole nest, whose rows the reader makes.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tltrace_nb.analysis.parts import Part, parts
from tltrace_nb.analysis.spans import ordinal
from tltrace_nb.base.words import clean
from tltrace_nb.export.noted import Noted, noted
from tltrace_nb.export.times import Times
from tltrace_nb.render.text import HOVER_CHARS, word

if TYPE_CHECKING:
    from tltrace_nb.data.trace_data import TraceData

Ints = npt.NDArray[np.int64]

Array = npt.NDArray[Any]

PIECE_EVENTS = 1 << 17
"""Events that are laid out together."""
DEEP = 16
"""Ranges inside each other up to which whole tracks are laid out at once."""


class Phase(IntEnum):
    """What a step is."""

    BEGIN = 0
    END = 1
    INSTANT = 2


@dataclass(frozen=True, slots=True)
class Track:
    """One sub-track: where it is, ``sub`` counting from 0 within its track, and what its reader is told."""

    sm: int
    cta: int
    block: tuple[int, int, int]
    thread: int
    lane: str
    group: str
    role: str
    sub: int

    @property
    def label(self) -> str:
        """Thread and lane, and group, role and row where they say more."""
        more = [
            clean(text, HOVER_CHARS) for text in dict.fromkeys((self.group, self.role)) if text not in ("", "default")
        ]
        track = f"t{self.thread} · {clean(self.lane, HOVER_CHARS)}"
        row = f" · row {self.sub + 1}" if self.sub else ""
        return f"{track} ({', '.join(more)}){row}" if more else f"{track}{row}"


@dataclass(frozen=True, eq=False)
class Steps:
    """A trace ready to be written.

    ``tracks`` are by CTA, thread, lane and sub-track. Per step, in the order to write them: the number of its
    ``track``, its ``phase`` and the ``row`` of its event. Per row: ``start`` and ``end`` as a whole number of ``unit``,
    at least 0 and in the order of the cycles, and the places ``begun`` and ``ended`` of its steps. ``pieces`` are to be
    written one after the other, so that what is written of them lies in memory for one at a time. ``notes`` are a
    reader's.
    """

    tracks: tuple[Track, ...]
    track: Array
    phase: Array
    row: Array
    start: Ints
    end: Ints
    unit: Literal["ns", "cycles"]
    begun: Array
    ended: Array
    pieces: tuple[Piece, ...]
    notes: tuple[Noted, ...]

    def steps(self, piece: Piece, most: int) -> Iterator[tuple[slice, Array, Array, Array, Ints]]:
        """So many steps of a piece after the other: which of it they are; their track, phase, row in it, and time."""
        for first in range(piece.first, piece.last, most):
            here = slice(first, min(first + most, piece.last))
            phase, row = self.phase[here], self.row[here]
            time = np.where(phase == Phase.END, self.end[row], self.start[row])
            of_piece = slice(here.start - piece.first, here.stop - piece.first)
            yield of_piece, self.track[here], phase, row - piece.label, time


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a trace and its steps, from ``first`` up to ``last``."""

    part: Part
    first: int
    last: int

    @property
    def label(self) -> int:
        """Of the first row of the part."""
        return int(self.part.events.index[0]) if len(self.part.events) else 0


def steps(trace: TraceData) -> Steps:
    """Lay ``trace`` out in tracks. ``unit`` is ns where the clock of every CTA was measured, else cycles."""
    events = trace.events
    times = Times.of(trace)
    start, end = (times.at(events["cta"].to_numpy(), events[column].to_numpy()) for column in ("start", "end"))
    tracks: list[Track] = []
    pieces: list[Piece] = []
    found: list[tuple[Array, Array, Array]] = []
    for part in parts(trace, PIECE_EVENTS):
        piece = Piece(part, pieces[-1].last if pieces else 0, 0)
        steps = _steps(part.events, piece.label, tracks)
        found.append(steps)
        pieces.append(replace(piece, last=piece.first + len(steps[0])))
    track, phase, row = (np.concatenate(each) for each in zip(*found, strict=True))
    places = np.arange(len(row), dtype=np.int32)
    begun, ended = np.zeros(len(events), np.int32), np.zeros(len(events), np.int32)
    begun[row[phase != Phase.END]] = places[phase != Phase.END]
    ended[row[phase != Phase.BEGIN]] = places[phase != Phase.BEGIN]
    return Steps(
        tuple(tracks), track, phase, row, start, end, times.unit, begun, ended, tuple(pieces), noted(trace, times)
    )


def _steps(events: pd.DataFrame, label: int, tracks: list[Track]) -> tuple[Array, Array, Array]:
    """Track, phase and row of every step of ``events``, whose first row has ``label``; their tracks are added.

    Each step has a place: a begin that of its row, an end that of the first row of the track that its range does not
    enclose, before this row, the deeper first. Tracks on which ranges cross are laid out range by range.
    """
    frame = _Laid.of(events)
    nests = np.ones(len(frame.bounds) - 1, np.bool_)
    nests[frame.track[~frame.nests()]] = False
    crossing = {number: list(frame.nested(number)) for number in np.flatnonzero(~nests).tolist()}
    subs = np.ones(len(nests), np.int64)
    for number, steps in crossing.items():
        subs[number] += max(sub for sub, *_ in steps)
    numbers = len(tracks) + np.cumsum(subs) - subs
    tracks += _tracks(events, frame.bounds[:-1], subs)

    row = np.flatnonzero(nests[frame.track])
    ends = row[frame.is_range[row]]
    begin, end = (np.full(len(of), phase, np.int8) for of, phase in ((row, Phase.BEGIN), (ends, Phase.END)))
    begin[~frame.is_range[row]] = Phase.INSTANT
    width = DEEP + 2  # of the places before a row and its own
    found = [
        (row * width + width - 1, numbers[frame.track[row]], begin, row),
        (frame.after[ends] * width + DEEP - frame.depth[ends], numbers[frame.track[ends]], end, ends),
    ]
    for number, steps in crossing.items():
        sub, phase, of_row = np.array(steps, np.int64).T
        places = (frame.bounds[number] + 1) * width - 1 + np.arange(len(steps))
        found.append((places, numbers[number] + sub, phase.astype(np.int8), of_row))
    place, track, phase, row = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.argsort(place, kind="stable")
    return track[order].astype(np.int32), phase[order], (row[order] + label).astype(np.int32)


@dataclass(frozen=True, eq=False)
class _Laid:
    """Rows of the events by track, of which ``bounds`` has the first rows and the number of all.

    Per row: the number of its ``track``, its times, the row of its ``parent`` (-1: none), its ``depth`` (at most
    ``DEEP``), and the first row ``after`` it on its track that is not deeper, else the first of the next track.
    """

    bounds: Ints
    track: Ints
    start: Ints
    end: Ints
    parent: Ints
    is_range: Array
    depth: Ints
    after: Ints

    @classmethod
    def of(cls, events: pd.DataFrame) -> _Laid:
        """Those of whole CTAs."""
        label = int(events.index[0]) if len(events) else 0
        start, end = (events[column].to_numpy(np.int64) for column in ("start", "end"))
        parent = events["parent"].to_numpy(np.int64, na_value=label - 1) - label
        depth = np.minimum(events["depth"].to_numpy(np.int64), DEEP)
        bounds = _bounds(events)
        track = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        is_range = events["kind"].cat.codes.to_numpy() == 0
        return cls(bounds, track, start, end, parent, is_range, depth, _after(depth, bounds))

    def nests(self) -> npt.NDArray[np.bool_]:
        """Whether each row lies inside its parent and ends before what follows it: then the order of rows tells all."""
        row, outer = np.arange(len(self.track)), np.maximum(self.parent, 0)
        inside = self.is_range[outer] & (outer < row) & (row < self.after[outer]) & (self.end <= self.end[outer])
        inside &= self.depth == self.depth[outer] + 1
        following = np.minimum(self.after, len(row) - 1)
        last = self.after == self.bounds[1:][self.track]
        over = (self.start <= self.end) & (last | (self.end <= self.start[following]))
        found: npt.NDArray[np.bool_] = over & np.where(self.parent < 0, self.depth == 0, inside) & (self.depth < DEEP)
        return found

    def nested(self, number: int) -> Iterator[tuple[int, Phase, int]]:
        """The steps of a track, range by range."""
        first, last = self.bounds[number : number + 2].tolist()
        cells = (of[first:last].tolist() for of in (self.start, self.end, self.parent - first, self.is_range))
        return ((sub, phase, row + first) for sub, phase, row in _nested(*cells))


def _after(depth: Ints, bounds: Ints) -> Ints:
    """For each row the first after it that is not deeper, or that of the next track."""
    row = np.arange(len(depth))
    first = np.zeros(len(depth), np.bool_)
    first[bounds[:-1]] = True
    after = np.full(len(depth), len(depth))
    for level in range(int(depth.max(initial=-1)) + 1):
        stops = np.where(first | (depth <= level), row, len(depth))
        following = np.append(np.minimum.accumulate(stops[::-1])[::-1][1:], len(depth))
        mine = depth == level
        after[mine] = following[mine]
    return after


def unit_fact(plan: Steps) -> dict[str, str]:
    """What a file says of its times."""
    return {"time_unit": "ns" if plan.unit == "ns" else "cycles, the clock rate being unknown; readers call them ns"}


def sm_label(sm: int) -> str:
    """The name of an SM."""
    return f"SM {sm}" if sm >= 0 else "SM unknown"


def _bounds(events: pd.DataFrame) -> Ints:
    """The first row of each track, and the number of rows."""
    if events.empty:
        return np.zeros(1, np.int64)
    keys = (events["cta"].to_numpy(), events["thread"].to_numpy(), events["lane"].cat.codes.to_numpy())
    changes = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return np.concatenate([[0], np.flatnonzero(changes) + 1, [len(events)]])


def _tracks(events: pd.DataFrame, rows: Ints, subs: Ints) -> Iterator[Track]:
    """The tracks that begin at ``rows``, each with so many sub-tracks."""
    numbers = ("sm", "cta", "thread", "block_x", "block_y", "block_z")
    of_numbers = (events[name].to_numpy()[rows].tolist() for name in numbers)
    of_words = ([word(text) for text in events[name].iloc[rows]] for name in ("lane", "group", "role"))
    cells = zip(subs.tolist(), *of_numbers, *of_words, strict=True)
    for count, sm, cta, thread, x, y, z, lane, group, role in cells:
        for sub in range(count):
            yield Track(sm, cta, (x, y, z), thread, lane, group, role, sub)


def _nested(
    start: Sequence[int], end: Sequence[int], parent: Sequence[int], is_range: Sequence[bool]
) -> Iterator[tuple[int, Phase, int]]:
    """The steps of one track as (sub-track, phase, row), in order on each sub-track.

    A range goes to the sub-track of its parent if it ends there no later than what is open, else to the first on which
    it does.
    """
    open_: list[list[int]] = [[]]  # per sub-track, the ranges that have not ended, outermost first
    home: dict[int, int] = {}

    def encloses(outer: int, row: int) -> bool:
        while row >= 0 and row != outer:
            row = parent[row]
        return row == outer

    def finish(stack: list[int], row: int) -> Iterator[int]:
        while stack and (
            end[stack[-1]] < start[row] or (end[stack[-1]] == start[row] and not encloses(stack[-1], row))
        ):
            yield stack.pop()

    for row in range(len(start)):
        first = home.get(parent[row], 0)
        for sub in (first, *(other for other in range(len(open_) + 1) if other != first)):
            if sub == len(open_):
                open_.append([])
            stack = open_[sub]
            for ended in finish(stack, row):
                yield sub, Phase.END, ended
            if not stack or end[stack[-1]] >= end[row]:
                break
        if is_range[row]:
            yield sub, Phase.BEGIN, row
            stack.append(row)
            home[row] = sub
        else:
            yield sub, Phase.INSTANT, row
    for sub, stack in enumerate(open_):
        while stack:
            yield sub, Phase.END, stack.pop()


@dataclass(frozen=True, slots=True)
class Slot:
    """An arrow or none at each step of a piece: its ``number`` in ``Trace.flows``, from 1, 0 for none.

    ``leaves``: it begins at the step, else it ends there.
    """

    number: Ints
    leaves: npt.NDArray[np.bool_]


def arrows(piece: Piece, plan: Steps, ways: Sequence[tuple[Phase, Phase]]) -> list[Slot]:
    """The arrows of a piece, in as many slots as the step with most of them needs, in the order of ``Trace.flows``.

    Each joins the first of ``ways`` (source, destination) of which the source's step comes first in the file and in
    time; where there is none, because the arrow points back in time, the first.
    """
    src, dst = (piece.part.flows[side].to_numpy() for side in ("src", "dst"))
    joins = np.zeros((len(src), 2), np.int64)
    for nth, (leave, arrive) in enumerate((ways[0], *reversed(ways))):
        (left, leaving), (arrived, arriving) = (
            (plan.end[rows], plan.ended[rows]) if phase is Phase.END else (plan.start[rows], plan.begun[rows])
            for rows, phase in ((src, leave), (dst, arrive))
        )
        sound = (left < arrived) | ((left == arrived) & (leaving < arriving)) | (nth == 0)
        joins[sound] = np.stack([leaving, arriving], axis=1)[sound]
    step = joins.reshape(-1) - piece.first
    turn = ordinal(step, np.argsort(step, kind="stable"))
    number, leaves = np.repeat(piece.part.flows.index.to_numpy() + 1, 2), np.tile([True, False], len(src))
    slots = []
    for nth in range(int(turn.max(initial=-1)) + 1):
        slot = Slot(np.zeros(piece.last - piece.first, np.int64), np.zeros(piece.last - piece.first, np.bool_))
        mine = turn == nth
        slot.number[step[mine]], slot.leaves[step[mine]] = number[mine], leaves[mine]
        slots.append(slot)
    return slots


NONE, WHOLE, REAL, BOOL = range(4)
"""What a payload is."""


@dataclass(frozen=True, slots=True)
class Payloads:
    """A payload for each event: what it is, and its value as an integer (a ``bool``, too) or a ``float``."""

    kind: npt.NDArray[np.int8]
    whole: Ints
    real: npt.NDArray[np.float64]

    def differs(self, other: Payloads) -> npt.NDArray[np.bool_]:
        """Where the payload is there, and not the same as the other; two that are not a number are the same."""
        equal = np.where(self.kind == REAL, self.real == other.real, self.whole == other.whole)
        equal |= (self.kind == REAL) & np.isnan(self.real) & np.isnan(other.real)
        found: npt.NDArray[np.bool_] = (self.kind != NONE) & ~(equal & (self.kind == other.kind))
        return found

    def at(self, rows: Array) -> Payloads:
        """Those of some events."""
        return Payloads(self.kind[rows], self.whole[rows], self.real[rows])


def payloads(events: pd.DataFrame, sites: pd.DataFrame) -> tuple[Payloads, Payloads]:
    """Each event's payload at begin and end, as recorded.

    The frame's column has one type for all; the sites know each. Where sites that look the same in the frame differ in
    type, the column's type stays.
    """
    keys = ["name", "group", "lane", "source", "kind"]
    kinds = {key: _kind(set(types)) for key, types in sites.groupby(keys, observed=True)["payload"]}
    number = events.groupby(keys, observed=True, sort=False).ngroup().to_numpy()
    of_group = []
    for row in np.unique(number, return_index=True)[1].tolist():
        *place, kind = (events[key].iat[row] for key in keys)
        sides = ("begin", "end") if kind == "range" else ("instant", "instant")
        of_group.append([kinds.get((*place, side)) for side in sides])
    both = []
    for side, column in enumerate(("payload", "payload_end")):
        values = events[column]
        usual = REAL if values.dtype.kind == "f" else WHOLE
        known = np.array([usual if kinds_[side] is None else kinds_[side] for kinds_ in of_group], np.int8)[number]
        real = values.to_numpy(np.float64, na_value=0)
        with np.errstate(invalid="ignore"):  # only whole numbers are read as such
            whole = values.to_numpy(np.int64, na_value=0) if usual == WHOLE else real.astype(np.int64)
        both.append(Payloads(np.where(values.isna(), NONE, known).astype(np.int8), whole, real))
    return both[0], both[1]


def _kind(types: set[str]) -> int | None:
    """What a payload of sites of these types is; ``None``: what its column says."""
    known = {"bool": BOOL, "int32": WHOLE, "uint32": WHOLE, "float32": REAL}
    return known.get(types.pop()) if len(types) == 1 else None
