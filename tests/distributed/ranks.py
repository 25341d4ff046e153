"""What a rank does in the tests of ``gather``: processes that meet over gloo, each with a trace of its own.

Run as ``python ranks.py RANK WORLD FOLDER CASE``; rank 0 writes what it found to ``FOLDER/found.json``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch.distributed as dist
from planned import Span, planned

from tltrace_nb.core.trace import Trace
from tltrace_nb.distributed import Clock, gather

SKEWS = (0, 7_000_000, -3_000_000, 123_456_789)
"""ns by which the clock of each rank is ahead."""
DELAYS = (0, 500_000, 250_000, 1_000_000)
"""ns after a common instant at which each rank's trace begins."""


def trace_of(rank: int) -> Trace:
    """A trace of as many ranges as the rank is high."""
    return planned(
        [Span(f"work {rank}", 100 * i, 100 * i + 50, payload=rank) for i in range(rank + 2)],
        flows=[("work 0", "work 0")],
    )


def skewed(rank: int, instant: int) -> Clock:
    """A clock that is ahead, and that the trace's time 0 was read on."""
    return Clock(lambda: time.monotonic_ns() + SKEWS[rank], instant + DELAYS[rank] + SKEWS[rank])


def simulated(rank: int) -> Trace:
    """A GEMM of the rank's own number of stages, on the virtual GPU."""
    from kernels.gemm import pipelined

    from tltrace_nb.core.runtime.virtual import simulate

    a, b = np.zeros((256, 128), np.float16), np.zeros((128, 256), np.float16)
    return simulate(pipelined(rank + 1, k=128), [a, b], functional=False)[1]


def main() -> None:
    rank, world, folder, case = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world, timeout=timedelta(seconds=60)
    )
    dist.barrier()
    if case == "dies" and rank == 1:
        os._exit(7)
    if case == "dies while sending" and rank == 1:
        import tltrace_nb.distributed

        tltrace_nb.distributed.ROUNDS = 3
        Trace.save = lambda *_: os._exit(7)  # type: ignore[assignment]
    if case == "simulated":
        whole = gather(simulated(rank))
    else:
        keep = folder / "kept" if case != "dies while sending" else None
        whole = gather(trace_of(rank), clock=skewed(rank, int(sys.argv[5])), folder=keep, timeout=10)
    if whole is not None:
        whole.save(folder / "saved")
        name = whole.events["name"].astype(str)
        found = {
            "events": whole.events.assign(name=name).to_json(orient="records"),
            "ranks": whole.ranks.to_json(orient="records"),
            "first": whole.ctas.groupby("rank")["start_ns"].min().tolist(),
            "arrows": name.to_numpy()[whole.flows[["src", "dst"]].to_numpy()].tolist(),
            "lanes": list(whole.figure().layout.yaxis.ticktext),
            "page": whole.to_html(folder / "all.html").stat().st_size,
        }
        (folder / "found.json").write_text(json.dumps(found))
    if case.startswith("dies"):
        os._exit(0)  # the group has lost a rank, and would complain on its way out
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
