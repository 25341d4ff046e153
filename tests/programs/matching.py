"""What a traced run gave, compared with what the program predicts and with its untraced run.

In: :class:`programs.running.Run` of one way, and the run that it is to equal. Out: one line for each difference.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from programs.header import AUTO, MARKED, Prediction, Program

if TYPE_CHECKING:
    from programs.running import Run

COMPILER_LOG = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  \[TileLang:.*"
"""TileLang logs to stdout what it compiles: which that is depends on its disk cache, not on the program."""

TRACEBACK = "Traceback (most recent call last):"

OURS = "tltrace: "
"""Begins what ``tltrace run`` says on stderr."""
SHOWN_LINES = 6
"""Lines of a difference between two outputs that are shown."""


def differences(program: Program, run: Run, basis: Run) -> list[str]:
    """What is not as it should be: the exit code, what is printed, what the traces hold. ``basis`` may be ``run``."""
    if run.timed_out:
        return [f"still running after {run.seconds:.0f} s"]
    found = [] if run.code == program.exit else [f"exit code {run.code}, not {program.exit}"]
    found += _output(program, run, basis)
    if program.exit and _ending(basis.stderr) not in run.stderr:
        found.append(f"stderr does not have the program's own {_ending(basis.stderr)!r}")
    if run.traced:
        kinds = (AUTO, MARKED) if run.automatic else (MARKED,)
        found += _traces(program, run.folder, kinds)
    return found


def _output(program: Program, run: Run, basis: Run) -> list[str]:
    wanted, got = (_fixed(program, each.stdout) for each in (basis, run))
    lines = [line for line in difflib.unified_diff(wanted, got, lineterm="", n=0) if line[:3] not in ("---", "+++")]
    changed = [line for line in lines if not line.startswith("@@")]
    return [f"stdout: {line}" for line in changed[:SHOWN_LINES]]


def _fixed(program: Program, text: str) -> list[str]:
    """The lines of an output without what varies from run to run; a line of which nothing is left is no line."""
    lines = text.splitlines()
    for pattern in (COMPILER_LOG, *program.varies):
        lines = [kept for line in lines if (kept := re.sub(pattern, "", line)) or not line]
    return lines


def _ending(stderr: str) -> str:
    """How a program says that it fails: its last traceback, or its last line; what ``tltrace run`` says is not its."""
    text = "\n".join(line for line in stderr.strip().split("\n") if not line.startswith(OURS))
    return text[text.rfind(TRACEBACK) :] if TRACEBACK in text else text.rpartition("\n")[2]


def _traces(program: Program, folder: Path, kinds: tuple[str, ...]) -> Iterator[str]:
    predictions = [each for each in program.predictions if each.kind in kinds]
    held: Counter[Prediction] = Counter()
    for file, kernel, ctas, names in _read(folder):
        mine = [each for each in predictions if each.kernel == kernel]
        if not mine and names:
            yield f"{file}: kernel {kernel} is not predicted"
        for kind in kinds:
            told = {each: each.differences(ctas, names) for each in mine if each.kind == kind}
            held.update(each for each, wrong in told.items() if not wrong)
            if told and all(told.values()):
                yield f"{file}: {kernel}: {'; '.join(min(told.values(), key=len))}"
    for each in predictions:
        if not held[each]:
            yield f"no trace of {each.kernel} with {each.ctas} CTAs has the {each.kind} events"
        elif each.launches.exact and held[each] > each.launches.least:
            yield f"{held[each]} traces of {each.kernel} with {each.ctas} CTAs, which is launched {each.launches} times"


def _read(folder: Path) -> Iterator[tuple[str, str, int, dict[str, int]]]:
    """For each trace its file, its kernel, its CTAs, its events by name."""
    from tltrace_nb import load

    for path in sorted(folder.rglob("*.tltrace")):
        trace = load(path)
        names = trace.events["name"].value_counts()
        yield path.name, trace.meta.kernel, len(trace.ctas), {str(k): int(n) for k, n in names.items() if n}
