"""How close the virtual GPU comes to the card: the recorded H200 traces against the same kernels simulated.

    python benchmarks/virtual_agreement.py

Needs no GPU. Compares, per recorded kernel, the span from the first CTA's entry to the last one's exit, and the median
duration of each range in cycles; prints a table in Markdown, the median and the worst error.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import torch

from tltrace_nb import demo, load, trace
from tltrace_nb.core.trace import Trace

ROOT = Path(__file__).resolve().parents[1]


def span_ns(captured: Trace) -> float:
    """Nanoseconds from the first CTA's entry to the last one's exit."""
    return float(captured.ctas["end_ns"].max() - captured.ctas["start_ns"].min())


def medians(captured: Trace) -> dict[str, float]:
    """The median duration of each range, in cycles."""
    ranges = captured.events[captured.events["kind"] == "range"]
    return {
        str(name): float(value) for name, value in ranges.groupby("name", observed=True)["duration"].median().items()
    }


def simulated(name: str) -> Trace:
    """The trace of a recorded kernel on the model of the card that it was recorded on."""
    if name == "gemm":
        return demo.trace_gemm(demo.SIZE, "cpu")
    sys.path[:0] = [str(ROOT / "tests")]
    from kernels import BY_NAME

    reference = BY_NAME[name]
    with trace.tracing():
        trace.simulate(reference.build(), *reference.inputs("cpu"), out_idx=list(reference.out_idx), gpu="h200")
    assert trace.last is not None
    return trace.last


def main() -> None:
    """Simulate all recorded kernels and print the comparison."""
    torch.manual_seed(0)
    errors: dict[str, float] = {}
    print("| kernel | H200, µs | virtual, µs | error | longest ranges, median cycles: H200 → virtual |")
    print("|---|---|---|---|---|")
    for file in sorted(demo.RECORDED.glob("*.tltrace")):
        real, virtual = load(file), simulated(file.stem)
        ours, theirs = span_ns(virtual), span_ns(real)
        errors[file.stem] = ours / theirs - 1
        both = medians(real), medians(virtual)
        longest = sorted(both[0], key=both[0].__getitem__, reverse=True)[:3]
        ranges = ", ".join(f"{name} {both[0][name]:,.0f} → {both[1].get(name, float('nan')):,.0f}" for name in longest)
        print(f"| {file.stem} | {theirs / 1e3:.2f} | {ours / 1e3:.2f} | {errors[file.stem]:+.0%} | {ranges} |")
    worst = max(errors, key=lambda name: abs(errors[name]))
    print()
    print(f"median error {statistics.median(map(abs, errors.values())):.0%}, worst {errors[worst]:+.0%} ({worst})")


if __name__ == "__main__":
    main()
