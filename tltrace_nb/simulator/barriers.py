"""Barriers in shared memory, and those that count threads.

In: arrivals and expected bytes, each at its time. Out: the thread groups that go on, handed to a function of the
engine's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tltrace_nb.simulator.errors import SimulationError

Release = Callable[[Any, float], None]
"""Lets a thread group go on, at a time."""


class Mbarrier:
    """One mbarrier: a phase ends when all arrivals are in and all expected bytes have come.

    ``buffer`` is the number of its buffer in the program.
    """

    __slots__ = ("buffer", "bytes", "count", "name", "pending", "phase", "release", "waiters")

    def __init__(self, name: str, count: int, release: Release, buffer: int = 0):
        self.name = name
        self.buffer = buffer
        self.count = count
        self.pending = count
        self.bytes = 0
        self.phase = 0
        self.waiters: list[tuple[Any, int]] = []
        self.release = release

    def passed(self, parity: int) -> bool:
        """Whether the phase of that parity is complete."""
        return (self.phase & 1) != parity

    def arrive(self, time: float, count: int, expected: int = 0) -> None:
        """Threads arrive; ``expected`` more bytes are to come in this phase."""
        self.bytes += expected
        self.pending -= count
        if self.pending < 0:
            raise SimulationError(
                f"one arrival too many in phase {self.phase} of mbarrier {self.name}, made for {self.count}; "
                "set its arrive_count to the number of threads that arrive"
            )
        self._settle(time)

    def receive(self, time: float, count: int) -> None:
        """Bytes have come."""
        self.bytes -= count
        self._settle(time)

    def _settle(self, time: float) -> None:
        if self.pending or self.bytes:
            return
        self.phase += 1
        self.pending = self.count
        ready = [s for s, parity in self.waiters if self.passed(parity)]
        self.waiters = [(s, parity) for s, parity in self.waiters if not self.passed(parity)]
        for thread_group in ready:
            self.release(thread_group, time)

    def __str__(self) -> str:
        state = f"phase {self.phase}, {self.count - self.pending} of {self.count} arrived"
        return f"mbarrier {self.name} ({state}{f', {self.bytes} bytes to come' if self.bytes else ''})"


@dataclass(slots=True)
class Gathering:
    """Thread groups that wait for others at one place, with the threads that have come there without waiting."""

    thread_groups: list[Any] = field(default_factory=list)
    threads: int = 0
