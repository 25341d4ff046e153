"""One parameter at a time, on a card and on the model of it: does the model move as the card does?

    python benchmarks/sweeps.py record --out FILE.json [--jobs 14] [--only NAME ...]
    python benchmarks/sweeps.py compare FILE.json [--gpu h200]
    python benchmarks/sweeps.py list

``record`` needs a CUDA device and nvcc. Kernels are compiled by worker processes; each is timed by CUDA events as soon
as it is there: the medians of ``REPEATS`` single launches, once with what the launch before left in L2 (``warm``) and
once after 256 MiB were written (``cold``). The stream is kept busy before each, so that the host's time is not in it.
``empty`` has the same for a kernel that does nothing, which is the least that events measure. Points marked ``traced``
are also run with their marker: the span of the launch and the median CTA in ns, and the median cycles of each range.
The file is written again after every point, and a run goes on where the one before it was cut off.

``compare`` needs no GPU: it simulates the same points without values and prints both, the rank correlation of each
sweep, and whether the card's best setting is among the model's best two. A third of
the sweeps is held back, and set no constant.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

TARGET = {"kind": "cuda", "arch": "sm_90a"}
REPEATS = 21
LAUNCHES_TRACED = 3
FLUSHED_BYTES = 256 << 20
FLUSHES = 4
"""How often they are written before a launch: while the device does it, the host queues what is measured."""
PLAIN = {"tl.disable_warp_specialized": True}
"""The pass configuration of a kernel that TileLang does not specialise."""
ALIKE = 0.1
"""Values that differ by less have no order: a sweep of such values on the card is not judged, and settings are tied."""


@dataclass(frozen=True)
class Sweep:
    """A kernel of ``sweep_kernels`` and the settings that are compared, each by name."""

    name: str
    kernel: str
    settings: dict[str, dict[str, Any]]
    fixed: dict[str, Any] = field(default_factory=dict)
    traced: bool = False
    held_back: bool = False


@dataclass(frozen=True)
class Point:
    """One setting of a sweep. ``PLAIN`` among its arguments is a pass configuration."""

    sweep: Sweep
    setting: str

    @property
    def key(self) -> str:
        """How the point is called in the file."""
        return f"{self.sweep.name}/{self.setting}"

    def kernel(self) -> tuple[Any, dict[str, Any] | None]:
        """The PrimFunc and its pass configuration."""
        import sweep_kernels

        arguments = {**self.sweep.fixed, **self.sweep.settings[self.setting]}
        configs = PLAIN if arguments.pop("plain", False) else None
        name = arguments.pop("kernel", self.sweep.kernel)
        return getattr(sweep_kernels, name)(**arguments), configs


def along(name: str, *values: Any) -> dict[str, dict[str, Any]]:
    """Settings that differ in one argument."""
    return {str(value): {name: value} for value in values}


def tiles(*shapes: tuple[int, ...], names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Settings that differ in several arguments together."""
    return {"x".join(map(str, shape)): dict(zip(names, shape, strict=True)) for shape in shapes}


THREADS = (32, 64, 128, 256, 512, 1024)
SWEEPS = (
    # matrix products
    Sweep("gemm threads", "gemm", along("threads", *THREADS[:-1])),  # TileLang adds 128
    Sweep(
        "gemm threads, small tiles", "gemm", along("threads", 32, 64, 128, 256), {"bm": 64, "bn": 64}, held_back=True
    ),
    Sweep("gemm stages", "gemm", along("stages", 1, 2, 3, 4), {"bk": 64}),
    Sweep("gemm stages, unspecialised", "gemm", along("stages", 1, 2, 3, 4), {"plain": True}, held_back=True),
    Sweep(
        "gemm tile",
        "gemm",
        tiles(
            (64, 64, 128),
            (64, 128, 128),
            (128, 64, 128),
            (128, 128, 128),
            (128, 256, 256),
            (256, 128, 256),
            names=("bm", "bn", "threads"),
        ),
    ),
    Sweep("gemm K per step", "gemm", along("bk", 16, 32, 64, 128), {"stages": 2}),
    Sweep(
        "gemm grid",
        "gemm",
        {str(ctas): {"n": ctas * 256} for ctas in (66, 120, 132, 134, 198, 264, 270)},
        {"m": 128, "bn": 256, "bk": 64, "threads": 256},
    ),
    Sweep(
        "gemm warps of equal work",
        "gemm",
        tiles((64, 128, 128), (128, 128, 256), (256, 128, 512), names=("bm", "bn", "threads")),
        held_back=True,
    ),
    Sweep(
        "gemm persistent",
        "persistent_gemm",
        along("ctas", 66, 88, 132, 264),
    ),
    Sweep(
        "gemm specialised",
        "gemm",
        {
            f"{stages} stages{', not' if plain else ''}": {"stages": stages, "plain": plain}
            for stages in (2, 3)
            for plain in (False, True)
        },
        {"bk": 64},
        held_back=True,
    ),
    Sweep("gemm dtype", "gemm", along("dtype", "float16", "bfloat16", "float8_e4m3fn", "float32", "int8"), {"bk": 64}),
    Sweep("gemm order of unequal work", "unequal_gemm", along("order", "long first", "mixed", "short first")),
    # attention
    Sweep("attention threads", "attention", along("threads", 32, 64, 128, 256)),
    Sweep("attention stages", "attention", along("stages", 0, 1, 2, 3), held_back=True),
    Sweep(
        "attention tile",
        "attention",
        tiles((64, 32), (64, 64), (64, 128), (128, 32), (128, 64), (128, 128), names=("bm", "bn")),
    ),
    Sweep("attention head", "attention", along("dim", 32, 64, 128), held_back=True),
    Sweep(
        "attention order", "attention", along("order", "", "long first", "short first"), {"length": 2048, "heads": 20}
    ),
    Sweep("attention grid", "attention", along("heads", 8, 16, 17, 33, 34, 50, 66), {"threads": 256}, held_back=True),
    # softmax
    Sweep("softmax threads", "softmax", along("threads", *THREADS)),
    Sweep(
        "softmax rows of a CTA", "softmax", along("block", 1, 2, 4, 8), {"columns": 512, "rows": 16384}, held_back=True
    ),
    Sweep("softmax dtype", "softmax", along("dtype", "float32", "float16", "bfloat16")),
    # a stencil
    Sweep("stencil threads", "stencil", along("threads", *THREADS), held_back=True),
    Sweep(
        "stencil tile",
        "stencil",
        tiles((1, 1024), (4, 256), (8, 128), (16, 64), (32, 32), (64, 16), (128, 8), names=("rows", "columns")),
    ),
    # reductions
    Sweep("reduction threads", "row_sum", along("threads", *THREADS[:-1])),
    Sweep("reduction stages", "row_sum", along("stages", 1, 2, 3, 4)),
    Sweep(
        "reduction tile",
        "row_sum",
        tiles((4, 256), (8, 128), (16, 64), (64, 64), (64, 128), names=("block", "step")),
        held_back=True,
    ),
    Sweep("reduction grid", "long_sum", along("ctas", 33, 66, 132, 176, 264, 528, 1056)),
    Sweep("reduction dtype", "long_sum", along("dtype", "float32", "float16", "int8"), {"ctas": 264}, held_back=True),
    # element by element
    Sweep("element-wise threads", "elementwise", along("threads", *THREADS)),
    Sweep("element-wise block", "elementwise", along("block", 128, 256, 512, 2048, 8192), held_back=True),
    Sweep("element-wise dtype", "elementwise", along("dtype", "float64", "float32", "float16", "int8")),
    Sweep("element-wise grid", "elementwise", along("n", *(1 << e for e in (16, 18, 20, 22, 24)))),
    Sweep("strides", "strided", along("stride", 1, 2, 4, 8, 16, 32), traced=True),
    Sweep("padding", "transposed", along("padding", 0, 1, 2, 4, 8, 16), traced=True),
    # threads by themselves
    Sweep("exponentials", "exponentials", along("threads", *THREADS), traced=True),
    Sweep("chain", "chain", along("threads", *THREADS), traced=True),
    Sweep(
        "CTAs of equal work",
        "chunks",
        tiles((32, 8448), (64, 4224), (128, 2112), (256, 1056), (512, 528), (1024, 264), names=("threads", "ctas")),
        traced=True,
        held_back=True,
    ),
    Sweep("warps of an SM", "chunks", along("threads", *THREADS), {"ctas": 132}, traced=True),
    Sweep(
        "divergence",
        "diverging",
        along("parted", "nobody", "warps", "lanes"),
        {"turns": 1024},
        traced=True,
        held_back=True,
    ),
)


def points() -> list[Point]:
    """All of them, sweep after sweep."""
    return [Point(sweep, setting) for sweep in SWEEPS for setting in sweep.settings]


# ---- on a card


def build(key: str, traced: bool) -> Any:
    """Compile a point, so that it lies in the caches of TileLang and of this package; a worker's whole task."""
    import tilelang

    tilelang.set_log_level("ERROR")
    point = next(point for point in points() if point.key == key)
    func, configs = point.kernel()
    if not traced:
        return tilelang.compile(func, target=TARGET, pass_configs=configs)
    from tltrace_nb.core.compile.compilation import Compilation
    from tltrace_nb.core.compile.options import TraceOptions
    from tltrace_nb.core.runtime.jit import compile_traced

    captured: list[Any] = []
    kernel = compile_traced(func, Compilation(target=TARGET, pass_configs=configs), TraceOptions(), captured.append)
    return kernel, captured


def warmed(key: str, traced: bool) -> float:
    """Build a point in a worker; the seconds that it took."""
    start = time.perf_counter()
    build(key, False)
    if traced:
        build(key, True)
    return time.perf_counter() - start


def tensors(func: Any, device: str) -> list[Any]:
    """A tensor for each parameter: small values, the same every time."""
    import torch

    generator = torch.Generator(device).manual_seed(0)
    made = []
    for parameter in func.params:
        buffer = func.buffer_map[parameter]
        dtype = getattr(torch, str(buffer.dtype))
        shape = [int(extent) for extent in buffer.shape]
        if dtype.is_floating_point:
            made.append((torch.randn(shape, device=device, generator=generator) * 0.1).to(dtype))
        else:
            made.append(torch.randint(-3, 4, shape, device=device, generator=generator).to(dtype))
    return made


class Stopwatch:
    """Times single launches by CUDA events."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._flushed = torch.empty(FLUSHED_BYTES, dtype=torch.int8, device="cuda")

    def _once(self, launch: Any, before: Any) -> float:
        cuda = self._torch.cuda
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        for _ in range(FLUSHES):
            self._flushed.zero_()
        before()
        begin.record()
        launch()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e3

    def microseconds(self, launch: Any) -> dict[str, float]:
        """Medians, warm and cold, and the quickest of the warm ones."""
        for _ in range(3):
            launch()
        warm = [self._once(launch, launch) for _ in range(REPEATS)]
        cold = [self._once(launch, lambda: None) for _ in range(REPEATS)]
        return {"warm": statistics.median(warm), "cold": statistics.median(cold), "quickest": min(warm)}


def traced(point: Point, inputs: list[Any]) -> dict[str, Any]:
    """What the last of some traced launches says: the span, its CTAs and its ranges."""
    kernel, captured = build(point.key, True)
    for _ in range(LAUNCHES_TRACED):
        kernel(*inputs)
    return spans(captured[-1].trace())


def spans(trace: Any) -> dict[str, Any]:
    """The span of a trace and the median of its CTAs, in ns, and the median cycles of its ranges."""
    ctas, events = trace.ctas, trace.events
    ranges = events[events["kind"] == "range"].groupby("name", observed=True)["duration"].median()
    return {
        "span_ns": float(ctas["end_ns"].max() - ctas["start_ns"].min()),
        "cta_ns": float((ctas["end_ns"] - ctas["start_ns"]).median()),
        "ranges": {str(name): float(value) for name, value in ranges.items()},
    }


def empty() -> Any:
    """A launch of a kernel that does almost nothing."""
    import tilelang
    import tilelang.language as T
    import torch

    @T.prim_func
    def empty(A: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=32):
            A[0] = 1

    kernel, place = tilelang.compile(empty, target=TARGET), torch.zeros(1, dtype=torch.int32, device="cuda")
    return lambda: kernel(place)


def origin(out: Path) -> dict[str, Any]:
    """On what, with what, when and by which command."""
    import tilelang
    import torch

    tool, query = shutil.which("nvidia-smi"), "driver_version,clocks.max.sm,clocks.sm"
    command = [str(tool), f"--query-gpu={query}", "--format=csv,noheader", "--id=0"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() if tool else ""
    return {
        "gpu": torch.cuda.get_device_name(),
        "sms": torch.cuda.get_device_properties(0).multi_processor_count,
        query: said,
        "cuda": torch.version.cuda,
        "versions": {"tilelang": tilelang.__version__, "torch": torch.__version__},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": f"python benchmarks/sweeps.py record --out {out.name}",
        "unit": "µs of CUDA events around one launch; warm: right behind one of its own, cold: L2 flushed",
        "repeats": REPEATS,
    }


def measured(point: Point, watch: Stopwatch) -> dict[str, Any]:
    """Times of a point on the card, or the error that it ends in."""
    try:
        kernel, inputs = build(point.key, False), tensors(point.kernel()[0], "cuda")
        entry: dict[str, Any] = watch.microseconds(lambda: kernel(*inputs))
        return {**entry, **(traced(point, inputs) if point.sweep.traced else {})}
    except Exception as error:  # one kernel that fails must not cost the others
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}


def record(out: Path, jobs: int, only: list[str]) -> None:
    """Compile and time every point, and write the file as it grows."""
    folder = tempfile.TemporaryDirectory()
    os.environ["TILELANG_CACHE_DIR"] = os.environ["TLTRACE_CACHE_DIR"] = folder.name
    before = json.loads(out.read_text())["points"] if out.exists() else {}
    kept = {key: entry for key, entry in before.items() if "error" not in entry}
    chosen = [point for point in points() if point.key not in kept and (not only or point.sweep.name in only)]
    start = time.perf_counter()
    with folder, concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as workers:
        tasks = {workers.submit(warmed, point.key, point.sweep.traced): point for point in chosen}
        watch = Stopwatch()
        found = {"origin": origin(out), "empty": watch.microseconds(empty()), "points": kept}
        for number, task in enumerate(concurrent.futures.as_completed(tasks)):
            point = tasks[task]  # a build that failed does so again in this process, and says why
            entry = found["points"][point.key] = measured(point, watch)
            write(out, found)
            said = entry.get("error") or f"{entry['warm']:.1f} µs warm, {entry['cold']:.1f} cold"
            print(f"{time.perf_counter() - start:5.0f} s {number + 1:4}/{len(tasks)} {point.key}: {said}", flush=True)


def write(out: Path, found: dict[str, Any]) -> None:
    """Replace the file as a whole."""
    aside = out.with_suffix(".new")
    aside.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    aside.replace(out)


# ---- on the model


def simulated(point: Point, gpu: str) -> dict[str, Any]:
    """A point on the virtual GPU: the span in µs, and what ``traced`` has of a card."""
    from tltrace_nb.core.runtime.virtual import compile_virtual

    func, configs = point.kernel()
    kernel = compile_virtual(func, gpu, functional=False, pass_configs=configs)
    found = spans(kernel.run(tensors(func, "cpu"))[1])
    return {**found, "us": found["span_ns"] / 1e3}


def ranks(times: Sequence[float]) -> list[float]:
    """Ranks, equal for those that are tied with the least of their like."""
    order = sorted(range(len(times)), key=times.__getitem__)
    found = [0.0] * len(times)
    while order:
        tied = [i for i in order if times[i] <= (1 + ALIKE) * times[order[0]]]
        for i in tied:
            found[i] = len(times) - len(order) + (len(tied) + 1) / 2
        order = order[len(tied) :]
    return found


@dataclass(frozen=True)
class Compared:
    """One sweep on both, setting by setting: cycles of its range where it has one, else µs.

    The card's are less those of an empty kernel.
    """

    sweep: Sweep
    rows: tuple[tuple[str, float, float], ...]

    @property
    def alike(self) -> bool:
        """Whether the card does not tell the settings apart."""
        times = [card for _, card, _ in self.rows]
        return max(times) <= (1 + ALIKE) * min(times)

    @property
    def spearman(self) -> float:
        """The rank correlation of both; 0 where all are tied on the model."""
        card, model = (ranks(times) for times in list(zip(*self.rows, strict=True))[1:])
        try:
            return statistics.correlation(card, model)
        except statistics.StatisticsError:
            return 0.0

    @property
    def best_found(self) -> bool:
        """Whether the card's best setting is among the model's best two."""
        best = min(self.rows, key=lambda row: row[1])
        second = sorted(model for _, _, model in self.rows)[1]
        return best[2] <= (1 + ALIKE) * second


def both(file: Path, gpu: str = "h200", only: Sequence[str] = ()) -> Iterator[Compared]:
    """The sweeps of a file (those in ``only``, if any) with more than one point, each simulated as it is asked for."""
    recorded = json.loads(file.read_text(encoding="utf-8"))
    for sweep in SWEEPS:
        if only and sweep.name not in only:
            continue
        rows = []
        for setting in sweep.settings:
            point = Point(sweep, setting)
            entry = recorded["points"].get(point.key, {"error": "not recorded"})
            if "error" not in entry:
                model = simulated(point, gpu)
                if name := next(iter(entry.get("ranges", {})), ""):
                    rows.append((setting, entry["ranges"][name], model["ranges"][name]))
                else:
                    rows.append((setting, entry["warm"] - recorded["empty"]["warm"], model["us"]))
        if len(rows) > 1:
            yield Compared(sweep, tuple(rows))


def compare(file: Path, gpu: str, only: list[str]) -> None:
    """Simulate the points of a file and print both in Markdown."""
    found = []
    for each in both(file, gpu, only):
        found.append(each)
        print(line(each), flush=True)
    for title, held in (("fitted", False), ("held back", True)):
        of = [each for each in found if each.sweep.held_back == held]
        told = [each for each in of if not each.alike]
        errors = [abs(model / card - 1) for each in of for _, card, model in each.rows] or [0.0]
        right = sum(each.spearman >= 0.9 for each in told)
        best = sum(each.best_found for each in told)
        print(
            f"{title}: {len(of)} sweeps, {len(told)} that the card tells apart; Spearman ≥ 0.9 in {right}, the card's "
            f"best among the model's best two in {best}; median error of {len(errors)} times "
            f"{statistics.median(errors):.0%}"
        )


def line(each: Compared) -> str:
    """One sweep as a row of a table."""
    values = ", ".join(f"{setting}: {card:,.4g} → {model:,.4g}" for setting, card, model in each.rows)
    told = "alike" if each.alike else f"{each.spearman:.2f}"
    held = "held back" if each.sweep.held_back else "fitted"
    return f"| {each.sweep.name} | {held} | {told} | {'yes' if each.best_found else 'no'} | {values} |"


def main() -> None:
    """Record, compare, or list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="on a card")
    recording.add_argument("--out", type=Path, required=True)
    recording.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    comparing = commands.add_parser("compare", help="a file against the model")
    comparing.add_argument("file", type=Path)
    comparing.add_argument("--gpu", default="h200")
    for each in (recording, comparing):
        each.add_argument("--only", nargs="*", default=[], choices=[sweep.name for sweep in SWEEPS])
    commands.add_parser("list", help="the points")
    args = parser.parse_args()
    match args.command:
        case "record":
            record(args.out, args.jobs, args.only)
        case "compare":
            compare(args.file, args.gpu, args.only)
        case _:
            for point in points():
                print(point.key, point.sweep.settings[point.setting], point.sweep.fixed)


if __name__ == "__main__":
    main()
