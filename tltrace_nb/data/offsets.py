"""How far two clocks are apart, from messages between them: each was read after it was sent and before it arrived.

In: rounds of a ping-pong, each with four readings. Out: :class:`Offset`, bounds and no guess; :func:`during`, what
several of these say of a time between them.

One clock *asks*, the other *answers*. The offset, the answering clock less the asking one, is below ``received -
sent``, as the question took some time, and above ``replied - back``, as the answer did. Both hold however slow either
was: in a round the two are as far apart as it took, less the answerer's own time, and of several rounds the tightest of
each count. So the stated error is at most half of the fastest round, and less where the fastest question and the
fastest answer were not of the same round. A timer that steps was up to a step further than it says, which widens both.

Clocks drift. Within a ping-pong the bounds of a round are widened by what two clocks can drift apart until the time
that the offset is stated for, and the error of an offset grows with the time from there. Between two ping-pongs the
rate is taken to be constant, so that the offset lies on the line between theirs, and its error too.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tltrace_nb.base.errors import TraceError
from tltrace_nb.data.clock import timer_step

RATE = 1e-4
"""How fast two clocks may drift apart: each runs off a crystal, and those of computers are within 50 ppm. Two H200 of
one host drifted by 5 ppm."""

Ints = npt.NDArray[np.int64]


class OffsetError(TraceError, ValueError):
    """The rounds of a ping-pong say nothing of two clocks, or contradict each other."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """A ping-pong, ``int64[n]`` in ns each: ``sent``, ``back`` on the asking clock, the others on the answering one."""

    sent: Ints
    received: Ints
    replied: Ints
    back: Ints


@dataclass(frozen=True, slots=True)
class Offset:
    """The answering clock less the asking one when the answering one was at ``at``: from ``low`` to ``high``, in ns.

    ``fastest`` is the fastest round of those that say it, without the answerer's own time.
    """

    at: int
    low: int
    high: int
    fastest: int = 0

    @property
    def ns(self) -> int:
        """The middle of what it may be."""
        return (self.low + self.high) // 2

    @property
    def error_ns(self) -> float:
        """How far it may be from there."""
        return max(self.high - self.ns, self.ns - self.low)


def offset_of(rounds: Rounds) -> Offset:
    """The offset at the time of the fastest round; the rules are the module's.

    Raises ``OffsetError`` where there are no rounds, or no offset agrees with all of them: a clock was set meanwhile.
    """
    if not len(rounds.sent):
        raise OffsetError("no message came back, so nothing is known of the other clock")
    step, step_there = (
        timer_step(np.concatenate(each)) for each in ((rounds.sent, rounds.back), (rounds.received, rounds.replied))
    )
    took = (rounds.back - rounds.sent) - (rounds.replied - rounds.received)
    best = int(took.argmin())
    away = np.abs(rounds.received - rounds.received[best])
    slack = np.ceil(away * RATE).astype(np.int64)
    high = int((rounds.received - rounds.sent + step_there + slack).min())
    low = int((rounds.replied - rounds.back - step - slack).max())
    if low > high:
        raise OffsetError(
            f"the messages contradict each other by {low - high} ns: a clock was set meanwhile; try again"
        )
    return Offset(int(rounds.received[best]), low, high, max(int(took[best]), 0))


def during(offsets: Sequence[Offset], begin: int, end: int) -> tuple[int, float]:
    """The offset in ns that holds from ``begin`` to ``end`` of the answering clock, and how far it may be off anywhere.

    Raises ``OffsetError`` where there are no offsets.
    """
    (first, first_error), (last, last_error) = (_at(offsets, when) for when in (begin, end))
    middle = (first + last) // 2
    return middle, max(first_error, last_error) + max(abs(first - middle), abs(last - middle))


def drift_ppm(offsets: Sequence[Offset]) -> tuple[float, float]:
    """How much faster the answering clock runs, in millionths, and how far that may be off; NaN of fewer than two."""
    if len(offsets) < 2:
        return np.nan, np.nan
    first, last = offsets[0], offsets[-1]
    passed = last.at - first.at
    return (last.ns - first.ns) / passed * 1e6, (first.error_ns + last.error_ns) / passed * 1e6


def _at(offsets: Sequence[Offset], when: int) -> tuple[int, float]:
    """What is surest of what the offsets say of a time: each for itself, and the two that it lies between together."""
    if not offsets:
        raise OffsetError("the clocks were never compared")
    said = [(each.ns, each.error_ns + abs(when - each.at) * RATE) for each in offsets]
    after = bisect([each.at for each in offsets], when)
    if 0 < after < len(offsets):
        a, b = offsets[after - 1 : after + 1]
        part = (when - a.at) / (b.at - a.at)
        said.append((a.ns + round((b.ns - a.ns) * part), a.error_ns * (1 - part) + b.error_ns * part + 1))
    return min(said, key=lambda each: each[1])
