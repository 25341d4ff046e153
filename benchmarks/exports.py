"""How large, and how fast, the files and views of a trace are.

Of a million events (those of ``benchmarks/decode.py``) and of each recorded trace: bytes and bytes per event of every
export, of the page and of what a notebook cell is given. The last column is what a page would carry that holds every
event: start, duration, payload, name, track and flags of each as binary columns, base64 of gzip. Run as
``python benchmarks/exports.py [--recorded]``.
"""

from __future__ import annotations

import base64
import gzip
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import decode

from tltrace_nb.core.trace import Trace, TraceMeta, load
from tltrace_nb.widget.display import PLOTLY_MIME, bundle

RECORDED = Path(__file__).resolve().parents[1] / "tltrace_nb" / "datasets"

EXPORTS: dict[str, Callable[[Trace, Path], Path]] = {
    "perfetto": lambda trace, path: trace.to_perfetto(path),
    "perfetto.gz": lambda trace, path: trace.to_perfetto(path.with_suffix(".gz")),
    "chrome": lambda trace, path: trace.to_chrome(path),
    "chrome.gz": lambda trace, path: trace.to_chrome(path.with_suffix(".gz")),
    "parquet": lambda trace, path: trace.to_parquet(path),
    "svg": lambda trace, path: trace.to_svg(path),
    "png": lambda trace, path: trace.to_png(path),
    "html": lambda trace, path: trace.to_html(path),
}


def columns(trace: Trace) -> int:
    """Bytes of every event as binary columns in the order of the frame, starts and payloads as differences."""
    events = trace.events
    lanes = events["lane"].cat.codes.to_numpy()
    track = np.flatnonzero(np.diff(events["cta"]) | np.diff(events["thread"]) | np.diff(lanes)).astype("<u4")
    start, payload = events["start"].to_numpy(), events["payload_raw"].to_numpy()
    flags = (
        events["payload"].isna().to_numpy() * 1 + events["truncated"].to_numpy() * 2 + events["depth"].to_numpy() * 4
    )
    parts = (
        track,
        np.diff(start, prepend=0).astype("<i4"),
        events["duration"].to_numpy().astype("<u4"),
        np.diff(payload, prepend=np.uint32(0)).astype("<u4"),
        events["name"].cat.codes.to_numpy().astype("<u2"),
        flags.astype("u1"),
    )
    # Byte planes: the first bytes of all numbers, then the second ones; gzip finds more to join.
    planes = b"".join(part.view("u1").reshape(-1, part.itemsize).T.tobytes() for part in parts)
    return len(base64.b64encode(gzip.compress(planes, 6)))


def report(name: str, trace: Trace) -> None:
    """Print the figures of one trace."""
    events = len(trace.events)
    print(f"{name}: {events:,} events")
    with tempfile.TemporaryDirectory() as folder:
        for kind, export in EXPORTS.items():
            before = time.perf_counter()
            try:
                size = export(trace, Path(folder) / "trace").stat().st_size
            except ModuleNotFoundError as error:
                print(f"  {kind:12} {error}")
                continue
            seconds = time.perf_counter() - before
            print(f"  {kind:12} {size:>13,} bytes {size / max(events, 1):>9.1f} an event {seconds:>7.2f} s")
    before = time.perf_counter()
    data = bundle(trace)
    seconds = time.perf_counter() - before
    for mime, value in data.items():
        size = len(str(value).encode())
        print(f"  {'cell: ' + ('figure' if mime == PLOTLY_MIME else mime):18} {size:>7,} bytes")
    size = columns(trace)
    print(f"  cell in {seconds:.2f} s; all events as columns {size:,} bytes, {size / max(events, 1):.1f} an event")


def main() -> None:
    """Report on the million events, or with ``--recorded`` on the recorded traces."""
    if "--recorded" in sys.argv:
        for file in sorted(RECORDED.glob("*.tltrace")):
            report(file.stem, load(file))
    else:
        report("a million", Trace(*decode.trace(), TraceMeta("gemm", gpu="synthetic")))


if __name__ == "__main__":
    main()
