"""The package at work in one command: ``python -m tltrace_nb.demo [--output DIR] [--trace NAME]``.

In: a CUDA device if there is one, else the virtual GPU; with ``--trace``, one of the recorded traces in ``datasets``.
Out: a table of events on the screen, and the timeline as an offline HTML file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import no_type_check

from tltrace_nb.core.api import trace
from tltrace_nb.core.loading import load
from tltrace_nb.core.trace import Trace, TraceFileError
from tltrace_nb.datasets import FOLDER

ROWS = 12
"""Events that the table shows."""
COLUMNS = ["name", "role", "cta", "sm", "thread", "start", "duration", "payload"]
SIZE = 1024
VIRTUAL_SIZE = 512


def main(arguments: Sequence[str] | None = None, recorded: Path = FOLDER) -> int:
    """Run the demo and return its exit code: 0; 1 when nothing can be written; 2 when ``--trace`` names no trace."""
    parser = argparse.ArgumentParser(
        prog="python -m tltrace_nb.demo", description="Trace a GEMM and draw its timeline."
    )
    parser.add_argument("--output", default="debug", metavar="DIR", help="folder for the timeline (default: debug)")
    parser.add_argument("--trace", metavar="NAME", help="show this recorded trace instead, GPU or not")
    given = parser.parse_args(arguments)
    try:
        if given.trace:
            return show_recorded(recorded, Path(given.output), given.trace)
        gpu = cuda_device()
        size = SIZE if gpu else VIRTUAL_SIZE
        print(f"Tracing a pipelined GEMM of {size} x {size} x {size} on {gpu or 'the virtual GPU (h200 model)'}.")
        report(trace_gemm(size, "cuda" if gpu else "cpu"), "gemm", Path(given.output))
    except OSError as error:
        print(f"The demo could not be finished: {error}", file=sys.stderr)
        return 1
    if gpu is None:
        print(f"With a CUDA device this command traces the same kernel there. {others(recorded_traces(recorded))}")
    return 0


def cuda_device() -> str | None:
    """The name of the CUDA device, if there is one."""
    try:
        import torch
    except ImportError:
        return None
    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


@no_type_check  # TileLang's annotations are values
def trace_gemm(size: int = SIZE, device: str = "cuda") -> Trace:
    """Build a pipelined GEMM with tracing on, run it once, check its result and return its trace."""
    import tilelang.language as T
    import torch

    @trace.jit(out_idx=[-1])
    def matmul(M: int, N: int, K: int, bm: int = 128, bn: int = 128, bk: int = 32, stages: int = 3):
        @T.prim_func
        def gemm(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):  # type: ignore[valid-type]
            with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
                A_shared = T.alloc_shared((bm, bk), "float16")
                B_shared = T.alloc_shared((bk, bn), "float16")
                C_local = T.alloc_fragment((bm, bn), "float32")
                T.clear(C_local)
                for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                    with trace.range("load", payload=k):
                        T.copy(A[by * bm, k * bk], A_shared)
                        T.copy(B[k * bk, bx * bn], B_shared)
                    with trace.range("mma", payload=k):
                        T.gemm(A_shared, B_shared, C_local)
                with trace.range("store"):
                    T.copy(C_local, C[by * bm, bx * bn])
                trace.dag("load", "mma")

        return gemm

    with trace.tracing(device="cuda" if device == "cuda" else "virtual"):
        kernel = matmul(size, size, size)
    a, b = (torch.randn(size, size, device=device, dtype=torch.float16) for _ in range(2))
    if device == "cuda":
        kernel(a, b)  # the first run pays for loading the module
    torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-2, atol=1e-1)
    captured = trace.last
    assert captured is not None
    return captured


def show_recorded(folder: Path, output: Path, wanted: str) -> int:
    """Show the recorded trace that is wanted."""
    found = recorded_traces(folder)
    if wanted not in found:
        print(f"There is no recorded trace {wanted!r}. {others(found)}", file=sys.stderr)
        return 2
    report(found[wanted], Path(wanted).name, output)
    return 0


def others(found: dict[str, Trace]) -> str:
    """Which recorded traces there are, as a sentence."""
    return f"Recorded traces, for --trace NAME: {', '.join(found) or 'none'}."


def recorded_traces(folder: Path) -> dict[str, Trace]:
    """The readable traces of a folder by the name that ``datasets.load`` takes; an unreadable one is reported."""
    found: dict[str, Trace] = {}
    for path in sorted(folder.rglob("*.tltrace")):
        try:
            found[path.relative_to(folder).with_suffix("").as_posix()] = load(path)
        except TraceFileError as error:
            print(f"Skipped: {error}", file=sys.stderr)
    return found


def report(shown: Trace, name: str, output: Path) -> None:
    """Print the trace and the head of its events, and write its timeline."""
    events = shown.events
    print()
    print(repr(shown))
    print()
    columns = [column for column in COLUMNS if events[column].notna().any()]
    print(events[columns].head(ROWS).to_string(index=False, na_rep="-"))
    if len(events) > ROWS:
        print(f"... {len(events) - ROWS:,} more in trace.events; start and duration are cycles of the SM")
    print()
    output.mkdir(parents=True, exist_ok=True)
    page = output / f"{name}.html"
    shown.to_html(page, title=name)
    print(f"Wrote the timeline to {page}: open it in any browser, no network needed.")


if __name__ == "__main__":
    sys.exit(main())
