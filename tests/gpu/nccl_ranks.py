"""What a rank does in the test of ``gather`` over NCCL, as torchrun starts it: ``nccl_ranks.py FOLDER``.

Without a GPU the same over gloo, with the virtual GPU, so that the script itself can be tried anywhere.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from tltrace_nb import demo, trace


def main() -> None:
    folder, rank = Path(sys.argv[1]), int(os.environ["RANK"])
    on_card = torch.cuda.is_available()
    if on_card:
        torch.cuda.set_device(rank)
    dist.init_process_group("nccl" if on_card else "gloo")
    total = torch.ones(1, device="cuda" if on_card else "cpu")
    dist.all_reduce(total)
    for _ in range(2):  # the second begins when all have compiled
        mine = demo.trace_gemm(256, "cuda" if on_card else "cpu")
        dist.barrier()
    whole = trace.gather(mine, folder=folder)
    if whole is not None:
        found = {
            "backend": dist.get_backend(),
            "world": int(total.item()),
            "mine": len(mine),
            "counts": whole.events.groupby("rank").size().tolist(),
            "gpus": [each.meta.gpu for each in whole.traces.values()],
            "ranks": json.loads(whole.ranks.to_json(orient="records")),
            "first": whole.ctas.groupby("rank")["start_ns"].min().tolist(),
        }
        (folder / "found.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
