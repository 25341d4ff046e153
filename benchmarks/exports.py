"""How large, and how fast, the files and views of a trace are, and how much memory they add.

Of millions of events (those of ``benchmarks/decode.py``), each export and view in a process of its own; with
``--recorded``, bytes of the files of each recorded trace and of what a notebook cell is given.
Run as ``python benchmarks/exports.py [--millions 10] [--repeats 1] [--without NAME …] [--recorded]``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import analysis
from tltrace_nb.core.loading import load
from tltrace_nb.core.trace import Trace
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
    "html, all events": lambda trace, path: trace.to_html(path, most=None),
}


def written(export: Callable[[Trace, Path], Path], trace: Trace) -> int:
    """The bytes of the file that ``export`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        return export(trace, Path(folder) / "trace").stat().st_size


def saved(trace: Trace) -> int:
    """The bytes of the trace's own file."""
    with tempfile.TemporaryDirectory() as folder:
        trace.save(Path(folder) / "trace.tltrace")
        return (Path(folder) / "trace.tltrace").stat().st_size


def in_memory(trace: Trace) -> dict[str, Callable[[], int]]:
    """Views, and the bytes or parts that they have."""
    return {
        "save": lambda: saved(trace),
        "figure": lambda: len(trace.figure().data),
        "figure, SMs": lambda: len(trace.figure(view="sm", color="wave").data),
        "figure, 8 CTAs": lambda: len(trace.figure(ctas=8).data),
        "timeline": lambda: len(trace.timeline().shown.events),
        "cell": lambda: len(bundle(trace)),
        "table of names": lambda: len(trace._repr_html_()),
    }


def report(name: str, trace: Trace) -> None:
    """Print the sizes of one small trace."""
    events = len(trace.events)
    print(f"{name}: {events:,} events")
    for kind, export in EXPORTS.items():
        before = time.perf_counter()
        size = written(export, trace)
        seconds = time.perf_counter() - before
        print(f"  {kind:16} {size:>13,} bytes {size / max(events, 1):>9.1f} an event {seconds:>7.2f} s")
    for mime, value in bundle(trace).items():
        size = len(str(value).encode())
        print(f"  {'cell: ' + ('figure' if mime == PLOTLY_MIME else mime):18} {size:>7,} bytes")


def main() -> None:
    """Report on millions of events, or with ``--recorded`` on the recorded traces."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--without", nargs="*", default=[], help="leave these out")
    options = parser.parse_args()
    if options.recorded:
        for file in sorted(RECORDED.glob("*.tltrace")):
            report(file.stem, load(file))
        return
    trace = analysis.trace(options.millions)
    exports = {name: partial(written, export, trace) for name, export in EXPORTS.items()}
    wanted = {name: of for name, of in (in_memory(trace) | exports).items() if name not in options.without}
    analysis.report(trace, wanted, options.repeats)


if __name__ == "__main__":
    main()
