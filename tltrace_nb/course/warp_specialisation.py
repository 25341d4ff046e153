"""What the exercises of lesson 6 answer: threads and roles, slots that are enough, arrivals at an mbarrier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.kernels import Case, tried
from tltrace_nb.course.numbers import number

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

SLACK_CYCLES = 24
"""Mean bubbles that differ by no more than what a record takes count as the same."""


def launch(answer: Any, trace: Trace) -> Verdict:
    """(threads of the launch, thread that records ``mma``); ``trace``: of a kernel that TileLang split."""
    if answer is None:
        return unanswered()
    try:
        threads, thread = map(number, answer)
    except (TypeError, ValueError):
        threads = thread = None
    if threads is None or thread is None:
        return wrong("give two numbers, such as (256, 0): the threads of the launch, and the thread that records mma")
    launched = trace.table.launches[0].block[0]
    roles = trace.events.groupby("role", observed=True).thread.min()
    consumer, producer = int(roles["consumer"]), int(roles["producer"])
    authored = launched - abs(consumer - producer)
    if threads == authored:
        return wrong("those are the author's threads; the copies have threads of their own beside them")
    if threads == 2 * authored != launched:
        return wrong(
            "the producer does not grow with the consumer: it is one warp group, as registers move by warp groups. "
            "How many threads did TileLang add to the kernel of 128?"
        )
    if threads != launched:
        return wrong("the number of threads is not right: the author's, and the producer's beside them")
    if thread == producer:
        return partly("the number of threads is right; but that thread copies. Who comes first in the launch?")
    if thread != consumer:
        return partly("the number of threads is right; the consumer's first thread comes straight after the producer")
    return right(f"{launched} threads: the producer's {launched - authored} from {producer}, the author's behind them.")


def enough_stages(answer: Any, sweep: Mapping[int, Trace]) -> Verdict:
    """The fewest stages with no more bubble than the best; ``sweep``: a trace by number of stages."""
    if answer is None:
        return unanswered()
    bubbles = {
        stages: float(trace.pipeline("load", "mma", wait="wait full").bubble.mean()) for stages, trace in sweep.items()
    }
    given = number(answer)
    if given not in bubbles:
        return wrong(f"give one of the numbers of stages that were run: {', '.join(map(str, bubbles))}")
    enough = min(n for n, bubble in bubbles.items() if bubble <= min(bubbles.values()) + SLACK_CYCLES)
    if given < enough:
        return wrong(
            f"with {given:.0f} an MMA still waits {bubbles[int(given)]:.0f} cycles for a slot that is not full, and "
            "more stages take that away. Look at the row of the bubble"
        )
    if given > enough:
        return wrong("the bubble is gone, but is it not gone with fewer stages, too? More only cost shared memory")
    return right(f"with {enough} slots a copy has the time of {enough - 1} MMAs, and that is enough.")


def attempt(build: Callable[..., Any], stages: int, arrivals: Any, *inputs: Any) -> str | None:
    """Build and run the kernel on the virtual GPU; what went wrong in one line, ``None`` if its result is right."""
    a, b = (tensor.cpu() for tensor in inputs)
    count = int(number(arrivals) or 0)  # "128" and 128.0 are answers, too
    expected = (a.float() @ b.float()).half()
    failed = tried(lambda: build(stages=stages, arrivals=count), [Case((), (a, b), expected, tolerance=0.1)])
    return failed.why if isinstance(failed, Verdict) else None


def arrivals(answer: Any, hung: Trace, run: Callable[[], str | None]) -> Verdict:
    """How many threads arrive at a phase of ``empty``; ``hung``: trace of the deadlock; ``run`` tries the answer."""
    if answer is None:
        return unanswered()
    launched = hung.table.launches[0].block[0]
    leads = hung.events.groupby("group", observed=True).thread.min()
    consumers = int(leads["producer"]) - int(leads["consumer"])
    given = number(answer)
    if given is None or not given.is_integer():
        return wrong("give a whole number of threads")
    if given == consumers:
        failed = run()
        return wrong(failed) if failed else right(f"each of the consumer's {consumers} threads arrives, and it runs.")
    if given == launched:
        return wrong("those are all threads of the CTA, and with that it hung: the producer's never arrive there")
    if given == 1:
        return wrong(
            "the marker records one thread, but every thread of the branch executes the arrival. With too few, the "
            "phase is over when the first of them arrives, while the others still multiply"
        )
    if given < consumers:
        return wrong("the phase would be over before all consumers have arrived: count threads, not warps or slots")
    return wrong("so many threads never pass that line: which branch is it in, and how many threads take it?")
