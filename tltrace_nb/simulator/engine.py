"""Time: a discrete-event simulation of one launch, in cycles of the SMs.

In: a :class:`~tltrace_nb.simulator.program.Program`, its arguments, a GPU. Out: the arguments changed, the slots
filled, the time that it took. Strands run in order of time; an SM's unit serves one request at a time, in that order,
and the device's memory serves all SMs. CTAs are handed out in order to the SMs that have room.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.simulator import tiles
from tltrace_nb.simulator.barriers import Gathering
from tltrace_nb.simulator.costing import Cost, Pricing
from tltrace_nb.simulator.costs import Unit, Work, device_bytes_per_cycle, latency
from tltrace_nb.simulator.errors import DeadlockError
from tltrace_nb.simulator.program import Program
from tltrace_nb.simulator.recording import Recorder
from tltrace_nb.simulator.reports import FAULTS, deadlock, fault, interruption
from tltrace_nb.simulator.sm import Sm
from tltrace_nb.simulator.thread_group import Cta, Strand
from tltrace_nb.simulator.yields import CopyAsync, CopyTma, Load, Meet, Multiply, Sync, Until, Wait

CLOCK_STEP_OF_SM = 7919
"""By how many cycles the clocks of neighbouring SMs differ."""
STEP_LIMIT = 100_000
"""Turns of loops without a known end that a strand may take; some seconds of a loop that never ends."""
Progress = Callable[[int, int], None]
"""Told how many CTAs are done, of how many."""
_TURNS_PER_TICK = 1024
"""Events between two calls of ``Progress`` while no CTA ends."""
_ISSUE_CYCLES = 8.0
"""What it costs a strand to start something that goes on without it (estimate)."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What one launch runs on. ``views`` makes a CTA's buffers; ``places`` is how many CTAs an SM holds."""

    name: str
    program: Program
    grid: tuple[int, int, int]
    cluster: tuple[int, int, int]
    places: int
    scalars: tuple[Any, ...]
    make_cta: Callable[[Engine, int], Cta]


class Engine:
    """Runs launches one after the other; ``now`` goes on from one to the next, ``flop`` sums what all did.

    ``printed`` has the lines of T.print.
    """

    def __init__(self, gpu: Gpu, recorder: Recorder, progress: Progress | None = None, step_limit: int = STEP_LIMIT):
        self.gpu = gpu
        self._progress = progress
        self.recorder = recorder
        self.pricing = Pricing(gpu)
        self.step_limit = step_limit
        self.now = gpu.launch_latency_ns * gpu.clock_ghz
        self.sms = [Sm(i) for i in range(gpu.sms)]
        self._rate = device_bytes_per_cycle(gpu)
        self._device_free = 0.0
        self.flop = 0.0
        self.printed: list[str] = []
        self._events: list[tuple[float, int, Any, Any]] = []
        self._order = itertools.count()
        self._gathered: dict[Any, Gathering] = defaultdict(Gathering)
        self._waiting: dict[Strand, Any] = {}
        self._live: set[Strand] = set()
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
        total = int(np.prod(launch.grid))
        self._todo: Iterator[int] = iter(range(total))
        self._total, self._done = total, 0
        self._at_grid = total * len(launch.program.strands)
        start = self.now
        for i in range(min(total, launch.places * len(self.sms))):
            self._dispatch(self.sms[i % len(self.sms)], start + i * self.gpu.dispatch_cycles)
        events = self._events
        try:
            with np.errstate(all="ignore"), tiles.one_thread():
                while events:
                    self.now, turn, target, argument = heapq.heappop(events)
                    if not turn % _TURNS_PER_TICK and self._progress is not None:
                        self._progress(self._done, total)
                    if type(target) is Strand:
                        if argument is None:
                            self._resume(target)
                        else:
                            self._serve(target, argument)
                    else:
                        self._call(target, *argument)
        except KeyboardInterrupt as error:
            error.add_note(interruption(launch.program, launch.name, error, self._done, total))
            raise
        finally:
            self.recorder.flush()
        if self._live:
            report = deadlock(launch.program, launch.name, self.now - start, self._waiting, self._live, self._gathered)
            raise DeadlockError(report)
        self.now += self.gpu.launch_latency_ns * self.gpu.clock_ghz

    def at(self, time: float, strand: Strand, call: Callable[..., None], *args: Any) -> None:
        """Have a function called with a time, when it comes, on behalf of a strand at the line where it is now."""
        heapq.heappush(self._events, (time, next(self._order), call, (strand, strand.line, args)))

    def is_live(self, strand: Strand) -> bool:
        """Whether a strand has not left the kernel."""
        return strand in self._live

    def release(self, strand: Strand, time: float) -> None:
        """Let a strand that waits on an mbarrier go on."""
        self._wake(strand, time + self._mbarrier)

    def _dispatch(self, sm: Sm, time: float) -> None:
        number = next(self._todo, None)
        if number is None:
            return
        sm.resident += 1
        cta = self._launch.make_cta(self, number)
        cta.sm = sm
        for strand in cta.strands:
            strand.clock_offset = 1 + CLOCK_STEP_OF_SM * sm.number
            strand.t = time + self.gpu.cta_launch_cycles
            strand.code = self._launch.program.run(strand)
            self._live.add(strand)
            heapq.heappush(self._events, (strand.t, next(self._order), strand, None))

    # ---- strands

    def _wake(self, strand: Strand, time: float) -> None:
        self._waiting.pop(strand, None)
        strand.t = time
        heapq.heappush(self._events, (time, next(self._order), strand, None))

    def _resume(self, strand: Strand) -> None:
        try:
            request = next(strand.code, None)
        except FAULTS as error:
            raise fault(self._launch.program, strand, error) from error
        if request is None:
            self._finish(strand)
        elif strand.t <= self.now or not self._events or strand.t <= self._events[0][0]:
            self._serve(strand, request)
        else:
            heapq.heappush(self._events, (strand.t, next(self._order), strand, request))

    def _call(self, function: Callable[..., None], strand: Strand, line: int | None, args: tuple[Any, ...]) -> None:
        try:
            function(self.now, *args)
        except FAULTS as error:
            raise fault(self._launch.program, strand, error, line) from error

    def _serve(self, strand: Strand, request: Any) -> None:
        t = strand.t
        if type(request) is Cost:
            self._wake(strand, self._use(strand.cta.sm, t, request))
            return
        match request:
            case Wait():
                if request.barrier.passed(request.parity):
                    self._wake(strand, t + self._mbarrier)
                else:
                    request.barrier.waiters.append((strand, request.parity))
                    self._waiting[strand] = request
            case Until():
                self._wake(strand, max(t, request.time))
            case CopyAsync():
                end = self._use(strand.cta.sm, t, request.cost)
                strand.copying(end)
                if request.args is not None:
                    self.at(end, strand, _move, request.args)
                self._wake(strand, _issued(t, end, request.cost))
            case Load():
                end = self._use(strand.cta.sm, t, request.cost)
                strand.cta.loads[request.number] = end
                self._wake(strand, _issued(t, end, request.cost))
            case CopyTma():
                self._tma(strand, request)
            case Multiply():
                strand.products_begun.add(self._use(strand.cta.sm, t, request.cost))
                self._wake(strand, t + _ISSUE_CYCLES)
            case Meet():
                place = self._gathered[strand.cta, request.place]
                place.strands.append(strand)
                self._waiting[strand] = request
                self._check_meet(strand.cta, request)
            case Sync():
                self._arrive_at(strand, request)
            case _:
                raise AssertionError(f"a strand asked for {request!r}")

    def _use(self, sm: Sm, t: float, cost: Cost) -> float:
        end = t
        self.flop += cost.flop
        free = sm.free
        for unit, busy in cost.parts:
            done = max(t, free[unit]) + busy
            free[unit] = done
            end = max(end, done)
        if cost.bytes:
            self._device_free = max(t, self._device_free) + cost.bytes / self._rate
            end = max(end, self._device_free)
        return end + cost.latency

    def _tma(self, strand: Strand, request: CopyTma) -> None:
        t, barrier = strand.t, request.barrier
        barrier.arrive(t, request.arrives, request.bytes)
        issued = t + self.gpu.tma_issue_cycles
        if strand.last_issue != t:
            issued += self.gpu.latencies.tma_issue
        end = self._use(strand.cta.sm, issued, request.cost)
        self.at(end, strand, _arrived, request)
        strand.last_issue = issued
        self._wake(strand, issued)

    def _check_meet(self, cta: Cta, request: Meet) -> None:
        key = cta, request.place
        place = self._gathered[key]
        wanted = [s for s in cta.strands if s.index in request.strands and s in self._live]
        if len(place.strands) < len(wanted):
            cta.meets[request.place] = request
            return
        del self._gathered[key]
        cta.meets.pop(request.place, None)
        time = max((s.t for s in place.strands), default=self.now)
        for strand in place.strands:
            self._wake(strand, time)

    def arrive_without_waiting(self, time: float, strand: Strand, request: Sync) -> None:
        """Threads come to a named barrier and go on."""
        key = self._key(strand, request)
        self._gathered[key].threads += request.threads
        self._check_sync(key, request, time)

    def _arrive_at(self, strand: Strand, request: Sync) -> None:
        key = self._key(strand, request)
        place = self._gathered[key]
        place.strands.append(strand)
        place.threads += request.threads
        self._waiting[strand] = request
        strand.cta.syncs[key] = request
        self._check_sync(key, request, strand.t)

    def _check_sync(self, key: Any, request: Sync, time: float) -> None:
        place = self._gathered[key]
        if request.scope == "grid":
            complete = len(place.strands) >= self._at_grid
        elif request.scope == "cluster":
            per_cta = len(self._launch.program.strands)
            complete = len(place.strands) >= per_cta * int(np.prod(self._launch.cluster))
        elif request.expected:
            complete = place.threads >= request.expected
        else:
            complete = len(place.strands) >= sum(s in self._live for s in key[0].strands)
        if not complete:
            return
        del self._gathered[key]
        for strand in place.strands:
            strand.cta.syncs.pop(key, None)
            self._wake(strand, max(time, self.now) + self._sync[request.scope])

    def _key(self, strand: Strand, request: Sync) -> Any:
        if request.scope == "cta":
            return strand.cta, "sync", request.name
        return (request.scope, strand.cta.cluster if request.scope == "cluster" else 0, request.name)

    def _finish(self, strand: Strand) -> None:
        self._live.discard(strand)
        cta = strand.cta
        for meet in list(cta.meets.values()):
            if strand.index in meet.strands:
                self._check_meet(cta, meet)
        for key, request in list(cta.syncs.items()):
            if request.scope == "cta" and key in self._gathered:
                self._check_sync(key, request, self.now)
        cta.left -= 1
        if not cta.left:
            cta.strands.clear()  # they refer to it: without a circle its memory is free at once
            cta.sm.resident -= 1
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total)
            self._dispatch(cta.sm, max(self.now, strand.t))


def _issued(start: float, end: float, cost: Cost) -> float:
    """When threads have handed all of their loads to the memory pipe, which takes no more than it moves."""
    return max(start + _ISSUE_CYCLES, end - cost.latency)


def _move(_: float, args: tuple[Any, Any]) -> None:
    tiles.move(*args)


def _arrived(time: float, request: CopyTma) -> None:
    if request.args is not None:
        tiles.move(*request.args)
    request.barrier.receive(time, request.bytes)
