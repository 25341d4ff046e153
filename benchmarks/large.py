"""A trace larger than memory is meant to hold: opened, looked at and summed up in parts.

In a file of its own a synthetic trace of a hundred million ranges is written once (``--file`` keeps it). Each step is
measured in a process of its own, which has nothing of the trace; resident memory is that of the whole process.
Run as ``python benchmarks/large.py [--millions 100] [--file large.tltrace]``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import decode
from benchmarks.measuring import machine, resident
from tltrace_nb import load
from tltrace_nb.core.trace import TraceMeta
from tltrace_nb.data import tracefile

ZOOM_NS = 20_000
"""How long a stretch is zoomed into."""
AT_ONCE = 1250
"""CTAs that are made at a time: a million ranges."""


def write(path: Path, millions: int) -> None:
    """Write the trace of ``benchmarks/decode.py``, so many million ranges of it, a million at a time."""
    grid = (50 * millions, 25, 1)
    slots, table = decode.trace()
    table = dataclasses.replace(table, launches=(dataclasses.replace(table.launches[0], grid=grid),))
    shape = (AT_ONCE * millions, *slots.shape[1:])
    meta = TraceMeta("gemm", gpu="NVIDIA H200", grids=(grid,))
    description = {
        "format": tracefile.FORMAT,
        "version": tracefile.FILE_VERSION,
        "meta": dataclasses.asdict(meta),
        "table": json.loads(table.to_json()),
        "shape": list(shape),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=tracefile.COMPRESSION) as archive:
        archive.writestr(tracefile.META, json.dumps(description))
        with archive.open(tracefile.SLOTS, "w", force_zip64=True) as member:
            header = {"descr": "<i8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(member, header)
            for million in range(millions):
                later = decode.later(slots, million * 1_000_000)
                member.write(later.tobytes())


def step(path: Path, which: str) -> None:
    """One step, measured, as JSON."""
    began, worked = time.perf_counter(), time.process_time()
    large = load(path, lazily=True)
    told = repr(large)
    if which != "open":
        began, worked = time.perf_counter(), time.process_time()
        ctas = large.ctas
        told = f"{len(ctas):,} CTAs in {ctas['end_ns'].max() / 1e6:.2f} ms"
    if which in ("overview", "zoom"):
        middle = float(large.ctas["start_ns"].iloc[len(large.ctas) // 2])
        began, worked = time.perf_counter(), time.process_time()
        some = large.trace(between=(middle, middle + ZOOM_NS) if which == "zoom" else None)
        timeline = some.timeline()
        told = f"{len(timeline.shown.events):,} events of {len(some.ctas):,} CTAs"
    if which == "summary":
        began, worked = time.perf_counter(), time.process_time()
        told = f"{int(large.summary()['count'].sum()):,} events"
    seconds, busy = time.perf_counter() - began, time.process_time() - worked
    print(json.dumps({"seconds": seconds, "busy": busy, "peak": resident("VmHWM"), "told": told}))


def main() -> None:
    """Write the file, and measure each step in a new process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, default=100)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--step")
    options = parser.parse_args()
    if options.step:
        step(options.file, options.step)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "large.tltrace"
        if not path.exists():
            write(path, options.millions)
        print(f"{path.stat().st_size / 1e9:.2f} GB packed; {machine()}\n")
        print("| | s | of the processors, s | most resident, GB | |\n|---|---|---|---|---|")
        for which in ("open", "ctas", "overview", "zoom", "summary"):
            command = [sys.executable, __file__, "--step", which, "--file", str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            times = f"{found['seconds']:.1f} | {found['busy']:.1f}"
            print(f"| {which} | {times} | {found['peak'] / 1e9:.2f} | {found['told']} |", flush=True)
        print(f"\nat the end: {machine()}")


if __name__ == "__main__":
    main()
