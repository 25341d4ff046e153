"""Record the reference kernels on a card, run from the repository's root.

    python tests/kernels/record.py shipped tltrace_nb/datasets/h200
    python tests/kernels/record.py others tests/recorded

In: a CUDA device. Out: one small ``.tltrace`` file per kernel: those named here, which users get, or all others. Each
says on which card, with which driver and versions, from which kernel source and by which command it was made.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

RECORDED = {
    "add": "an elementwise kernel",
    "attention": "FlashAttention forward, specialised by TileLang",
    "dynamic_gemm": "a GEMM whose shape is known at run time",
    "every_thread": "a block of 16 threads, each of which records",
    "gemm_3": "a pipelined GEMM of three stages, specialised by TileLang",
    "payload_loop": "a loop whose index is the payload",
    "persistent": "a persistent GEMM",
    "row_sum": "a reduction",
    "softmax": "a row softmax",
    "specialised_gemm": "a GEMM specialised by hand, with barriers and TMA",
    "start_and_end": "a range of explicit tokens",
}
"""The reference kernels that are shipped as recorded traces, and what each is."""

DEMO = "gemm"
"""The trace that ``python -m tltrace_nb.demo`` makes."""


def main() -> None:
    """Record all of them."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    from kernels import BY_NAME
    from tltrace_nb import demo
    from tltrace_nb.core.compile.compilation import Compilation
    from tltrace_nb.core.compile.options import TraceOptions
    from tltrace_nb.core.runtime.jit import compile_traced
    from tltrace_nb.core.runtime.launch import TracedLaunch
    from tltrace_nb.core.trace import Trace

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("which", choices=["shipped", "others"])
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    home = "tltrace_nb/datasets/h200" if args.which == "shipped" else "tests/recorded"
    command = f"python tests/kernels/record.py {args.which} {home}"
    notes = RECORDED if args.which == "shipped" else {n: "a reference kernel" for n in BY_NAME if n not in RECORDED}

    def save(trace: Trace, name: str, note: str) -> None:
        trace.meta = dataclasses.replace(trace.meta, command=command, note=note)
        file = args.folder / f"{name}.tltrace"
        trace.save(file)
        print(f"{name:28} {len(trace):7,} events {file.stat().st_size:9,} bytes")

    for name, note in notes.items():
        reference = BY_NAME[name]
        captured: list[TracedLaunch] = []
        how = Compilation(out_idx=list(reference.out_idx) or None, pass_configs=reference.pass_configs)
        kernel = compile_traced(reference.build(), how, TraceOptions(), captured.append)
        for _ in range(3):  # the first run pays for loading the module
            kernel(*reference.inputs("cuda"))
        save(captured[-1].trace(), name, note)
    if args.which == "shipped":
        save(demo.trace_gemm(), DEMO, "the demo's pipelined GEMM, specialised by TileLang")


if __name__ == "__main__":
    main()
