"""A program under ``tltrace run``, and the processes that it starts: each traces itself and writes its own files.

In: how a run traces. Out: a block within which this process traces and Python processes that are started do so, too,
whether they are forked, spawned or run as commands (``torchrun``). Those get the run in ``TLTRACE_RUN``, and on
``PYTHONPATH`` a ``sitecustomize`` that begins it there. What they wrote is told in a journal.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import importlib.abc
import importlib.util
import json
import multiprocessing.util
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tltrace_nb.core.api import trace
from tltrace_nb.core.runtime.intercept import plain_builders

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from tltrace_nb.core.trace import Trace

_VARIABLE = "TLTRACE_RUN"
_CHILD = Path(__file__).parent / "child"


@dataclass(frozen=True, slots=True)
class Run:
    """How a program is traced. ``output``: the folder for its files, whose names begin with ``stem``."""

    output: str
    stem: str
    device: str = "auto"
    auto: str | bool | None = None
    keep_launches: str | None = None
    journal: str = ""


class Traced:
    """The traces that this process captures in a run."""

    def __init__(self, run: Run):
        self.run = run
        self._seen = trace.launches
        self._open = True
        self.is_child = False
        self._writing = False
        self._told_to_end = 0
        os.register_at_fork(after_in_child=self._forked)
        multiprocessing.util.register_after_fork(self, Traced._in_worker)

    def captured(self) -> list[Trace]:
        """Those captured so far, and not told of before."""
        found = trace.since(self._seen)
        self._seen = trace.launches
        return found

    def children_wrote(self) -> list[str]:
        """What the processes that this one started have written, a line each."""
        if not self.run.journal:
            return []
        try:
            return Path(self.run.journal).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []  # they wrote nothing
        except (OSError, ValueError) as error:
            return [f"what other processes wrote could not be read: {error}"]

    def close(self) -> None:
        """The run is over in this process."""
        self._open = False

    def write(self) -> None:
        """Write what was captured, in a process that was started."""
        self._writing = True
        try:
            self._write()
        finally:
            self._writing = False
        if self._told_to_end:
            self._end(self._told_to_end)

    def _write(self) -> None:
        from tltrace_nb.core.runtime.dumps import (
            written,  # and pandas, which a process that traces nothing does not need
        )

        captured = self.captured() if self._open else []
        rank = os.environ.get("RANK")
        who = f"process {os.getpid()}" if rank is None else f"rank {rank}"
        for each in captured:
            stem = f"{self.run.stem}-{who.replace(' ', '')}"
            line = written(functools.partial(trace.dump, each, None, stem=stem))
            if self.run.journal:
                with contextlib.suppress(OSError), Path(self.run.journal).open("a", encoding="utf-8") as journal:
                    journal.write(f"{who} {line}\n")

    def write_at_the_end(self) -> None:
        """Write when this process ends, also when it is told to."""
        atexit.register(self.write)
        multiprocessing.util.Finalize(None, self.write, exitpriority=0)
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._terminated)

    def _forked(self) -> None:
        self._seen, self.is_child = trace.launches, True

    def _in_worker(self) -> None:
        if self._open:
            self.write_at_the_end()

    def _terminated(self, number: int, _: Any) -> None:
        self._told_to_end = number
        if not self._writing:  # else when it is written
            self.write()

    def _end(self, number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


@contextlib.contextmanager
def traced_program(run: Run) -> Iterator[Traced]:
    """Trace this process and those that it starts. Raises ``ValueError`` for an option that is none.

    Where there is no place for the journal, on a full disk, what those wrote is there but not told.
    """
    with contextlib.ExitStack() as at_the_end:
        with contextlib.suppress(OSError):
            folder = tempfile.TemporaryDirectory(prefix="tltrace-", ignore_cleanup_errors=True)
            run = dataclasses.replace(run, journal=str(Path(at_the_end.enter_context(folder)) / "journal"))
        for_children = dataclasses.asdict(run) | {"output": str(Path(run.output).resolve())}  # they may start elsewhere
        path = os.pathsep.join(filter(None, (str(_CHILD), os.environ.get("PYTHONPATH"))))
        with _tracing(run), _environment({_VARIABLE: json.dumps(for_children), "PYTHONPATH": path}):
            traced = Traced(run)
            try:
                yield traced
            finally:
                traced.close()


def begin() -> None:
    """Trace this process, which a traced program has started, from when it loads TileLang."""
    try:
        run = Run(**json.loads(os.environ[_VARIABLE]))
    except (KeyError, TypeError, ValueError):
        return
    sys.meta_path.insert(0, _WhenTileLangIsLoaded(run))


@contextlib.contextmanager
def _tracing(run: Run) -> Iterator[None]:
    with (
        trace.tracing(
            output=run.output,
            everywhere=True,
            device=run.device,
            auto=run.auto,
            keep_launches=run.keep_launches,
        ),
        plain_builders(trace, everywhere=True),
    ):
        yield


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _WhenTileLangIsLoaded(importlib.abc.MetaPathFinder):
    """Begins a run behind the import of TileLang; a process that has nothing to do with it is left alone."""

    def __init__(self, run: Run):
        self._run = run

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        if name != "tilelang":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_begin(module: ModuleType) -> None:
                execute(module)
                self._begin()

            spec.loader.exec_module = execute_and_begin  # type: ignore[method-assign]
        return spec

    def _begin(self) -> None:
        block = contextlib.ExitStack()
        block.enter_context(_tracing(self._run))
        atexit.register(block.close)  # what is registered first ends last
        Traced(self._run).write_at_the_end()
