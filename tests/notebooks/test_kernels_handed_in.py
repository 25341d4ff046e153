"""What the checks say of kernels: right ones in several forms, near misses, and cheats, a table an exercise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from handed_in import Row, handed_in
from lab_rows import TABLES as LABS
from later_rows import EPILOGUE, MENDED, NOT_SPILLING, RING, SMOOTHED

from tltrace_nb.course import (
    bandwidth_and_roofline,
    first_trace,
    fused_epilogues,
    given,
    memory,
    payloads_and_lanes,
    race_hunt,
    reductions,
    registers,
    slow_kernel,
    warp_specialisation,
    your_own_kernel,
)

IN_STEPS = (
    Row("right", "the solution", (), "in which the data come"),
    Row(
        "right",
        "copies written as loops",
        (("T.copy(A[bx * chunk], x)", ("for i in T.Parallel(chunk):\n    x[i] = A[bx * chunk + i]")),),
        "in which the data come",
    ),
    Row("right", "an addition for the multiplication", (("x[i] * 2.0", "x[i] + x[i]"),), "in which the data come"),
    Row("right", "another form of the payload", (("payload=bx", "payload=bx + 0"),), "in which the data come"),
    Row(
        "right",
        "a range of its own around the multiplication",
        (
            (
                ("for i in T.Parallel(chunk):\n    x[i] = x[i] * 2.0"),
                (
                    'with trace.range("double", lane="arithmetic"):\n'
                    "    for i in T.Parallel(chunk):\n"
                    "        x[i] = x[i] * 2.0"
                ),
            ),
        ),
        "in which the data come",
    ),
    Row(
        "right",
        "range_start and range_end",
        (
            (
                ('with trace.range("load", payload=bx):\n    T.copy(A[bx * chunk], x)'),
                ('token = trace.range_start("load", payload=bx)\nT.copy(A[bx * chunk], x)\ntrace.range_end(token)'),
            ),
        ),
        "in which the data come",
    ),
    Row("near miss", "another name", (('"load"', '"read"'),), 'no range named "load"; there are: read, store'),
    Row("near miss", "no payload", (('"load", payload=bx', '"load"'),), '"load" has no payload'),
    Row("near miss", "a constant payload", (('"store", payload=bx', '"store", payload=0'),), "number of its CTA"),
    Row(
        "near miss",
        "the multiplication in the load",
        (
            (
                (
                    'with trace.range("load", payload=bx):\n'
                    "    T.copy(A[bx * chunk], x)\n"
                    "for i in T.Parallel(chunk):\n"
                    "    x[i] = x[i] * 2.0"
                ),
                (
                    'with trace.range("load", payload=bx):\n'
                    "    T.copy(A[bx * chunk], x)\n"
                    "    for i in T.Parallel(chunk):\n"
                    "        x[i] = x[i] * 2.0"
                ),
            ),
        ),
        "the multiplication is inside",
    ),
    Row(
        "near miss",
        "the load open to the end",
        (
            (
                (
                    'with trace.range("load", payload=bx):\n'
                    "    T.copy(A[bx * chunk], x)\n"
                    "for i in T.Parallel(chunk):\n"
                    "    x[i] = x[i] * 2.0\n"
                    'with trace.range("store", payload=bx):\n'
                    "    T.copy(x, B[bx * chunk])"
                ),
                (
                    'with trace.range("load", payload=bx):\n'
                    "    T.copy(A[bx * chunk], x)\n"
                    "    for i in T.Parallel(chunk):\n"
                    "        x[i] = x[i] * 2.0\n"
                    '    with trace.range("store", payload=bx):\n'
                    "        T.copy(x, B[bx * chunk])"
                ),
            ),
        ),
        "still open",
    ),
    Row("near miss", "a CTA less", (("T.ceildiv(N, chunk)", "N // chunk"),), "behind the last full chunk"),
    Row(
        "near miss",
        "the ranges the wrong way round",
        (
            ('"load"', '"x"'),
            ('"store"', '"load"'),
            ('"x"', '"store"'),
        ),
        '"load" is not around the line that reads A',
    ),
    Row("near miss", "without @trace.jit", (("@trace.jit(out_idx=[-1])", ""),), "under @trace.jit"),
    Row(
        "cheat",
        "the multiplication deleted",
        ((("for i in T.Parallel(chunk):\n    x[i] = x[i] * 2.0"), ""),),
        "the multiplication is gone",
    ),
    Row(
        "cheat",
        "a fill instead of the store",
        (("T.copy(x, B[bx * chunk])", "T.fill(x, 0.0)"),),
        "the result is wrong in 4,096",
    ),
    Row(
        "cheat",
        "a fill of the result",
        ((("for i in T.Parallel(chunk):\n    x[i] = x[i] * 2.0"), "T.fill(x, 1.0)"),),
        "the result is wrong in 4,096",
    ),
    Row(
        "cheat",
        "a range around nothing",
        (
            (
                ('with trace.range("store", payload=bx):\n    T.copy(x, B[bx * chunk])'),
                ('with trace.range("store", payload=bx):\n    T.sync_threads()\nT.copy(x, B[bx * chunk])'),
            ),
        ),
        '"store" is not around the line that writes B',
    ),
    Row(
        "cheat",
        "a second store in the range",
        (
            (
                ('with trace.range("store", payload=bx):\n    T.copy(x, B[bx * chunk])'),
                ('T.copy(x, B[bx * chunk])\nwith trace.range("store", payload=bx):\n    T.copy(x, B[bx * chunk])'),
            ),
        ),
        '"store" is not around the line that writes B',
    ),
    Row(
        "untouched",
        "no ranges",
        (
            (
                (
                    'with trace.range("load", payload=bx):\n'
                    "    T.copy(A[bx * chunk], x)\n"
                    "for i in T.Parallel(chunk):\n"
                    "    x[i] = x[i] * 2.0\n"
                    'with trace.range("store", payload=bx):\n'
                    "    T.copy(x, B[bx * chunk])"
                ),
                (
                    "T.copy(A[bx * chunk], x)\n"
                    "for i in T.Parallel(chunk):\n"
                    "    x[i] = x[i] * 2.0\n"
                    "T.copy(x, B[bx * chunk])"
                ),
            ),
        ),
        "put the two",
    ),
)
COUNTED = (
    Row("right", "the solution", (), "number of steps at its end"),
    Row("right", "an expression", (("payload=steps", "payload=steps + 0"),), "number of steps at its end"),
    Row(
        "right", "steps counted otherwise", (("steps = steps + 1", "steps = 1 + steps"),), "number of steps at its end"
    ),
    Row("near miss", "the number that walks", (("payload=steps", "payload=value"),), "the number that walks"),
    Row("near miss", "the thread", (("payload=steps", "payload=tx"),), "same at the begin and at the end"),
    Row("near miss", "the wrong sign", (("payload=steps", "payload=0 - steps"),), "wrong sign"),
    Row(
        "near miss",
        "an instant",
        (('with trace.range("walk", payload=steps):', ('trace.record("walk", payload=steps)\nif True:')),),
        "one payload",
    ),
    Row("near miss", "thread 0 alone", (('"threads", per="thread"', '"threads"'),), "for every thread"),
    Row("cheat", "an offset", (("payload=steps", "payload=steps + 5"),), "begins at 5 and not at 0"),
    Row("cheat", "a walk that ends early", (("while value > 1:", "while value > 100:"),), "it counts 0 steps"),
    Row(
        "cheat", "a loop that does not walk", (("steps = steps + 1", "steps = steps + 2"),), "Change the payload alone"
    ),
    Row("untouched", "no payload", (('"walk", payload=steps', '"walk"'),), "no payload yet"),
)
SWIZZLED = (
    Row("right", "the solution", (), "with padding"),
    Row(
        "right",
        "exclusive or",
        (
            ("S[r, (column + r) % TILE] =", "S[r, column ^ r] ="),
            ("= S[column, (r + column) % TILE]", "= S[column, r ^ column]"),
        ),
        "with padding",
    ),
    Row(
        "right",
        "rotated the other way",
        (
            ("S[r, (column + r) % TILE] =", "S[r, (column + TILE - r) % TILE] ="),
            ("= S[column, (r + column) % TILE]", "= S[column, (r + TILE - column) % TILE]"),
        ),
        "with padding",
    ),
    Row(
        "right",
        "the place in a variable",
        (("S[r, (column + r) % TILE] =", ("place = (column + r) % TILE\nS[r, place] =")),),
        "with padding",
    ),
    Row(
        "near miss",
        "rotated in the write alone",
        (("S[r, (column + r) % TILE] =", "S[r, column] ="),),
        'rotated in "write" alone',
    ),
    Row(
        "near miss",
        "rotated in the read alone",
        (("= S[column, (r + column) % TILE]", "= S[column, r]"),),
        'rotated in "read" alone',
    ),
    Row(
        "near miss",
        "rotated in different directions",
        (("= S[column, (r + column) % TILE]", "= S[column, (r + TILE - column) % TILE]"),),
        "where it was written",
    ),
    Row(
        "near miss",
        "the wrong index",
        (
            ("S[r, (column + r) % TILE] =", "S[(r + column) % TILE, column] ="),
            ("= S[column, (r + column) % TILE]", "= S[(column + r) % TILE, r]"),
        ),
        "rotates the first index",
    ),
    Row(
        "near miss",
        "the tile turned when written",
        (
            ("S[r, (column + r) % TILE] =", "S[column, r] ="),
            ("= S[column, (r + column) % TILE]", "= S[r, column]"),
        ),
        '"read" has the conflicts',
    ),
    Row("near miss", "whole tiles alone", (("T.ceildiv(n, TILE)", "n // TILE"),), "for swizzled(80)"),
    Row(
        "near miss",
        "padding",
        (
            ("(TILE, TILE)", "(TILE, TILE + 1)"),
            ("S[r, (column + r) % TILE] =", "S[r, column] ="),
            ("= S[column, (r + column) % TILE]", "= S[column, r]"),
        ),
        "rows of S have 33 words",
    ),
    Row(
        "cheat",
        "shared memory bypassed",
        (("= S[column, (r + column) % TILE]", "= A[by * TILE + column, bx * TILE + r]"),),
        "bypassed",
    ),
    Row(
        "cheat",
        "a range around the barrier alone",
        (
            (
                ('T.sync_threads()\nwith trace.range("write"):'),
                ('with trace.range("write"):\n    T.sync_threads()\nif True:'),
            ),
        ),
        "read elsewhere",
    ),
    Row(
        "cheat",
        "no transpose at all",
        (
            ("S[r, (column + r) % TILE] =", "S[r, column] ="),
            ("= S[column, (r + column) % TILE]", "= S[r, column]"),
            ("B[bx * TILE + r, by * TILE + column]", "B[by * TILE + r, bx * TILE + column]"),
        ),
        "A itself",
    ),
    Row(
        "untouched",
        "as it was given",
        (
            ("S[r, (column + r) % TILE] =", "S[r, column] ="),
            ("= S[column, (r + column) % TILE]", "= S[column, r]"),
        ),
        "as before",
    ),
)
TWICE = (
    Row("right", "the solution", (), "one for each iteration"),
    Row("right", "a lane of its own", (('"scale", payload=k', '"scale", lane="second", payload=k'),), "one for each"),
    Row(
        "right",
        "another order of the factors",
        (("*= scale[i] * W[k * bk + j]", "= W[k * bk + j] * (x[i, j] * scale[i])"),),
        "one for each",
    ),
    Row("near miss", "another name", (('"scale", payload', '"Scale", payload'),), "names are taken as written"),
    Row("near miss", "no payload", (('"scale", payload=k', '"scale"'),), "no payload"),
    Row("near miss", "a constant payload", (('"scale", payload=k', '"scale", payload=7'),), "0, 1, 2, …"),
    Row("near miss", "counted from one", (('"scale", payload=k', '"scale", payload=k + 1'),), "0, 1, 2, …"),
    Row(
        "near miss",
        "around the whole loop",
        (
            (
                (
                    "for k in T.serial(T.ceildiv(columns, bk)):\n"
                    '    with trace.range("scale", payload=k):\n'
                    "        T.copy(X[bx * bm, k * bk], x)\n"
                    "        for i, j in T.Parallel(bm, bk):\n"
                    "            x[i, j] *= scale[i] * W[k * bk + j]\n"
                    "        T.copy(x, Y[bx * bm, k * bk])"
                ),
                (
                    'with trace.range("scale", payload=0):\n'
                    "    for k in T.serial(T.ceildiv(columns, bk)):\n"
                    "        T.copy(X[bx * bm, k * bk], x)\n"
                    "        for i, j in T.Parallel(bm, bk):\n"
                    "            x[i, j] *= scale[i] * W[k * bk + j]\n"
                    "        T.copy(x, Y[bx * bm, k * bk])"
                ),
            ),
        ),
        "around the whole loop",
    ),
    Row(
        "near miss",
        "around the inner loop alone",
        (
            (
                (
                    'with trace.range("scale", payload=k):\n'
                    "    T.copy(X[bx * bm, k * bk], x)\n"
                    "    for i, j in T.Parallel(bm, bk):\n"
                    "        x[i, j] *= scale[i] * W[k * bk + j]\n"
                    "    T.copy(x, Y[bx * bm, k * bk])"
                ),
                (
                    "T.copy(X[bx * bm, k * bk], x)\n"
                    'with trace.range("scale", payload=k):\n'
                    "    for i, j in T.Parallel(bm, bk):\n"
                    "        x[i, j] *= scale[i] * W[k * bk + j]\n"
                    "T.copy(x, Y[bx * bm, k * bk])"
                ),
            ),
        ),
        "leaves the copy to Y out",
    ),
    Row(
        "near miss",
        "without the first copy",
        (
            (
                ('with trace.range("scale", payload=k):\n    T.copy(X[bx * bm, k * bk], x)'),
                ('T.copy(X[bx * bm, k * bk], x)\nwith trace.range("scale", payload=k):'),
            ),
        ),
        "leaves the copy from X out",
    ),
    Row("near miss", "whole pieces alone", (("T.ceildiv(columns, bk)", "columns // bk"),), "for twice(6, 1280)"),
    Row(
        "cheat",
        "around a barrier alone",
        (
            (
                (
                    'with trace.range("scale", payload=k):\n'
                    "    T.copy(X[bx * bm, k * bk], x)\n"
                    "    for i, j in T.Parallel(bm, bk):\n"
                    "        x[i, j] *= scale[i] * W[k * bk + j]\n"
                    "    T.copy(x, Y[bx * bm, k * bk])"
                ),
                (
                    'with trace.range("scale", payload=k):\n'
                    "    T.sync_threads()\n"
                    "T.copy(X[bx * bm, k * bk], x)\n"
                    "for i, j in T.Parallel(bm, bk):\n"
                    "    x[i, j] *= scale[i] * W[k * bk + j]\n"
                    "T.copy(x, Y[bx * bm, k * bk])"
                ),
            ),
        ),
        "leaves the copy to Y out",
    ),
    Row(
        "cheat", "the multiplication deleted", (("*= scale[i] * W[k * bk + j]", "*= scale[i]"),), "the result is wrong"
    ),
    Row(
        "untouched",
        "no range",
        (
            (
                (
                    'with trace.range("scale", payload=k):\n'
                    "    T.copy(X[bx * bm, k * bk], x)\n"
                    "    for i, j in T.Parallel(bm, bk):\n"
                    "        x[i, j] *= scale[i] * W[k * bk + j]\n"
                    "    T.copy(x, Y[bx * bm, k * bk])"
                ),
                (
                    "T.copy(X[bx * bm, k * bk], x)\n"
                    "for i, j in T.Parallel(bm, bk):\n"
                    "    x[i, j] *= scale[i] * W[k * bk + j]\n"
                    "T.copy(x, Y[bx * bm, k * bk])"
                ),
            ),
        ),
        "there is no range called scale yet",
    ),
)
ONCE = (
    Row("right", "the solution", (), "issued at once"),
    Row(
        "right",
        "the square as a power of two factors",
        (("= x[i, j] * x[i, j]", "= T.pow(x[i, j], 2.0)"),),
        "issued at once",
    ),
    Row("right", "one row a CTA", (("bm=2", "bm=1"),), "issued at once"),
    Row("near miss", "a range missing", (('"squares"', '"first"'),), "range squares is missing"),
    Row(
        "near miss",
        "read a second time",
        (('with trace.range("scale"):', ('with trace.range("scale"):\n    T.copy(X[bx * bm, 0], x)')),),
        "a second time",
    ),
    Row(
        "near miss",
        "no root",
        (("T.rsqrt(scale[i] / columns + 1e-6)", "1.0 / (scale[i] / columns + 1e-6)"),),
        "is wrong",
    ),
    Row("near miss", "rows left over", (("T.ceildiv(rows, bm)", "rows // bm"),), "for once(15, 4096)"),
    Row(
        "cheat",
        "nothing done",
        (
            (("for i, j in T.Parallel(bm, columns):\n    x[i, j] *= scale[i] * W[j]"), ""),
            ("T.copy(X[bx * bm, 0], x)", "T.clear(x)"),
        ),
        "the result is wrong",
    ),
    Row("cheat", "no scale", (("x[i, j] *= scale[i] * W[j]", "x[i, j] *= W[j]"),), "their scale are missing"),
    Row(
        "cheat",
        "a range around a barrier",
        (('with trace.range("scale"):', ('with trace.range("scale"):\n    T.sync_threads()\nif True:')),),
        "range scale is not around",
    ),
)

FUSED = (
    Row("right", "the solution", (), "half of the bytes"),
    Row("right", "another order", (("x[i] * 0.5 + 1.0, 0.0", "0.0, 1.0 + 0.5 * x[i]"),), "half of the bytes"),
    Row(
        "near miss",
        "the order of the two",
        (("T.max(x[i] * 0.5 + 1.0, 0.0)", "T.max(x[i] * 0.5, 0.0) + 1.0"),),
        "in front of it",
    ),
    Row("near miss", "no max", (("T.max(x[i] * 0.5 + 1.0, 0.0)", "x[i] * 0.5 + 1.0"),), "max(…, 0) is missing"),
    Row("near miss", "the end left out", (("T.ceildiv(N, chunk)", "N // chunk"),), "for fused(100000)"),
    Row("cheat", "a fill", (("T.max(x[i] * 0.5 + 1.0, 0.0)", "1.0"),), "the result is wrong"),
    Row(
        "cheat",
        "written twice",
        (("T.copy(x, C[bx * chunk])", "T.copy(x, C[bx * chunk])\nT.copy(x, C[bx * chunk])"),),
        "once to C",
    ),
    Row("untouched", "as it was given", (("T.max(x[i] * 0.5 + 1.0, 0.0)", "x[i] * 0.5"),), "the second kernel's part"),
)
LARGEST = (
    Row("right", "the solution", (), "one barrier"),
    Row(
        "right",
        "downwards",
        (("T.shfl_xor(x, 16 >> k)", "T.shfl_down(x, 16 >> k)"), ("T.shfl_xor(x, 4 >> k)", "T.shfl_down(x, 4 >> k)")),
        "one barrier",
    ),
    Row("near miss", "0 for what is missing", (('-T.infinity("float32")', "0.0"),), "all numbers are negative"),
    Row(
        "near miss",
        "the first warp alone",
        (('T.if_then_else(tx < WARPS, S[tx % WARPS], -T.infinity("float32"))', "x"),),
        "the first warp",
    ),
    Row("near miss", "a sum", (("T.max(x, T.shfl_xor(x, 16 >> k))", "x + T.shfl_xor(x, 16 >> k)"),), "fails|wrong"),
    Row("cheat", "a number", (("B[0] = x", "B[0] = 3.0"),), "the result is wrong"),
)


PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "checks.md"
TABLES = {
    "Lesson 1, exercise 3: ranges around a load and a store": IN_STEPS,
    "Lesson 2, exercise 3: a payload that counts": COUNTED,
    "Lesson 4, exercise 3: a swizzle": SWIZZLED,
    "Lesson 10, exercise 2: a marked loop": TWICE,
    "Lesson 10, exercise 3: a kernel that reads once": ONCE,
    "Lesson 11, exercise 3: two kernels in one": FUSED,
    "Lesson 12, exercise 3: a maximum by shuffles": LARGEST,
    "Lesson 13, exercise 2: one barrier a step": SMOOTHED,
    "Lesson 13, exercise 3: a ring without a race": RING,
    "Lesson 14, exercise 3: the slow kernel mended": MENDED,
    "Lesson 15, exercise 3: a kernel that does not spill": NOT_SPILLING,
    "Lesson 16, exercise 2: a fused epilogue": EPILOGUE,
}


def page() -> str:
    """The tables as a page of the documentation."""
    parts = [PAGE.read_text(encoding="utf-8").partition("\n## ")[0].rstrip()]
    for title, rows in TABLES.items():
        lines = [f"| {row.kind} | {row.what} | {row.says.replace('|', ' or ')} |" for row in rows]
        parts.append("\n".join([f"## {title}", "", "| Handed in | | The check says |", "|---|---|---|", *lines]))
    for title, lab in LABS.items():
        lines = [f"| {row.kind} | {row.what} | {row.earns} of 10 | {row.says} |" for row in lab.rows]
        head = ["| Handed in | | Points | Where one is missing, the check says |", "|---|---|---|---|"]
        parts.append("\n".join([f"## {title}", "", *head, *lines]))
    return "\n\n".join(parts) + "\n"


def test_the_page_of_the_checks_has_these_tables() -> None:
    text = "python -c 'import test_kernels_handed_in as t; t.PAGE.write_text(t.page())', tests/notebooks on the path"
    assert PAGE.read_text(encoding="utf-8") == page(), text


def said(check: Callable[[Any], Any], number: int, name: str, row: Row) -> None:
    verdict = check(handed_in(number, name, row.changes))
    assert verdict.state == row.state, verdict
    assert any(words in verdict.why for words in row.says.split("|")), verdict


def each(rows: tuple[Row, ...]) -> Any:
    """One test a row; by default the first cheat, and with the wide tests all."""
    first = next(row for row in rows if row.kind == "cheat")
    marked = [pytest.param(row, marks=[] if row is first else [pytest.mark.wide]) for row in rows]
    return pytest.mark.parametrize("row", marked, ids=[f"{row.kind}: {row.what}" for row in rows])


@each(IN_STEPS)
def test_lesson_1_on_the_ranges_load_and_store(row: Row) -> None:
    said(first_trace.load_and_store, 1, "in_steps", row)


@each(COUNTED)
def test_lesson_2_on_a_payload_that_counts(row: Row) -> None:
    said(payloads_and_lanes.counted_steps, 2, "counted", row)


@each(SWIZZLED)
def test_lesson_4_on_a_swizzle(row: Row) -> None:
    given = handed_in(4, "through_shared", given=True)
    said(lambda build: memory.swizzle(build, given), 4, "swizzled", row)


@each(TWICE)
def test_lesson_10_on_a_marked_loop(row: Row) -> None:
    said(your_own_kernel.scale_is_marked, 10, "twice", row)


@each(ONCE)
def test_lesson_10_on_a_kernel_that_reads_once(row: Row) -> None:
    before = handed_in(10, "twice", given=True)
    said(lambda build: your_own_kernel.faster(build, before), 10, "once", row)


@each(FUSED)
def test_lesson_11_on_two_kernels_in_one(row: Row) -> None:
    parts = [handed_in(11, name, given=True) for name in ("halved", "rectified")]
    said(lambda build: bandwidth_and_roofline.fused(build, *parts), 11, "fused", row)


@each(LARGEST)
def test_lesson_12_on_a_maximum_by_shuffles(row: Row) -> None:
    said(reductions.largest, 12, "largest", row)


def smoothed(a: torch.Tensor, steps: int) -> torch.Tensor:
    for _ in range(steps):
        a = 0.5 * (a + a.roll(-1))
    return a


@each(SMOOTHED)
def test_lesson_13_on_one_barrier_a_step(row: Row) -> None:
    said(lambda build: race_hunt.one_barrier(build, smoothed), 13, "two_buffers", row)


@each(RING)
def test_lesson_13_on_a_ring_without_a_race(row: Row) -> None:
    said(race_hunt.mended, 13, "ring", row)


@each(MENDED)
def test_lesson_14_on_the_slow_kernel_mended(row: Row) -> None:
    said(lambda build: slow_kernel.mended(build, given.slow), 14, "mended", row)


@each(NOT_SPILLING)
def test_lesson_15_on_a_kernel_that_does_not_spill(row: Row) -> None:
    gemm = handed_in(15, "gemm", given=True)
    said(lambda build: registers.without_spills(build, gemm), 15, "spills", row)


@each(EPILOGUE)
def test_lesson_16_on_a_fused_epilogue(row: Row) -> None:
    parts = [handed_in(16, name, given=True) for name in ("gemm", "activation")]
    said(lambda build: fused_epilogues.fused(build, *parts), 16, "fused", row)


@pytest.mark.wide
def test_a_tree_is_right_and_not_what_was_asked() -> None:
    assert "still a tree" in reductions.largest(handed_in(12, "largest", given=True)).why


@pytest.mark.parametrize("exercise", [(1, "in_steps"), (2, "counted"), (4, "swizzled"), (10, "twice")])
def test_the_kernel_as_it_is_given_is_no_answer_yet(exercise: tuple[int, str]) -> None:
    checks = {
        "in_steps": first_trace.load_and_store,
        "counted": payloads_and_lanes.counted_steps,
        "swizzled": lambda build: memory.swizzle(build, handed_in(4, "through_shared", given=True)),
        "twice": your_own_kernel.scale_is_marked,
    }
    number, name = exercise
    assert checks[name](handed_in(number, name, given=True)).state == "unanswered"


def test_a_kernel_that_is_right_by_hand_is_run_with_the_arrivals_given() -> None:
    by_hand = handed_in(6, "by_hand", given=True)
    a, b = (torch.randn(shape, generator=torch.Generator().manual_seed(0)).half() for shape in ((256, 512), (512, 256)))
    assert warp_specialisation.attempt(by_hand, 2, 128, a, b) is None
    assert "deadlock" in str(warp_specialisation.attempt(by_hand, 2, 256, a, b))
