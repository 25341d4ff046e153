"""What the exercises of lesson 11 answer: bytes under way, the ridge of the roofline, two kernels in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.kernels import Case, Ran, tried
from tltrace_nb.course.numbers import near, number, rounded

if TYPE_CHECKING:
    from tltrace_nb.base.gpus import Gpu

ROUGHLY = 0.05
"""How far an estimate may be off."""
SIZES = (1 << 17, 100_000)
"""Of the tensors that the kernel of exercise 3 is tried on; the second is no multiple of a piece."""
WORTH = 0.7
"""Time of the fused kernel over that of both, up to which exercise 3 is solved; the bytes are a half."""


def bytes_under_way(answer: Any, gpu: Gpu, latency_cycles: int) -> Verdict:
    """Bytes that each SM must have under way to use the GPU's memory bandwidth, by Little's law."""
    if answer is None:
        return unanswered()
    given = number(answer)
    if given is None:
        return wrong("give one number of bytes.")
    seconds = latency_cycles / (gpu.clock_ghz * 1e9)
    whole = gpu.hbm_bytes_per_second * seconds
    truth = whole / gpu.sms
    if near(given, truth, ROUGHLY) or rounded(given, truth):
        return right(f"{truth:,.0f} bytes: {truth / 128:.0f} for each of 128 threads.")
    if near(given, whole, ROUGHLY):
        return wrong("that is for the whole GPU. How many SMs share it?")
    if near(given * 1000, truth, ROUGHLY) or near(given * 1024, truth, ROUGHLY):
        return wrong("those are kilobytes; give bytes.")
    if near(given, truth / 4, ROUGHLY):
        return wrong("those are numbers of 4 bytes; give bytes.")
    if near(given, gpu.hbm_bytes_per_second * latency_cycles, ROUGHLY):
        return wrong("the latency is in cycles and the bandwidth in seconds: how long is a cycle?")
    if near(given, gpu.hbm_bytes_per_second / gpu.sms, ROUGHLY):
        return wrong("so many bytes an SM gets in a second. How many while one load is under way?")
    return wrong("bandwidth × latency, and the SMs share it: mind the units.")


def ridge(answer: Any, operations: float, bytes: float) -> Verdict:
    """Operations per byte at which memory and arithmetic take the same time; both are given per second."""
    if answer is None:
        return unanswered()
    given = number(answer)
    if given is None:
        return wrong("give one number.")
    truth = operations / bytes
    if near(given, truth) or rounded(given, truth):
        return right(f"{truth:.0f} operations for each byte: below it the memory is the limit.")
    if given > 0 and near(1 / given, truth, ROUGHLY):
        return wrong("those are bytes per operation: the other way round.")
    if near(given, 2 * truth) or near(given, truth / 2):
        return wrong("that is off by two: an operation is an operation, and a byte a byte, whatever the type.")
    if any(near(given, truth * off, ROUGHLY) for off in (1e3, 1e-3, 1e6, 1e-6)):
        return wrong("both are in units of 10¹² here: they cancel.")
    return wrong("at the ridge the operations and the bytes take the same time: divide one rate by the other.")


def fused(build: Any, first: Any, second: Any) -> Verdict:
    """Whether one kernel does what ``first`` and then ``second`` do, with each number moved once in and once out."""
    if build is None:
        return unanswered("write the kernel, then run this cell again.")
    ran = tried(build, _cases(lambda x: torch.relu(x * 0.5 + 1)), _half_done)
    if isinstance(ran, Verdict):
        return unanswered(ran.why) if HALF in ran.why else ran
    both = [tried(first, _cases(lambda x: x * 0.5)[:1]), tried(second, _cases(lambda x: torch.relu(x + 1))[:1])]
    mine = ran[0]
    if len(mine.tensors) > 2:
        return partly("there are more tensors than A and C: what is between them stays in registers.")
    if len(mine.uses(0, False)) != 1 or len(mine.uses(1, True)) != 1 or mine.uses(1, False):
        return partly("each number must be read once from A and written once to C, in one place of the kernel each.")
    then = sum(_ns(each[0]) for each in both if not isinstance(each, Verdict))
    now = _ns(mine)
    if now > WORTH * then:
        return partly(f"{then:,.0f} ns for both, {now:,.0f} ns fused: where are the other bytes?")
    return right(f"{then:,.0f} ns for both, {now:,.0f} ns fused: half of the bytes.")


HALF = "C is A / 2: the second kernel's part is missing."


def _cases(function: Any) -> list[Case]:
    inputs = (torch.randn(n, generator=torch.Generator().manual_seed(n)) for n in SIZES)
    return [Case((len(x),), (x,), function(x), tolerance=1e-6) for x in inputs]


def _half_done(case: Case, ran: Ran) -> str | None:
    (x,) = case.inputs
    if torch.allclose(ran.result, x * 0.5):
        return HALF
    if torch.allclose(ran.result, x * 0.5 + 1):
        return "the negative numbers are left: max(…, 0) is missing."
    if torch.allclose(ran.result, torch.relu(x * 0.5) + 1):
        return "1 is added behind the max, and must be in front of it."
    return None


def _ns(ran: Ran) -> float:
    return float(ran.trace.ctas.end_ns.max() - ran.trace.ctas.start_ns.min())
