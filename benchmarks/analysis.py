"""How long each analysis takes on a million events, in seconds of wall and of processor time.

The trace is that of ``benchmarks/decode.py``: a warp-specialised GEMM of 1250 CTAs, a producer and a consumer, nested
ranges, an arrow per iteration. Decoding is not counted. Run as ``python benchmarks/analysis.py``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import decode
from tltrace_nb import compare
from tltrace_nb.analysis.table import Table
from tltrace_nb.core.trace import Trace, TraceMeta

REPEATS = 3
LIMIT = 2.0
"""Seconds that each may take."""


def main() -> None:
    """Print the seconds of each analysis, the best of some."""
    slots, table = decode.trace()
    trace = Trace(slots, table, TraceMeta("gemm", gpu="NVIDIA H200", grids=(decode.GRID,)))
    print(f"{len(trace):,} events in {len(trace.ctas):,} CTAs, {len(trace.flows):,} arrows; the limit is {LIMIT} s")
    analyses: dict[str, Callable[[], Table]] = {
        "summary": trace.summary,
        "occupancy": trace.occupancy,
        "waves": trace.waves,
        "waits, by arrows": trace.waits,
        "waits, by name": lambda: trace.waits("wait"),
        "critical_path": trace.critical_path,
        "pipeline": trace.pipeline,
        "roofline": lambda: trace.roofline(flop={"mma": 1e6}, bytes={"copy": 1e4}),
        "overhead": trace.overhead,
        "corrected": lambda: trace.corrected().summary(),
        "compare, with itself": lambda: compare(trace, trace),
    }
    for name, analysis in analyses.items():
        wall, busy = [], []
        for _ in range(REPEATS):
            before, worked = time.perf_counter(), time.process_time()
            result = analysis()
            wall.append(time.perf_counter() - before)
            busy.append(time.process_time() - worked)
        print(f"{name:20} {min(wall):6.3f} s ({min(busy):.3f} busy), {min(wall) / LIMIT:5.0%}, {len(result):,} rows")


if __name__ == "__main__":
    main()
