"""How well two clocks of GPUs are compared, and whether a message is ever shown after it was read.

    python benchmarks/clocks.py one [--json FILE]    on one GPU, where the true offset is 0: two streams, two processes
    python benchmarks/clocks.py two [--json FILE]    on two GPUs of one host, a process for each

With FILE, the second writes a page of the last launch beside it. Needs CUDA devices and nvcc. The offset is that of a
ping-pong of flags (``core/runtime/ping_pong.cuh``); messages are the writes and reads of ``tests/kernels/talking.py``,
10,000 at least.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
PING_PONGS, PAUSE = 40, 0.25
"""Ping-pongs on two streams, and seconds between them, over which a clock drifts from itself by nothing."""
LAUNCHES = {"one": 50, "two": 100}
"""Launches of 200 messages each."""
SHARED = 2
"""Launches of two processes that share a GPU."""


def main() -> None:
    """Measure and print."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "gpu")]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gpus", choices=["one", "two"])
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    given = parser.parse_args()
    found = origin()
    page = given.json and given.json.with_suffix(".html")
    measures = {"one": {"two streams": streams, "two processes": shared}, "two": {"two GPUs": lambda: pair(page)}}
    for name, measure in measures[given.gpus].items():
        try:
            found[name] = measure()
        except Exception as error:  # the others' figures are still worth having
            found[name] = {"failed": f"{type(error).__name__}: {error}"[-2000:]}
        print(json.dumps({name: found[name]}, indent=1), flush=True)
        if given.json:
            given.json.write_text(json.dumps(found, indent=1) + "\n")


def origin() -> dict[str, Any]:
    """On what this was measured."""
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split("\n")[0]
    links = subprocess.run(["nvidia-smi", "topo", "-m"], capture_output=True, text=True, check=False).stdout
    return {
        "gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        "driver": driver,
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "links": [line for line in links.splitlines() if line.startswith("GPU")],
        "command": f"python benchmarks/clocks.py {sys.argv[1]}",
        "date": time.strftime("%Y-%m-%d %H:%M"),
    }


def streams() -> dict[str, Any]:
    """Two sides on one GPU: ping-pongs, and messages under the offset of one."""
    from kernels import talking
    from two_streams import StreamPair

    from tltrace_nb.data.offsets import drift_ppm, offset_of

    sides = StreamPair()
    rounds, offsets = [], []
    for _ in range(PING_PONGS):
        rounds.append(sides.rounds())
        offsets.append(offset_of(rounds[-1]))
        time.sleep(PAUSE)
    trips = np.concatenate([each.back - each.sent for each in rounds])
    ns, error = (np.array([getattr(each, name) for each in offsets]) for name in ("ns", "error_ns"))
    drift, uncertain = drift_ppm(offsets)
    late, right = [], True
    for _ in range(LAUNCHES["one"]):
        late.append(talking.lags(sides.talk()))
        right = right and sides.right()
    return {
        "truth_ns": 0,
        "ping-pongs": len(offsets),
        "rounds each": float(np.mean([len(each.sent) for each in rounds])),
        "round trip, ns": talking.spread(trips),
        "round trip of the fastest 2 %, ns": float(np.quantile(trips, 0.02)),
        "offset, ns": talking.spread(ns),
        "stated error, ns": talking.spread(error),
        "offsets outside of their error": int((abs(ns) > error).sum()),
        "drift, ppm": drift,
        "drift's error, ppm": uncertain,
        "messages": messages(np.concatenate(late)),
        "results right": right,
    }


def messages(late: Any) -> dict[str, Any]:
    """How long messages took as the gathered trace shows it, and how many were read before they were written."""
    from kernels import talking

    return {"count": len(late), "shown after their read": int((late <= 0).sum()), **talking.spread(late)}


def shared() -> list[dict[str, Any]]:
    """Two processes on one GPU, which take turns: the error is that of their time slices, the offset 0."""
    return ranks(SHARED)


def pair(page: Path | None) -> dict[str, Any]:
    """Two GPUs: offsets, their errors, the drift over all launches, and messages; ``page`` shows the last launch."""
    launches = ranks(LAUNCHES["two"], page)
    offset, error, moment = (np.array([each[name] for each in launches]) for name in ("offset_ns", "error_ns", "time"))
    line = np.polyfit(moment - moment[0], offset, 1)
    return {
        "clocks compared by": sorted({each["clock"] for each in launches}),
        "stated error, ns": {"least": error.min(), "median": float(np.median(error)), "most": error.max()},
        "offset, ns": {"first": offset[0], "last": offset[-1]},
        "seconds": moment[-1] - moment[0],
        "drift over all, ppm": line[0] / 1e3,
        "offsets off that line by at most, ns": float(abs(offset - np.polyval(line, moment - moment[0])).max()),
        "messages": sum(each["messages"] for each in launches),
        "shown after their read": sum(each["after"] for each in launches),
        "least a message took, ns": min(each["least_ns"] for each in launches),
        "median of the medians, ns": float(np.median([each["median_ns"] for each in launches])),
        "launches": launches,
    }


def ranks(launches: int, page: Path | None = None) -> list[dict[str, Any]]:
    """What rank 0 of two processes finds, see ``tests/gpu/talking_ranks.py``."""
    with tempfile.TemporaryDirectory() as folder:
        script = ROOT / "tests" / "gpu" / "talking_ranks.py"
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
        paths = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
        subprocess.run([*command, folder, str(launches)], env=os.environ | {"PYTHONPATH": paths}, check=True)
        if page is not None:
            shutil.copy(Path(folder, "ranks.html"), page)
        return json.loads(Path(folder, "found.json").read_text())


if __name__ == "__main__":
    main()
