"""The kernels of the lessons and labs that are measured on a GPU, and on what: read from `notebooks/teacher/`.

In: the number of SMs. Out: a :class:`Point` for each kernel, the solutions among them, with its inputs and what must
come out.
"""

from __future__ import annotations

import ast
import json
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]
from tltrace_nb.course import lab_attention, lab_gemm, lab_softmax  # noqa: E402

DOCUMENTS = (4, 6, 8, 12, 16, 18, 24, 32, 64)
"""Blocks of the documents of lesson 8."""
_SOLUTION = re.compile(r"```python\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Point:
    """One kernel of a lesson, or of a lab, on its inputs, and what comes out.

    ``model``: of the virtual GPU, where there is no other. ``racy``: it has a race, and what is measured is how often
    its result is wrong.
    """

    lesson: int | str
    name: str
    build: Callable[[], Any]
    inputs: Callable[[], tuple[torch.Tensor, ...]]
    expected: Callable[..., torch.Tensor]
    model: str = "h200"
    racy: bool = False

    @property
    def key(self) -> str:
        return f"{self.lesson}/{self.name}"


# ---- the kernels


@cache
def definitions(lesson: int | str, solved: bool = True) -> dict[str, Any]:
    """What the cells of a lesson define, and its solutions: imports, constants and functions; the last of a name.

    ``solved``: whether the solutions are taken, or the answers' cells as they are given.
    """
    name = lesson.replace(" ", "_") if isinstance(lesson, str) else f"{lesson:02}"
    path = next((ROOT / "notebooks" / "teacher").glob(f"{name}_*.ipynb"))
    imports: list[ast.Import | ast.ImportFrom] = []
    kept: list[str | None] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if "solution" in cell["metadata"].get("tags", []):
            text = "".join(_SOLUTION.findall(text)) if solved else ""
        elif cell["cell_type"] != "code":
            continue
        text = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
        for node in ast.parse(text).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imports.append(node)
            elif _constants(node):
                kept.append(ast.get_source_segment(text, node))
            elif isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                kept.append("\n".join(text.splitlines()[first - 1 : node.end_lineno]))
    source = "\n\n".join(filter(None, kept)) + "\n"
    source = "\n".join(_needed(imports, source)) + "\n\n" + source
    file = f"<lesson {lesson}{'' if solved else ', as given'}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # TileLang reads it again
    found: dict[str, Any] = {}
    exec(compile(source, file, "exec", dont_inherit=True), found)
    return found


def _needed(imports: list[ast.Import | ast.ImportFrom], source: str) -> Iterator[str]:
    """The imports of names that the source has: what only a notebook needs, sliders for example, may be missing."""
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    for each in imports:
        each.names = [alias for alias in each.names if (alias.asname or alias.name).split(".")[0] in used]
        if each.names:
            yield ast.unparse(each)


def _constants(node: ast.stmt) -> bool:
    """Whether a statement gives constants their values."""
    if not isinstance(node, ast.Assign):
        return False
    names = [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    return bool(names) and all(name.isupper() for name in names) and "ceildiv" not in ast.unparse(node)


def points(sms: int) -> Iterator[Point]:
    """All that is measured, on a GPU of so many SMs."""
    yield from transposes(definitions(4))
    yield from occupancies(definitions(7), sms)
    yield from orders(definitions(8), sms)
    yield from attentions(definitions(9), sms)
    yield from normalisations(definitions(10))
    yield from streams(definitions(11), sms)
    yield from sums(definitions(12))
    yield from slow(definitions(14))
    yield from tiles(definitions(15))
    yield from chains(definitions(15))
    yield from layers(definitions(16))
    yield from labs()
    yield from races(definitions(13), definitions(13, solved=False))


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


def _matrices(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(m, k).half(), torch.randn(k, n).half()


def _multiplied(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.float() @ b.float()).half()


def slow(lesson: dict[str, Any]) -> Iterator[Point]:
    """Lesson 14: the slow kernel, what is tried with it, and the mended one."""
    for name, builder, options in (
        ("slow", "slow", {}),
        ("slow, slots=8", "slow", {"slots": 8}),
        ("slow, step=64", "slow", {"step": 64}),
        ("slow, tile=128", "slow", {"tile": 128}),
        ("mended", "mended", {}),
    ):
        build = lesson[builder]
        yield Point(
            14,
            name,
            lambda build=build, options=options: build(128, 128, 2048, **options),
            lambda: _matrices(128, 128, 2048),
            _multiplied,
        )


def tiles(lesson: dict[str, Any]) -> Iterator[Point]:
    """Lesson 15: tiles whose accumulators fit into registers, and one whose do not; a CTA alone, and a GPU of them."""
    many = 4096 if torch.cuda.is_available() else 512
    for bm, bn, threads in ((64, 64, 128), (128, 64, 128), (128, 128, 128), (128, 256, 128), (128, 256, 256)):
        for m, n in ((bm, bn), (many, many)):
            yield Point(
                15,
                f"{bm}x{bn}, {threads} threads, {m}x{n}x512",
                lambda m=m, n=n, bm=bm, bn=bn, threads=threads: lesson["gemm"](m, n, 512, bm, bn, threads),
                lambda m=m, n=n: _matrices(m, n, 512),
                _multiplied,
            )


def chains(lesson: dict[str, Any]) -> Iterator[Point]:
    """Lesson 15: warps, and parallel instructions in each."""
    for threads in (128, 256, 512):
        for each in (1, 2, 4):
            yield Point(
                15,
                f"chains, {threads} threads, {each} each",
                lambda threads=threads, each=each: lesson["chains"](threads, each),
                lambda threads=threads, each=each: (torch.randn(threads * each),),
                lambda a: torch.full_like(a, 2.0),
            )


def layers(lesson: dict[str, Any]) -> Iterator[Point]:
    """Lesson 16: a GEMM, the activation behind it, and both in one. On a GPU C is larger than its L2 cache."""
    rows = 8192 if torch.cuda.is_available() else 256
    for k in (64, 128, 256, 512, 1024):
        yield Point(
            16,
            f"gemm, K={k}",
            lambda k=k: lesson["gemm"](rows, rows, k),
            lambda k=k: _matrices(rows, rows, k),
            lambda a, b: a.float() @ b.float(),
            "classroom",
        )
        yield Point(
            16,
            f"fused, K={k}",
            lambda k=k: lesson["fused"](rows, rows, k),
            lambda k=k: (*_matrices(rows, rows, k), torch.randn(rows)),
            lambda a, b, bias: torch.relu(a.float() @ b.float() + bias),
            "classroom",
        )
    yield Point(
        16,
        "activation",
        lambda: lesson["activation"](rows, rows),
        lambda: (torch.randn(rows, rows), torch.randn(rows)),
        lambda c, bias: torch.relu(c + bias),
        "classroom",
    )


def labs() -> Iterator[Point]:
    """The kernels that the labs begin with, and their solutions, on what the labs time."""
    solutions = ("softmax", "gemm", "attention")
    for number, (name, judge) in enumerate(zip(solutions, (lab_softmax, lab_gemm, lab_attention), strict=True), 1):
        (case, *_) = judge.LAB.results[0].cases()
        lab = f"lab {number}"
        for said, build in (("given", judge.LAB.given), ("solved", definitions(lab)[name])):
            yield Point(
                lab,
                f"{name}, {said}",
                lambda build=build, case=case: build(*case.sizes),
                lambda case=case: case.inputs,
                lambda *_, case=case: case.expected,
            )


def races(lesson: dict[str, Any], given: dict[str, Any]) -> Iterator[Point]:
    """Lesson 13: kernels in which a barrier is missing, or comes too early."""
    steps, size = 64, 1024 if torch.cuda.is_available() else 128

    def smoothed(a: torch.Tensor) -> torch.Tensor:
        for _ in range(steps):
            a = 0.5 * (a + a.roll(-1))
        return a

    for barriers in ("abc", "bcd", "acd", "abd"):
        yield Point(
            13,
            f"smooth, barriers {barriers}",
            lambda barriers=barriers: lesson["smooth"](steps, barriers),
            lambda: (torch.randn(256),),
            smoothed,
            racy=True,
        )
    for name, build in (("ring, mended", lesson["ring"]), ("ring, as given", given["ring"])):
        yield Point(
            13,
            name,
            lambda build=build: build(size, size, 2048),
            lambda: _matrices(size, size, 2048),
            _multiplied,
            racy=True,
        )
