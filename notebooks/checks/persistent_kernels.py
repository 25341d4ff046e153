"""The exercises of lesson 8: the busiest worker of a static schedule, an order for one, two bounds of any schedule."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from checks import Verdict, right, unanswered, wrong

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

NEAR = 1.2
"""The busiest worker's blocks over those of the longest document, up to which exercise 2 calls a schedule balanced."""


def busiest(answer: Any, trace: Trace, lengths: Sequence[int]) -> Verdict:
    """``answer``: blocks of the busiest CTA of ``trace``, whose ranges ``document`` carry their number in ``lengths``."""
    if answer is None:
        return unanswered()
    if isinstance(answer, bool) or not isinstance(answer, Real):
        return wrong("give one number of blocks")
    work = [int(length) for length in lengths]
    ranges = trace.events.query("name == 'document'")
    done = ranges.assign(blocks=[work[int(payload)] for payload in ranges.payload]).groupby("cta").blocks.sum()
    most, mean = int(done.max()), sum(work) / len(done)
    given = float(answer)
    if given == most:
        return right(f"worker {int(done.idxmax())} adds up {most} blocks, {most / mean:.1f} times the mean")
    if given == max(work):
        return wrong(
            "that is the longest document alone. Its worker does not stop there: which documents does it take afterwards?"
        )
    if given in (mean, round(mean)):
        return wrong("that is the mean. Nobody sees to it that the workers have the same")
    if given == int(done.min()):
        return wrong("that is the idlest worker")
    return wrong("write down for each worker which documents of the list it takes (w, w + workers, …), and add them up")


def order(answer: Any, lengths: Sequence[int], workers: int) -> Verdict:
    """``answer``: the numbers of ``lengths`` in an order in which ``workers`` workers, in turn, have even work."""
    if answer is None:
        return unanswered()
    work = [int(length) for length in lengths]
    try:
        numbers = [int(number) for number in answer]
    except (TypeError, ValueError):
        return wrong("give a list of numbers")
    if sorted(numbers) != list(range(len(work))):
        return wrong(f"each of the numbers 0 to {len(work) - 1} must be there exactly once")
    if numbers == list(range(len(work))):
        return unanswered("this is the order as it was: change it, run the cell, then run this cell again.")
    done = [sum(work[number] for number in numbers[worker::workers]) for worker in range(workers)]
    mean = sum(work) / workers
    worst = max(range(workers), key=done.__getitem__)
    if done[worst] <= NEAR * max(work):
        return right(f"the busiest worker has {done[worst]} blocks; the longest document alone has {max(work)}")
    if numbers == list(range(len(work)))[::-1]:
        return wrong(
            f"the other way round it is no better: worker {worst} has {done[worst]} blocks, for it still takes a long one in "
            "each turn"
        )
    mine = ", ".join(str(work[number]) for number in numbers[worst::workers])
    return wrong(f"worker {worst} has {done[worst]} blocks ({mine}), the mean is {mean:g}: give it shorter ones beside its longest")


def bounds(answer: Any, lengths: Sequence[int], workers: int) -> Verdict:
    """``answer``: the least that the busiest of ``workers`` can have (with whole documents, with cut ones), in blocks."""
    if answer is None:
        return unanswered()
    try:
        whole, cut = (float(value) for value in answer)
    except (TypeError, ValueError):
        return wrong("give two numbers: with whole documents, with cut ones")
    work = [int(length) for length in lengths]
    mean = sum(work) / workers
    least_cut = -(-sum(work) // workers)
    least_whole = max(*work, least_cut)
    if cut not in (mean, least_cut):
        if cut == min(work):
            return wrong("cut: the shortest document bounds nothing. All blocks must be done by somebody")
        if cut == 1:
            return wrong("cut: if every worker had one block, most blocks would be left undone")
        return wrong("cut: what does each worker have if all have the same?")
    if whole == least_whole:
        return right(f"a whole document of {max(work)} blocks is more than the mean of {mean:g}: only cutting goes below")
    if whole in (mean, least_cut):
        return wrong("whole: the mean can be reached only if no single document is longer than it")
    return wrong("whole: which document must somebody take, and can it be shared?")
