"""One thread, the latest job, and nothing of the jobs before it."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tltrace_nb.explorer.worker import Cancelled, Check, Failed, Worker

PATIENCE_S = 30


class Desk:
    """A worker and what it delivered."""

    def __init__(self) -> None:
        self.delivered: list[Any] = []
        self.by: list[threading.Thread] = []
        self.worker: Worker[Any] = Worker(self._deliver, quiet=0.001)

    def _deliver(self, result: Any) -> None:
        self.delivered.append(result)
        self.by.append(threading.current_thread())


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.worker.close()


class Slow:
    """A job that goes on until it is cancelled, or let go."""

    def __init__(self, result: Any) -> None:
        self.begun, self.ended, self.go = threading.Event(), threading.Event(), threading.Event()
        self.result = result

    def __call__(self, check: Check) -> Any:
        self.begun.set()
        try:
            while not self.go.wait(0.001):
                check()
            return self.result
        finally:
            self.ended.set()


def test_the_result_is_handed_over_by_whoever_waits(desk: Desk) -> None:
    desk.worker.ask(lambda check: 7)
    assert desk.worker.wait(PATIENCE_S)
    assert desk.delivered == [7]
    assert desk.by == [threading.current_thread()]


def test_a_newer_job_cancels_the_one_that_runs(desk: Desk) -> None:
    slow = Slow("old")
    desk.worker.ask(slow)
    assert slow.begun.wait(PATIENCE_S)
    desk.worker.ask(lambda check: "new")
    assert slow.ended.wait(PATIENCE_S)
    assert not slow.go.is_set()
    desk.worker.wait(PATIENCE_S)
    assert desk.delivered == ["new"]


def test_a_job_that_never_looks_is_not_shown_either(desk: Desk) -> None:
    begun, go = threading.Event(), threading.Event()

    def deaf(check: Check) -> str:
        begun.set()
        go.wait(PATIENCE_S)
        return "stale"

    desk.worker.ask(deaf)
    assert begun.wait(PATIENCE_S)
    desk.worker.ask(lambda check: "new")
    go.set()
    desk.worker.wait(PATIENCE_S)
    assert desk.delivered == ["new"]


def test_a_result_that_was_not_handed_over_yet_is_forgotten_by_the_next_job(desk: Desk) -> None:
    done = threading.Event()

    def quick(check: Check) -> str:
        done.set()
        return "stale"

    desk.worker.ask(quick)
    assert done.wait(PATIENCE_S)
    desk.worker.ask(lambda check: "new")
    desk.worker.wait(PATIENCE_S)
    assert desk.delivered == ["new"]


def test_of_many_jobs_the_last_is_delivered(desk: Desk) -> None:
    for number in range(500):
        desk.worker.ask(lambda check, number=number: number)
    desk.worker.wait(PATIENCE_S)
    assert desk.delivered == [499]


def test_giving_up_delivers_nothing(desk: Desk) -> None:
    slow = Slow("old")
    desk.worker.ask(slow)
    assert slow.begun.wait(PATIENCE_S)
    desk.worker.give_up()
    assert slow.ended.wait(PATIENCE_S)
    assert desk.worker.wait(PATIENCE_S)
    assert desk.delivered == []


def test_waiting_ends_at_its_limit(desk: Desk) -> None:
    slow = Slow("late")
    desk.worker.ask(slow)
    assert not desk.worker.wait(0.01)
    slow.go.set()
    assert desk.worker.wait(PATIENCE_S)
    assert desk.delivered == ["late"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(1)])
def test_an_error_is_a_result_and_the_thread_goes_on(desk: Desk, error: BaseException) -> None:
    def fails(check: Check) -> None:
        raise error

    desk.worker.ask(fails)
    desk.worker.wait(PATIENCE_S)
    assert desk.delivered == [Failed(error)]
    desk.worker.ask(lambda check: "fine")
    desk.worker.wait(PATIENCE_S)
    assert desk.delivered[1:] == ["fine"]


def test_a_builder_that_catches_everything_is_cancelled_all_the_same(desk: Desk) -> None:
    begun = threading.Event()

    def careless(check: Check) -> None:
        while True:
            begun.set()
            with contextlib.suppress(Exception):
                check()

    desk.worker.ask(careless)
    assert begun.wait(PATIENCE_S)
    desk.worker.ask(lambda check: "new")
    desk.worker.wait(PATIENCE_S)
    assert desk.delivered == ["new"]


def test_in_an_event_loop_the_loop_hands_over(desk: Desk) -> None:
    async def session() -> None:
        desk.worker.ask(lambda check: "result")
        while not desk.delivered:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(session(), PATIENCE_S))
    assert desk.delivered == ["result"]
    assert desk.by == [threading.current_thread()]


def test_what_another_thread_asks_for_is_delivered_by_the_loop_that_asked_first(desk: Desk) -> None:
    async def session() -> None:
        desk.worker.ask(lambda check: "first")
        await asyncio.to_thread(desk.worker.ask, lambda check: "of a thread")
        while "of a thread" not in desk.delivered:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(session(), PATIENCE_S))
    assert set(desk.by) == {threading.current_thread()}


def test_a_loop_that_has_ended_is_no_error(desk: Desk) -> None:
    slow = Slow("late")

    async def session() -> None:
        desk.worker.ask(slow)

    asyncio.run(session())
    slow.go.set()
    desk.worker.wait(PATIENCE_S)
    assert desk.delivered == ["late"]


def test_closing_ends_the_thread_and_what_it_does(desk: Desk) -> None:
    before = threading.active_count()
    slow = Slow("old")
    desk.worker.ask(slow)
    assert slow.begun.wait(PATIENCE_S)
    assert threading.active_count() == before + 1
    desk.worker.close()
    assert slow.ended.is_set()
    assert threading.active_count() == before
    assert desk.delivered == []
    with pytest.raises(RuntimeError, match="closed"):
        desk.worker.ask(lambda check: 1)


def test_cancelled_is_no_ordinary_exception() -> None:
    assert not issubclass(Cancelled, Exception)
