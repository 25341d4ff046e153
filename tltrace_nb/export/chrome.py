"""A trace as Chrome's JSON trace events, for chrome://tracing, ui.perfetto.dev and scripts.

In: a trace. Out: a JSON file, written event by event. An SM is a process, a sub-track a thread of it; a range is a pair
of ``B`` and ``E``, an instant an ``i``, an arrow of ``trace.dag`` a pair of ``s`` and ``f``. Notes are a process, too.
The format is described at
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU ("Trace Event Format").
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb.base.checks import checked, file
from tltrace_nb.base.files import writing
from tltrace_nb.base.words import utf8
from tltrace_nb.export.noted import TRACK
from tltrace_nb.export.provenance import loss_rows, provenance
from tltrace_nb.export.rows import AT_ONCE, Rows, Words
from tltrace_nb.export.steps import (
    BOOL,
    REAL,
    WHOLE,
    Payloads,
    Phase,
    Piece,
    Slot,
    Steps,
    arrows,
    payloads,
    sm_label,
    steps,
    unit_fact,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import numpy.typing as npt

    from tltrace_nb.data.trace_data import TraceData

SUFFIX = ".json"

_WAYS = ((Phase.END, Phase.BEGIN), (Phase.BEGIN, Phase.BEGIN), (Phase.BEGIN, Phase.END))
"""Where an arrow may leave and arrive: from end to begin, unless the destination begins too early."""


@checked(path=file)
def write_chrome(trace: TraceData, path: str | os.PathLike[str]) -> Path:
    """Write ``trace`` to ``path``, packed with gzip where it ends in ``.gz``, and return the path.

    Times are µs with three decimals from the first CTA's entry, or cycles / 1000 where no clock was measured; the file
    says which. JSON has no NaN and no infinities, so such payloads are the strings ``"NaN"``, ``"Infinity"`` and
    ``"-Infinity"``. Raises ``OSError`` where the file cannot be written.
    """
    plan = steps(trace)
    head = {"displayTimeUnit": "ns", "otherData": provenance(trace) | unit_fact(plan), "losses": list(loss_rows(trace))}
    names, places = _places(plan)
    with writing(path) as file:
        first = [*names, *_notes(plan)]
        file.write((json.dumps(head)[:-1] + ',\n"traceEvents": [' + ",".join(f"\n{each}" for each in first)).encode())
        for piece in plan.pieces:
            for lines in _events(trace, plan, piece, places):
                file.write(lines)
        file.write(b"\n]}\n")
    return Path(path)


def _places(plan: Steps) -> tuple[list[str], Words]:
    """The names of processes and threads, a JSON object each, and the process and thread of each track."""
    processes = {sm: number for number, sm in enumerate(sorted({track.sm for track in plan.tracks}), 1)}
    names, where = [], []
    for sm, process in processes.items():
        names.append(_named("process_name", process, 0, "name", sm_label(sm)))
        names.append(_named("process_sort_index", process, 0, "sort_index", process))
    for thread, place in enumerate(plan.tracks, 1):
        process = processes[place.sm]
        names.append(_named("thread_name", process, thread, "name", f"CTA {place.cta} · {place.label}"))
        names.append(_named("thread_sort_index", process, thread, "sort_index", thread))
        where.append(f',"pid":{process},"tid":{thread}'.encode())
    return names, Words(where)


def _notes(plan: Steps) -> Iterator[str]:
    """Notes, a JSON object each, before them the names of their process, the first of all, and of their rows."""
    process = len({track.sm for track in plan.tracks}) + 1
    if plan.notes:
        yield _named("process_name", process, 0, "name", TRACK)
        yield _named("process_sort_index", process, 0, "sort_index", 0)
    for thread, name in {note.row + 1: note.track for note in plan.notes}.items():
        yield _named("thread_name", process, thread, "name", name)
        yield _named("thread_sort_index", process, thread, "sort_index", thread)
    for note in plan.notes:
        place = {"pid": process, "tid": note.row + 1}
        begin: dict[str, Any] = {"name": note.text, "ts": note.start / 1000, **place, "args": note.about}
        if note.end > note.start:
            yield json.dumps({"ph": "B", **begin})
            yield json.dumps({"ph": "E", "ts": note.end / 1000, **place})
        else:
            yield json.dumps({"ph": "i", "s": "t", **begin})


def _events(trace: TraceData, plan: Steps, piece: Piece, places: Words) -> Iterator[bytes]:
    """The lines of the steps of a piece, each an event, some thousand at a time."""
    events = piece.part.events
    values = payloads(events, trace.sites)
    changed = values[1].differs(values[0])
    names = Words([json.dumps(utf8(name)).encode() for name in events["name"].cat.categories])
    sources = [json.dumps(utf8(source)).encode() for source in events["source"].cat.categories]
    lines_of = Words([*sources, b'""'])  # -1: none
    openings = Words([b',\n{"ph":"B","name":', b',\n{"ph":"E"', b',\n{"ph":"i","s":"t","name":'])
    name, source = (events[column].cat.codes.to_numpy() for column in ("name", "source"))
    start, duration = (events[column].to_numpy(np.int64) for column in ("start", "duration"))
    truncated = events["truncated"].to_numpy()
    slots = arrows(piece, plan, _WAYS)
    for here, track, phase, row, time in plan.steps(piece, AT_ONCE):
        at = Rows(len(row))
        at.constant(b',"ts":')
        at.decimal(time // 1000)
        at.constant(b".")
        at.decimal(time % 1000, digits=3)
        at.words(places, track)
        is_first, is_begin = phase != Phase.END, phase == Phase.BEGIN
        begin, end = (of.at(row) for of in values)
        lines = Rows(len(row))
        # An arrow belongs to the slice that is open where it stands: it follows a begin, and precedes an end.
        _arrows(lines, slots, here, at, ~is_first)
        lines.words(openings, phase)
        lines.words(names, name[row], is_first)
        lines.append(at)
        lines.constant(b',"args":{"start_cycles":', is_first)
        lines.decimal(start[row], is_first)
        lines.constant(b',"source":', is_first)
        lines.words(lines_of, source[row], is_first)
        _payload(lines, b',"payload":', begin, is_first)
        lines.constant(b',"duration_cycles":', is_begin)
        lines.decimal(duration[row], is_begin)
        _payload(lines, b',"payload_end":', end, is_begin & changed[row])
        lines.constant(b',"truncated":true', is_first & truncated[row])
        lines.constant(b"}", is_first)
        lines.constant(b"}")
        _arrows(lines, slots, here, at, is_first)
        yield lines.tobytes()


def _named(kind: str, process: int, thread: int, key: str, value: str | int) -> str:
    return json.dumps({"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {key: value}})


def _payload(lines: Rows, key: bytes, values: Payloads, where: npt.NDArray[np.bool_]) -> None:
    """Add a payload as JSON, where there is one; what is no JSON number as a string."""
    lines.constant(key, where & (values.kind > 0))
    lines.decimal(values.whole, where & (values.kind == WHOLE))
    lines.words(_FLAGS, values.whole & 1, where & (values.kind == BOOL))
    real = where & (values.kind == REAL)
    if real.any():
        bits, number = np.unique(values.real.view(np.int64), return_inverse=True)
        texts = [repr(value) for value in bits.view(np.float64).tolist()]
        lines.words(Words([_NO_NUMBERS.get(text, text).encode() for text in texts]), number, real)


_FLAGS = Words([b"false", b"true"])
_NO_NUMBERS = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def _arrows(lines: Rows, slots: list[Slot], here: slice, at: Rows, where: npt.NDArray[np.bool_]) -> None:
    """Add the beginnings and ends of arrows at some steps, an event each."""
    for slot in slots:
        number, leaves = slot.number[here], slot.leaves[here]
        mine = where & (number > 0)
        lines.words(_ARROWS, leaves.view(np.int8), mine)
        lines.decimal(number, mine)
        lines.append(at, mine)
        lines.constant(b"}", mine)


_DAG = b'"cat":"dag","name":"dag","id":'
_ARROWS = Words([b',\n{"ph":"f","bp":"e",' + _DAG, b',\n{"ph":"s",' + _DAG])
