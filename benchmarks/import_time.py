"""How long ``import tltrace_nb`` takes: the median of ten fresh processes, the interpreter's own start left out.

python benchmarks/import_time.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys

RUNS = 10
LIMIT_S = 0.3
TIMED = "import time; t = time.perf_counter(); import tltrace_nb; print(time.perf_counter() - t)"


def main() -> int:
    """Print the times and return 1 when the median is above the limit."""
    times = [
        float(subprocess.run([sys.executable, "-c", TIMED], capture_output=True, text=True, check=True).stdout)
        for _ in range(RUNS)
    ]
    median = statistics.median(times)
    print(
        f"import tltrace_nb: median of {RUNS} {median:.3f} s ({min(times):.3f} to {max(times):.3f}), limit {LIMIT_S} s"
    )
    return int(median > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
