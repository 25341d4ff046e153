"""Kernels as they are handed in to the labs, and the points that each is worth: a table a lab."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from handed_in import Change, changed, lab, made

from tltrace_nb.course import Verdict, lab_attention, lab_gemm, lab_softmax


@dataclass(frozen=True)
class LabRow:
    """A kernel that is handed in: the lab's solution with ``changes``, or another ``source``; what it ``earns``.

    ``says``: a part of what the check says where a point is missing. ``quick``: tried by default.
    """

    kind: Literal["solved", "half", "wrong", "cheat"]
    what: str
    changes: tuple[Change, ...]
    earns: int
    says: str = ""
    source: str = ""
    quick: bool = False


@dataclass(frozen=True)
class Table:
    """A lab: its number, the name of what is handed in, its check and its rows."""

    number: int
    name: str
    check: Callable[[Any], Verdict]
    rows: tuple[LabRow, ...]

    def handed_in(self, row: LabRow) -> Any:
        """The builder of a row."""
        return made(row.source, self.name) if row.source else changed(lab(self.number), self.name, row.changes)


SOFTMAX_FRAME = """
@trace.jit(out_idx=[-1])
def softmax(rows, columns):
    @T.prim_func
    def softmax(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=128) as bx:
"""
NOT_A_KERNEL = "hand in the function under @trace.jit"
THREE_PASSES = "from tltrace_nb.course.lab_softmax import three_passes\n"
SOFTMAX = (
    LabRow("solved", "the solution", (), 10),
    LabRow("solved", "two warp groups", (("threads=128", "threads=256"), ("// 128) * 128", "// 256) * 256")), 10),
    LabRow("solved", "exp2", (("T.exp(x[i, j] - highest[i])", "T.exp2((x[i, j] - highest[i]) * 1.44269504)"),), 10),
    LabRow(
        "solved",
        "the division in a range of its own",
        (
            (
                'with trace.range("store", payload=bx):\n    for i, j in T.Parallel(1, width):',
                (
                    'with trace.range("divide"):\n'
                    "    for i, j in T.Parallel(1, width):\n"
                    "        x[i, j] = x[i, j] / total[i]\n"
                    'with trace.range("store", payload=bx):\n    for i, j in T.Parallel(1, width):'
                ),
            ),
            ("Y[bx, j] = x[i, j] / total[i]", "Y[bx, j] = x[i, j]"),
        ),
        10,
    ),
    LabRow("half", "no maximum taken off", (("x[i, j] - highest[i]", "x[i, j]"),), 9, "large numbers"),
    LabRow("half", "0 for what is missing", (('-T.infinity("float32")', "0.0"),), 9, "no multiple of 128"),
    LabRow("half", "another name", (('"load"', '"read"'),), 7, 'there is no range "load"'),
    LabRow(
        "half",
        "read a second time",
        (("x[i, j] / total[i]", "T.exp(X[bx, j] - highest[i]) / total[i]"),),
        7,
        '"load" is not around all that reads X',
    ),
    LabRow("half", "the middle without a name", (('with trace.range("sum", payload=bx):', "if True:"),), 9, "no name"),
    LabRow("half", "the given kernel", (), 4, "100% of the given", THREE_PASSES + "softmax = three_passes\n"),
    LabRow("wrong", "not divided by the sum", ((" / total[i]", ""),), 0, "the result is wrong"),
    LabRow(
        "cheat",
        "an empty kernel",
        (),
        0,
        "the result is wrong",
        SOFTMAX_FRAME + " " * 12 + "T.evaluate(0)\n\n    return softmax\n",
        quick=True,
    ),
    LabRow(
        "cheat",
        "torch in the kernel's place",
        (),
        0,
        NOT_A_KERNEL,
        "def softmax(rows, columns):\n    return lambda x: torch.softmax(x, -1)\n",
    ),
    LabRow(
        "cheat",
        "a kernel that has torch run",
        (),
        0,
        "the result is wrong",
        SOFTMAX_FRAME.replace("def softmax(rows", "def empty(rows")
        + " " * 12
        + "T.evaluate(0)\n\n    return softmax\n\n\n"
        + "def softmax(rows, columns):\n"
        + "    kernel = empty(rows, columns)\n"
        + "    run = kernel.run\n"
        + "    kernel.run = lambda inputs: (torch.softmax(inputs[0], -1), run(inputs)[1])\n"
        + "    return kernel\n",
    ),
    LabRow(
        "cheat",
        "a result that was saved",
        (),
        0,
        NOT_A_KERNEL,
        "class Saved:\n"
        "    def run(self, inputs):\n"
        "        return SAVED[inputs[0].shape], None\n\n\n"
        "SAVED = {}\n\n\n"
        "def softmax(rows, columns):\n"
        "    return Saved()\n",
    ),
    LabRow(
        "cheat",
        "markers around nothing",
        (
            (
                'with trace.range("load", payload=bx):',
                'with trace.range("load", payload=bx):\n    T.sync_threads()\nif True:',
            ),
        ),
        7,
        '"load" is not around all that reads X',
    ),
)
MMA = 'with trace.range("mma", payload=k):\n    T.gemm(A_shared, B_shared, C_local)'
LOAD = (
    'with trace.range("load", payload=k):\n'
    "    T.copy(A[by * tile, k * step], A_shared)\n"
    "    T.copy(B[k * step, bx * tile], B_shared)"
)
GEMM = (
    LabRow("solved", "the solution", (), 10),
    LabRow("solved", "four stages", (("num_stages=3", "num_stages=4"),), 10),
    LabRow("solved", "the payload as an expression", (("payload=k)", "payload=k + 0)"),), 10),
    LabRow(
        "solved",
        "range_start and range_end",
        (
            (
                MMA,
                (
                    'token = trace.range_start("mma", payload=k)\n'
                    "T.gemm(A_shared, B_shared, C_local)\n"
                    "trace.range_end(token)"
                ),
            ),
        ),
        10,
    ),
    LabRow("half", "two stages", (("num_stages=3", "num_stages=2"),), 8, "cycles pass between"),
    LabRow("half", "one stage", (("num_stages=3", "num_stages=1"),), 5, 'begins when "mma" 0 is over'),
    LabRow("half", "large tiles", (("tile, step = 64, 64", "tile, step = 128, 64"),), 8, "of the given kernel's time"),
    LabRow("half", "whole tiles alone", (("T.ceildiv(M, tile)", "M // tile"),), 9, "the result is wrong"),
    LabRow("half", "a constant payload", ((MMA, MMA.replace("payload=k", "payload=0")),), 6, "are not 0, 1, 2"),
    LabRow("half", "the copy of B outside", ((LOAD, LOAD.replace("    T.copy(B", "T.copy(B")),), 5, "all that reads B"),
    LabRow(
        "half",
        "the given kernel",
        (),
        3,
        "100% of the given",
        "from tltrace_nb.course.lab_gemm import one_at_a_time\n\ngemm = one_at_a_time\n",
    ),
    LabRow(
        "cheat", "a fill", (("T.copy(C_local, C", "T.fill(C_local, 0.0)\nT.copy(C_local, C"),), 0, "the result is wrong"
    ),
    LabRow(
        "cheat", "torch in the kernel's place", (), 0, NOT_A_KERNEL, "def gemm(M, N, K):\n    return torch.matmul\n"
    ),
    LabRow("cheat", "a single iteration", (("T.ceildiv(K, step)", "1"),), 0, "the result is wrong", quick=True),
    LabRow(
        "cheat",
        "a load ahead that loads nothing",
        (
            ("num_stages=3", "num_stages=1"),
            (
                MMA,
                (
                    'with trace.range("mma", payload=k):\n'
                    '    with trace.range("load", payload=k + 1):\n'
                    "        T.evaluate(0)\n"
                    "    T.gemm(A_shared, B_shared, C_local)"
                ),
            ),
            (LOAD, LOAD.replace('"load"', '"first"')),
        ),
        3,
        '"load" is not around all that reads A',
    ),
)
SOFTMAX_OF_A_BLOCK = "S[i, j] = T.exp2(S[i, j] * scale - highest[i] * scale)"
ATTENTION = (
    LabRow("solved", "the solution", (), 10),
    LabRow("solved", "one stage", (("num_stages=2", "num_stages=1"),), 10),
    LabRow(
        "solved", "the scale taken out", ((SOFTMAX_OF_A_BLOCK, "S[i, j] = T.exp2((S[i, j] - highest[i]) * scale)"),), 10
    ),
    LabRow(
        "solved",
        "the sum kept by a reduction",
        (
            (
                (
                    "T.reduce_sum(S, row_sum, dim=1)\n"
                    "for i in T.Parallel(block):\n"
                    "    total[i] = total[i] * rescale[i] + row_sum[i]"
                ),
                (
                    "for i in T.Parallel(block):\n"
                    "    total[i] = total[i] * rescale[i]\n"
                    "T.reduce_sum(S, total, dim=1, clear=False)"
                ),
            ),
        ),
        10,
    ),
    LabRow(
        "half",
        "no pipeline",
        (("T.Pipelined(T.ceildiv(keys, block), num_stages=2)", "T.serial(T.ceildiv(keys, block))"),),
        7,
        "begins when",
    ),
    LabRow(
        "half",
        "keys that do not exist count",
        (('T.if_then_else(k * block + j < keys, 0, -T.infinity("float32"))', "0"),),
        9,
        "no multiples",
    ),
    LabRow(
        "half",
        "no maximum taken off",
        (
            ("before[i] * scale - highest[i] * scale", "0.0"),
            ("S[i, j] * scale - highest[i] * scale", "S[i, j] * scale"),
        ),
        9,
        "large scores",
    ),
    LabRow(
        "half",
        "the softmax without a range",
        (('with trace.range("softmax", payload=k):', "if True:"),),
        6,
        'no range "softmax"',
    ),
    LabRow(
        "wrong",
        "the output is not rescaled",
        (("out[i, j] *= rescale[i]", "out[i, j] *= 1.0"),),
        0,
        "the result is wrong",
    ),
    LabRow(
        "half",
        "the given kernel",
        (),
        4,
        "100% of the given",
        "from tltrace_nb.course.lab_attention import three_times\n\nattention = three_times\n",
    ),
    LabRow(
        "cheat",
        "the mean of the values",
        (("S[i, j] * scale - highest[i] * scale)", "0.0)"),),
        0,
        "the result is wrong",
    ),
    LabRow(
        "cheat",
        "torch in the kernel's place",
        (),
        0,
        NOT_A_KERNEL,
        "def attention(queries, keys):\n    return torch.nn.functional.scaled_dot_product_attention\n",
        quick=True,
    ),
    LabRow(
        "cheat",
        "a softmax around nothing",
        (
            (
                'with trace.range("softmax", payload=k):',
                'with trace.range("softmax", payload=k):\n    T.evaluate(0)\nif True:',
            ),
        ),
        6,
        '"softmax" is around nothing',
    ),
)
TABLES = {
    "Lab 1: softmax": Table(1, "softmax", lab_softmax.softmax, SOFTMAX),
    "Lab 2: a pipelined GEMM": Table(2, "gemm", lab_gemm.gemm, GEMM),
    "Lab 3: attention": Table(3, "attention", lab_attention.attention, ATTENTION),
}
