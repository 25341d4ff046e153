"""Kernels that students hand in: built, run on the virtual GPU, and compared, before anything else is said of them.

In: a builder, and cases, each with sizes, inputs and the right result. Out: what each run left, or the verdict that
says why the kernel is not right. The virtual GPU runs them wherever the course is held, so that thirty students are
told the same, and a kernel that hangs is told apart from one that is slow.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tltrace_nb.base.words import cell_of
from tltrace_nb.core.api import trace
from tltrace_nb.core.runtime.traced import VirtualTracedKernel
from tltrace_nb.course import Verdict, wrong
from tltrace_nb.course.accesses import Access, accesses, calls, parameters

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

RACE = "race on "
Explain = Callable[["Case", "Ran"], str | None]
"""What is wrong with a result, where a check knows; ``None`` where it does not."""


@dataclass(frozen=True)
class Case:
    """What a builder is called with, what its kernel is, and what must come out, to ``tolerance`` (0: to the bit)."""

    sizes: tuple[Any, ...]
    inputs: tuple[torch.Tensor, ...]
    expected: torch.Tensor
    tolerance: float = 0.0

    @property
    def shown(self) -> str:
        """The sizes, as the student's call of the builder has them."""
        return f"({', '.join(map(repr, self.sizes))})"


@dataclass(frozen=True)
class Ran:
    """One case of a kernel: its result, its trace, its tensors in the arguments' order, its accesses and its calls.

    ``pass_configs``: what its author has asked TileLang's passes for.
    """

    result: torch.Tensor
    trace: Trace
    tensors: tuple[str, ...]
    accesses: tuple[Access, ...]
    calls: tuple[str, ...]
    pass_configs: Mapping[str, Any]

    @property
    def race(self) -> str | None:
        """The first race that the virtual GPU has found: such a result is right by luck."""
        note = self.trace.meta.note
        return note[note.index(RACE) :].split("; " + RACE)[0] if RACE in note else None

    @property
    def launch_ns(self) -> float:
        """From the first CTA's entry to the last one's exit."""
        ctas = self.trace.ctas
        return float(ctas.end_ns.max() - ctas.start_ns.min())

    def uses(self, position: int, written: bool) -> list[Access]:
        """The accesses to the tensor at this position of the arguments, those that read it or those that write it."""
        return [a for a in self.accesses if a.buffer == self.tensors[position] and a.written == written]

    def outside(self, name: str, position: int, written: bool) -> bool:
        """Whether some access to this tensor lies outside of the range of that name, or none is there at all."""
        found = self.uses(position, written)
        return not found or any(name not in each.ranges for each in found)


def tried(
    build: Any, cases: Iterable[Case], explain: Explain = lambda _case, _ran: None, device: str = "virtual"
) -> list[Ran] | Verdict:
    """Run a builder's kernel on all cases; the verdict of the first in which it is not right."""
    if not callable(build):
        return wrong("hand in the kernel itself, the function under @trace.jit, without calling it.")
    ran = []
    for case in cases:
        shown = f"for {getattr(build, '__name__', 'the kernel')}{case.shown}"
        try:
            with trace.tracing(device=device):
                kernel = build(*case.sizes)
            if type(kernel) is not VirtualTracedKernel:
                return wrong("hand in the function under @trace.jit, which builds the kernel.")
            result, captured = VirtualTracedKernel.run(kernel, tuple(tensor.clone() for tensor in case.inputs))
        except Exception as error:  # a student's code may raise anything
            return wrong(f"{shown} it fails: {complaint(error, build)}")
        expected = case.expected
        if not isinstance(result, torch.Tensor) or (result.shape, result.dtype) != (expected.shape, expected.dtype):
            kind = str(expected.dtype).removeprefix("torch.")
            return wrong(f"{shown} the result must be one tensor of shape {tuple(expected.shape)} and of {kind}.")
        func = kernel.source
        ran.append(
            Ran(
                result,
                captured,
                tuple(parameters(func)),
                tuple(accesses(func)),
                tuple(calls(func)),
                kernel.pass_configs or {},
            )
        )
        if not torch.allclose(result, expected, rtol=case.tolerance, atol=case.tolerance):
            return wrong(f"{shown} {explain(case, ran[-1]) or _difference(case, result)}")
    return ran


def timed(build: Any, case: Case, device: str = "virtual") -> Ran:
    """One case of a kernel that comes with the course, to compare with."""
    ran = tried(build, [case], device=device)
    assert not isinstance(ran, Verdict), ran.why
    return ran[0]


def complaint(error: Exception, build: Any) -> str:
    """An error in one line: what the first line of its message says, and at which line of the student's code."""
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason given")
    file = getattr(getattr(inspect.unwrap(build), "__code__", None), "co_filename", None)
    place, traceback = "", error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == file or cell_of(code.co_filename):
            text = linecache.getline(code.co_filename, traceback.tb_lineno).strip()
            place = f" (at: {text})" if text else ""
        traceback = traceback.tb_next
    return f"{type(error).__name__}: {said}{place}"


def _difference(case: Case, result: torch.Tensor) -> str:
    """Where a result is wrong: how much of it, and the first such element."""
    expected = case.expected
    off = ~torch.isclose(result, expected, rtol=case.tolerance, atol=case.tolerance)
    first = tuple(int(i) for i in off.nonzero()[0])
    at = ", ".join(map(str, first))
    count = int(off.sum())
    return (
        f"the result is wrong in {count:,} of {off.numel():,} elements, first in [{at}]: "
        f"{result[first].item():.6g} instead of {expected[first].item():.6g}."
    )
