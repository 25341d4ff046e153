"""How long launches take on a GPU, without waiting for them.

In: a launch between ``start`` and ``stop``. Out: :class:`Timing`, which tells once the GPU has come so far. Two CUDA
events are put into the current stream; they are used again when their time has been read.
"""

from __future__ import annotations

from typing import Any


class Timing:
    """One launch's time."""

    __slots__ = ("_begin", "_end", "_free", "_ns")

    def __init__(self, begin: Any, end: Any, free: list[Any]) -> None:
        self._begin, self._end, self._free = begin, end, free
        self._ns: float | None = None

    def stop(self) -> Timing:
        """The launch is in the stream."""
        self._end.record()
        return self

    def ns(self, wait: bool) -> float | None:
        """Nanoseconds between the two; ``None`` while the GPU has not come so far. ``wait``: until it has."""
        if self._ns is None:
            if wait:
                self._end.synchronize()
            elif not self._end.query():
                return None
            self._ns = self._begin.elapsed_time(self._end) * 1e6
            self._free += (self._begin, self._end)
            self._begin = self._end = None
        return self._ns


class Stopwatch:
    """Starts timings on the current stream of one GPU; ``make`` makes an event, by default torch's."""

    def __init__(self, make: Any = None) -> None:
        self._make = make
        self._free: list[Any] = []

    def start(self) -> Timing:
        """A timing that begins now; its launch goes into the same stream, and then ``stop``."""
        free = self._free
        begin, end = (free.pop(), free.pop()) if len(free) > 1 else (self._event(), self._event())
        begin.record()
        return Timing(begin, end, free)

    def _event(self) -> Any:
        if self._make is None:
            import torch

            self._make = lambda: torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        return self._make()
