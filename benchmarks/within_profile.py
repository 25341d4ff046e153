"""Traced kernels in profiles of `torch.profiler`, in the ways in which programs launch them.

    python benchmarks/within_profile.py --out profiles    # needs a CUDA device and nvcc; else, what it would write

The program is `docs/transformer.py`. Cases: the forward pass as it is, with NVTX and `record_function`; two on two
streams at a time; a CUDA graph, captured before the profile and replayed in it; under `torch.compile`; and a hundred
launches of one kernel behind each other, of which the default, the first, the last and the slowest, stay. Out, in the
folder: of each case the profile, of all the traces in one archive, of the first the file of both and the traces as
files, and `profiles.json`: which launches were found, with which error, and the times that say so.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import importlib.util
import json
import shutil
import subprocess
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.profiler import record_function

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import transformer  # noqa: E402

import tltrace_nb  # noqa: E402
from tltrace_nb import trace  # noqa: E402
from tltrace_nb.analysis.placing import place  # noqa: E402
from tltrace_nb.core.trace import Trace  # noqa: E402
from tltrace_nb.data.kineto import recording  # noqa: E402

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
REPLAYS, LAUNCHES = 4, 100

Case = Callable[[], Sequence[Trace]]
"""What is profiled; the traces that were captured before, besides those of its own launches."""


def synchronize() -> None:
    if CUDA:
        torch.cuda.synchronize()


def plain() -> Case:
    model, tokens = transformer.model_and_tokens(DEVICE)
    model(tokens)

    def run() -> Sequence[Trace]:
        if CUDA:
            torch.cuda.nvtx.range_push("nvtx: forward")
        with record_function("forward"):
            model(tokens)
        if CUDA:
            torch.cuda.nvtx.range_pop()
        return ()

    return run


def two_streams() -> Case:
    model, tokens = transformer.model_and_tokens(DEVICE)
    model(tokens)
    streams = [torch.cuda.Stream() for _ in range(2)] if CUDA else []

    def run() -> Sequence[Trace]:
        for stream in streams:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream), record_function(f"on stream {stream.stream_id}"):
                model(tokens)
        return ()

    return run


def graph() -> Case:
    model, tokens = transformer.model_and_tokens(DEVICE)
    model(tokens)
    synchronize()
    before, captured = trace.launches, torch.cuda.CUDAGraph() if CUDA else None
    if captured is not None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            model(tokens)
        torch.cuda.current_stream().wait_stream(side)
        synchronize()
        before = trace.launches
        with torch.cuda.graph(captured):
            model(tokens)
    mine = trace.since(before)

    def run() -> Sequence[Trace]:
        with record_function("without the graph"):
            model(tokens)
        for number in range(REPLAYS if captured is not None else 0):
            with record_function(f"replay {number}"):
                captured.replay()
        return mine

    return run


def compiled() -> Case:
    model, tokens = transformer.model_and_tokens(DEVICE)
    for backend in ("inductor", "aot_eager") if CUDA else ("aot_eager",):
        try:
            fast = torch.compile(model, backend=backend)
            fast(tokens)
            break
        except Exception:  # inductor may lack a compiler
            traceback.print_exc()
            torch._dynamo.reset()  # noqa: SLF001
    fast(tokens)

    def run() -> Sequence[Trace]:
        with record_function(f"compiled by {backend}"):
            fast(tokens)
        return ()

    return run


def often() -> Case:
    x, weight = torch.randn(1024, 256).half().to(DEVICE), torch.ones(256).half().to(DEVICE)
    transformer.normed(x, weight)

    def run() -> Sequence[Trace]:
        for _ in range(LAUNCHES if CUDA else 2):
            transformer.normed(x, weight)
        return ()

    return run


CASES: tuple[tuple[str, Callable[[], Case], str | None], ...] = (
    ("plain", plain, "all"),
    ("two streams", two_streams, "all"),
    ("graph", graph, "all"),
    ("compiled", compiled, "all"),
    ("often", often, None),
)
"""Names, cases, and which launches stay."""


def measured(name: str, prepare: Callable[[], Case], keep: str | None, folder: Path, archive: zipfile.ZipFile) -> Any:
    """Profile a case, and what came of it."""
    activities = [torch.profiler.ProfilerActivity.CPU] + [torch.profiler.ProfilerActivity.CUDA] * CUDA
    with torch.no_grad(), trace.tracing(keep_launches=keep):
        case = prepare()
        synchronize()
        before = trace.launches
        with torch.profiler.profile(activities=activities) as prof:
            traces = list(case())
            synchronize()
        traces += [each for each in trace.since(before) if each not in traces]
        for each in traces:
            _ = each.slots
    stem = name.replace(" ", "_")
    exported = folder / f"{stem}.json.gz"
    prof.export_chrome_trace(str(exported))
    for number, each in enumerate(traces):
        path = folder / f"{stem}-{number:02}-{each.meta.kernel}.tltrace"
        each.save(path)
        archive.write(path, path.name)
        path.unlink()
    profile = tltrace_nb.profile(exported, traces)
    print(f"{name}: {profile}", flush=True)
    if name == "plain":
        profile.to_perfetto(folder / "plain.pftrace.gz")
    return {"profiled": len(recording("prof", exported).spans), "launches": list(rows(exported, traces))}


def rows(exported: Path, traces: Sequence[Trace]) -> Iterator[dict[str, Any]]:
    """Of each launch its times on the GPU's clock and on the profiler's, in ns."""
    read = recording("prof", exported)
    for each in place(traces, read):
        launch, kernel = each.launch, each.kernel
        row: dict[str, Any] = {"kernel": launch.function, "grid": launch.grid, "graph": launch.graph}
        row |= {"called": launch.called[0], "first": launch.first, "last": launch.last, "step": launch.step}
        if kernel is None:
            yield row | {"reason": each.reason}
            continue
        row |= {"start": kernel.start, "end": kernel.end, "stream": kernel.line[1], "correlation": kernel.correlation}
        call = read.call_of(kernel)
        row |= {"call": [call.name, call.start, call.end] if call else None}
        yield row | {"shift": each.shift - launch.axis, "error": each.error, "play": each.play}


def right() -> dict[str, float]:
    """The largest errors of the two kernels."""
    with torch.no_grad(), trace.tracing():
        x = torch.randn(1024, 256, device=DEVICE).half()
        weight, b = torch.rand(256, device=DEVICE).half(), (torch.randn(256, 1024, device=DEVICE) / 16).half()
        norm = torch.nn.functional.rms_norm(x.float(), (256,), weight.float(), 1e-6)
        of_norm = (transformer.normed(x, weight).float() - norm).abs().max().item()
        of_product = (transformer.product(x, b).float() - x.float() @ b.float()).abs().max().item()
    return {"rms_norm": of_norm, "matmul": of_product}


def origin() -> dict[str, Any]:
    """Where the figures come from."""
    said = ""
    if smi := shutil.which("nvidia-smi"):
        query = [smi, "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
        said = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    return {
        "command": "python benchmarks/within_profile.py --out profiles",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "gpu": torch.cuda.get_device_name() if CUDA else "virtual",
        "driver": said,
        "cuda": torch.version.cuda,
        "versions": {name: importlib.metadata.version(name) for name in ("tilelang", "torch")},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"origin": origin(), "cases": {}}
    with contextlib.suppress(Exception), torch.profiler.profile():  # the first takes long to begin
        synchronize()
    failed = 0
    with zipfile.ZipFile(folder / "traces.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, prepare, keep in (("right", right, None), *CASES):
            try:
                if name == "right":
                    found["errors"] = right()
                    print(f"errors of the kernels: {found['errors']}", flush=True)
                else:
                    found["cases"][name] = measured(name, prepare, keep, folder, archive)
            except Exception as error:  # one case must not cost the others
                failed += 1
                traceback.print_exc()
                found["cases"][name] = {"failed": f"{type(error).__name__}: {error}"}
            (folder / "profiles.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return min(1, failed)


if __name__ == "__main__":
    sys.exit(main())
