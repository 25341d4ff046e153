"""How long each analysis takes on millions of events, and how much memory it adds, beside what the frame takes.

The trace is that of ``benchmarks/decode.py``: a warp-specialised GEMM, a producer and a consumer, nested ranges, an
arrow per iteration. Decoding is not counted. Each analysis runs in a process of its own, so none finds what another
left. Run as ``python benchmarks/analysis.py [--millions 10] [--repeats 3]``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import decode
from benchmarks.measuring import machine, measured
from tltrace_nb import compare
from tltrace_nb.core.trace import Trace, TraceMeta

SECONDS, FRAMES = 3.0, 2.0
"""What each may take for ten million events on two cores: time, and memory as a multiple of the frame's."""


def trace(millions: int) -> Trace:
    """So many million events, decoded."""
    grid = (50 * millions, 25, 1)
    made = Trace(*decode.trace(grid), TraceMeta("gemm", gpu="NVIDIA H200", grids=(grid,)))
    _ = made.events
    return made


def analyses(trace: Trace) -> dict[str, Callable[[], int]]:
    """Each analysis by name; it returns the rows of its result."""
    return {
        "summary": lambda: len(trace.summary()),
        "occupancy": lambda: len(trace.occupancy()),
        "waves": lambda: len(trace.waves()),
        "waits, by arrows": lambda: len(trace.waits()),
        "waits, each": lambda: len(trace.waits(each=True)),
        "waits, by name": lambda: len(trace.waits("wait")),
        "critical_path": lambda: len(trace.critical_path()),
        "critical_path, barriers": lambda: len(trace.critical_path(barriers="wait")),
        "pipeline": lambda: len(trace.pipeline()),
        "pipeline, by waits": lambda: len(trace.pipeline(wait="wait")),
        "roofline": lambda: len(trace.roofline(flop={"mma": 1e6}, bytes={"copy": 1e4})),
        "overhead": lambda: len(trace.overhead()),
        "corrected": lambda: len(trace.corrected()),
        "corrected, summary": lambda: len(trace.corrected().summary()),
        "compare, with itself": lambda: len(compare(trace, trace)),
        "compare, by payload": lambda: len(compare(trace, trace, by="payload")),
        "compare, by track": lambda: len(compare(trace, trace, by="track")),
        "iterate 1,000 rows": lambda: sum(1 for _ in zip(range(1000), trace, strict=False)),
        "one row": lambda: len([trace[len(trace) // 2]]),
        "repr": lambda: len(repr(trace).splitlines()),
    }


def main() -> None:
    """Print seconds and memory of each analysis."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    whole = trace(options.millions)
    report(whole, analyses(whole), options.repeats)


def report(whole: Trace, functions: dict[str, Callable[[], int]], repeats: int) -> None:
    """Print a row of a table for each function."""
    frame = int(whole.events.memory_usage(index=False).sum())
    told = f"{len(whole):,} events in {len(whole.ctas):,} CTAs, {len(whole.flows):,} arrows"
    print(f"{told}, a frame of {frame / 1e6:,.0f} MB")
    print(f"{machine()}; the least of {repeats}; to be met: {SECONDS:g} s, {FRAMES:g} frames\n")
    print("| | s | of the processors, s | MB added | frames | result |\n|---|---|---|---|---|---|")
    for name, function in functions.items():
        try:
            cost = measured(function, repeats)
        except RuntimeError as error:
            print(f"| {name} | {error} | | | | |", flush=True)
            continue
        size, frames = cost.bytes / 1e6, cost.bytes / frame
        print(
            f"| {name} | {cost.seconds:.2f} | {cost.busy:.2f} | {size:,.0f} | {frames:.2f} | {cost.result:,} |",
            flush=True,
        )
    print(f"\nat the end: {machine()}")


if __name__ == "__main__":
    main()
