"""What the exercises of lesson 14 answer: a bound, the cause of a slow kernel, and the kernel mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tltrace_nb.course import Verdict, partly, right, unanswered, wrong
from tltrace_nb.course.given import ring_of_slots
from tltrace_nb.course.kernels import Case, timed, tried
from tltrace_nb.course.labs import normal
from tltrace_nb.course.numbers import near, number

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

SHAPES = ((128, 128, 2048), (64, 128, 160), (100, 72, 40), (64, 64, 32))
"""M, N and K on which a mended kernel is tried: the timed one, no multiple of the slots, of no tile, one iteration."""
EXPERIMENTS: dict[str, dict[str, int]] = {"slots": {"slots": 8}, "step": {"step": 64}, "tile": {"tile": 128}}
"""What is changed to see whether a suspect is the cause."""
SUSPECTS = (*EXPERIMENTS, "store", "wait")
WORTH = 0.45
"""Time of a mended kernel over that of the given one, up to which exercise 3 is solved."""


def bound(answer: Any, trace: Trace) -> Verdict:
    """The least cycles of the main loop of CTA 0: the sum of its MMAs."""
    if answer is None:
        return unanswered()
    given = number(answer)
    events = trace.events[trace.events["cta"] == 0]
    mmas = events[events["name"] == "mma"]
    truth, longest = int(mmas.duration.sum()), int(mmas.end.max() - mmas.start.min())
    if given is None:
        return wrong("give one number of cycles.")
    if near(given, truth):
        return right(
            f"{truth:,} cycles for {len(mmas)} MMAs. The loop takes {longest:,}, {longest / truth:.1f} times that."
        )
    if near(given, mmas.duration.mean()):
        return wrong("that is one MMA. How many does the CTA do?")
    if near(given, longest) or near(given, trace.ctas.duration.max()):
        return wrong("so long it takes now. How long if there were nothing but MMAs?")
    if near(given, trace.events[trace.events["name"] == "mma"].duration.sum()):
        return wrong("those are the MMAs of all CTAs, which run on SMs of their own.")
    if near(given, truth + events[events["name"] == "load"].duration.sum()):
        return wrong("the loads are another role's: they need not take any time of the consumer.")
    return wrong("in the table, which row has the work that nothing can take away?")


def cause(answer: Any, build: Any) -> Verdict:
    """The suspect whose change brings most, each of which is measured."""
    if answer is None:
        return unanswered()
    if not isinstance(answer, str) or answer not in SUSPECTS:
        return wrong(f"answer with one of the words {', '.join(SUSPECTS)}.")
    shares = measured(build)
    found = min(shares, key=lambda suspect: shares[suspect])
    said = _said(answer, shares[answer])
    if answer == found:
        others = {suspect: share for suspect, share in shares.items() if suspect != found}
        second = min(others, key=lambda suspect: others[suspect])
        return right(f"{said}. Next comes {second}, with {others[second]:.0%}.")
    if shares[answer] < 0.9:
        return wrong(f"{said}. That helps, but another brings more. Does it explain why both sides wait?")
    return wrong(f"{said}: that is not it.")


def measured(build: Any) -> dict[str, float]:
    """Of each suspect: the time of the launch when it is changed, as a part of the time of ``build``."""
    case = _case(*SHAPES[0])
    before = timed(build, case)
    times = {suspect: timed(_with(build, options), case).launch_ns for suspect, options in EXPERIMENTS.items()}
    events, ctas = before.trace.events, before.trace.ctas
    store = float(events[events["name"] == "store"].duration.max() / ctas.clock_ghz.median())
    times["store"] = before.launch_ns - store
    times["wait"] = timed(_with(ring_of_slots, {"slots": 4}), case).launch_ns
    return {suspect: times[suspect] / before.launch_ns for suspect in SUSPECTS}


def mended(build: Any, given: Any) -> Verdict:
    """Whether the kernel is right, without a race, and takes at most 45 % of the given one's time."""
    if build is None:
        return unanswered("mend the kernel, then run this cell again.")
    cases = [_case(*shape) for shape in SHAPES]
    ran = tried(build, cases)
    if isinstance(ran, Verdict):
        return ran
    if race := next((each.race for each in ran if each.race), None):
        return wrong(f"the result is right, and there is a {race}")
    share = ran[0].launch_ns / timed(given, cases[0]).launch_ns
    if share > 0.99:
        return unanswered("it is right, and as slow as before.")
    if share > WORTH:
        return partly(f"it takes {share:.0%} of the time, and at most {WORTH:.0%} is asked: is the cause mended?")
    return right(f"it takes {share:.0%} of the time.")


def _said(suspect: str, share: float) -> str:
    if suspect == "store":
        return f"if the store took no time at all, the launch would take {share:.0%} of its time"
    if suspect == "wait":
        return f"with a producer that waits for no more than it must the launch takes {share:.0%} of its time"
    ((name, value),) = EXPERIMENTS[suspect].items()
    return f"with {name}={value} the launch takes {share:.0%} of its time"


def _with(build: Any, options: dict[str, int]) -> Any:
    """The builder with some of its arguments given."""
    return lambda *sizes: build(*sizes, **options)


def _case(m: int, n: int, k: int) -> Case:
    a, b = normal(m, k, dtype="float16"), normal(k, n, dtype="float16")
    return Case((m, n, k), (a, b), (a.float() @ b.float()).half(), tolerance=0.3)
