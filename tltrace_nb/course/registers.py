"""What the exercises of lesson 15 answer: registers of accumulators, CTAs on an SM, a GEMM that does not spill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tltrace_nb.base.gpus import Footprint, occupancy
from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.kernels import Case, timed, tried
from tltrace_nb.course.labs import normal
from tltrace_nb.course.numbers import number

if TYPE_CHECKING:
    from tltrace_nb.base.gpus import Gpu

SHAPES = ((512, 512, 512), (200, 300, 100))
"""M, N and K on which the kernel of exercise 3 is tried; the second is no multiple of a tile."""
SPILLING = {"bm": 128, "bn": 256, "threads": 128}
WORTH = 0.75
"""Time of a kernel that does not spill over that of the one that does, up to which exercise 3 is solved."""


def accumulators(answer: Any, tile: tuple[int, int], threads: int) -> Verdict:
    """Registers in which each thread has its part of a tile in fp32."""
    if answer is None:
        return unanswered()
    given, numbers = number(answer), tile[0] * tile[1]
    truth = numbers // threads
    if given == truth:
        return right(f"{numbers:,} numbers over {threads} threads, a register each.")
    if given == 4 * truth:
        return wrong("those are bytes; a register has 4.")
    if given == truth // 2:
        return wrong("that would do in fp16; accumulators in fp32 take a register each.")
    if given in (numbers, 4 * numbers):
        return wrong("that is the whole tile. How many threads share it?")
    if given == truth + 40:
        return wrong("that has the 40 others in it; how many are for accumulators?")
    return wrong("how many numbers has the tile, and how many threads share them?")


def ctas(answer: Any, gpu: Gpu, threads: int, registers: int) -> Verdict:
    """CTAs that the registers of an SM have room for."""
    if answer is None:
        return unanswered()
    given = number(answer)
    truth = occupancy(gpu, Footprint(threads=threads, registers=registers, shared=0)).ctas
    if given == truth:
        return right(f"{truth} · {threads} · {registers} = {truth * threads * registers:,} registers.")
    if given == gpu.max_threads_per_sm // threads:
        return wrong("so many by threads; how many by registers?")
    if given == gpu.registers_per_sm // registers:
        return wrong("that counts threads. How many CTAs are they?")
    if given == gpu.registers_per_sm // threads:
        return wrong("so many registers a thread might have, if the CTA were alone.")
    return wrong("how many registers has one such CTA, and how many has the SM?")


def without_spills(build: Any, given: Any) -> Verdict:
    """Whether the kernel is right, spills nothing, and takes at most three quarters of the time of one that does."""
    if build is None:
        return unanswered("change the kernel, then run this cell again.")
    cases = [_case(*shape) for shape in SHAPES]
    ran = tried(build, cases)
    if isinstance(ran, Verdict):
        return ran
    note = ran[0].trace.meta.note
    if "registers spill" in note:
        spills = next(part for part in note.split("; ") if "registers spill" in part)
        return unanswered(spills) if ran[0].launch_ns > 0.99 * _spilling(given, cases[0]) else wrong(spills)
    if any(a.written and a.operator == "gemm" and a.dtype != "float32" for a in ran[0].accesses):
        return wrong("the accumulators must stay in fp32: 512 additions in fp16 lose digits.")
    share = ran[0].launch_ns / _spilling(given, cases[0])
    if share > WORTH:
        return partly(f"nothing spills, and it takes {share:.0%} of the time: at most {WORTH:.0%} is asked.")
    return right(f"nothing spills, and it takes {share:.0%} of the time.")


def _spilling(given: Any, case: Case) -> float:
    """The time of the kernel that spills."""
    return timed(lambda *sizes: given(*sizes, **SPILLING), case).launch_ns


def _case(m: int, n: int, k: int) -> Case:
    a, b = normal(m, k, dtype="float16"), normal(k, n, dtype="float16")
    return Case((m, n, k), (a, b), (a.float() @ b.float()).half(), tolerance=0.1)
