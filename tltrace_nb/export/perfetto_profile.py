"""A profile of ``torch.profiler`` in Perfetto's format, with the inside of the kernels that were traced.

In: a profile, and traces at their place in it. Out: a file of packets. A process of the profile is a process, a thread
or a stream a track of it. Inside of the track of its stream each traced launch has one with its SMs, CTAs and ranges. A
flow leads from the call that launched a kernel to the kernel, and from a traced kernel to its first CTA.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb._version import __version__
from tltrace_nb.analysis.placing import place
from tltrace_nb.base.checks import checked, file
from tltrace_nb.base.files import writing
from tltrace_nb.base.words import clean, utf8
from tltrace_nb.data.kineto import ON_GPU, ProfileError, recording
from tltrace_nb.export.perfetto_packets import Tree, begun, ended, interned
from tltrace_nb.export.perfetto_trace import Cta, Laid, Place, cta_track, lay
from tltrace_nb.export.steps import Phase
from tltrace_nb.render.text import HOVER_CHARS

if TYPE_CHECKING:
    import os

    from tltrace_nb.analysis.placing import Placed
    from tltrace_nb.data.kineto import Line, Recording, Span
    from tltrace_nb.data.trace_data import TraceData

Placements = Sequence[Sequence["Placed"]]
"""The launches of each trace."""


def write_profile(
    profile: Recording, placements: Placements, notes: Sequence[str], path: str | os.PathLike[str]
) -> Path:
    """Write a profile and the traces that have a place in it to ``path``, gzipped where it ends in ``.gz``.

    Times are whole ns since the profile's first event. ``notes`` stand on the first track, "about this profile".
    Returns the path. Raises ``OSError`` where the file cannot be written.
    """
    with writing(path) as file:
        for packets in _packets(profile, placements, notes):
            file.write(packets)
    return Path(path)


def _packets(profile: Recording, placements: Placements, notes: Sequence[str]) -> Iterator[bytes]:
    """All packets of the file."""
    tree, zero = Tree(), profile.start
    about = tree.inside(tree.process("about this profile"), "about", "about this profile")
    rows = {line: list(_rows(spans)) for line, spans in _by_line(profile).items()}
    tracks = _tracks(profile, rows, tree)
    flows = _Flows.of(profile, placements)
    inside = list(_inside(placements, tree, tracks, flows, zero))
    yield interned(1, b"")
    yield tree.packets()
    for name, values in _about(profile, placements, notes):
        yield begun(about, 0, name, values, lasts=False)
    traced = {id(each.kernel): each for launches in placements for each in launches if each.kernel is not None}
    for line, steps in rows.items():
        for row, phase, span in steps:
            track = tracks[line, row]
            if phase is Phase.END:
                yield ended(track, span.end - zero)
                continue
            yield begun(
                track,
                span.start - zero,
                utf8(span.name),
                _values(span) | _of_placed(traced.get(id(span))),
                leaving=flows.leaving.get(id(span), ()),
                arriving=flows.arriving.get(id(span), ()),
                lasts=phase is Phase.BEGIN,
            )
    for each in inside:
        yield from each.packets()


@checked(path=file)
def write_within(trace: TraceData, prof: Any, path: str | os.PathLike[str]) -> Path:
    """Write a profile and one trace in it. Raises ``ProfileError`` where the profile does not have its launches."""
    profile = recording("within", prof)
    placed = place([trace], profile)
    for each in placed:
        if each.kernel is None:
            raise ProfileError(f"{each.launch.name} is not in the profile: {each.reason}")
    return write_profile(profile, [placed], (), path)


# ---- the profile


def _by_line(recording: Recording) -> dict[Line, list[Span]]:
    found: dict[Line, list[Span]] = {line: [] for line in recording.lines}
    for span in recording.spans:
        found[span.line].append(span)
    return found


def _rows(spans: Sequence[Span]) -> Iterator[tuple[int, Phase, Span]]:
    """The steps of a line, by row, on each of which spans lie inside each other, and in order."""
    open_: list[list[Span]] = []
    for span in spans:
        for row in range(len(open_) + 1):
            if row == len(open_):
                open_.append([])
            while open_[row] and open_[row][-1].end <= span.start:
                yield row, Phase.END, open_[row].pop()
            if not open_[row] or open_[row][-1].end >= span.end:
                break
        if span.end == span.start:
            yield row, Phase.INSTANT, span
        else:
            yield row, Phase.BEGIN, span
            open_[row].append(span)
    for row, stack in enumerate(open_):
        yield from ((row, Phase.END, span) for span in reversed(stack))


def _tracks(
    recording: Recording, rows: Mapping[Line, Sequence[tuple[int, Phase, Span]]], tree: Tree
) -> dict[tuple[Line, int], int]:
    """The track of each row of each line: the first that of the line, the others behind it."""
    processes = {pid: tree.process(utf8(name)) for pid, name in recording.processes.items()}
    found = {}
    for line, name in recording.lines.items():
        for row in range(1 + max((row for row, *_ in rows[line]), default=0)):
            label = utf8(name) + (f" · row {row + 1}" if row else "")
            found[line, row] = tree.inside(processes[line[0]], (line, row), label)
    return found


def _values(span: Span) -> dict[str, Any]:
    """What the profiler says of a span; what is no plain value as JSON."""
    plain = {key: value for key, value in span.args.items() if value is not None}
    told = {
        utf8(key): value if isinstance(value, bool | int | float) else _words(value) for key, value in plain.items()
    }
    return {"category": utf8(span.category)} | told


def _words(value: Any) -> str:
    return utf8(value if isinstance(value, str) else json.dumps(value, default=str))


def _of_placed(placed: Placed | None) -> dict[str, Any]:
    """What is said on the bar of a traced kernel."""
    if placed is None:
        return {}
    return {"traced_error_ns": placed.error, "traced_play_ns": placed.play}


def _about(recording: Recording, placements: Placements, notes: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield (
        "profile",
        {
            "source": utf8(recording.source),
            "zero_unix_ns": recording.start,
            "written_by": f"tltrace_nb {__version__}",
            **{key: _words(value) for key, value in recording.facts.items()},
        },
    )
    for placed in (each for launches in placements for each in launches if each.kernel is not None):
        told = {"correlation": placed.kernel.correlation or 0, **_of_placed(placed)} if placed.kernel else {}
        yield f"traced: {utf8(placed.launch.name)}", told
    for note in notes:
        yield utf8(note), {}


@dataclass(frozen=True)
class _Flows:
    """Numbers of flows by the ``id`` of the span that they leave or arrive at; ``last`` is the last in use."""

    leaving: dict[int, list[int]]
    arriving: dict[int, list[int]]
    last: int

    @classmethod
    def of(cls, recording: Recording, placements: Placements) -> _Flows:
        """From calls to what they asked for, and from traced kernels on: the last of those that leave a kernel."""
        leaving: dict[int, list[int]] = defaultdict(list)
        arriving: dict[int, list[int]] = defaultdict(list)
        number = 0
        for span in recording.spans:
            call = recording.call_of(span) if span.category in ON_GPU else None
            if call is not None:
                number += 1
                leaving[id(call)].append(number)
                arriving[id(span)].append(number)
        for placed in (each for launches in placements for each in launches if each.kernel is not None):
            number += 1
            leaving[id(placed.kernel)].append(number)
        return cls(leaving, arriving, number)


# ---- the inside of traced kernels


@dataclass(frozen=True, eq=False)
class _Inside:
    """A trace in the file: ``laid`` are its ranges, ``bars`` its CTAs as packets."""

    laid: Laid
    bars: list[bytes]

    def packets(self) -> Iterator[bytes]:
        yield self.laid.words()
        yield from self.laid.facts()
        yield from self.bars
        if self.laid.plan.unit == "ns":
            yield from self.laid.events()


def _inside(
    placements: Placements, tree: Tree, tracks: Mapping[tuple[Line, int], int], flows: _Flows, zero: int
) -> Iterator[_Inside]:
    """The traces that have a place, each inside of the track of its stream."""
    before = flows.last
    for number, launches in enumerate(placements):
        kernel = launches[0].kernel
        if kernel is None:
            continue
        trace = launches[0].launch.trace
        name = f"inside {clean(kernel.name, HOVER_CHARS)} · {kernel.correlation}"
        root = tree.inside(tracks[kernel.line, 0], ("inside", number), name)
        shift = launches[0].shift - zero
        ctas = _ctas(trace)
        laid = lay(trace, tree, Place(root, number + 2, shift, before), [cta for cta, *_ in ctas])
        before += len(trace.flows)
        first = {each.launch.number: flows.leaving[id(each.kernel)][-1] for each in launches}
        yield _Inside(laid, list(_bars(ctas, tree, root, shift, first)))


def _ctas(trace: TraceData) -> list[tuple[Cta, float, float, int]]:
    """The CTAs whose time is known: which, their entry and exit in ns of the trace, and the number of their launch."""
    frame = trace.ctas
    known = frame[np.isfinite(frame["start_ns"]) & np.isfinite(frame["end_ns"])]
    numbers = {launch.name: number for number, launch in enumerate(trace.table.launches)}
    columns = ("sm", "cta", "block_x", "block_y", "block_z", "start_ns", "end_ns")
    cells = zip(*(known[column].tolist() for column in columns), known["kernel"].astype(str), strict=True)
    return [((sm, cta, (x, y, z)), start, end, numbers[name]) for sm, cta, x, y, z, start, end, name in cells]


def _bars(
    ctas: Sequence[tuple[Cta, float, float, int]],
    tree: Tree,
    root: int,
    shift: int,
    first: Mapping[int, int],
) -> Iterator[bytes]:
    """The packets of CTAs, at the first of each launch a flow's end."""
    flow = dict(first)
    for cta, start, end, launch in sorted(ctas, key=lambda each: each[1:3]):
        track = cta_track(tree, root, cta)
        arriving = [flow.pop(launch)] if launch in flow else []
        x, y, z = cta[2]
        about = {"sm": cta[0], "cta": cta[1], "block": f"({x}, {y}, {z})"}
        yield begun(track, round(start) + shift, f"CTA {cta[1]}", about, arriving=arriving)
        yield ended(track, round(end) + shift)
