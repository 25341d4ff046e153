"""The traces of many GPUs as one: ranks under ``torchrun`` record as usual, rank 0 gathers and aligns.

In: each rank's trace, and a ``torch.distributed`` process group. Out: on rank 0 a :class:`Gathered`, with ``rank`` as a
column and the outermost lane.

Every rank has a clock of its own. The ranks of a host compare theirs with that of the first of them, and the first of
each host with that of rank 0: by their GPUs where these reach each other's memory, else by messages
(``distributed.comparing``). Nothing is averaged: the stated error holds however the way there and the way back differ
(``data.offsets``). Clocks drift, so they are compared near the launch: when traces are gathered, and, in an
:func:`aligned` block, where it begins and where it ends.

A rank that died is left out with the reason, and the others' traces are there.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from tltrace_nb.base.checks import a, checked, file, number, optional
from tltrace_nb.base.errors import TraceError
from tltrace_nb.base.notices import say_once
from tltrace_nb.core.loading import load
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.offsets import RATE, Offset, drift_ppm, during
from tltrace_nb.data.slots import STATE_DONE, headers
from tltrace_nb.data.trace_data import a_trace
from tltrace_nb.distributed.comparing import BY_GPU, BY_HOST, Clock, Own, compare
from tltrace_nb.distributed.gathered import Gathered, Launched, Rank, merge, trace_file
from tltrace_nb.distributed.line import Line

__all__ = ["Aligned", "Clock", "GatherError", "Gathered", "aligned", "gather"]

TIMEOUT = 60.0
"""Seconds that a rank is waited for."""


class GatherError(TraceError, RuntimeError):
    """Traces cannot be gathered: no process group, or rank 0 is gone."""


@dataclass(frozen=True)
class Aligned:
    """What a block has found: offsets of this rank's clock from that of the rank ``first``, in the order of time."""

    first: int = 0
    offsets: list[Offset] = field(default_factory=list)


@checked(
    clock=optional(a(Clock, "a Clock that the traces are placed on")),
    timeout=number(above=0, may="seconds, more than 0"),
)
@contextlib.contextmanager
def aligned(*, clock: Clock | None = None, timeout: float = TIMEOUT) -> Iterator[Aligned]:
    """Compare the clocks of the ranks of each host where the block begins and where it ends; all ranks enter and leave.

    Yields what it finds, for ``gather``: the clocks of launches in the block then drift between what is known. The
    block itself is the program's: between the two nothing is waited for, and ranks may launch what they like. The GPUs
    do nothing else while they compare, some 10 ms. ``clock``: as ``gather``. ``timeout``: seconds that the other ranks
    are waited for at either end; one that does not come, or leaves with an error, is done without.

    Raises ``GatherError`` where there is no process group.

    >>> with aligned() as block:
    ...     kernel(a, b)
    >>> whole = gather(trace.last, block=block)
    """
    _check_group()
    own = Own(clock is None and _on_gpu(), lambda: clock)
    _ = own.kernels  # compiled before anybody waits
    line = Line(timeout)
    line.arrive()
    block = Aligned(line.first())
    _compare_on_host(line, own, block)
    try:
        yield block
    except BaseException:
        line.leave()
        raise
    line.arrive()
    _compare_on_host(line, own, block)


@checked(
    trace=a_trace,
    clock=optional(a(Clock, "a Clock that the trace is placed on")),
    folder=optional(file),
    timeout=number(above=0, may="seconds, more than 0"),
    block=optional(a(Aligned, "what an aligned block yields")),
    launches=optional(a(Mapping, "a dictionary of traces by number")),
    arrows=optional(a(Mapping, "a dictionary of the names of ranges")),
)
def gather(
    trace: Trace,
    *,
    clock: Clock | None = None,
    folder: str | Path | None = None,
    timeout: float = TIMEOUT,
    block: Aligned | None = None,
    launches: Mapping[int, Trace] | None = None,
    arrows: Mapping[str, str] | None = None,
) -> Gathered | None:
    """Bring every rank's trace to rank 0, and align them; every rank of the process group calls this.

    Returns the :class:`Gathered` on rank 0, ``None`` on the others. ``clock``: the clock that this rank's trace is
    placed on; by default the current GPU's global timer, and for a trace of the virtual GPU, whose nanoseconds are
    nobody's, none: all ranks then begin at once. ``folder``: where each rank first saves its own trace, as
    ``rank0.tltrace`` …, so that it survives whatever happens next. ``timeout``: seconds that a rank is waited for.
    ``block``: what an ``aligned`` block around the launch has yielded. ``launches``: by number, the launches that the
    table of skew is about, as traces of this rank.

    ``arrows``, on rank 0: ``{"write": "read"}`` draws an arrow from each range ``write`` to the range ``read`` of
    another rank: the payload of the one is the rank that it goes to, that of the other the rank that it comes from, and
    the i-th of a CTA leads to the i-th of the same CTA.

    Raises ``GatherError`` where there is no process group, and on another rank where rank 0 is gone.

    >>> whole = gather(trace.last, folder="out")
    >>> if whole is not None: whole.figure()
    """
    rank = _check_group()
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        trace.save(trace_file(folder, rank))
    on_gpu = trace.meta.device != "virtual" and _on_gpu()
    own = Own(clock is None and on_gpu, lambda: clock or (_clock_of(trace) if on_gpu else None))
    mine = _Mine(trace, own, block or Aligned(), launches or {})
    _ = own.kernels  # compiled before anybody waits
    line = Line(timeout)
    line.arrive()
    if rank:
        try:
            _answer(line, mine)
        except RuntimeError as error:
            kept = "pass folder= to keep this one's trace" if folder is None else f"this one's trace is in {folder}"
            raise GatherError(
                f"rank {rank}: rank 0 cannot be reached any more ({_first_line(error)}); {kept}"
            ) from error
        return None
    traces, rows = {0: trace}, [mine.described(0, line.host, 0)]
    for other in range(1, line.world):
        try:
            traces[other], answered = _ask(line, other, own)
            rows.append(answered)
        except RuntimeError as error:
            rows.append(Rank(other, trouble=f"rank {other} did not answer: {_first_line(error)}"))
        except OSError as error:
            trouble = f"rank {other} answered, but its trace could not be unpacked here: {error}"
            rows.append(Rank(other, trouble=trouble))
    return merge(traces, rows, arrows)


class _Mine:
    """This rank's trace and launches, and when they were on its own clock."""

    def __init__(self, trace: Trace, own: Own, block: Aligned, launches: Mapping[int, Trace]) -> None:
        self.trace, self.own, self._block = trace, own, block
        self._launches = launches if own.timed else {}
        self._begin, self._end = _window(trace) or (0, 0)
        clock = None if own.gpu else own.clock
        self.zero = self._begin if own.gpu else clock.zero if clock else 0

    def described(self, rank: int, host: str, first: int, found: tuple[Offset | None, str] = (None, "")) -> Rank:
        """What the others need to know of this rank, whose clock was compared with that of ``first``."""
        latest, by = found
        earlier = self._block.offsets if self._block.first == first and self.own.timed else []
        offsets = [*earlier, *([] if latest is None else [latest])]
        if offsets and not by:
            by = BY_GPU if self.own.gpu else BY_HOST

        def off(begin: int, end: int) -> tuple[int, float]:
            if offsets:
                return during(offsets, begin, end)
            return 0, 0.0 if rank == 0 or not self.own.timed else np.nan

        moved = self.zero - self._begin
        windows = {number: _window(trace) for number, trace in self._launches.items()}
        launches = tuple(
            Launched(number, begin + moved, end + moved, *off(begin + moved, end + moved))
            for number, (begin, end) in ((number, window) for number, window in windows.items() if window)
        )
        offset, error = off(self.zero, self.zero + self._end - self._begin)
        drift, uncertain = drift_ppm(offsets)
        drift = drift if uncertain < RATE * 1e6 else np.nan
        return Rank(rank, len(self.trace), offset, error, self.zero, "", host, first, by, drift, launches)


def _lead(line: Line, own: Own) -> None:
    """Compare with the other ranks of this host, of which this is the first."""
    for other in range(line.rank + 1, line.world):
        if line.asks(other):
            compare(line, other, "ask", own, beside=True)


def _compare_on_host(line: Line, own: Own, block: Aligned) -> None:
    """Add the offset of this rank's clock from that of its host's first rank; none there, and where that fails."""
    try:
        if block.first == line.rank:
            _lead(line, own)
        elif line.answers(block.first):
            found, _ = compare(line, block.first, "answer", own, beside=True)
            block.offsets.extend([] if found is None else [found])
    except RuntimeError as error:
        say_once(f"rank {line.rank}: the clocks of this host were not compared: {_first_line(error)}")


def _answer(line: Line, mine: _Mine) -> None:
    """The part of a rank other than 0: compare clocks, then tell what is known of this one, and send the trace."""
    line.expect(0, patiently=True)
    first = line.first()
    found: tuple[Offset | None, str] = None, ""
    if first == line.rank:
        _lead(line, mine.own)
    elif first and line.answers(first):
        found = compare(line, first, "answer", mine.own, beside=True)
    line.send(str(first).encode(), 0)
    if first in (0, line.rank):
        found = compare(line, 0, "answer", mine.own, beside=first == 0)
    with tempfile.TemporaryDirectory() as folder:
        mine.trace.save(trace_file(folder, 0))
        content = trace_file(folder, 0).read_bytes()
    line.send(json.dumps(asdict(mine.described(line.rank, line.host, first, found))).encode(), 0)
    line.send(content, 0)


def _ask(line: Line, rank: int, own: Own) -> tuple[Trace, Rank]:
    """Rank 0's part: compare clocks with a rank, unless its host's first has done so, then receive its trace."""
    line.expect(rank)
    first = int(line.receive(rank))
    if first in (0, rank):
        compare(line, rank, "ask", own, beside=first == 0)
    told = json.loads(line.receive(rank))
    told["launches"] = tuple(Launched(**each) for each in told["launches"])
    row = Rank(**told)
    content = line.receive(rank)
    with tempfile.TemporaryDirectory() as folder:
        trace_file(folder, rank).write_bytes(content)
        received = load(trace_file(folder, rank))
        _ = received.slots
    if own.timed and not row.clock:  # a trace without a clock beside one that has one
        row = replace(row, error_ns=np.nan)
    return received, row


def _check_group() -> int:
    """This rank. Raises ``GatherError`` where there is no process group."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        raise GatherError("there is no process group: torch.distributed.init_process_group first, as under torchrun")
    return dist.get_rank()


def _on_gpu() -> bool:
    """Whether there is a GPU whose timer could be compared with another's."""
    import torch
    import torch.distributed as dist

    return torch.cuda.is_available() and dist.get_world_size() > 1


def _window(trace: Trace) -> tuple[int, int] | None:
    """The first entry and the last exit of a trace's writers, on the GPU's timer; ``None`` where none has left."""
    head = headers(trace.slots)
    done = head["state"] == STATE_DONE
    return (int(head["entry_ns"][done].min()), int(head["exit_ns"][done].max())) if done.any() else None


def _clock_of(trace: Trace) -> Clock:
    """The clock of this rank's GPU, through the host's."""
    from tltrace_nb.core.runtime.probes import device_offset

    offset, error = device_offset()
    return Clock(lambda: time.time_ns() + offset, (_window(trace) or (0, 0))[0], error)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
