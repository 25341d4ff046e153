"""One program, run in one way, as a process of its own.

In: a :class:`Program`, a way and a device. Out: :class:`Run`, what the process printed and left. ``"plain"`` is Python
alone; the others are ``tltrace run`` without options, with ``--auto``, and with ``--auto --on all``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from programs.header import SCRIPTS, Program
from programs.matching import differences

PLAIN = "plain"
OPTIONS: dict[str, tuple[str, ...]] = {"run": (), "auto": ("--auto",), "all": ("--auto", "--on", "all")}
WAYS = (PLAIN, *OPTIONS)

CUDA, VIRTUAL = "cuda", "virtual"
LIMIT = 300.0
"""Seconds after which a program is stopped."""

_ROOT = SCRIPTS.parents[2]


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it. ``code`` is negative for a signal; ``folder`` holds the traces."""

    way: str
    code: int
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool
    folder: Path

    @property
    def traced(self) -> bool:
        return self.way != PLAIN

    @property
    def automatic(self) -> bool:
        return "--auto" in OPTIONS.get(self.way, ())


@dataclass(frozen=True, slots=True)
class Outcome:
    """One cell of the matrix: how long it took, against the first way of the row, and what differed."""

    program: str
    way: str
    device: str
    seconds: float
    ratio: float
    differences: tuple[str, ...]
    stderr: str

    @property
    def ok(self) -> bool:
        return not self.differences


def ways_on(device: str, ways: Iterable[str] = WAYS) -> tuple[str, ...]:
    """Those of the ways that there are on a device, in the order in which they are run: untraced code needs a card."""
    return tuple(way for way in WAYS if way in ways and (device == CUDA or way != PLAIN))


def outcomes(program: Program, ways: Iterable[str], device: str) -> Iterator[Outcome]:
    """Run a program in some ways, one after the other; each is compared with the first."""
    basis = None
    for way in ways_on(device, ways):
        with started(program, way, device) as run:
            basis = basis or run
            found = tuple(differences(program, run, basis))
        yield Outcome(program.name, way, device, run.seconds, run.seconds / basis.seconds, found, run.stderr)


@contextmanager
def started(program: Program, way: str, device: str) -> Iterator[Run]:
    """Run a program to its end, in a folder of its own, which is there as long as the context."""
    with tempfile.TemporaryDirectory(prefix=f"{program.name}-{way}-") as name:
        folder = Path(name) / "traces"
        begin = time.perf_counter()
        process = subprocess.Popen(
            command(program, way, device, folder),
            cwd=name,
            env=_environment(device),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        stopped = False
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            stopped = True
            os.killpg(process.pid, signal.SIGKILL)  # its children, too; the session is the process's own
            out, err = process.communicate()
        yield Run(way, process.returncode, out, err, time.perf_counter() - begin, stopped, folder)


def command(program: Program, way: str, device: str, folder: Path) -> list[str]:
    """The command line of a program in a way; its traces go to ``folder``."""
    own = [str(program.path) if word == program.path.name else word for word in program.arguments]
    target = own if program.module else [str(program.path), *own]
    if device == VIRTUAL and not program.module:
        target += ["--device", "cpu"]
    if way == PLAIN:
        return [sys.executable, *target]
    tltrace = [sys.executable, "-m", "tltrace_nb.cli", "run", *OPTIONS[way]]
    return [*tltrace, "--device", device, "--output", str(folder), *target]


def _environment(device: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    chosen = {"DEVICE": "cpu"} if device == VIRTUAL else {}
    return {**os.environ, "PYTHONPATH": path, "PYTHONFAULTHANDLER": "1", **chosen}
