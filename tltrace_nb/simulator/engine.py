"""Time: a discrete-event simulation of one launch, in cycles of the SMs.

In: a :class:`~tltrace_nb.simulator.program.Program`, its arguments, a GPU. Out: the arguments changed, the slots
filled, the time that it took. Thread groups run in order of time; an SM's unit serves one request at a time, in that
order, and the device's memory serves all SMs. CTAs are dispatched in order to the SMs that have room.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.simulator import tiles
from tltrace_nb.simulator.barriers import Gathering
from tltrace_nb.simulator.costing import Cost, Pricing
from tltrace_nb.simulator.costs import Unit, Work, latency
from tltrace_nb.simulator.device_memory import DeviceMemory
from tltrace_nb.simulator.errors import DeadlockError
from tltrace_nb.simulator.program import Program
from tltrace_nb.simulator.recording import Recorder
from tltrace_nb.simulator.reports import FAULTS, deadlock, fault, interruption
from tltrace_nb.simulator.sm import Sm
from tltrace_nb.simulator.thread_group import Cta, ThreadGroup
from tltrace_nb.simulator.yields import CopyAsync, CopyTma, Load, Meet, Multiply, Sync, Until, Wait

CLOCK_STEP_OF_SM = 7919
"""By how many cycles the clocks of neighbouring SMs differ."""
STEP_LIMIT = 100_000
"""Turns of loops without a known end that a thread group may take; some seconds of a loop that never ends."""
Progress = Callable[[int, int], None]
"""Told how many CTAs are done, of how many."""
_TURNS_PER_TICK = 1024
"""Events between two calls of ``Progress`` while no CTA ends."""
_ISSUE_CYCLES = 8.0
"""What it costs a thread group to start something that goes on without it (estimate)."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What one launch runs on. ``make_cta`` makes a CTA with its buffers; ``places`` is how many an SM holds.

    ``footprint``: bytes of the tensors that it touches. ``numbers``: the CTAs that run, ``None`` for all; ``done`` is
    called with each as it ends, and with the time.
    """

    name: str
    program: Program
    grid: tuple[int, int, int]
    cluster: tuple[int, int, int]
    places: int
    scalars: tuple[Any, ...]
    make_cta: Callable[[Engine, int], Cta]
    footprint: int = 0
    numbers: Sequence[int] | None = None
    done: Callable[[Cta, float], None] | None = None


class Engine:
    """Runs launches one after the other; ``now`` goes on from one to the next, ``flop`` sums what all did.

    ``printed`` has the lines of T.print. ``stands_for``: on how many SMs of a larger GPU the same goes on as on one of
    these.
    """

    move: Callable[[Any, Any], None] = staticmethod(tiles.move)
    """What an asynchronous copy does when it is done."""

    def __init__(
        self,
        gpu: Gpu,
        recorder: Recorder,
        progress: Progress | None = None,
        step_limit: int = STEP_LIMIT,
        stands_for: float = 1.0,
    ):
        self.gpu = gpu
        self.progress = progress
        self._memory = DeviceMemory(gpu, stands_for)
        self._dispatched = 0.0
        self.recorder = recorder
        self.pricing = Pricing(gpu)
        self.step_limit = step_limit
        self.now = gpu.launch_latency_ns * gpu.clock_ghz
        self.sms = [Sm(i) for i in range(gpu.sms)]
        self.flop = 0.0
        self.events = 0
        self.printed: list[str] = []
        self._events: list[tuple[float, int, Any, Any]] = []
        self._order = itertools.count()
        self._gathered: dict[Any, Gathering] = defaultdict(Gathering)
        self._waiting: dict[ThreadGroup, Any] = {}
        self._live: set[ThreadGroup] = set()
        wait = Work(Unit.BARRIER, 1, "mbarrier")
        self._mbarrier = latency(gpu, wait)
        self._sync = {
            "cta": latency(gpu, Work(Unit.BARRIER, 1)),
            "cluster": gpu.latencies.cluster_barrier,
            "grid": gpu.latencies.cluster_barrier,
        }

    # ---- launches

    def run(self, launch: Launch) -> None:
        """Run a launch to its end. Raises ``SimulationError``; the recorder has what was recorded until then."""
        self._launch = launch
        numbers = range(math.prod(launch.grid)) if launch.numbers is None else launch.numbers
        total = len(numbers)
        self._todo: Iterator[int] = iter(numbers)
        self._total, self._done = total, 0
        self._at_grid = total * len(launch.program.thread_groups)
        start = self.now
        self._memory.launch(launch.footprint, total / math.prod(launch.grid))
        for i in range(min(total, launch.places * len(self.sms))):
            self._dispatch(self.sms[i % len(self.sms)], start)
        events = self._events
        try:
            with np.errstate(all="ignore"), tiles.one_thread():
                while events:
                    self.now, turn, target, argument = heapq.heappop(events)
                    if not turn % _TURNS_PER_TICK and self.progress is not None:
                        self.progress(self._done, total)
                    if isinstance(target, ThreadGroup):
                        if argument is None:
                            self._resume(target)
                        else:
                            self._serve(target, argument)
                    else:
                        self._call(target, *argument)
                latest = max((thread_group.t for thread_group in self._live), default=0.0)
                for thread_group in self._live:  # nobody can go on
                    thread_group.t = max(latest, self.now)
                    self.recorder.stuck(thread_group)
        except KeyboardInterrupt as error:
            error.add_note(interruption(launch.program, launch.name, error, *self.reached))
            raise
        finally:
            self.recorder.flush()
        if self._live:
            report = deadlock(launch.program, launch.name, self.now - start, self._waiting, self._live, self._gathered)
            raise DeadlockError(report)
        self.now += self.gpu.launch_latency_ns * self.gpu.clock_ghz
        self.events = next(self._order)

    @property
    def reached(self) -> tuple[int, int]:
        """How many CTAs are done, of how many."""
        return self._done, self._total

    def at(self, time: float, thread_group: ThreadGroup, call: Callable[..., None], *args: Any) -> None:
        """Have a function called with a time, when it comes, on behalf of a thread group at its line of now."""
        heapq.heappush(self._events, (time, next(self._order), call, (thread_group, thread_group.line, args)))

    def is_live(self, thread_group: ThreadGroup) -> bool:
        """Whether a thread group has not left the kernel."""
        return thread_group in self._live

    def release(self, thread_group: ThreadGroup, time: float) -> None:
        """Let a thread group that waits on an mbarrier go on."""
        self._wake(thread_group, time + self._mbarrier)

    def _dispatch(self, sm: Sm, time: float) -> None:
        number = next(self._todo, None)
        if number is None:
            return
        sm.resident += 1
        time = self._dispatched = max(time, self._dispatched + self.gpu.dispatch_cycles)
        cta = self._launch.make_cta(self, number)
        cta.sm, cta.start = sm, time
        for thread_group in cta.thread_groups:
            thread_group.clock_offset = 1 + CLOCK_STEP_OF_SM * sm.number
            thread_group.t = time + self.gpu.cta_launch_cycles
            thread_group.code = self._launch.program.run(thread_group)
            self._live.add(thread_group)
            heapq.heappush(self._events, (thread_group.t, next(self._order), thread_group, None))

    # ---- thread groups

    def _wake(self, thread_group: ThreadGroup, time: float) -> None:
        self._waiting.pop(thread_group, None)
        thread_group.t = time
        heapq.heappush(self._events, (time, next(self._order), thread_group, None))

    def _resume(self, thread_group: ThreadGroup) -> None:
        try:
            request = next(thread_group.code, None)
        except FAULTS as error:
            raise fault(self._launch.program, thread_group, error) from error
        if request is None:
            self._finish(thread_group)
        elif thread_group.t <= self.now or not self._events or thread_group.t <= self._events[0][0]:
            self._serve(thread_group, request)
        else:
            heapq.heappush(self._events, (thread_group.t, next(self._order), thread_group, request))

    def _call(
        self, function: Callable[..., None], thread_group: ThreadGroup, line: int | None, args: tuple[Any, ...]
    ) -> None:
        try:
            function(self.now, *args)
        except FAULTS as error:
            raise fault(self._launch.program, thread_group, error, line) from error

    def _serve(self, thread_group: ThreadGroup, request: Any) -> None:
        t = thread_group.t
        if type(request) is Cost:
            end = self._use(thread_group.cta, t, request)
            if request.drain:
                thread_group.stored = end + request.drain
            self._wake(thread_group, end)
            return
        match request:
            case Wait():
                if request.barrier.passed(request.parity):
                    self._wake(thread_group, t + self._mbarrier)
                else:
                    request.barrier.waiters.append((thread_group, request.parity))
                    self._waiting[thread_group] = request
            case Until():
                self._wake(thread_group, max(t, request.time))
            case CopyAsync():
                end = self._use(thread_group.cta, t, request.cost)
                thread_group.copying(end)
                if request.args is not None:
                    self.at(end, thread_group, self._moved, request.args)
                self._wake(thread_group, _issued(t, end, request.cost))
            case Load():
                end = self._use(thread_group.cta, t, request.cost)
                thread_group.cta.loads[request.number] = end
                self._wake(thread_group, _issued(t, end, request.cost))
            case CopyTma():
                self._tma(thread_group, request)
            case Multiply():
                thread_group.products_begun.add(self._use(thread_group.cta, t, request.cost))
                self._wake(thread_group, t + _ISSUE_CYCLES)
            case Meet():
                place = self._gathered[thread_group.cta, request.place]
                place.thread_groups.append(thread_group)
                self._waiting[thread_group] = request
                self._check_meet(thread_group.cta, request)
            case Sync():
                self._arrive_at(thread_group, request)
            case _:
                raise AssertionError(f"a thread group asked for {request!r}")

    def _use(self, cta: Cta, t: float, cost: Cost) -> float:
        end = t + cost.least
        cta.flop += cost.flop
        free = cta.sm.free
        for unit, busy in cost.parts:
            done = max(t, free[unit]) + busy
            free[unit] = done
            end = max(end, done)
        if cost.bytes:
            end = max(end, self._memory.serve(t, cost.bytes, cost.fetched, cost.latency > 0))
        return end + cost.latency

    def _tma(self, thread_group: ThreadGroup, request: CopyTma) -> None:
        t, barrier = thread_group.t, request.barrier
        barrier.arrive(t, request.arrives, request.bytes)
        issued = t + self.gpu.tma_issue_cycles
        if thread_group.last_issue != t:
            issued += self.gpu.latencies.tma_issue
        end = self._use(thread_group.cta, issued, request.cost)
        self.at(end, thread_group, self._arrived, request)
        thread_group.last_issue = issued
        self._wake(thread_group, issued)

    def _moved(self, _: float, args: tuple[Any, Any]) -> None:
        self.move(*args)

    def _arrived(self, time: float, request: CopyTma) -> None:
        if request.args is not None:
            self.move(*request.args)
        request.barrier.receive(time, request.bytes)

    def _check_meet(self, cta: Cta, request: Meet) -> None:
        key = cta, request.place
        place = self._gathered[key]
        wanted = [s for s in cta.thread_groups if s.index in request.thread_groups and s in self._live]
        if len(place.thread_groups) < len(wanted):
            cta.meets[request.place] = request
            return
        del self._gathered[key]
        cta.meets.pop(request.place, None)
        time = max((s.t for s in place.thread_groups), default=self.now)
        for thread_group in place.thread_groups:
            self._wake(thread_group, time)

    def arrive_without_waiting(self, time: float, thread_group: ThreadGroup, request: Sync) -> None:
        """Threads come to a named barrier and go on."""
        key = self._key(thread_group, request)
        self._gathered[key].threads += request.threads
        self._check_sync(key, request, time)

    def _arrive_at(self, thread_group: ThreadGroup, request: Sync) -> None:
        key = self._key(thread_group, request)
        place = self._gathered[key]
        place.thread_groups.append(thread_group)
        place.threads += request.threads
        self._waiting[thread_group] = request
        thread_group.cta.syncs[key] = request
        self._check_sync(key, request, thread_group.t)

    def _check_sync(self, key: Any, request: Sync, time: float) -> None:
        place = self._gathered[key]
        if request.scope == "grid":
            complete = len(place.thread_groups) >= self._at_grid
        elif request.scope == "cluster":
            per_cta = len(self._launch.program.thread_groups)
            complete = len(place.thread_groups) >= per_cta * int(np.prod(self._launch.cluster))
        elif request.expected:
            complete = place.threads >= request.expected
        else:
            complete = len(place.thread_groups) >= sum(s in self._live for s in key[0].thread_groups)
        if not complete:
            return
        del self._gathered[key]
        for thread_group in place.thread_groups:
            thread_group.cta.syncs.pop(key, None)
            self._wake(thread_group, max(time, self.now) + self._sync[request.scope])

    def _key(self, thread_group: ThreadGroup, request: Sync) -> Any:
        if request.scope == "cta":
            return thread_group.cta, "sync", request.name
        return (request.scope, thread_group.cta.cluster if request.scope == "cluster" else 0, request.name)

    def _finish(self, thread_group: ThreadGroup) -> None:
        self._live.discard(thread_group)
        cta = thread_group.cta
        for meet in list(cta.meets.values()):
            if thread_group.index in meet.thread_groups:
                self._check_meet(cta, meet)
        for key, request in list(cta.syncs.items()):
            if request.scope == "cta" and key in self._gathered:
                self._check_sync(key, request, self.now)
        cta.left -= 1
        if not cta.left:
            cta.thread_groups.clear()  # they refer to it: without a circle its memory is free at once
            cta.sm.resident -= 1
            self._done += 1
            self.flop += cta.flop
            if self._launch.done is not None:
                self._launch.done(cta, max(self.now, thread_group.t))
            if self.progress is not None:
                self.progress(self._done, self._total)
            self._dispatch(cta.sm, max(self.now, thread_group.t))


def _issued(start: float, end: float, cost: Cost) -> float:
    """When threads have handed all of their loads to the memory pipe, which takes no more than it moves."""
    return max(start + _ISSUE_CYCLES, end - cost.latency)
