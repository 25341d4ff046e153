"""The traces of many GPUs as one: ranks under ``torchrun`` record as usual, rank 0 gathers and aligns.

In: each rank's trace, and a ``torch.distributed`` process group. Out: on rank 0 a :class:`Gathered`, with ``rank`` as a
column and the outermost lane.

Every rank has a clock of its own. Rank 0 asks each for its reading, over and over: the reply was read between sending
and receiving, so the clocks differ by the reading less the middle of the two, give or take half of the round trip. The
shortest round trip counts, and its half is the stated error. Nothing is averaged: the bound holds however the way there
and the way back differ.

Messages are CPU tensors: over the default group where it is gloo, else over a gloo group beside it. A rank that died is
left out with the reason, and the others' traces are there.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.base.checks import a, checked, file, number, optional
from tltrace_nb.base.errors import TraceError
from tltrace_nb.base.numbers import count
from tltrace_nb.core.loading import load
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.frames import Frames
from tltrace_nb.data.slots import STATE_DONE, headers
from tltrace_nb.data.stacked import stacked
from tltrace_nb.data.trace_data import a_trace
from tltrace_nb.render.options import PAGE_EVENTS, ViewOptions

if TYPE_CHECKING:
    import torch

    from tltrace_nb.widget.timeline import Timeline

ROUNDS = 64
"""Questions to each rank; the shortest round trip of them counts."""
TIMEOUT = 60.0
"""Seconds that a rank is waited for."""


class GatherError(TraceError, RuntimeError):
    """Traces cannot be gathered: no process group, or rank 0 is gone."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock that a rank's trace can be placed on.

    ``read`` gives its time in ns, ``error_ns`` how far that may be off, and ``zero`` is its time at the trace's time 0.
    """

    read: Callable[[], int]
    zero: int
    error_ns: float = 0.0


@dataclass(frozen=True, eq=False)
class Gathered(Frames):
    """The traces of all ranks that answered; what a view reads of a trace, it has, too.

    ``events``, ``ctas``, ``flows`` and ``losses`` are those of a trace with ``rank`` in front; ``start_ns`` is zeroed
    at the first CTA of all ranks. ``ranks``: one row per rank, with ``events``, ``offset_ns`` (its clock less that of
    rank 0), ``error_ns`` (how far the offset may be off) and ``trouble`` (why it is missing; empty otherwise).
    ``traces``: each rank's own trace, for the analyses.
    """

    ranks: pd.DataFrame
    traces: dict[int, Trace]

    def timeline(self, **options: Any) -> Timeline:
        """The widget, with the rank as the outermost lane; options and errors as ``Trace.timeline``."""
        from tltrace_nb.widget.timeline import Timeline

        return Timeline(self, **options)

    def show(self, **options: Any) -> None:
        """Show the timeline of all ranks under the cell; options and errors as ``Trace.show``."""
        from tltrace_nb.widget.display import show

        renderer = options.pop("renderer", None)
        show(self, ViewOptions(**options), renderer=renderer)

    def figure(self, **view: Any) -> Any:
        """The timeline of all ranks as a Plotly figure; options as ``Trace.figure``, but for ``view="sm"``."""
        from tltrace_nb.widget.figure import figure

        return figure(self, ViewOptions(**view))

    def to_html(self, path: str | Path, title: str = "", **view: Any) -> Path:
        """Write the timeline of all ranks as one offline HTML file; options and errors as ``Trace.to_html``."""
        from tltrace_nb.widget.html import write_html

        most = view.pop("most", PAGE_EVENTS)
        return write_html(self, path, ViewOptions(title=title, **view), most=most)

    def __repr__(self) -> str:
        return f"Traces of {count(len(self.traces), 'rank')}: {count(len(self.events), 'event')} of {self.meta.kernel}"

    @checked(folder=file)
    def save(self, folder: str | Path) -> None:
        """Write ``rank0.tltrace`` … and ``ranks.csv`` to ``folder``, which is made where it is not there."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        for rank, trace in self.traces.items():
            trace.save(_file(folder, rank))
        self.ranks.to_csv(Path(folder) / "ranks.csv", index=False)


@checked(
    trace=a_trace,
    clock=optional(a(Clock, "a Clock that the trace is placed on")),
    folder=optional(file),
    timeout=number(above=0, may="seconds, more than 0"),
)
def gather(
    trace: Trace, *, clock: Clock | None = None, folder: str | Path | None = None, timeout: float = TIMEOUT
) -> Gathered | None:
    """Bring every rank's trace to rank 0, and align them; every rank of the process group calls this.

    Returns the :class:`Gathered` on rank 0, ``None`` on the others. ``clock``: the clock that this rank's trace is
    placed on; by default the GPU's global timer, read through the host's, and for a trace of the virtual GPU, whose
    nanoseconds are nobody's, none: all ranks then begin at once. ``folder``: where each rank first saves its own trace,
    as ``rank0.tltrace`` …, so that it survives whatever happens next. ``timeout``: seconds that a rank is waited for.

    Raises ``GatherError`` where there is no process group, and on another rank where rank 0 is gone.

    >>> whole = gather(trace.last, folder="out")
    >>> if whole is not None: whole.figure()
    """
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        raise GatherError("there is no process group: torch.distributed.init_process_group first, as under torchrun")
    rank = dist.get_rank()
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        trace.save(_file(folder, rank))
    place = clock or _clock_of(trace)
    line = _Line(timeout)
    line.arrive()
    if rank:
        try:
            _answer(line, trace, place)
        except RuntimeError as error:
            kept = "pass folder= to keep this one's trace" if folder is None else f"this one's trace is in {folder}"
            raise GatherError(
                f"rank {rank}: rank 0 cannot be reached any more ({_first_line(error)}); {kept}"
            ) from error
        return None
    traces, rows = {0: trace}, [_Rank(0, len(trace), 0.0, place.error_ns if place else 0.0, place.zero if place else 0)]
    for other in range(1, dist.get_world_size()):
        try:
            line.expect(other)
            traces[other], answered = _ask(line, other, place)
            rows.append(answered)
        except RuntimeError as error:
            rows.append(_Rank(other, 0, np.nan, np.nan, 0, f"rank {other} did not answer: {_first_line(error)}"))
        except OSError as error:
            trouble = f"rank {other} answered, but its trace could not be unpacked here: {error}"
            rows.append(_Rank(other, 0, np.nan, np.nan, 0, trouble))
    return merge(traces, rows)


@dataclass(frozen=True, slots=True)
class _Rank:
    """What is known of a rank; ``zero`` is the time 0 of its trace, on its own clock."""

    rank: int
    events: int
    offset_ns: float
    error_ns: float
    zero: int
    trouble: str = ""


class _Line:
    """Messages between rank 0 and the others, as CPU tensors."""

    def __init__(self, timeout: float) -> None:
        import torch.distributed as dist
        from torch.distributed.distributed_c10d import _get_default_store

        # Rank 0 may wait for each of the others before it comes to this one.
        self._patience = timedelta(seconds=timeout * (dist.get_world_size() if dist.get_rank() else 1))
        self._deadline = time.monotonic() + timeout
        self._group = None if dist.get_backend() == "gloo" else dist.new_group(backend="gloo")
        self._store = _get_default_store()
        # Calls are counted per rank, so that those of one gather belong together.
        self._call = self._store.add(f"tltrace_nb/{dist.get_rank()}", 1)

    def arrive(self) -> None:
        """Say that this rank is there."""
        import torch.distributed as dist

        self._store.set(f"tltrace_nb/{self._call}/{dist.get_rank()}", "here")

    def expect(self, rank: int) -> None:
        """Wait until a rank is there. Raises ``RuntimeError`` when it does not come."""
        left = max(self._deadline - time.monotonic(), 0.1)
        self._store.wait([f"tltrace_nb/{self._call}/{rank}"], timedelta(seconds=left))

    def send(self, tensor: torch.Tensor, rank: int) -> None:
        """Send a tensor."""
        import torch.distributed as dist

        work = dist.isend(tensor, rank, group=self._group)
        if work is not None:
            work.wait(self._patience)

    def receive(self, tensor: torch.Tensor, rank: int) -> torch.Tensor:
        """Fill a tensor with what a rank sends. Raises ``RuntimeError`` when it is gone."""
        import torch.distributed as dist

        work = dist.irecv(tensor, rank, group=self._group)
        if work is not None:
            work.wait(self._patience)
        return tensor


def _answer(line: _Line, trace: Trace, clock: Clock | None) -> None:
    """The part of a rank other than 0: tell the time as often as asked, then send the trace."""
    import torch

    question, reply = torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    for _ in range(ROUNDS):
        line.receive(question, 0)
        reply[0] = clock.read() if clock else 0
        line.send(reply, 0)
    with tempfile.TemporaryDirectory() as folder:
        trace.save(_file(folder, 0))
        content = torch.frombuffer(bytearray(_file(folder, 0).read_bytes()), dtype=torch.uint8)
    known = [len(content), clock.zero if clock else 0, round(clock.error_ns) if clock else 0]
    line.send(torch.tensor(known, dtype=torch.int64), 0)
    line.send(content, 0)


def _ask(line: _Line, rank: int, clock: Clock | None) -> tuple[Trace, _Rank]:
    """Rank 0's part: measure a rank's clock, then receive its trace."""
    import torch

    question, reply = torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    read = clock.read if clock else time.monotonic_ns
    best, offset = np.inf, 0.0
    for _ in range(ROUNDS):
        sent = read()
        line.send(question, rank)
        line.receive(reply, rank)
        back = read()
        if back - sent < best:
            best, offset = back - sent, int(reply[0]) - sent - (back - sent) / 2
    length, zero, error = (int(each) for each in line.receive(torch.zeros(3, dtype=torch.int64), rank))
    content = line.receive(torch.empty(length, dtype=torch.uint8), rank)
    with tempfile.TemporaryDirectory() as folder:
        _file(folder, rank).write_bytes(content.numpy().tobytes())
        received = load(_file(folder, rank))
        _ = received.slots
    if clock is None:
        return received, _Rank(rank, len(received), 0.0, 0.0, 0)
    return received, _Rank(rank, len(received), offset, best / 2 + error + clock.error_ns, zero)


def merge(traces: dict[int, Trace], rows: list[_Rank]) -> Gathered:
    """One timeline of the traces of several ranks, each moved by what its clock is off."""
    starts = {row.rank: row.zero - row.offset_ns for row in rows if row.rank in traces}
    first = min(starts.values())
    shift = {rank: start - first for rank, start in starts.items()}
    frames = stacked(traces, "rank", shift)
    known = ["rank", "events", "offset_ns", "error_ns", "trouble"]
    ranks = pd.DataFrame([{column: getattr(row, column) for column in known} for row in rows], columns=known)
    return Gathered(**frames, meta=traces[min(traces)].meta, ranks=ranks, traces=traces)


def _clock_of(trace: Trace) -> Clock | None:
    """The clock of this rank's GPU, ``None`` for a virtual one."""
    if trace.meta.device == "virtual":
        return None
    head = headers(trace.slots)
    entered = head["entry_ns"][head["state"] == STATE_DONE]
    zero = int(entered.min()) if len(entered) else 0
    from tltrace_nb.core.runtime.probes import device_offset

    offset, error = device_offset()
    return Clock(lambda: time.time_ns() + offset, zero, error)


def _file(folder: str | Path, rank: int) -> Path:
    return Path(folder) / f"rank{rank}.tltrace"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
