"""What a rank does in the tests of ``gather``: processes that meet over gloo, each with a trace of its own.

Run as ``python ranks.py RANK WORLD FOLDER CASE INSTANT``; rank 0 writes what it found to ``FOLDER/found.json``.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch.distributed as dist
from planned import Span, planned

from tltrace_nb.core.runtime import ping_pong
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.slots import headers
from tltrace_nb.distributed import Clock, aligned, comparing, gather

SKEWS = (0, 7_000_000, -3_000_000, 123_456_789)
"""ns by which the clock of each rank is ahead."""
DELAYS = (0, 500_000, 250_000, 1_000_000)
"""ns after a common instant at which each rank's trace begins."""
AHEAD, PPM, APART = 100_000, 5, 2_000_000
"""ns by which the GPU of each rank is ahead of the one before, how fast it drifts from it, and ns between launches."""


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


class Gpus:
    """GPUs that reach each other's memory, those of one host: what a rank's GPU would read in a ping-pong.

    Each timer is ahead of the one before and drifts from it. The n-th ping-pong of a rank is at a time that both sides
    know, 1 ms after the one before it; in all of them a question takes 500 to 900 ns, and an answer 600 to 1000.
    """

    def __init__(self, rank: int, world: int, reach: bool = True) -> None:
        self.rank, self.world, self.reach = rank, world, reach
        self._turn: dict[int, int] = {}

    def timer(self, rank: int, time: Any) -> Any:
        return np.floor(time * (1 + rank * PPM * 1e-6)).astype(np.int64) + rank * AHEAD + 10**18

    def mailbox(self) -> Any:
        return SimpleNamespace(rank=self.rank)

    def address_of(self, box: Any) -> bytes:
        return str(box.rank).encode()

    def reached(self, address: bytes) -> Any:
        if not self.reach:
            raise RuntimeError("CUDA error: peer access is not supported between these two devices")
        return SimpleNamespace(rank=int(address))

    def blank(self) -> Any:
        import torch

        return torch.zeros((50, 2), dtype=torch.int64)

    def play(self, role: str, mine: Any, theirs: Any, times: Any, patience: float) -> None:
        turn = self._turn[theirs.rank] = self._turn.get(theirs.rank, -1) + 1
        random = np.random.default_rng(turn)
        there, back = 500 + 400 * random.random(50), 600 + 400 * random.random(50)
        sent = 1e6 * turn + 2000 * np.arange(50)
        at = (sent, sent + there + back) if role == "ask" else (sent + there, sent + there)
        times[:] = times.new_tensor(np.stack([self.timer(self.rank, each) for each in at], 1))

    def launched(self, number: int) -> Trace:
        """A launch that begins ``rank`` µs late, at a time that is known."""
        after, before = ((self.rank + way) % self.world for way in (1, -1))
        trace = planned([Span("write", 0, 50, payload=after), Span("read", 60, 90, payload=before)])
        begin = self.timer(self.rank, np.float64(APART * number + 1000 * self.rank))
        head = headers(trace.slots)
        moved = int(begin) - int(head["entry_ns"].min())
        trace.slots[..., 3] += moved
        trace.slots[..., 5] += moved
        return trace


def on_gpus(rank: int, world: int, case: str, instant: int) -> Any:
    """What ``gather`` makes of ranks with a GPU each: on one host, on two, or where none reaches another's memory."""
    from tltrace_nb import distributed

    gpus = Gpus(rank, world, reach=case != "unreachable")
    for name in ("mailbox", "address_of", "reached", "blank", "play"):
        setattr(ping_pong, name, getattr(gpus, name))
    ping_pong.ready = lambda role: role
    distributed._on_gpu = lambda: True
    zero = 10**18 + rank * AHEAD
    distributed._clock_of = lambda trace: Clock(lambda: zero + time.monotonic_ns() - instant, zero, 10.0)
    if case == "two hosts":
        platform.node = lambda: f"host {2 * rank // world}"
    with aligned(timeout=30) as block:
        launches = {number: gpus.launched(number) for number in range(2)}
    return gather(launches[0], block=block, launches=launches, arrows={"write": "read"}, timeout=30)


def left(rank: int, instant: int) -> Any:
    """What is gathered when rank 1 has left a block with an error, which it has caught."""
    clock = skewed(rank, instant)
    with contextlib.suppress(ValueError), aligned(clock=clock, timeout=60) as block:
        if rank == 1:
            raise ValueError("its own")
    return gather(trace_of(rank), clock=clock, block=block, timeout=60)


def main() -> None:
    rank, world, folder, case = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world, timeout=timedelta(seconds=60)
    )
    dist.barrier()
    if case == "dies" and rank == 1:
        os._exit(7)
    if case == "dies while sending" and rank == 1:
        comparing.MESSAGES = 3
        Trace.save = lambda *_: os._exit(7)  # type: ignore[assignment]
    if case in ("one host", "two hosts", "unreachable"):
        whole = on_gpus(rank, world, case, int(sys.argv[5]))
    elif case == "leaves":
        whole = left(rank, int(sys.argv[5]))
    elif case == "simulated":
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
            "pairs": whole.pairs.to_json(orient="records"),
            "skew": whole.skew.to_json(orient="records"),
            "first": whole.ctas.groupby("rank")["start_ns"].min().tolist(),
            "arrows": name.to_numpy()[whole.flows[["src", "dst"]].to_numpy()].tolist(),
            "ways": whole.events["rank"].to_numpy()[whole.flows[["src", "dst"]].to_numpy()].tolist(),
            "lanes": list(whole.figure().layout.yaxis.ticktext),
            "title": whole.figure().layout.title.text,
            "page": whole.to_html(folder / "all.html").stat().st_size,
        }
        (folder / "found.json").write_text(json.dumps(found))
    if case.startswith("dies"):
        os._exit(0)  # the group has lost a rank, and would complain on its way out
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
