"""What the exercises of lesson 13 answer: barriers that order something, one barrier a step, a ring without a race."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

import torch

from tltrace_nb.course import Verdict, right, unanswered, wrong
from tltrace_nb.course.given import ring_of_slots
from tltrace_nb.course.kernels import Case, Ran, timed, tried
from tltrace_nb.course.labs import normal

BARRIERS = "abcd"
STEPS = (8, 7, 1)
"""Of the kernel of exercise 2; an odd number ends in the other buffer."""
SHAPES = ((128, 128, 512), (64, 64, 32), (64, 128, 160))
"""M, N and K of the kernel of exercise 3: many iterations, one, and no multiple of the ring's slots."""
SLACK = 1.2
"""Time of a mended ring over that of a right one, up to which it still loads while it multiplies."""
UNPLANNED = "tl.disable_thread_storage_sync"
"""TileLang's option to add no barriers of its own."""
Smoothed = Callable[[torch.Tensor, int], torch.Tensor]


def barriers(answer: Any, build: Any, smoothed: Smoothed) -> Verdict:
    """The letters of the barriers that must stay: without each of them there is a race."""
    if answer is None:
        return unanswered()
    if isinstance(answer, Collection) and not isinstance(answer, str) and all(isinstance(a, str) for a in answer):
        answer = "".join(answer)
    if not isinstance(answer, str) or not re.fullmatch(rf"[{BARRIERS},\s]*", answer.lower()):
        return wrong('give the letters of the barriers that must stay, out of a, b, c and d, such as "acd".')
    kept = "".join(letter for letter in BARRIERS if letter in answer.lower())
    ran = _with(build, kept, smoothed)
    if isinstance(ran, Verdict):
        return ran
    if found := _race(ran):
        return wrong(f"with {', '.join(kept) or 'none'} alone there is a {found}")
    for letter in kept:
        fewer = _with(build, kept.replace(letter, ""), smoothed)
        if not isinstance(fewer, Verdict) and not _race(fewer):
            return wrong(f"there is no race, and without {letter} there is none, either: what does it order?")
    return right(f"without any of {', '.join(kept)} there is a race, and {_others(kept)} orders nothing.")


def one_barrier(build: Any, smoothed: Smoothed) -> Verdict:
    """Whether the kernel smooths with one barrier in its loop, and without a race."""
    if build is None:
        return unanswered("change the kernel, then run this cell again.")

    def explain(case: Case, ran: Ran) -> str | None:
        (steps,), (a,) = case.sizes, case.inputs
        others = {steps - 1: "one step less", steps + 1: "one step more"}
        return next(
            (
                f"that is the result of {said}: in which buffer is the last one?"
                for other, said in others.items()
                if torch.allclose(ran.result, smoothed(a, other), atol=1e-5)
            ),
            None,
        )

    inputs = ((steps, normal(256)) for steps in STEPS)
    ran = tried(build, [Case((n,), (a,), smoothed(a, n), tolerance=1e-5) for n, a in inputs], explain)
    if isinstance(ran, Verdict):
        return ran
    if found := next(filter(None, map(_race, ran)), None):
        return wrong(f"the result is right, and there is a {found}")
    if not ran[0].pass_configs.get(UNPLANNED):
        return wrong("keep pass_configs=BY_HAND: without it TileLang adds the barriers that are missing.")
    count = ran[0].calls.count("tvm_storage_sync")
    if count > 2:
        return unanswered(f"there is no race, and {count} barriers: one in the loop and one in front of it are enough.")
    return right("one barrier a step orders its reads and its writes with those of the next.")


def mended(build: Any) -> Verdict:
    """Whether the ring has no race left, and still loads while it multiplies."""
    if build is None:
        return unanswered("mend the kernel, then run this cell again.")
    inputs = ((shape, *_matrices(*shape)) for shape in SHAPES)
    cases = [Case(shape, (a, b), (a.float() @ b.float()).half(), tolerance=0.1) for shape, a, b in inputs]
    ran = tried(build, cases)
    if isinstance(ran, Verdict):
        return ran
    if found := next(filter(None, map(_race, ran)), None):
        return wrong(f"the result is right, and there is a {found}")
    needed = timed(lambda *sizes: ring_of_slots(*sizes, slots=3), cases[0])
    share = ran[0].launch_ns / needed.launch_ns
    if share > SLACK:
        return wrong(
            f"there is no race, but it takes {share:.1f} times as long as needed: it waits for more than it must. "
            "Which MMA must be over before a slot is filled again?"
        )
    return right(f"no race, and a CTA takes {ran[0].trace.ctas.duration.max():,} cycles.")


def _with(build: Any, kept: str, smoothed: Smoothed) -> Ran | Verdict:
    """Eight steps with these barriers."""
    a = normal(256)
    ran = tried(build, [Case((8, kept), (a,), smoothed(a, 8), tolerance=1e-5)])
    return ran if isinstance(ran, Verdict) else ran[0]


def _race(ran: Ran) -> str | None:
    """A race, or that nobody can say whether there is one."""
    note = ran.trace.meta.note
    return ran.race or (
        "kernel that was " + note[note.index("not checked") :] if "not checked for races" in note else None
    )


def _others(kept: str) -> str:
    return ", ".join(letter for letter in BARRIERS if letter not in kept) or "nothing else"


def _matrices(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    return normal(m, k, dtype="float16"), normal(k, n, dtype="float16")
