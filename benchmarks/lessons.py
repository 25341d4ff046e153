"""What the lessons say of a GPU and no recorded trace shows: their own kernels, measured on one.

    python benchmarks/lessons.py record --out lessons.json    # needs a CUDA device and nvcc
    python benchmarks/lessons.py dry --out lessons.json       # the same on the virtual GPU: what it would write
    python benchmarks/lessons.py compile                      # needs nvcc for sm_90a, and no device

The kernels are those of `notebooks/teacher/`, the solutions among them: the functions are read from the cells. Each
result is compared with what it must be. A point is the median of ``REPEATS`` launches after one that warms the caches:
the span of the launch, from the first CTA's entry to the last one's exit, and the median CTA. `dry` launches once.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import importlib.metadata
import json
import linecache
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]
from tltrace_nb import trace  # noqa: E402
from tltrace_nb.core.trace import Trace  # noqa: E402

REPEATS = 9
DOCUMENTS = (4, 6, 8, 12, 16, 18, 24, 32, 64)
"""Blocks of the documents of lesson 8."""
_SOLUTION = re.compile(r"```python\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Point:
    """One kernel of a lesson on its inputs, and what comes out."""

    lesson: int
    name: str
    build: Callable[[], Any]
    inputs: Callable[[], tuple[torch.Tensor, ...]]
    expected: Callable[..., torch.Tensor]
    model: str = "h200"
    """Of the virtual GPU, where there is no other."""

    @property
    def key(self) -> str:
        return f"{self.lesson}/{self.name}"


# ---- the kernels


def definitions(lesson: int) -> dict[str, Any]:
    """What the cells of a lesson define, and its solutions: imports, constants and functions; the last of a name."""
    path = next((ROOT / "notebooks" / "teacher").glob(f"{lesson:02}_*.ipynb"))
    kept = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if "solution" in cell["metadata"].get("tags", []):
            text = "".join(_SOLUTION.findall(text))
        elif cell["cell_type"] != "code":
            continue
        text = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
        kept += [ast.get_source_segment(text, node) for node in ast.parse(text).body if _defines(node)]
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                kept.append("\n".join(text.splitlines()[first - 1 : node.end_lineno]))
    source = "\n\n".join(filter(None, kept)) + "\n"
    file = f"<lesson {lesson}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # TileLang reads it again
    found: dict[str, Any] = {}
    exec(compile(source, file, "exec", dont_inherit=True), found)
    return found


def _defines(node: ast.stmt) -> bool:
    """Whether a statement is an import, or gives constants their values."""
    if isinstance(node, ast.Assign):
        names = [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        return bool(names) and all(name.isupper() for name in names) and "ceildiv" not in ast.unparse(node)
    return isinstance(node, (ast.Import, ast.ImportFrom))


def points(sms: int) -> Iterator[Point]:
    """All that is measured, on a GPU of so many SMs."""
    yield from transposes(definitions(4))
    yield from occupancies(definitions(7), sms)
    yield from orders(definitions(8), sms)
    yield from attentions(definitions(9), sms)
    yield from normalisations(definitions(10))
    yield from streams(definitions(11), sms)
    yield from sums(definitions(12))


def transposes(lesson: dict[str, Any]) -> Iterator[Point]:
    """Lesson 4: does the way through shared memory pay, for one tile a CTA and for a matrix that fills the GPU?"""
    for n in (64, 4096 if torch.cuda.is_available() else 128):
        for name, arguments in (("directly", ()), ("through_shared", (0,)), ("through_shared", (1,))):
            build = lesson[name]
            yield Point(
                4,
                " ".join(map(str, (name, *(f"pad={a}" for a in arguments), f"n={n}"))),
                lambda build=build, arguments=arguments, n=n: build(n, *arguments),
                lambda n=n: (torch.randn(n, n),),
                lambda m: m.T.contiguous(),
            )


def occupancies(lesson: dict[str, Any], sms: int) -> Iterator[Point]:
    """Lesson 7: more CTAs on an SM, and more independent chains in a thread."""
    steps = 256

    def point(name: str, ctas: int, *arguments: int) -> Point:
        width = arguments[1] * arguments[2]
        return Point(
            7,
            name,
            lambda: lesson["decay"](*arguments),
            lambda: (torch.randn(ctas, width), torch.full((ctas,), steps, dtype=torch.int32)),
            lambda a, _: a * (1 - 0.99**steps) / 0.01,
            "classroom",
        )

    for kib in (200, 100, 56, 26):
        yield point(f"shared_kib={kib}", 8 * sms, kib, 128, 1)
    for chains in (1, 2, 4, 8):
        yield point(f"one CTA an SM, chains={chains}", sms, 200, 128, chains)


def orders(lesson: dict[str, Any], sms: int) -> Iterator[Point]:
    """Lesson 8: orders of the documents, schedules, and what a persistent kernel saves."""
    some = torch.tensor(DOCUMENTS)
    short_first = some.repeat_interleave(sms // 4)
    documents, blocks, width = len(short_first), int(short_first.sum()), lesson["WIDTH"]
    mixed, long_first = some.repeat(sms // 4), short_first.flip(0)
    turns = torch.arange(documents).split(sms)
    ploughed = long_first[torch.cat([turn.flip(0) if i % 2 else turn for i, turn in enumerate(turns)])]

    def point(name: str, builder: str, lengths: torch.Tensor, *more: torch.Tensor) -> Point:
        sizes = (documents, blocks) if builder == "one_cta_each" else (documents, blocks, sms)
        owner = torch.arange(documents).repeat_interleave(lengths)
        first = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).int()
        zeros = torch.zeros(documents, width)
        return Point(
            8,
            name,
            lambda: lesson[builder](*sizes),
            lambda: (torch.randn(blocks, width), first, *more, zeros),
            lambda x, *_: torch.zeros_like(zeros).to(x.device).index_add(0, owner.to(x.device), x),
            "classroom",
        )

    yield point("one CTA each, shortest first", "one_cta_each", short_first)
    yield point("one CTA each, in no order", "one_cta_each", mixed)
    yield point("one CTA each, longest first", "one_cta_each", long_first)
    yield point("in turn, longest first", "round_robin", long_first)
    yield point("in turn, ploughed", "round_robin", ploughed)
    yield point("from a queue, longest first", "from_queue", long_first, torch.zeros(1, dtype=torch.int32))
    whose = torch.arange(documents).repeat_interleave(mixed).int()
    yield point("dealt out", "dealt_out", mixed, whose)

    pieces, rows = 16 * sms, lesson["COEFFICIENTS"]
    for name, ctas in (("a CTA a piece", pieces), ("persistent, 3 CTAs an SM", 3 * sms)):
        yield Point(
            8,
            f"polynomials, {name}",
            lambda ctas=ctas: lesson["polynomials"](ctas, pieces),
            lambda: (torch.rand(pieces, width), torch.rand(rows * width)),
            lambda x, w: _horner(x, w.view(rows, width)),
            "classroom",
        )


def _horner(x: torch.Tensor, coefficients: torch.Tensor) -> torch.Tensor:
    value = torch.zeros_like(x)
    for each in coefficients:
        value = value * x + each
    return value


def attentions(lesson: dict[str, Any], sms: int) -> Iterator[Point]:
    """Lesson 9: stages, CTAs that share an SM, and the mask."""

    def point(name: str, heads: int, length: int, model: str = "h200", **options: Any) -> Point:
        return Point(
            9,
            name,
            lambda: lesson["flash"](heads, length, **options),
            lambda: tuple(torch.randn(heads, length, 64).half() for _ in range(3)),
            lambda *qkv: torch.nn.functional.scaled_dot_product_attention(
                *(tensor.float() for tensor in qkv), is_causal=options.get("causal", False)
            ).half(),
            model,
        )

    for stages in (0, 1, 2):
        yield point(f"stages={stages}", 1, 512, stages=stages)
    for each in (1, 2, 3):
        yield point(f"stages=0, {each} CTAs an SM", each * max(1, sms // 4), 256, "classroom", stages=0)
    yield point("causal", 1, 512, causal=True)


def normalisations(lesson: dict[str, Any]) -> Iterator[Point]:
    """Lesson 10: rows that are read twice and once, and pieces twice as wide."""
    for name, builder, more in (("twice", "twice", ()), ("twice, bk=1024", "twice", (2, 1024)), ("once", "once", ())):
        yield Point(
            10,
            name,
            lambda builder=builder, more=more: lesson[builder](16, 4096, *more),
            lambda: (torch.randn(16, 4096), torch.randn(4096)),
            lambda x, w: torch.nn.functional.rms_norm(x, (4096,), w, 1e-6),
        )


def streams(lesson: dict[str, Any], sms: int) -> Iterator[Point]:
    """Lesson 11: loaded bytes under way, and work per byte. On a GPU the tensors are larger than its L2 cache."""
    numbers = (1 << 24) if torch.cuda.is_available() else (1 << 16) * sms

    def point(name: str, ctas: int, chunk: int, work: int = 1) -> Point:
        return Point(
            11,
            name,
            lambda: lesson["stream"](numbers, ctas, chunk, work),
            lambda: (torch.randn(numbers),),
            lambda a: a * 0.5**work + 2 - 2 * 0.5**work,
            "classroom",
        )

    for chunk in (128, 512, 2048, 4096):
        yield point(f"a CTA an SM, chunk={chunk}", sms, chunk)
    for each in (2, 4, 8):
        yield point(f"{each} CTAs an SM, chunk=512", each * sms, 512)
    for work in (1, 8, 32, 64):
        yield point(f"8 CTAs an SM, chunk=2048, work={work}", 8 * sms, 2048, work)


def sums(lesson: dict[str, Any]) -> Iterator[Point]:
    """Lesson 12: the ways to a sum."""
    for name in ("one_thread", "tree", "shuffled", "reduced"):
        build = lesson[name]
        yield Point(
            12,
            name,
            lambda build=build: build(256),
            lambda: (torch.randn(256),),
            lambda a: a.sum().reshape(1),
        )


# ---- the measurement


def measured(point: Point, device: str, repeats: int) -> dict[str, float]:
    """The launch in ns and the median CTA in cycles: medians of the launches, and the least and the longest of them."""
    torch.manual_seed(0)
    inputs = tuple(tensor.to(device) for tensor in point.inputs())
    expected = point.expected(*inputs)
    with trace.tracing(device="cuda" if device == "cuda" else f"virtual:{point.model}", max_events=128):
        kernel = point.build()
    spans, cycles = [], []
    for launch in range(repeats + (device == "cuda")):
        given = tuple(tensor.clone() for tensor in inputs)
        result, captured = kernel.run(given)
        found = given[-1] if result is None or result == [] else result
        torch.testing.assert_close(found.float(), expected.float(), atol=2e-2, rtol=2e-2)
        if launch or device != "cuda":
            spans.append(span_ns(captured))
            cycles.append(float(captured.ctas["duration"].median()))
    return {
        "launch_ns": round(statistics.median(spans), 1),
        "least_ns": round(min(spans), 1),
        "longest_ns": round(max(spans), 1),
        "cta_cycles": statistics.median(cycles),
        "ctas": len(captured.ctas),
    }


def span_ns(captured: Trace) -> float:
    """Nanoseconds from the first CTA's entry to the last one's exit."""
    return float(captured.ctas["end_ns"].max() - captured.ctas["start_ns"].min())


def origin(device: str, repeats: int) -> dict[str, Any]:
    """Where the numbers come from."""
    found: dict[str, Any] = {
        "command": "python benchmarks/lessons.py record --out lessons.json",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {name: importlib.metadata.version(name) for name in ("tilelang", "torch")},
        "launches": repeats,
        "unit": "launch: ns from the first CTA's entry to the last one's exit; cta: cycles of its SM; both as traced",
    }
    if device != "cuda":
        return {"gpu": "virtual", **found}
    properties = torch.cuda.get_device_properties(0)
    said = ""
    if smi := shutil.which("nvidia-smi"):
        query = [smi, "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
        said = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    gpu = {"gpu": properties.name, "sms": properties.multi_processor_count, "driver": said, "cuda": torch.version.cuda}
    return {**gpu, **found}


def record(out: Path | None, device: str, repeats: int) -> int:
    """Measure all points; one that fails says so, and the others go on."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 4
    found: dict[str, Any] = {"origin": origin(device, repeats), "points": {}}
    failed = 0
    for point in points(sms):
        try:
            found["points"][point.key] = measured(point, device, repeats)
        except Exception as error:  # one kernel must not cost the others
            failed += 1
            found["points"][point.key] = {"failed": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        print(f"{point.key}: {found['points'][point.key]}", flush=True)
        if out is not None:
            out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return failed


def compiled(architecture: str = "sm_90a") -> int:
    """Have nvcc compile every kernel, as it is traced, for an architecture."""
    from tilelang.contrib import nvcc
    from tilelang.engine.lower import lower_with_context

    from tltrace_nb.core.compile import lowering, schedule
    from tltrace_nb.core.compile.options import TraceOptions
    from tltrace_nb.core.compile.plans import BarePlan
    from tltrace_nb.core.compile.schedule import Scheduler

    target = schedule.resolve_target({"kind": "cuda", "arch": architecture})
    failed = 0
    for point in points(132):
        with trace.tracing(device="virtual"):
            kernel = point.build()
        with target:
            low = lowering.prepare(kernel.source, Scheduler(target, kernel.pass_configs), TraceOptions())
            plan = BarePlan(low, target)
            context = schedule.context_with(low.at_boundary, target, at_device=plan.at_device)
            source = lower_with_context(low.anchored, context).kernel_source
        try:
            binary = nvcc.compile_cuda(source, "cubin", arch=architecture, options=_include())
            print(f"{point.key}: {len(binary):,} bytes for {architecture}", flush=True)
        except RuntimeError as error:
            failed += 1
            print(f"{point.key}: {str(error)[:2000]}", flush=True)
    return failed


def _include() -> list[str]:
    """Where nvcc finds TileLang's templates."""
    from tilelang.env import CUTLASS_INCLUDE_DIR, TILELANG_TEMPLATE_PATH

    return ["-std=c++17", f"-I{TILELANG_TEMPLATE_PATH}", f"-I{CUTLASS_INCLUDE_DIR}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Record, or try what recording needs without a GPU."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("record", "dry", "compile"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(arguments)
    if args.what == "compile":
        return min(1, compiled())
    return min(1, record(args.out, "cuda", REPEATS) if args.what == "record" else record(args.out, "cpu", 1))


if __name__ == "__main__":
    sys.exit(main())
