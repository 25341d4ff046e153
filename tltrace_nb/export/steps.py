"""A trace as begins, ends and instants on tracks that nest: what Perfetto's and Chrome's formats have in common.

In: a trace. Out: :class:`Steps`. Both formats know only slices that lie inside each other on a track. Ranges that
cross are therefore spread over *sub-tracks*, each of which nests; a track that nests has one. (The rows of a picture,
``lanes.sub_rows``, hold no two events at a time; a sub-track holds a whole nest, whose rows the reader makes.)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from tltrace_nb.analysis.parts import Part, parts
from tltrace_nb.base.numbers import missing
from tltrace_nb.base.words import clean
from tltrace_nb.render.text import HOVER_CHARS, word

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.data.trace_data import TraceData

Ints = npt.NDArray[np.int64]

Array = npt.NDArray[Any]

PIECE_EVENTS = 50_000
"""Events of which at a time there are Python objects, some 2 kB each."""
FAR = float(2**62)
"""Times beyond it, which only damaged clocks give, are written as it."""


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
    written one after the other, so that what is written of them lies in memory for one at a time.
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

    def steps(self, piece: Piece) -> Iterator[tuple[int, int, int, int]]:
        """(track, phase, row in the piece, time) of every step."""
        here = slice(piece.first, piece.last)
        track, phase, row = self.track[here], self.phase[here], self.row[here]
        time = np.where(phase == Phase.END, self.end[row], self.start[row])
        return zip(track.tolist(), phase.tolist(), (row - piece.label).tolist(), time.tolist(), strict=True)


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
    unit, start, end = _times(trace)
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
    return Steps(tuple(tracks), track, phase, row, start, end, unit, begun, ended, tuple(pieces))


def _steps(events: pd.DataFrame, label: int, tracks: list[Track]) -> tuple[Array, Array, Array]:
    """Track, phase and row of every step of ``events``, whose first row has ``label``; their tracks are added."""
    cycles = events["start"].tolist(), events["end"].tolist()
    parent = (events["parent"].fillna(label - 1).astype("int64") - label).tolist()
    is_range = (events["kind"].cat.codes == 0).tolist()
    steps: list[tuple[int, int, int]] = []
    for first, last in itertools.pairwise(_bounds(events)):
        here = list(_nested(range(first, last), *cycles, parent, is_range))
        steps += [(len(tracks) + sub, phase, row) for sub, phase, row in here]
        tracks += [_track(events, first, sub) for sub in range(1 + max(sub for sub, *_ in here))]
    track, phase, row = np.array(steps, np.int32).reshape(-1, 3).T
    return track, phase.astype(np.int8), row + np.int32(label)


def unit_fact(plan: Steps) -> dict[str, str]:
    """What a file says of its times."""
    return {"time_unit": "ns" if plan.unit == "ns" else "cycles, the clock rate being unknown; readers call them ns"}


def sm_label(sm: int) -> str:
    """The name of an SM."""
    return f"SM {sm}" if sm >= 0 else "SM unknown"


def _times(trace: TraceData) -> tuple[Literal["ns", "cycles"], Ints, Ints]:
    """Each row's start and end.

    Both come from cycles by the same formula, that of ``data.decode``, so rounding to whole ns never makes neighbours
    overlap.
    """
    events = trace.events
    clock = trace.ctas.set_index("cta").reindex(events["cta"])
    ghz, offset = clock["clock_ghz"].to_numpy(), clock["start_ns"].to_numpy()
    known = not (np.isnan(ghz).any() or np.isnan(offset).any())
    times = []
    for column in ("start", "end"):
        cycles = events[column].to_numpy()
        times.append(np.rint(np.clip(cycles / ghz + offset, -FAR, FAR)).astype(np.int64) if known else cycles)
    least = min(0, int(times[0].min(initial=0)))
    return "ns" if known else "cycles", times[0] - least, times[1] - least


def _bounds(events: pd.DataFrame) -> list[int]:
    """The first row of each track, and the number of rows."""
    if events.empty:
        return [0]
    keys = np.stack([events["cta"].to_numpy(), events["thread"].to_numpy(), events["lane"].cat.codes.to_numpy()])
    changes = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    return [0, *changes.tolist(), len(events)]


def _track(events: pd.DataFrame, row: int, sub: int) -> Track:
    numbers = ("sm", "cta", "thread", "block_x", "block_y", "block_z")
    sm, cta, thread, x, y, z = (int(events[name].to_numpy()[row]) for name in numbers)
    lane, group, role = (word(events[name].iat[row]) for name in ("lane", "group", "role"))
    return Track(sm, cta, (x, y, z), thread, lane, group, role, sub)


def _nested(
    rows: range, start: Sequence[int], end: Sequence[int], parent: Sequence[int], is_range: Sequence[bool]
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

    for row in rows:
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


def arrows(piece: Piece, plan: Steps, ways: Sequence[tuple[Phase, Phase]]) -> list[tuple[int, int, int]]:
    """Per arrow of a piece its number in ``Trace.flows``, from 1, and which step of source and destination it joins.

    The first of ``ways`` (source, destination) of which the source's step comes first in the file and in time; where
    there is none, because the arrow points back in time, the first.
    """
    src, dst = (piece.part.flows[side].to_numpy() for side in ("src", "dst"))
    taken = np.zeros(len(src), np.int8)
    for number in range(len(ways) - 1, -1, -1):
        (leave, left), (arrive, arrived) = (
            (plan.end[rows], plan.ended[rows]) if phase is Phase.END else (plan.start[rows], plan.begun[rows])
            for rows, phase in zip((src, dst), ways[number], strict=True)
        )
        taken[(leave < arrive) | ((leave == arrive) & (left < arrived))] = number
    numbers = piece.part.flows.index.tolist()
    return [(number + 1, *ways[way]) for number, way in zip(numbers, taken.tolist(), strict=True)]


def payloads(events: pd.DataFrame, sites: pd.DataFrame) -> list[tuple[Any, Any]]:
    """Each event's payload at begin and end: ``int``, ``float`` or ``bool`` as recorded, ``None`` where none was given.

    The frame's column has one type for all; the sites know each. Where sites that look the same in the frame differ in
    type, the column's type stays.
    """
    keys = ["name", "group", "lane", "source", "kind"]
    readers = {key: _reader(set(types)) for key, types in sites.groupby(keys, observed=True)["payload"]}
    number = events.groupby(keys, observed=True, sort=False).ngroup().to_numpy()
    of_group = []
    for row in np.unique(number, return_index=True)[1].tolist():
        *place, kind = (events[key].iat[row] for key in keys)
        sides = ("begin", "end") if kind == "range" else ("instant", "instant")
        of_group.append([readers.get((*place, side), _plain) for side in sides])
    values = zip(number.tolist(), events["payload"].tolist(), events["payload_end"].tolist(), strict=True)
    return [(of_group[group][0](begin), of_group[group][1](end)) for group, begin, end in values]


def _reader(types: set[str]) -> Callable[[Any], Any]:
    """What makes of a cell of a payload column the value that was recorded."""
    made: dict[str, Callable[[Any], Any]] = {"bool": bool, "int32": int, "uint32": int, "float32": float}
    kind = made.get(types.pop()) if len(types) == 1 else None
    return _plain if kind is None else lambda value: None if missing(value) else kind(value)


def _plain(value: Any) -> Any:
    return None if missing(value) else value


def same(begin: Any, end: Any) -> bool:
    """Whether two payloads are one: equal, or both not a number."""
    if begin is end:
        return True
    if isinstance(begin, float) and isinstance(end, float) and math.isnan(begin):
        return math.isnan(end)
    return type(begin) is type(end) and bool(begin == end)
