"""What went wrong in a run, in words: where in the kernel, which threads, who waits for whom.

In: thread groups, what they asked for, the lines of the program. Out: exceptions and messages. Nothing here runs while
all is well: where a thread group is follows from its generator, or from the traceback of the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from tltrace_nb.simulator.barriers import Gathering
from tltrace_nb.simulator.errors import SimulationError
from tltrace_nb.simulator.program import FILE, Program
from tltrace_nb.simulator.thread_group import ThreadGroup
from tltrace_nb.simulator.yields import Meet, Sync, Wait

FAULTS = (SimulationError, ArithmeticError, LookupError, TypeError, ValueError)
"""What may go wrong in generated code through what the kernel does."""
_SHOWN = 16
"""Thread groups that a report of a deadlock names."""


def fault(program: Program, thread_group: ThreadGroup, error: Exception, line: int | None = None) -> SimulationError:
    """The error that says which threads failed and at which line of the source.

    ``line``: that of the generated code which had asked for what failed; by default the traceback tells.
    """
    where = _place(program, _line(error.__traceback__) if line is None else line)
    known = isinstance(error, SimulationError)
    text = str(error) if known else f"{type(error).__name__}: {error}"
    kind = type(error) if isinstance(error, SimulationError) else SimulationError
    return kind(f"{thread_group}{where}: {text}")


def interruption(program: Program, name: str, error: BaseException, done: int, total: int) -> str:
    """Where a run was when it was interrupted."""
    found = _frame(error.__traceback__)
    who = f"kernel {name}" if found is None else f"{found.tb_frame.f_locals['c']}{_place(program, found.tb_lineno)}"
    return f"{who}: interrupted after {done} of {total} CTAs; what was recorded until then is in trace.last"


def deadlock(
    program: Program,
    name: str,
    cycles: float,
    waiting: Mapping[ThreadGroup, Any],
    live: Iterable[ThreadGroup],
    gathered: Mapping[Any, Gathering],
) -> str:
    """Who waits for what, at which line, and who was to come there."""
    stuck = sorted(live, key=lambda s: (s.cta.number, s.index))
    ctas = len({s.cta.number for s in stuck})
    where = f"{ctas} CTAs" if ctas > 1 else "one CTA"
    lines = [f"kernel {name}: deadlock after {cycles:,.0f} cycles; nobody can go on in {where}:"]
    for thread_group in stuck[:_SHOWN]:
        where = _place(program, thread_group.line)
        wanted = _wanted(program, thread_group, waiting.get(thread_group), gathered)
        lines.append(f"  {thread_group.who}{where}: waits for {wanted}")
    if len(stuck) > _SHOWN:
        lines.append(f"  and {len(stuck) - _SHOWN} more")
    lines.append(
        "  Check that each wait has its arrivals: their order, the parity, and how many the barrier is made for."
    )
    return "\n".join(lines)


def _wanted(program: Program, thread_group: ThreadGroup, request: Any, gathered: Mapping[Any, Gathering]) -> str:
    siblings = thread_group.cta.thread_groups
    match request:
        case Wait(barrier, parity):
            coming = [
                f"{_threads([siblings[i] for i in arrival.thread_groups])} at {arrival.line or 'an unknown line'}"
                for arrival in program.arrivals.get(barrier.buffer, ())
            ]
            who = f"; arrivals come from {', and '.join(coming)}" if coming else "; nothing in the kernel arrives there"
            return f"parity {parity} of {barrier}{who}"
        case Meet(place, thread_groups):
            here = gathered[thread_group.cta, place].thread_groups
            missing = [siblings[i] for i in thread_groups if siblings[i] not in here]
            return f"{_threads(missing)}, to do a tile operator together"
        case Sync(scope, number, expected, _):
            if scope != "cta":
                return f"all CTAs of the {scope}, of which some have left or found no place on an SM"
            came = next(g.threads for g in gathered.values() if thread_group in g.thread_groups)
            wanted = expected or sum(s.n for s in siblings if s.engine.is_live(s))
            return f"named barrier {number}, to which {came} of {wanted} threads have come"
        case _:
            return "nothing"


def _threads(thread_groups: Iterable[ThreadGroup]) -> str:
    return " and ".join(
        f"{s.threads}{'' if s.engine.is_live(s) else ' (which left the kernel)'}" for s in thread_groups
    )


def _place(program: Program, line: int | None) -> str:
    """The author's line behind a line of the generated code, with a comma before it."""
    source = program.lines[line - 1] if line is not None else ""
    return f", {source}" if source else ""


def _line(traceback: TracebackType | None) -> int | None:
    found = _frame(traceback)
    return None if found is None else found.tb_lineno


def _frame(traceback: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that lies in generated code."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename != FILE:
        traceback = traceback.tb_next
    return traceback
