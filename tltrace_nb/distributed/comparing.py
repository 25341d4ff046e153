"""Two ranks compare their clocks: by their GPUs where these reach each other's memory, else by messages.

In: a line to the other rank. Out: an :class:`~tltrace_nb.data.offsets.Offset` of the answering clock, on both sides.
Either both ranks end up with one, or neither; whatever one of them cannot do it tells the other, and nobody waits
longer than the line does.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb.base.notices import say_once
from tltrace_nb.data.offsets import Offset, OffsetError, Rounds, offset_of

if TYPE_CHECKING:
    from tltrace_nb.core.runtime.ping_pong import Role
    from tltrace_nb.distributed.line import Line

MESSAGES = 64
"""Messages to and fro by which two clocks are compared."""
PATIENCE = 10.0
"""Seconds that a GPU waits for the other's first word, once both ranks are about to launch."""
BY_GPU, BY_HOST = "GPU", "host"
"""How two clocks were compared: by the GPUs themselves, or by messages between the hosts' processes."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock that a rank's trace can be placed on.

    ``read`` gives its time in ns, ``error_ns`` how far that may be off, and ``zero`` is its time at the trace's time 0.
    """

    read: Callable[[], int]
    zero: int
    error_ns: float = 0.0


@dataclass(frozen=True)
class Own:
    """What this rank can compare: its GPU's timer, by kernels and as a clock of the host, or a clock that was given.

    ``make`` gives the clock when it is needed, ``None`` where nobody has the trace's time. ``gpu``: whether the timer
    of the current CUDA device is what the trace's times are of.
    """

    gpu: bool
    make: Callable[[], Clock | None]

    @functools.cached_property
    def clock(self) -> Clock | None:
        """The clock for messages."""
        return self.make()

    @property
    def timed(self) -> bool:
        """Whether the trace has anybody's time."""
        return self.gpu or self.clock is not None

    @functools.cached_property
    def kernels(self) -> dict[str, Any]:
        """The kernels of both sides, none where this rank's GPU is not to be asked."""
        if not self.gpu:
            return {}
        from tltrace_nb.core.runtime.ping_pong import ready

        return {"ask": ready("ask"), "answer": ready("answer")}


def compare(line: Line, rank: int, role: Role, own: Own, *, beside: bool) -> tuple[Offset | None, str]:
    """Compare with a rank that does the same in the other role: the answering clock less the asking one, and how.

    ``beside``: on the same host. ``None`` where there is no way. Raises ``RuntimeError`` when the other is gone.
    """
    offset = _by_gpus(line, rank, role, own) if beside else None
    if offset is not None:
        return offset, BY_GPU
    offset = _by_messages(line, rank, role, own)
    return offset, "" if offset is None else BY_HOST


def _by_gpus(line: Line, rank: int, role: Role, own: Own) -> Offset | None:
    """The offset that the two GPUs find, ``None`` where one of them cannot reach the other, or never came."""
    asks = role == "ask"
    mine = words = None
    address = b""
    if own.kernels:
        from tltrace_nb.core.runtime import ping_pong

        try:
            mine = ping_pong.mailbox()
            address = ping_pong.address_of(mine)
        except RuntimeError as error:
            _say(rank, error)
    theirs = _swap(line, rank, asks, address)
    if address and theirs:
        try:
            words = ping_pong.reached(theirs)
        except RuntimeError as error:
            _say(rank, error)
    if not _swap(line, rank, asks, b"" if words is None else b"reached") or words is None or mine is None:
        return None
    times = ping_pong.blank()
    if asks:
        line.receive(rank)  # the other GPU is listening
        ping_pong.play(own.kernels[role], mine, words, times, PATIENCE)
        asked = times.cpu().numpy()
        answered = line.receive_numbers(*asked.shape, rank=rank)
        return _settle(line, rank, lambda: offset_of(ping_pong.rounds_of(asked, answered)))
    ping_pong.play(own.kernels[role], mine, words, times, PATIENCE)
    line.send(b"listening", rank)
    line.send_numbers(times.cpu().numpy(), rank)
    return _settled(line, rank)  # until then the other GPU may write into the mailbox


def _by_messages(line: Line, rank: int, role: Role, own: Own) -> Offset | None:
    """The offset that messages find, ``None`` where one of the two has no clock."""
    asks, clock = role == "ask", own.clock
    told = _swap(line, rank, asks, b"" if clock is None else repr(float(clock.error_ns)).encode())
    if clock is None or not told:
        return None
    if not asks:
        for _ in range(MESSAGES):
            line.receive_numbers(1, rank=rank)
            line.send_numbers(np.array([clock.read()], np.int64), rank)
        return _settled(line, rank)
    sent, received, back = (np.zeros(MESSAGES, np.int64) for _ in range(3))
    question = np.zeros(1, np.int64)
    for i in range(MESSAGES):
        sent[i] = clock.read()
        line.send_numbers(question, rank)
        received[i] = line.receive_numbers(1, rank=rank)[0]
        back[i] = clock.read()
    error = round(clock.error_ns + float(told)) + 1

    def found() -> Offset:
        offset = offset_of(Rounds(sent, received, received, back))
        return Offset(offset.at, offset.low - error, offset.high + error, offset.fastest)

    return _settle(line, rank, found)


def _swap(line: Line, rank: int, asks: bool, mine: bytes) -> bytes:
    """Tell the other something, and hear as much; the one that asks speaks first."""
    if asks:
        line.send(mine, rank)
        return line.receive(rank)
    theirs = line.receive(rank)
    line.send(mine, rank)
    return theirs


def _settle(line: Line, rank: int, found: Callable[[], Offset]) -> Offset | None:
    """What was found, told to the other as well."""
    try:
        offset = found()
    except OffsetError as error:
        _say(rank, error)
        line.send(b"", rank)
        return None
    line.send(json.dumps(asdict(offset)).encode(), rank)
    return offset


def _settled(line: Line, rank: int) -> Offset | None:
    told = line.receive(rank)
    return Offset(**json.loads(told)) if told else None


def _say(rank: int, error: Exception) -> None:
    first = (str(error).splitlines() or [type(error).__name__])[0][:200]
    say_once(f"the GPUs of this rank and of rank {rank} could not compare their clocks: {first}")
