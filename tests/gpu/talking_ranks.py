"""What a rank does in the tests of clocks: ``talking_ranks.py FOLDER LAUNCHES``, under torchrun, on one GPU or on two.

With a GPU for each rank, the two talk to each other in each launch; where they share one, they only compare its clock,
as two processes on a GPU take turns, and a kernel that waits for its peer would wait for its next turn each time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from kernels import talking

from tltrace_nb import demo, trace
from tltrace_nb.core.runtime.ping_pong import address_of, reached


def main() -> None:
    folder, launches, rank = Path(sys.argv[1]), int(sys.argv[2]), int(os.environ["RANK"])
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("gloo", timeout=timedelta(seconds=120))
    found = alone(launches) if torch.cuda.device_count() < 2 else together(rank, launches, folder)
    if rank == 0:
        (folder / "found.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def alone(launches: int) -> list[dict[str, Any]]:
    """Both ranks on one GPU."""
    found = []
    for _ in range(launches):
        with trace.aligned():
            mine = demo.trace_gemm(256, "cuda")
        whole = trace.gather(mine)
        if whole is not None:
            found.append(described(whole))
    return found


def together(rank: int, launches: int, folder: Path) -> list[dict[str, Any]]:
    """A GPU for each rank, and in each launch as many messages both ways as the kernel has iterations."""
    trace.enable(device="cuda", keep_launches="last")
    kernel = talking.halves()
    mine, out = talking.inbox(), torch.zeros(talking.ITERATIONS, device="cuda")
    addresses: list[Any] = [None, None]
    dist.all_gather_object(addresses, address_of(mine))
    torch.manual_seed(0)
    whole_rows = torch.randn(talking.ITERATIONS, 2 * talking.COLUMNS)
    half = whole_rows[:, rank * talking.COLUMNS : (rank + 1) * talking.COLUMNS].contiguous().cuda()
    inputs = talking.arguments(half, mine, reached(addresses[1 - rank]), out, 1 - rank)
    found = []
    for launch in range(launches + 1):
        mine.zero_()
        torch.cuda.synchronize()
        dist.barrier()
        with trace.aligned():
            kernel(*inputs)
            torch.cuda.synchronize()
        whole = trace.gather(arrows=talking.ARROWS)
        torch.testing.assert_close(out.cpu(), whole_rows.sum(1), rtol=1e-4, atol=1e-4)
        if whole is not None and launch == launches:
            whole.to_html(folder / "ranks.html")
        if whole is not None and launch:  # the first one loads the kernel
            late = talking.lags(whole)
            found.append(
                described(whole) | {"messages": len(late), "after": int((late <= 0).sum()), **talking.spread(late)}
            )
    return found


def described(whole: Any) -> dict[str, Any]:
    row = whole.ranks.iloc[1]
    keys = ("offset_ns", "error_ns", "drift_ppm", "clock", "trouble")
    return {key: row[key] if isinstance(row[key], str) else float(row[key]) for key in keys} | {"time": time.time()}


if __name__ == "__main__":
    main()
