"""What the exercises of lesson 12 answer: barriers of a tree, shuffles of a thread, a maximum by shuffles."""

from __future__ import annotations

import math
from typing import Any

import torch

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.kernels import Case, Ran, tried
from tltrace_nb.course.numbers import number

WARP = 32
SIZES = (256, 200, 1)
"""How many numbers the kernel of exercise 3 is tried on; the last two leave threads without one."""


def barriers_of_a_tree(answer: Any, threads: int) -> Verdict:
    """At how many barriers a tree of so many threads waits, one a step."""
    if answer is None:
        return unanswered()
    given, truth = number(answer), int(math.log2(threads))
    if given == truth:
        return right(f"{threads:,} numbers are halved {truth} times.")
    if given == math.log2(256):
        return wrong("so many are there with 256 threads.")
    if given in (threads, threads - 1, threads // 2):
        return wrong("that counts additions, or threads. How often can the number of threads be halved?")
    if given in (truth - 1, truth + 1):
        return wrong("one off: the last step is the one in which a single thread adds, and it has its barrier, too.")
    return wrong("each step halves the numbers that are left: how many steps until there is one?")


def shuffles_of_a_thread(answer: Any, threads: int) -> Verdict:
    """How many shuffles a thread of the first warp executes."""
    if answer is None:
        return unanswered()
    given = number(answer)
    within, between = int(math.log2(WARP)), int(math.log2(threads // WARP))
    if given == within + between:
        return right(f"{within} within its warp, {between} for the sums of {threads // WARP} warps.")
    if given == within:
        return wrong("those are the shuffles of the first part. What does the first warp do with all the sums?")
    if given == 2 * within:
        return wrong("the second part has not 32 sums to add, but one for each warp.")
    if given == WARP + threads // WARP:
        return wrong("that counts numbers; a shuffle halves them.")
    return wrong("count the iterations of both loops with a shuffle in them.")


def largest(build: Any) -> Verdict:
    """Whether the kernel finds the largest number, with shuffles and one barrier."""
    if build is None:
        return unanswered("change the kernel, then run this cell again.")
    numbers = (torch.randn(n, generator=torch.Generator().manual_seed(n)) for n in SIZES)
    inputs = [each for x in numbers for each in (x, -x.abs() - 1)]
    ran = tried(build, [Case((len(x),), (x,), x.max().reshape(1)) for x in inputs], _not_largest)
    if isinstance(ran, Verdict):
        return ran
    barriers = ran[0].calls.count("tvm_storage_sync")
    if not any(part in name for name in ran[0].calls for part in ("shfl", "shuffle", "warp_reduce")):
        return unanswered("it is right, and still a tree: let the threads of a warp shuffle.")
    if barriers > 1:
        return partly(f"there are {barriers} barriers, and one is enough: in front of the last warp's part.")
    ranges = ran[0].trace.events.query("name == 'largest'")
    if ranges.empty:
        return partly("keep the range largest, by which this is measured.")
    return right(f"{ranges.duration.max():,} cycles, and one barrier.")


def _not_largest(case: Case, ran: Ran) -> str | None:
    (x,) = case.inputs
    if ran.result.item() == 0 and x.max() < 0:
        return "all numbers are negative, and it finds 0: what does a thread without a number count as?"
    if ran.result.item() in x[:WARP] and ran.result.item() == x[:WARP].max():
        return "it finds the largest of the first warp: how do the warps exchange theirs?"
    if torch.isclose(ran.result, x.sum().reshape(1), rtol=1e-3).item():
        return "that is the sum."
    return None
