"""What the exercises of lesson 16 answer: bytes that fusing saves, and a GEMM with an epilogue."""

from __future__ import annotations

from typing import Any

import torch

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.kernels import Case, Ran, timed, tried
from tltrace_nb.course.labs import normal
from tltrace_nb.course.numbers import near, number

SHAPES = ((512, 512, 128), (100, 72, 40))
"""M, N and K on which the kernel of exercise 2 is tried; the second is no multiple of a tile."""
DEVICE = "virtual:classroom"
"""On which it is timed: its memory is narrow, and it keeps little in its L2."""
WORTH = 0.85
"""Time of the fused kernel over that of both, up to which exercise 2 is solved."""
AS_GIVEN = "D is A·B: neither bias nor ReLU is there yet."


def saved(answer: Any, rows: int, columns: int, item_bytes: int) -> Verdict:
    """Bytes that need not be moved when C is not written and read back."""
    if answer is None:
        return unanswered()
    given, once = number(answer), rows * columns * item_bytes
    if given is None:
        return wrong("give one number of bytes.")
    if near(given, 2 * once):
        return right(f"C is written once and read once, {once:,} bytes each.")
    if near(given, once):
        return wrong("that is C once. It is written, and then it is read.")
    if near(given, 2 * rows * columns) or near(given, rows * columns):
        return wrong("those are numbers; how many bytes has one?")
    if near(given, 3 * once) or near(given, 4 * once):
        return wrong("D is moved in both cases.")
    return wrong("which matrix need not exist, how large is it, and how often is it moved?")


def fused(build: Any, gemm: Any, activation: Any) -> Verdict:
    """Whether one kernel does what ``gemm`` and then ``activation`` do, and in less time than both."""
    if build is None:
        return unanswered("write the kernel, then run this cell again.")
    ran = tried(build, [_case(*shape) for shape in SHAPES], _half_done, DEVICE)
    if isinstance(ran, Verdict):
        return unanswered(ran.why) if AS_GIVEN in ran.why else ran
    mine = ran[0]
    if len(mine.tensors) > 4:
        return partly("there are more tensors than A, B, bias and D: what is between them stays in registers.")
    if len(mine.uses(3, True)) != 1 or mine.uses(3, False):
        return partly("D must be written once, in one place of the kernel, and not be read.")
    both = _both(gemm, activation)
    if mine.launch_ns > WORTH * both:
        return partly(f"{both:,.0f} ns for both, {mine.launch_ns:,.0f} ns fused: where are the other bytes?")
    return right(f"{both:,.0f} ns for both, {mine.launch_ns:,.0f} ns fused.")


def _both(gemm: Any, activation: Any) -> float:
    """The time of the two launches."""
    m, n, k = SHAPES[0]
    a, b, bias = _inputs(m, n, k)
    c = a.float() @ b.float()
    first = timed(gemm, Case((m, n, k), (a, b), c, tolerance=1e-2), DEVICE)
    second = timed(activation, Case((m, n), (c, bias), torch.relu(c + bias), tolerance=1e-4), DEVICE)
    return first.launch_ns + second.launch_ns


def _case(m: int, n: int, k: int) -> Case:
    a, b, bias = _inputs(m, n, k)
    return Case((m, n, k), (a, b, bias), torch.relu(a.float() @ b.float() + bias), tolerance=1e-2)


def _inputs(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return normal(m, k, dtype="float16"), normal(k, n, dtype="float16"), normal(n)


def _half_done(case: Case, ran: Ran) -> str | None:
    a, b, bias = case.inputs
    c = a.float() @ b.float()
    found = {
        AS_GIVEN: c,
        "the ReLU is missing: max(…, 0).": c + bias,
        "the bias is missing.": torch.relu(c),
        "the bias is added behind the ReLU, and must be in front of it.": torch.relu(c) + bias,
    }
    if c.shape[0] == c.shape[1]:
        found["the bias belongs to columns, and it is added by rows."] = torch.relu(c + bias[:, None])
    return next((said for said, other in found.items() if torch.allclose(ran.result, other, atol=1e-2)), None)
