"""What tracing some of the CTAs costs, with two bodies in a kernel and with one, and what a sample says of them all.

    python benchmarks/shares.py [--json FILE]

Needs a CUDA device. The kernels are those of ``tests/kernels/plain.py``, at their large sizes, with all automatic
markers, and a GEMM of 16,384 CTAs with the default options. All variants run interleaved in this one process; times are
CUDA events, the slowdown is the ratio of medians; the untraced kernel against itself is the noise. All outputs are
compared bit by bit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import auto
import torch

from tltrace_nb.core.compile import plans
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced
from tltrace_nb.core.trace import Trace

ROOT = Path(__file__).resolve().parents[1]
BUDGET = 2 << 30
ROUNDS = 25

SHARES: dict[str, Any] = {
    "all": None,
    "one in 16": slice(0, 1 << 30, 16),
    "a sample": "sample",
    "the first 132": 132,
    "the first 8": 8,
}
"""Which CTAs record: the name in the table, and ``ctas=``."""
ONE_BODY = ("one in 16", "the first 132")
"""What is measured with one body, too."""


def compiled(plain: Any, one_body: bool, **options: Any) -> Any:
    """A traced kernel; ``one_body``: all CTAs run the recording one."""
    func = plain.builder.get_tir(*plain.arguments)
    chosen = TraceOptions.of(auto="all", budget=BUDGET, **options)
    body = (lambda func: func) if one_body else plans.with_plain_body
    # The key of a kernel in the cache knows nothing of the patch.
    with (
        tempfile.TemporaryDirectory() as cache,
        mock.patch.dict(os.environ, {"TLTRACE_CACHE_DIR": cache}),
        mock.patch.object(plans, "with_plain_body", body),
    ):
        return compile_traced(func, Compilation.of(plain.builder), chosen, lambda _: None)


def slowdowns(plain: Any, shares: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Trace]]:
    """The untraced milliseconds of a kernel, traced ÷ untraced for each share, and a trace of each."""
    inputs = plain.inputs("cuda")
    untraced = plain.builder(*plain.arguments)
    right = untraced(*inputs)
    variants: dict[str, Callable[[], Any]] = {"untraced": lambda: untraced(*inputs), "noise": lambda: untraced(*inputs)}
    traces: dict[str, Trace] = {}
    figures: dict[str, Any] = {}
    for name, ctas in shares.items():
        for one_body in (False, True):
            label = f"{name}, one body" if one_body else name
            if one_body and name not in ONE_BODY:
                continue
            kernel = compiled(plain, one_body, ctas=ctas)
            launch = kernel.prepare(inputs)
            variants[label] = lambda kernel=kernel, slots=launch.slots: kernel.kernel(*inputs, slots)
            assert torch.equal(variants[label](), right), f"{plain.name}, {label}: tracing changed the result"
            trace = launch.trace()
            figures[f"{label}, CTAs"] = len(trace.ctas)
            if not one_body:
                traces[name] = trace
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, launch in variants.items():
            times[name].append(auto.milliseconds(launch))
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = medians.pop("untraced")
    return {"untraced, ms": base, **{name: value / base for name, value in medians.items()}, **figures}, traces


def against_all(sample: Trace, whole: Trace) -> dict[str, float]:
    """How far a sample is from the whole: the largest relative errors over the names of its ranges, and what it met."""
    found = {}
    for what, of in (("mean", lambda each: each.mean()), ("95th percentile", lambda each: each.quantile(0.95))):
        ours, theirs = (of(t.events.groupby("name", observed=True)["duration"]) for t in (sample, whole))
        long = theirs[theirs > 0]
        found[f"largest error of a {what}"] = float((ours[long.index] / long - 1).abs().max())
    ours, theirs = (t.ctas["duration"].mean() for t in (sample, whole))
    found["error of the mean CTA"] = float(abs(ours / theirs - 1))
    found["SMs met"] = int(sample.ctas["sm"].nunique())
    found["SMs"] = int(whole.ctas["sm"].nunique())
    spans = [t.ctas["end_ns"].max() - t.ctas["start_ns"].min() for t in (sample, whole)]
    found["span of the launch, sample ÷ whole"] = float(spans[0] / spans[1])
    return found


def main() -> None:
    """Measure and print."""
    sys.path[:0] = [str(ROOT / "tests")]
    from kernels.plain import LARGE, _gemm

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"gpu": torch.cuda.get_device_name()}
    for plain in LARGE:
        figures[plain.name], traces = slowdowns(plain, SHARES)
        figures[f"{plain.name}, a sample against all"] = against_all(traces["a sample"], traces["all"])
        torch.cuda.empty_cache()
        print(json.dumps({plain.name: figures[plain.name]}, indent=1), flush=True)
    figures["gemm of 16,384 CTAs"], _ = slowdowns(_gemm(16384, 128, 128, 64, 3), {"by default": None})
    print(json.dumps(figures, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
