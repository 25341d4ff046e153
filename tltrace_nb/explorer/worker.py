"""One thread that does the latest thing asked for, and gives up what was asked before.

In: jobs. Out: their results, handed over on the side that asked: where an event loop runs there (a notebook's kernel),
by that loop; else by :meth:`Worker.wait`. So widgets are touched by one thread only, and never for a job that is no
longer the latest.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
Check = Callable[[], None]
"""Raises :class:`Cancelled` once the job that calls it is no longer wanted."""
Job = Callable[[Check], T]
QUIET_S = 0.04
"""How long nothing else must be asked for before a job begins: a slider on its way stops at every step."""


class Cancelled(BaseException):
    """A job was given up. Not an ``Exception``, so that a builder's own handlers let it pass."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A job raised ``error``."""

    error: BaseException


class Worker(Generic[T]):
    """Does the latest job; ``deliver`` gets its result, or :class:`Failed`. The thread begins with the first job."""

    def __init__(self, deliver: Callable[[T | Failed], None], quiet: float = QUIET_S) -> None:
        self._deliver = deliver
        self._quiet = quiet
        self._changed = threading.Condition()
        self._latest = 0
        self._job: Job[T] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pending = False
        self._result: list[T | Failed] = []
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether the latest job has not been delivered yet."""
        return self._pending

    def ask(self, job: Job[T]) -> None:
        """Do this, and nothing of what was asked before. Raises ``RuntimeError`` after ``close``."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        with self._changed:
            if self._closed:
                raise RuntimeError("this worker is closed")
            self._supersede()
            self._job, self._loop, self._pending = job, loop or self._loop, True  # a thread of the user's has no loop
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="tltrace explore", daemon=True)
                self._thread.start()
                atexit.register(self.close)  # a thread in TileLang's own code does not survive the interpreter's end

    def give_up(self) -> None:
        """Nothing of what was asked for is wanted any more."""
        with self._changed:
            self._supersede()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the latest job is delivered, here if it has not been yet; false where it took longer."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._pending and not self._result:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(0.2 if left is None else min(left, 0.2))  # in pieces, so that Ctrl-C gets through
        self._hand_over()
        return True

    def close(self) -> None:
        """Give up everything and end the thread."""
        with self._changed:
            self._supersede()
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)
        atexit.unregister(self.close)

    def _supersede(self) -> None:
        self._latest += 1
        self._job, self._pending = None, False
        self._result.clear()
        self._changed.notify_all()

    def _hand_over(self) -> None:
        with self._changed:
            if not self._result:
                return
            result = self._result.pop()
            self._pending = False
        self._deliver(result)

    # ---- the thread

    def _work(self) -> None:
        while True:
            taken = self._take()
            if taken is None:
                return
            ticket, job = taken

            def check(ticket: int = ticket) -> None:
                if ticket != self._latest:
                    raise Cancelled

            try:
                result: T | Failed = job(check)
            except Cancelled:
                continue
            except BaseException as error:
                result = Failed(error)
            with self._changed:
                if ticket != self._latest:
                    continue
                self._result[:] = [result]
                loop = self._loop
                self._changed.notify_all()
            del job, result, taken  # nothing is kept while the thread waits
            if loop is not None:
                with contextlib.suppress(RuntimeError):  # it has ended
                    loop.call_soon_threadsafe(self._hand_over)

    def _take(self) -> tuple[int, Job[T]] | None:
        """The latest job, once nothing newer came for a moment; ``None`` at the end."""
        with self._changed:
            while True:
                while self._job is None:
                    if self._closed:
                        return None
                    self._changed.wait()
                ticket = self._latest
                if not self._changed.wait_for(lambda t=ticket: t != self._latest, self._quiet):  # type: ignore[misc]
                    job, self._job = self._job, None
                    return ticket, job
