"""What it costs to decide whether a launch stays: processor time per launch, and per reading of a clock.

    python benchmarks/kept.py [--launches 10000]

Launches are stand-ins whose time is known at once. On a card two more things cost: ``Stopwatch.start`` and ``stop`` put
two CUDA events into the stream, and their time is asked for; both are measured where there is a card.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Hashable
from typing import Any

from tltrace_nb.core.compile.options import DEFAULT_BUDGET
from tltrace_nb.core.runtime.kept import Kept, Section


class Launch:
    """A launch of one kernel, as cheap as one can be."""

    key: Hashable = ("kernel", (1024, 1024))
    device_bytes = 1 << 16
    graph = False

    def __init__(self, took: float) -> None:
        self._took = took

    def ns(self, wait: bool) -> float | None:  # noqa: ARG002 (it is known at once)
        return self._took

    def trace(self) -> Any:
        return self


def keeping(count: int) -> float:
    """Seconds to take so many launches."""
    launches = [Launch(n * 7919 % 1000) for n in range(count)]
    kept, section = Kept(), Section()
    began = time.process_time()
    for launch in launches:
        kept.add(launch, section, DEFAULT_BUDGET)
    return time.process_time() - began


def clock(count: int) -> float:
    """Seconds to time so many empty stretches of a stream, and to read the times."""
    from tltrace_nb.core.runtime.stopwatch import Stopwatch

    watch = Stopwatch()
    watch.start().stop().ns(wait=True)
    began = time.process_time()
    for _ in range(count):
        watch.start().stop().ns(wait=False)
    return time.process_time() - began


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--launches", type=int, default=10_000)
    count = parser.parse_args().launches
    print(f"keeping: {min(keeping(count) for _ in range(5)) / count * 1e6:.2f} µs a launch")
    import torch

    if torch.cuda.is_available():
        print(f"clock:   {min(clock(count) for _ in range(5)) / count * 1e6:.2f} µs a launch")


if __name__ == "__main__":
    main()
