"""How large, and how fast, the files and views of a trace are.

Of a million events (those of ``benchmarks/decode.py``) and of each recorded trace: bytes and bytes per event of every
export, of the page and of what a notebook cell is given. Run as ``python benchmarks/exports.py [--recorded]``.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import decode

from tltrace_nb.core.trace import Trace, TraceMeta, load
from tltrace_nb.widget.display import PLOTLY_MIME, bundle

RECORDED = Path(__file__).resolve().parents[1] / "tltrace_nb" / "datasets" / "h200"

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
    print(f"  cell in {seconds:.2f} s")


def main() -> None:
    """Report on the million events, or with ``--recorded`` on the recorded traces."""
    if "--recorded" in sys.argv:
        for file in sorted(RECORDED.glob("*.tltrace")):
            report(file.stem, load(file))
    else:
        report("a million", Trace(*decode.trace(), TraceMeta("gemm", gpu="synthetic")))


if __name__ == "__main__":
    main()
