"""What the lessons say of a GPU and no recorded trace shows: their own kernels, measured on one.

    python benchmarks/lessons.py record --out lessons.json    # needs a CUDA device and nvcc
    python benchmarks/lessons.py dry --out lessons.json       # the same on the virtual GPU: what it would write
    python benchmarks/lessons.py compile                      # needs nvcc for sm_90a, and no device

`--only 13/ lab` takes the points whose keys begin so. The kernels are those of `notebooks/teacher/`, see
`lesson_points.py`. Each result is compared with what it must be. A point is the median of ``REPEATS`` launches after
one that warms the caches: the span of the launch, from the first CTA's entry to the last one's exit, and the median
CTA. Of a kernel with a race it is counted how many results are wrong. `dry` launches once. `record` has all cores
compile first.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import multiprocessing
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

sys.path[:0] = [str(Path(__file__).resolve().parent)]
from lesson_points import Point, points  # noqa: E402

from tltrace_nb import trace  # noqa: E402
from tltrace_nb.core.trace import Trace  # noqa: E402

REPEATS = 9
RACY_LAUNCHES = 500
"""Of a kernel that has a race: how many of its results are wrong."""
MOST_EVENTS = 128
TOLERANCE = 2e-2
TAKEN = "registers: of a thread; spilled: bytes of spill stores; as ptxas says, of the traced kernel"


# ---- the measurement


def measured(point: Point, device: str, repeats: int) -> dict[str, Any]:
    """The launch in ns and the median CTA in cycles: medians of the launches, and the least and the longest of them.

    Of the last launch also the median cycles of its ranges; of a kernel with a race how many results were wrong.
    """
    torch.manual_seed(0)
    inputs = tuple(tensor.to(device) for tensor in point.inputs())
    expected = point.expected(*inputs)
    with trace.tracing(device="cuda" if device == "cuda" else f"virtual:{point.model}", max_events=MOST_EVENTS):
        kernel = point.build()
    spans, cycles, wrong = [], [], 0
    if point.racy and device == "cuda":
        repeats = RACY_LAUNCHES
    for launch in range(repeats + (device == "cuda")):
        given = tuple(tensor.clone() for tensor in inputs)
        result, captured = kernel.run(given)
        found = given[-1] if result is None or result == [] else result
        right = torch.allclose(found.float(), expected.float(), atol=TOLERANCE, rtol=TOLERANCE)
        wrong += not right
        if not (right or point.racy):
            torch.testing.assert_close(found.float(), expected.float(), atol=TOLERANCE, rtol=TOLERANCE)
        if launch or device != "cuda":
            spans.append(span_ns(captured))
            cycles.append(float(captured.ctas["duration"].median()))
    return {
        "launch_ns": round(statistics.median(spans), 1),
        "least_ns": round(min(spans), 1),
        "longest_ns": round(max(spans), 1),
        "cta_cycles": statistics.median(cycles),
        "ctas": len(captured.ctas),
        "ranges": captured.events.groupby("name", observed=True)["duration"].median().dropna().astype(float).to_dict(),
        **({"launches": len(spans), "wrong": wrong} if point.racy else {}),
    }


def span_ns(captured: Trace) -> float:
    """Nanoseconds from the first CTA's entry to the last one's exit."""
    return float(captured.ctas["end_ns"].max() - captured.ctas["start_ns"].min())


def made() -> dict[str, Any]:
    """When, how and with what the numbers are made."""
    return {
        "command": f"python benchmarks/{' '.join([Path(sys.argv[0]).name, *sys.argv[1:]])}",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {name: importlib.metadata.version(name) for name in ("tilelang", "torch")},
    }


def origin(device: str, repeats: int) -> dict[str, Any]:
    """Where the numbers come from."""
    found = made() | {
        "launches": repeats,
        "unit": "launch: ns from the first CTA's entry to the last one's exit; cta: cycles of its SM; both as traced",
    }
    if device != "cuda":
        return {"gpu": "virtual", **found}
    properties = torch.cuda.get_device_properties(0)
    said = ""
    if smi := shutil.which("nvidia-smi"):
        query = [smi, "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
        said = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    gpu = {"gpu": properties.name, "sms": properties.multi_processor_count, "driver": said, "cuda": torch.version.cuda}
    return {**gpu, **found}


def chosen(sms: int, only: Sequence[str]) -> list[Point]:
    """The points whose keys begin so; all where nothing is chosen."""
    return [point for point in points(sms) if not only or point.key.startswith(tuple(only))]


def record(out: Path | None, device: str, repeats: int, only: Sequence[str]) -> int:
    """Measure points; one that fails says so, and the others go on."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 4
    if device == "cuda":
        warm(sms, only)
    found: dict[str, Any] = {"origin": origin(device, repeats), "points": {}}
    failed = 0
    for point in chosen(sms, only):
        try:
            found["points"][point.key] = measured(point, device, repeats)
        except Exception as error:  # one kernel must not cost the others
            failed += 1
            found["points"][point.key] = {"failed": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        print(f"{point.key}: {found['points'][point.key]}", flush=True)
        if out is not None:
            out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return failed


def warm(sms: int, only: Sequence[str]) -> None:
    """Have as many processes as there are cores compile the kernels, which the disk cache of traced kernels keeps."""
    count, cores = len(chosen(sms, only)), os.cpu_count() or 1
    with ProcessPoolExecutor(min(cores, count), mp_context=multiprocessing.get_context("spawn")) as pool:
        for each in [pool.submit(_built, sms, tuple(only), number) for number in range(count)]:
            each.exception()  # whoever fails here fails again, and says so, where it is measured


def _built(sms: int, only: tuple[str, ...], number: int) -> None:
    with trace.tracing(device="cuda", max_events=MOST_EVENTS):
        chosen(sms, only)[number].build()


def compiled(out: Path | None, only: Sequence[str], architecture: str = "sm_90a") -> int:
    """Have nvcc compile every kernel, as it is traced, for an architecture, and ptxas say what registers it takes."""
    from tilelang.engine.lower import lower_with_context

    from tltrace_nb.core.compile import lowering, schedule
    from tltrace_nb.core.compile.options import TraceOptions
    from tltrace_nb.core.compile.plans import BarePlan
    from tltrace_nb.core.compile.schedule import Scheduler

    target = schedule.resolve_target({"kind": "cuda", "arch": architecture})
    failed = 0
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[-2]
    found: dict[str, Any] = {"origin": {"gpu": architecture, **made(), "nvcc": version, "unit": TAKEN}, "points": {}}
    for point in chosen(132, only):
        with trace.tracing(device="virtual"):
            kernel = point.build()
        with target:
            low = lowering.prepare(kernel.source, Scheduler(target, kernel.pass_configs), TraceOptions())
            plan = BarePlan(low, target)
            context = schedule.context_with(low.at_boundary, target, at_device=plan.at_device)
            source = lower_with_context(low.anchored, context).kernel_source
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "kernel.cu").write_text(source, encoding="utf-8")
            command = ["nvcc", "-cubin", f"-arch={architecture}", "-Xptxas", "-v", *_include(), "kernel.cu"]
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        failed += run.returncode != 0
        found["points"][point.key] = taken(run.stderr) if run.returncode == 0 else {"failed": run.stderr[:2000]}
        print(f"{point.key}: {found['points'][point.key]}", flush=True)
        if out is not None:
            out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return failed


def taken(said: str) -> dict[str, int | bool]:
    """What ptxas says of a kernel: registers of a thread, bytes that are spilled, whether wgmma was serialised."""
    registers, spilled = (re.findall(text, said) for text in (r"Used (\d+) registers", r"(\d+) bytes spill stores"))
    serialised = "wgmma.mma_async instructions are serialized" in said
    return {"registers": max(map(int, registers)), "spilled": max(map(int, spilled)), "wgmma serialised": serialised}


def _include() -> list[str]:
    """Where nvcc finds TileLang's templates."""
    from tilelang.env import CUTLASS_INCLUDE_DIR, TILELANG_TEMPLATE_PATH

    return ["-std=c++17", f"-I{TILELANG_TEMPLATE_PATH}", f"-I{CUTLASS_INCLUDE_DIR}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Record, or try what recording needs without a GPU."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("record", "dry", "compile"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="+", default=[], help='how the keys begin, such as "13/" "lab"')
    args = parser.parse_args(arguments)
    if args.what == "compile":
        return min(1, compiled(args.out, args.only))
    device, repeats = ("cuda", REPEATS) if args.what == "record" else ("cpu", 1)
    return min(1, record(args.out, device, repeats, args.only))


if __name__ == "__main__":
    sys.exit(main())
