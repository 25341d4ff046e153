"""A trace as Chrome's JSON trace events, for chrome://tracing, ui.perfetto.dev and scripts.

In: a trace. Out: a JSON file, written event by event. An SM is a process, a sub-track a thread of it; a range is a pair
of ``B`` and ``E``, an instant an ``i``, an arrow of ``trace.dag`` a pair of ``s`` and ``f``. The format is described at
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU ("Trace Event Format").
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.checks import checked, file
from tltrace_nb.base.files import writing
from tltrace_nb.base.words import utf8
from tltrace_nb.export.provenance import loss_rows, provenance
from tltrace_nb.export.steps import Phase, Piece, Steps, arrows, payloads, same, sm_label, steps, unit_fact

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from tltrace_nb.data.trace_data import TraceData

SUFFIX = ".json"

_LETTERS = {Phase.BEGIN: "B", Phase.END: "E", Phase.INSTANT: "i"}
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
    with writing(path) as file:
        file.write((json.dumps(head)[:-1] + ',\n"traceEvents": [').encode())
        for number, line in enumerate(_lines(trace, plan)):
            file.write((",\n" if number else "\n").encode() + line.encode())
        file.write(b"\n]}\n")
    return Path(path)


def _lines(trace: TraceData, plan: Steps) -> Iterator[str]:
    """One JSON object per line: the names of processes and threads, then the events."""
    events = trace.events
    processes = {sm: number for number, sm in enumerate(sorted({track.sm for track in plan.tracks}), 1)}
    for sm, process in processes.items():
        yield _named("process_name", process, 0, "name", sm_label(sm))
        yield _named("process_sort_index", process, 0, "sort_index", process)
    where = []
    for thread, place in enumerate(plan.tracks, 1):
        process = processes[place.sm]
        yield _named("thread_name", process, thread, "name", f"CTA {place.cta} · {place.label}")
        yield _named("thread_sort_index", process, thread, "sort_index", thread)
        where.append(f'"pid":{process},"tid":{thread}')
    names = [json.dumps(utf8(name)) for name in events["name"].cat.categories]
    sources = [json.dumps(utf8(source)) for source in events["source"].cat.categories] + ['""']  # -1: none
    for piece in plan.pieces:
        yield from _steps(trace, plan, piece, where, names, sources)


def _steps(
    trace: TraceData, plan: Steps, piece: Piece, where: list[str], names: list[str], sources: list[str]
) -> Iterator[str]:
    """The events of one piece; ``where`` has process and thread of each track."""
    events = piece.part.events
    code, source = events["name"].cat.codes.tolist(), events["source"].cat.codes.tolist()
    start, duration, truncated = (events[column].tolist() for column in ("start", "duration", "truncated"))
    letters = {int(phase): letter for phase, letter in _LETTERS.items()}
    values = payloads(events, trace.sites)
    flows = _flows(piece, plan)
    for track, phase, row, time in plan.steps(piece):
        # An arrow belongs to the slice that is open where it stands: it follows a begin, and precedes an end.
        at = f'"ts":{time // 1000}.{time % 1000:03d},{where[track]}'
        if phase == Phase.END:
            yield from (f"{{{flow},{at}}}" for flow in flows.get((row, phase), ()))
            yield f'{{"ph":"E",{at}}}'
            continue
        begin, end = values[row]
        told = f'"start_cycles":{start[row]},"source":{sources[source[row]]}'
        if begin is not None:
            told += f',"payload":{_json(begin)}'
        if phase == Phase.BEGIN:
            told += f',"duration_cycles":{duration[row]}'
            if end is not None and not same(begin, end):
                told += f',"payload_end":{_json(end)}'
        if truncated[row]:
            told += ',"truncated":true'
        scope = ',"s":"t"' if phase == Phase.INSTANT else ""
        yield f'{{"ph":"{letters[phase]}"{scope},"name":{names[code[row]]},{at},"args":{{{told}}}}}'
        yield from (f"{{{flow},{at}}}" for flow in flows.get((row, phase), ()))


def _named(kind: str, process: int, thread: int, key: str, value: str | int) -> str:
    return json.dumps({"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {key: value}})


def _json(value: Any) -> str:
    """A payload as JSON; what is no JSON number as a string."""
    if isinstance(value, float) and not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)  # as json.dumps writes numbers, a fifth of the time


def _flows(piece: Piece, plan: Steps) -> dict[tuple[int, int], list[str]]:
    """The beginnings and ends of arrows, without their place, by (row, phase)."""
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    ends = ((piece.part.flows[side] - piece.label).tolist() for side in ("src", "dst"))
    for src, dst, (number, leave, arrive) in zip(*ends, arrows(piece, plan, _WAYS), strict=True):
        found[src, leave].append(f'"ph":"s","cat":"dag","name":"dag","id":{number}')
        found[dst, arrive].append(f'"ph":"f","bp":"e","cat":"dag","name":"dag","id":{number}')
    return found
