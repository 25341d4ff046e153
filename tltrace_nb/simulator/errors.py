"""What the virtual GPU may say no to, and what can go wrong while it runs.

In: nothing. Out: exception classes; every message names the kernel, and where it is known the CTA and the thread group.
"""

from __future__ import annotations

from tltrace_nb.base.errors import TraceError


def unsupported(kernel: str, where: str, what: str, node: object) -> str:
    """The message of an ``UnsupportedError``: the kernel, its ``file:line`` if that is known, what, and its text."""
    text = " ".join(str(node).split())
    text = text if len(text) < 200 else f"{text[:197]}..."
    return f"kernel {kernel}{f', {where}' if where else ''}: the virtual GPU does not know {what}: {text}"


class UnsupportedError(TraceError, NotImplementedError):
    """The kernel uses something that the virtual GPU does not execute; found before the first CTA runs."""


class SimulationError(TraceError, RuntimeError):
    """A virtual run failed. ``trace`` holds what was recorded until then, when anything was."""

    trace: object = None


class DeadlockError(SimulationError):
    """Every thread group that is left waits; the message says who waits for what."""


class MemoryAccessError(SimulationError, IndexError):
    """Shared memory was read before it was written, or an access lies outside of its buffer."""


class UnwrittenError(MemoryAccessError):
    """Shared memory or a fragment was read before it was written, and what it held matters."""


class RaceError(SimulationError):
    """Two accesses to one element, one of them a write, that nothing orders; ``races`` has all that were found."""

    races: tuple[object, ...] = ()


class StepLimitError(SimulationError):
    """A loop ran longer than the step limit."""
