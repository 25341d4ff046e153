"""What the exercises of lesson 8 answer: a static schedule's busiest worker, an order for it, bounds of any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.numbers import number

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

NEAR = 1.2
"""The busiest worker's blocks over those of the longest document, up to which exercise 2 is solved."""


def busiest(answer: Any, trace: Trace, lengths: Sequence[int]) -> Verdict:
    """Blocks of the busiest worker; ``trace``: a CTA a worker, the payload of ``document`` counts in ``lengths``."""
    if answer is None:
        return unanswered()
    given = number(answer)
    if given is None:
        return wrong("give one number of blocks")
    work = [int(length) for length in lengths]
    ranges = trace.events.query("name == 'document'")
    done = ranges.assign(blocks=[work[int(payload)] for payload in ranges.payload]).groupby("cta").blocks.sum()
    most, mean = int(done.max()), sum(work) / len(done)
    if given == most:
        return right(f"worker {done.idxmax()} adds up {most} blocks, {most / mean:.1f} times the mean.")
    if given == max(work):
        return wrong("that is the longest document alone. Its worker goes on afterwards: with which?")
    if given in (mean, round(mean)):
        return wrong("that is the mean. Nobody sees to it that the workers have the same")
    if given == int(done.min()):
        return wrong("that is the idlest worker")
    return wrong("write down for each worker which documents of the list it takes (w, w + workers, …), and add them up")


def order(answer: Any, lengths: Sequence[int], workers: int) -> Verdict:
    """The numbers of ``lengths`` in an order in which ``workers`` workers, round-robin, have nearly even work."""
    if answer is None:
        return unanswered()
    work = [int(length) for length in lengths]
    try:
        numbers = [int(document) for document in answer]
    except (TypeError, ValueError, OverflowError):
        return wrong("give a list of numbers")
    before = list(range(len(work)))
    if sorted(numbers) != before:
        return wrong(f"each of the numbers 0 to {len(work) - 1} must be there exactly once")
    if numbers == before:
        return unanswered("this is the order as it was: change it, run the cell, then run this cell again.")
    done = [sum(work[document] for document in numbers[worker::workers]) for worker in range(workers)]
    worst = max(range(workers), key=done.__getitem__)
    if done[worst] <= NEAR * max(work):
        return right(f"the busiest worker has {done[worst]} blocks; the longest document alone has {max(work)}.")
    has = f"worker {worst} has {done[worst]} blocks"
    if numbers == before[::-1]:
        return wrong(f"the other way round it is no better: {has}, as it still gets the longest of each round")
    mine = ", ".join(str(work[document]) for document in numbers[worst::workers])
    return wrong(f"{has} ({mine}): give it shorter ones beside its longest")


def bounds(answer: Any, lengths: Sequence[int], workers: int) -> Verdict:
    """The least blocks that the busiest of ``workers`` can have: (with whole documents, with cut ones)."""
    if answer is None:
        return unanswered()
    try:
        whole, cut = map(number, answer)
    except (TypeError, ValueError):
        return wrong("give two numbers: with whole documents, with cut ones")
    work = [int(length) for length in lengths]
    mean = sum(work) / workers
    least_cut = -(-sum(work) // workers)
    least_whole = max(*work, least_cut)
    if cut not in (mean, least_cut):
        if cut == max(work):
            return wrong("cut: then even the longest document need not be one worker's alone")
        if cut in (1, min(work)):
            return wrong("cut: all blocks must be done by somebody, not only the least part of them")
        return wrong("cut: what does each worker have if all have the same?")
    if whole == least_whole:
        return right(f"a document of {max(work)} blocks is more than the mean of {mean:g}: only cutting goes below it.")
    if whole in (mean, least_cut):
        return partly("whole: the mean can be reached only if no single document is longer than it")
    return partly("whole: which document must somebody take, and can it be shared?")
