"""What holds while a ``with`` block is open, and for whom.

In: an owner and its value for the time of a block. Out: the innermost open block of that owner, as seen from here.

A block holds in the context that opened it and in what is started there while it is open: asyncio tasks and threads.
Nobody else sees it, but for threads that Python did not start and that act for they do not say whom, such as those of
torch's autograd engine: these see the blocks that were opened last. When it ends, it ends for all of them. A block may
also be opened for the whole process: then it is outside of all others.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False, slots=True)
class Block:
    """A value of an owner's for the time of a ``with`` block, inside another block or none."""

    owner: object
    value: Any
    outer: Block | None
    open: bool = True


@dataclass(eq=False)
class Replacements:
    """Attributes of other people's objects, replaced for as long as somebody needs it.

    ``make`` gives the object, the name and what stands there instead, given what stood there. The first who enters
    replaces them and the last who leaves puts them back.
    """

    make: Callable[[], list[tuple[Any, str, Callable[[Any], Any]]]]
    _users: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _replaced: list[tuple[Any, str, Any, Any]] = field(default_factory=list)

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                for where, name, instead_of in self.make():
                    before = getattr(where, name)
                    self._replaced.append((where, name, before, instead_of(before)))
                for where, name, _, instead in self._replaced:
                    setattr(where, name, instead)
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            while self._replaced:
                where, name, before, instead = self._replaced.pop()
                if getattr(where, name) is instead:  # else another has wrapped ours, which does nothing from now on
                    setattr(where, name, before)


class Blocks:
    """The blocks of this process."""

    def __init__(self) -> None:
        self._current: ContextVar[Block | None] = ContextVar("tltrace_block", default=None)
        self._opened: list[Block] = []
        self._everywhere: Block | None = None
        self._threads = Replacements(lambda: [(threading.Thread, "start", self._start)])

    @contextlib.contextmanager
    def opened(self, owner: object, value: Any, everywhere: bool = False) -> Iterator[Block]:
        """A block of ``owner`` that is open for as long as the ``with`` block, here or everywhere."""
        if everywhere:
            block = self._everywhere = Block(owner, value, self._everywhere)
            try:
                yield block
            finally:
                block.open = False
                self._everywhere = block.outer
            return
        block = Block(owner, value, self._innermost())
        with self._threads:
            self._opened.append(block)
            self._current.set(block)
            try:
                yield block
            finally:
                block.open = False
                self._opened.remove(block)
                if self._current.get() is block:
                    self._current.set(block.outer)

    def innermost(self, owner: object) -> Block | None:
        """The open block of ``owner`` that holds here."""
        if not self._opened and self._everywhere is None:  # a launch asks, and mostly there is none
            return None
        for block in (self._innermost(), self._everywhere):
            while block is not None:
                if block.open and block.owner is owner:
                    return block
                block = block.outer
        return None

    def _innermost(self) -> Block | None:
        block = self._current.get()
        foreign: type = threading._DummyThread  # noqa: SLF001 (what Python calls a thread that it did not start)
        if block is None and self._opened and isinstance(threading.current_thread(), foreign):
            with contextlib.suppress(IndexError):  # it was the last, and ended just now
                block = self._opened[-1]
        while block is not None and not block.open:
            block = block.outer
        return block

    def _start(self, start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
        """``threading.Thread.start``, of threads that see the blocks of who starts them."""

        def start_inside(thread: threading.Thread) -> None:
            block = self._innermost()
            if block is not None:
                run = thread.run

                def run_inside() -> None:
                    self._current.set(block)
                    run()

                thread.run = run_inside  # type: ignore[method-assign]
            start(thread)

        return start_inside


BLOCKS = Blocks()
"""Those of this process."""
INTERCEPTION = "interception"
"""The owner of blocks in which TileLang's own compilations are traced (``runtime.intercept``)."""


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """Within, TileLang compiles as it would without any block."""
    with BLOCKS.opened(INTERCEPTION, None):
        yield
