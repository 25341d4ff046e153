"""Who sees an open block, and that nothing of it stays."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tltrace_nb.core.api import TraceSwitch
from tltrace_nb.core.runtime.blocks import Blocks

OWNER, OTHER = object(), object()


def here(blocks: Blocks) -> Any:
    block = blocks.innermost(OWNER)
    return None if block is None else block.value


def in_a_thread(function: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def in_a_foreign_thread(function: Callable[[], Any]) -> Any:
    """As code does that C++ calls in a thread of its own."""
    found, done = [], threading.Event()

    def run() -> None:
        found.append(function())
        done.set()

    _thread.start_new_thread(run, ())
    assert done.wait(60)
    return found[0]


def test_the_innermost_block_of_an_owner_holds() -> None:
    blocks = Blocks()
    with blocks.opened(OWNER, 1):
        with blocks.opened(OWNER, 2), blocks.opened(OTHER, 3):
            assert here(blocks) == 2
        assert here(blocks) == 1
    assert here(blocks) is None


def test_a_block_ends_with_an_error() -> None:
    blocks = Blocks()
    with pytest.raises(KeyboardInterrupt), blocks.opened(OWNER, 1):
        raise KeyboardInterrupt
    assert here(blocks) is None


def test_threads_that_are_started_in_a_block_are_in_it() -> None:
    blocks = Blocks()
    with blocks.opened(OWNER, 1):
        assert in_a_thread(lambda: here(blocks)) == 1
        assert in_a_thread(lambda: in_a_thread(lambda: here(blocks))) == 1


def test_a_thread_of_a_class_of_its_own_is_in_the_block_that_starts_it() -> None:
    blocks, found = Blocks(), []

    class Worker(threading.Thread):
        def run(self) -> None:
            found.append(here(blocks))

    with blocks.opened(OWNER, 1):
        worker = Worker()
        worker.start()
        worker.join()
    assert found == [1]


def test_threads_that_were_there_before_are_not() -> None:
    blocks, go, found = Blocks(), threading.Event(), []
    worker = threading.Thread(target=lambda: (go.wait(60), found.append(here(blocks))))
    worker.start()
    with blocks.opened(OWNER, 1):
        go.set()
        worker.join()
    assert found == [None]


def test_a_block_ends_for_the_threads_that_outlive_it() -> None:
    blocks, ended, found = Blocks(), threading.Event(), []
    with blocks.opened(OWNER, 1):
        worker = threading.Thread(target=lambda: (ended.wait(60), found.append(here(blocks))))
        worker.start()
    ended.set()
    worker.join()
    assert found == [None]


def test_a_block_ends_for_contexts_that_were_copied_in_it() -> None:
    blocks = Blocks()
    with blocks.opened(OWNER, 1):
        inside = contextvars.copy_context()
        assert inside.run(here, blocks) == 1
    assert inside.run(here, blocks) is None


def test_a_thread_that_python_did_not_start_sees_the_last_block() -> None:
    blocks = Blocks()
    assert in_a_foreign_thread(lambda: here(blocks)) is None
    with blocks.opened(OWNER, 1):
        assert in_a_foreign_thread(lambda: here(blocks)) == 1
    assert in_a_foreign_thread(lambda: here(blocks)) is None


def test_a_block_everywhere_is_outside_of_all_others() -> None:
    blocks = Blocks()
    with blocks.opened(OWNER, 1), blocks.opened(OWNER, 2, everywhere=True):
        assert here(blocks) == 1
        assert contextvars.Context().run(here, blocks) == 2
        assert in_a_foreign_thread(lambda: here(blocks)) == 1
    assert contextvars.Context().run(here, blocks) is None


def test_threads_start_as_python_has_it_when_no_block_is_open() -> None:
    blocks, own = Blocks(), threading.Thread.start
    with blocks.opened(OWNER, 1), blocks.opened(OTHER, 1):
        assert threading.Thread.start is not own
    assert threading.Thread.start is own


def test_tasks_have_blocks_of_their_own() -> None:
    switch = TraceSwitch()

    async def task(number: int) -> list[Any]:
        seen = []
        for turn in range(20):
            with switch.tracing(output=f"{number}-{turn}"):
                await asyncio.sleep(0)
                seen.append((switch.enabled, switch.output) == (True, f"{number}-{turn}"))
            seen.append(switch.enabled is False)
            await asyncio.sleep(0)
        return seen

    async def both() -> list[list[Any]]:
        return await asyncio.gather(task(1), task(2))

    assert all(all(seen) for seen in asyncio.run(both()))
    assert not switch.enabled


def test_overlapping_blocks_of_two_threads_do_not_meet() -> None:
    switch, own, start = TraceSwitch(), threading.Thread.start, threading.Barrier(2)
    wrong: list[Any] = []

    def blocks(number: int) -> None:
        start.wait(60)
        for turn in range(200):
            with switch.tracing(output=f"{number}-{turn}", max_events=number):
                if (switch.output, switch.options.max_events) != (f"{number}-{turn}", number):
                    wrong.append((number, turn))
            if switch.enabled:
                wrong.append((number, turn, "after"))

    workers = [threading.Thread(target=blocks, args=(number,)) for number in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
    assert not switch.enabled
    assert threading.Thread.start is own


def test_enabling_inside_a_block_ends_with_it_and_outside_is_of_the_process() -> None:
    switch = TraceSwitch()
    with switch.tracing(False):
        switch.enable("inside")
        assert in_a_thread(lambda: switch.output) == "inside"
    assert (switch.enabled, switch.output) == (False, "debug")
    switch.enable("process")
    assert in_a_thread(lambda: switch.output) == "process"
    assert contextvars.Context().run(lambda: switch.output) == "process"
