"""How close the virtual GPU comes to the card: the recorded H200 traces against the same kernels simulated.

    python benchmarks/virtual_agreement.py

Needs no GPU. Compares, per recorded kernel, the span from the first CTA's entry to the last one's exit, and the median
duration of each range in cycles; prints a table in Markdown, the median and the worst error, and for how many kernels
the longest ranges come in the card's order.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from tltrace_nb import demo, load
from tltrace_nb.core.runtime.virtual import simulate
from tltrace_nb.core.trace import Trace
from tltrace_nb.datasets import FOLDER

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]
from kernels import BY_NAME, record  # noqa: E402

FOLDERS = (FOLDER / "h200", ROOT / "tests" / "recorded")
LONGEST = 3
"""How many of a kernel's ranges have their order compared."""
TIED = 0.1
"""Ranges whose durations on the card differ by less have no order."""


@dataclass(frozen=True)
class Agreement:
    """One kernel on both: spans in ns, and the median cycles of its ranges, longest on the card first."""

    name: str
    real_ns: float
    virtual_ns: float
    ranges: tuple[tuple[str, float, float], ...]

    @property
    def error(self) -> float:
        """By how much the virtual span is longer, as a fraction."""
        return self.virtual_ns / self.real_ns - 1

    @property
    def ordered(self) -> bool:
        """Whether the longest ranges come in the same order."""
        pairs = itertools.combinations(self.ranges[:LONGEST], 2)
        return all(a[2] > b[2] for a, b in pairs if a[1] > (1 + TIED) * b[1])


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
    torch.manual_seed(0)
    if name == "gemm":
        return demo.trace_gemm(demo.SIZE, "cpu")
    reference = BY_NAME[name]
    inputs = reference.inputs("cpu")
    return simulate(
        reference.build(), inputs, out_idx=reference.out_idx, gpu="h200", pass_configs=reference.pass_configs
    )[1]


def recorded() -> list[Path]:
    """The files with recorded traces of the reference kernels and of the demo's, one per kernel."""
    found = (FOLDERS[0] / f"{name}.tltrace" for name in (*record.RECORDED, record.DEMO))
    return sorted((*found, *FOLDERS[1].glob("*.tltrace")), key=lambda file: file.stem)


def agreement(name: str, real: Trace, virtual: Trace) -> Agreement:
    """Both traces of one kernel, compared."""
    on_card, ours = medians(real), medians(virtual)
    longest = sorted(on_card, key=on_card.__getitem__, reverse=True)
    ranges = tuple((name, on_card[name], ours[name]) for name in longest)
    return Agreement(name, span_ns(real), span_ns(virtual), ranges)


def main() -> None:
    """Simulate all recorded kernels and print the comparison."""
    found = []
    print("| kernel | H200, µs | virtual, µs | error | longest ranges, median cycles: H200 → virtual | same order |")
    print("|---|---|---|---|---|---|")
    for file in recorded():
        a = agreement(file.stem, load(file), simulated(file.stem))
        found.append(a)
        ranges = ", ".join(f"{name} {real:,.0f} → {ours:,.0f}" for name, real, ours in a.ranges[:LONGEST])
        times = f"{a.real_ns / 1e3:.2f} | {a.virtual_ns / 1e3:.2f} | {a.error:+.0%}"
        print(f"| {a.name} | {times} | {ranges} | {'yes' if a.ordered else 'no'} |")
    worst = max(found, key=lambda a: abs(a.error))
    median = statistics.median(abs(a.error) for a in found)
    print(
        f"\n{len(found)} kernels: median error {median:.0%}, worst {worst.error:+.0%} ({worst.name}); "
        f"longest ranges in the same order: {sum(a.ordered for a in found)}"
    )


if __name__ == "__main__":
    main()
