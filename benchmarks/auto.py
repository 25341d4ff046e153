"""What automatic markers cost: traced ÷ untraced time of unmodified kernels, for each choice of markers.

    python benchmarks/auto.py [--json FILE]

Needs a CUDA device. The kernels are those of ``tests/kernels/plain.py``, at their large sizes. Traced and untraced
kernels run interleaved in this one process; times are CUDA events, the slowdown is the ratio of medians; the untraced
kernel against itself is the noise. All outputs are compared bit by bit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced

ROOT = Path(__file__).resolve().parents[1]
BUDGET = 2 << 30
ROUNDS, LAUNCHES = 40, 5

CHOICES: dict[str, Any] = {
    "light (the default)": "light",
    "copies": "copy",
    "copies, waits": ("copy", "wait"),
    "copies, products": ("copy", "gemm"),
    "waits": "wait",
    "loops": "loop",
    "all": "all",
}
"""What is marked: the name in the table, and ``on=``."""


def slowdown(plain: Any) -> dict[str, float]:
    """The untraced milliseconds of a kernel, and traced ÷ untraced for each choice."""
    inputs = plain.inputs("cuda")
    untraced = plain.builder(*plain.arguments)
    right = untraced(*inputs)
    variants: dict[str, Callable[[], Any]] = {"untraced": lambda: untraced(*inputs), "noise": lambda: untraced(*inputs)}
    events: dict[str, int] = {}
    for name, on in CHOICES.items():
        func = plain.builder.get_tir(*plain.arguments)
        options = TraceOptions.of(auto=on, budget=BUDGET)
        kernel = compile_traced(func, Compilation.of(plain.builder), options, lambda _: None)
        launch = kernel.prepare(inputs)
        slots = launch.slots
        variants[name] = lambda kernel=kernel, slots=slots: kernel.kernel(*inputs, slots)
        assert torch.equal(variants[name](), right), f"{plain.name}, {name}: tracing changed the result"
        events[name] = len(launch.trace().events) // len(slots)
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, launch in variants.items():
            times[name].append(milliseconds(launch))
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = medians.pop("untraced")
    figures = {f"{plain.name} untraced, ms": base}
    for name, value in medians.items():
        figures[f"{plain.name}, {name}"] = value / base
        if name in events:
            figures[f"{plain.name}, {name}, events a CTA"] = events[name]
    return figures


def milliseconds(launch: Callable[[], Any]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    launch()
    begin.record()
    for _ in range(LAUNCHES):
        launch()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / LAUNCHES


def main() -> None:
    """Measure and print."""
    sys.path[:0] = [str(ROOT / "tests")]
    from kernels.plain import LARGE

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"gpu": torch.cuda.get_device_name()}
    for plain in LARGE:
        figures |= slowdown(plain)
        torch.cuda.empty_cache()
    for name, value in figures.items():
        print(f"{name:60} {value if isinstance(value, str) else round(value, 4)}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
