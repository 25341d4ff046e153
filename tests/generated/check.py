"""One kernel through one build: does the trace say what the source does, and is the traced kernel the untraced one?"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from kernels import builds
from kernels.source import compared

from generated.contract import automatic_differences, differences
from generated.features import moved_by_specialisation
from generated.interpreter import MalformedError, Outcome, inputs, interpret
from generated.nodes import Kernel
from generated.render import render
from tltrace_nb.base.errors import MarkerError, PayloadError, PlacementError, TokenError
from tltrace_nb.core.compile.lowering import Lowering
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.virtual import VirtualKernel, compile_virtual
from tltrace_nb.core.trace import Trace
from tltrace_nb.simulator.errors import SimulationError, UnsupportedError

REFUSALS = (PlacementError, PayloadError, MarkerError, TokenError)
"""How the package says that it does not trace a kernel as it is marked."""


DEADLINE = 60
"""Seconds of the processor's time within which a build is made and checked; most take one or two."""


class Verdict(enum.StrEnum):
    """What became of a build."""

    AGREES = "agrees"
    REFUSED = "refused"
    NO_KERNEL = "TileLang refuses it unmarked"
    MALFORMED = "no program"
    OTHERWISE = "TileLang's kernel computes something else"
    DIFFERS = "differs"


@dataclass(frozen=True)
class How:
    """One way of building a kernel: the GPU model, whether TileLang may specialise warps, and who marks."""

    gpu: str
    specialised: bool = True
    auto: str | None = None

    @property
    def architecture(self) -> str:
        """The model's architecture."""
        return {"a100": "sm_80", "h200": "sm_90a"}[self.gpu]

    @property
    def pass_configs(self) -> dict[str, Any]:
        """TileLang's pass configs."""
        return {} if self.specialised else {"tl.disable_warp_specialized": True}

    def __str__(self) -> str:
        return "-".join((self.architecture, "ws" if self.specialised else "plain", self.auto or "by_hand"))


BY_HAND = (How("a100"), How("h200"), How("h200", specialised=False))
AUTOMATIC = tuple(dataclasses.replace(how, auto=auto) for how in BY_HAND for auto in ("light", "all"))
WAYS = {str(how): how for how in (*BY_HAND, *AUTOMATIC)}


@dataclass(frozen=True)
class Result:
    """The verdict on one build. ``kind`` names the kind of a difference, ``details`` say what and where."""

    how: How
    verdict: Verdict
    kind: str = ""
    details: tuple[str, ...] = ()


def fits(kernel: Kernel, how: How) -> bool:
    """Whether an architecture has what the kernel uses, and TileLang does not itself compute something else there."""
    if how.gpu == "h200" and how.specialised and moved_by_specialisation(kernel):
        return False
    return how.gpu == "h200" or all(launch.cluster == 1 for launch in kernel.launches)


def ways(kernel: Kernel, seed: int) -> list[How]:
    """Two ways for a seed, marked by hand and automatically, so that a few seeds together go all."""
    by_hand, automatic = ([how for how in hows if fits(kernel, how)] for hows in (BY_HAND, AUTOMATIC))
    return [by_hand[seed % len(by_hand)], automatic[seed % len(automatic)]]


def check(kernel: Kernel, how: How, cuda: bool = True) -> Result:
    """Build, run and compare one kernel one way; ``cuda``: the invariant, too, which takes as long as all the rest."""
    try:
        with _deadline():
            return _checked(kernel, how, cuda)
    except _ExpiredError:
        return Result(how, Verdict.DIFFERS, "too slow", (f"more than {DEADLINE} s of the processor's time",))


class _ExpiredError(BaseException):
    """No ``Exception``: code that tries one thing after the other must not take it for one that failed."""


@contextlib.contextmanager
def _deadline() -> Iterator[None]:
    """Processor time, so that a busy machine changes nothing."""

    def expired(*_: object) -> None:
        raise _ExpiredError

    before = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, DEADLINE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _checked(kernel: Kernel, how: How, cuda: bool) -> Result:
    try:
        outcome = interpret(kernel)
    except MalformedError as error:
        return Result(how, Verdict.MALFORMED, details=(str(error),))
    source = render(kernel, marked=how.auto is None)
    try:
        func = source.build()
        options = TraceOptions.of(auto=how.auto)
        virtual = compile_virtual(func, how.gpu, options, pass_configs=how.pass_configs, races="off")
    except REFUSALS as error:
        return Result(how, Verdict.REFUSED, _reason(error), (str(error),))
    except Exception as error:  # whatever it is, it is a finding, unless TileLang takes the kernel no better unmarked
        if refused := _refused_unmarked(kernel, how):
            return Result(how, Verdict.NO_KERNEL, details=(refused,))
        return _crash(how, "building", error)
    try:
        tensors, trace = _run(virtual, kernel)
        wrong = _outputs(kernel, outcome, tensors)
        if wrong:
            if _computes_the_same(kernel, how, tensors):
                return Result(how, Verdict.OTHERWISE, details=tuple(wrong))
            return Result(how, Verdict.DIFFERS, "outputs", tuple(wrong))
        found = automatic_differences(source, outcome, trace) if how.auto else differences(kernel, outcome, trace)
    except Exception as error:  # as above
        if failed := _fails_untraced(kernel, how):
            return Result(how, Verdict.NO_KERNEL, details=(failed,))
        return _crash(how, "running", error)
    if found:
        return Result(how, Verdict.DIFFERS, "events", tuple(found))
    if not cuda:
        return Result(how, Verdict.AGREES)
    try:
        return invariant(virtual.lowering, func, how)
    except Exception as error:  # as above
        if refused := _refused_unmarked(kernel, how):
            return Result(how, Verdict.NO_KERNEL, details=(refused,))
        return _crash(how, "generating", error)


def invariant(low: Lowering, func: Any, how: How) -> Result:
    """Whether the traced CUDA source without what tracing adds is the untraced one."""
    recording, plain, note = builds.planned(low, lambda: func, how.architecture, how.pass_configs)
    traced, bare = compared(recording.cuda, plain.cuda)
    if traced == bare or note:
        return Result(how, Verdict.AGREES, "planned otherwise, and said so" if note else "")
    ours, theirs = traced.split("\n"), bare.split("\n")
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    details = [
        f"line {at}",
        *(f"- {line}" for line in theirs[at : at + 4]),
        *(f"+ {line}" for line in ours[at : at + 4]),
    ]
    return Result(how, Verdict.DIFFERS, "CUDA", tuple(details))


def _refused_unmarked(kernel: Kernel, how: How) -> str:
    """TileLang's reason for not taking the kernel without markers, if it does not."""
    try:
        builds.plain(render(kernel, marked=False).build(), how.architecture, how.pass_configs)
    except Exception as error:  # TileLang raises whatever it raises
        return f"{type(error).__name__}: {_last_line(error)}"
    return ""


def _run(virtual: VirtualKernel, kernel: Kernel) -> tuple[dict[str, torch.Tensor], Trace]:
    tensors = {name: torch.from_numpy(array) for name, array in inputs(kernel).items()}
    _, trace = virtual.run([tensors[tensor.name] for tensor in kernel.tensors], [])
    return tensors, trace


def _fails_untraced(kernel: Kernel, how: How) -> str:
    """How the kernel fails without markers, if it does: a role that has returned lets the other wait for ever."""
    try:
        func = render(kernel, marked=False).build()
        _run(compile_virtual(func, how.gpu, pass_configs=how.pass_configs, races="off"), kernel)
    except Exception as error:  # whatever it is, no marker is the reason
        return f"{type(error).__name__}: {_last_line(error)}"
    return ""


def _computes_the_same(kernel: Kernel, how: How, traced: dict[str, torch.Tensor]) -> bool:
    """Whether the kernel computes on the virtual GPU without markers what it did with them, bit by bit.

    TileLang runs an operator of a pipeline that is deeper than its loop once more, or does not wait for its last copy.
    A card agrees: see ``tests/gpu/test_generated_on_card.py``.
    """
    func = render(kernel, marked=False).build()
    tensors, _ = _run(compile_virtual(func, how.gpu, pass_configs=how.pass_configs, races="off"), kernel)
    return all(torch.equal(tensor, traced[name]) for name, tensor in tensors.items())


def _outputs(kernel: Kernel, outcome: Outcome, tensors: dict[str, torch.Tensor]) -> list[str]:
    wrong = []
    for tensor in kernel.tensors:
        got, want = tensors[tensor.name].numpy(), outcome.tensors[tensor.name]
        if not np.array_equal(got, want):
            places = np.argwhere(got != want)
            at = tuple(int(i) for i in places[0])
            wrong.append(
                f"{tensor.name}{list(at)} is {got[at]}, expected {want[at]}; {len(places)} of {got.size} differ"
            )
    return wrong


def _crash(how: How, when: str, error: Exception) -> Result:
    of = "virtual GPU" if isinstance(error, (UnsupportedError, SimulationError)) else type(error).__name__
    return Result(how, Verdict.DIFFERS, f"{of} {when}", (f"{type(error).__name__}: {error}"[-2000:],))


def _reason(error: Exception) -> str:
    """A refusal without the names and numbers of one kernel."""
    text = re.sub(r"^kernel \w+, \S+:\d+: ", "", str(error))
    text = re.sub(r"'[^']*'", "'…'", text)
    text = re.sub(r"\S+\.py:\d+(, )?", "…", text)
    return f"{type(error).__name__}: {re.sub(r'[0-9]+', '#', text)}"


def _last_line(error: Exception) -> str:
    lines = [line for line in str(error).strip().split("\n") if line.strip()]
    return lines[-1][:300] if lines else ""
