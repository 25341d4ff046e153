"""Which launches stay, of the thousands that a program makes.

In: launches, one by one, as they are made. Out: those that a policy keeps, per kernel and shape, and a count of all.
What is not kept is let go, so that its slots are free for the next launch. Adding one waits for nothing: whether it was
the slowest is decided when the device has said how long it took, some launches later.
"""

from __future__ import annotations

import math
import statistics
import threading
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from tltrace_nb.base.checks import wrong
from tltrace_nb.data.slots import span_ns

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

HOST_BUDGET = 1 << 30
"""Bytes that all kept launches take, on the device and the host: slots, and the frames that were made of them."""
SECTIONS = 64
"""Sections of which launches stay: blocks and cells, those that launched something last."""
TIMES = 4096
"""Times of one kernel and shape from which a median is taken; of more launches every second, fourth … counts."""
TIMES_AT_ONCE = 8
"""Launches of a kernel and shape after which the device is asked for their times."""
CHECKS = 8
"""How often memory is looked at while as much as the budget comes in."""

_FORMS = "'first', 'last', 'slowest', 'all', a number (the latest so many) or 'every 10', or several of them"


class Launch(Protocol):
    """A launch of a traced kernel."""

    @property
    def key(self) -> Hashable:
        """Kernel and shape: launches with equal keys did the same work."""

    @property
    def device_bytes(self) -> int:
        """Bytes of a GPU's memory that it holds; 0 once its slots are on the host."""

    @property
    def host_bytes(self) -> int:
        """Bytes of the host's memory that it holds: its slots once they are there, and what was made of them."""

    @property
    def graph(self) -> bool:
        """Whether its slots belong to a CUDA graph, and have to stay on the device."""

    @property
    def timed(self) -> bool:
        """Whether ``ns`` will ever tell anything."""

    def ns(self, wait: bool) -> float | None:
        """How long it took; ``None`` while that is not known, NaN if it never will be. ``wait``: until it is."""

    def trace(self) -> Trace:
        """Its trace, always the same one."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Which launches of one kernel and shape stay: the first, the latest so many, the slowest, every n-th (0: none)."""

    first: bool = True
    last: int = 1
    slowest: bool = True
    every: int = 0

    @classmethod
    def of(cls, spec: LaunchesToKeep | None) -> Policy:
        """The policy that words and numbers say; ``None``: the first, the last and the slowest.

        Raises ``ValueError`` or ``TypeError`` for anything else, naming the right ones.

        >>> Policy.of("first, every 10")
        """
        if spec is None or isinstance(spec, Policy):
            return spec or cls()
        if type(spec) is bytes:
            wrong("keep_launches", spec, _FORMS, TypeError)
        try:
            parts = spec.split(",") if isinstance(spec, str) else [spec] if isinstance(spec, int) else list(spec)
        except TypeError:
            wrong("keep_launches", spec, _FORMS, TypeError)
        found = {"first": False, "last": 0, "slowest": False, "every": 0}
        for part in parts:
            match part.split() if isinstance(part, str) else part:
                case ["first" | "slowest" as name]:
                    found[name] = True
                case ["last"]:
                    found["last"] = max(found["last"], 1)
                case ["all"]:
                    found["every"] = 1
                case ["every", number] if number.isdecimal() and int(number):
                    found["every"] = int(number)
                case [number] if number.isdecimal() and int(number):
                    found["last"] = int(number)
                case int(number) if not isinstance(number, bool) and number > 0:
                    found["last"] = number
                case _:
                    wrong("keep_launches", spec, _FORMS)
        if not any(found.values()):
            wrong("keep_launches", spec, _FORMS)
        return cls(bool(found["first"]), int(found["last"]), bool(found["slowest"]), int(found["every"]))


LaunchesToKeep = str | int | Iterable[str | int] | Policy


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a program with a policy of its own, in which launches are counted from one again."""

    number: int = 0
    policy: Policy = field(default_factory=Policy)


@dataclass(slots=True, eq=False)
class _Held:
    """A launch that is kept, or may be; ``number`` of all and ``turn`` of its kernel and shape, counted from 0."""

    number: int
    turn: int
    launch: Launch
    ns: float = math.nan


@dataclass(frozen=True, slots=True)
class Launched:
    """The launches of one kernel and shape: how many, their median time, and which of them are kept.

    The time is the GPU's, of launches that were timed, and else the span of the first that is kept.

    ``kept`` has, in order, why (words such as ``"first"``, or the launch's number, counted from 1) and the trace.
    """

    kernel: str
    launches: int
    median_ns: float | None
    kept: tuple[tuple[str, Trace], ...]


class _Times:
    """Times of launches, evenly over all of them and never more than ``TIMES``."""

    def __init__(self) -> None:
        self._kept: list[float] = []
        self._stride = 1
        self._seen = 0

    def add(self, ns: float) -> None:
        if self._seen % self._stride == 0:
            self._kept.append(ns)
            if len(self._kept) == TIMES:
                del self._kept[1::2]
                self._stride *= 2
        self._seen += 1

    def median(self) -> float | None:
        return statistics.median(self._kept) if self._kept else None


class _Group:
    """The launches of one kernel and shape in one section."""

    def __init__(self, key: Hashable, policy: Policy) -> None:
        self.key = key
        self.count = 0
        self.times = _Times()
        self.newest = -1
        self._policy = policy
        self._first: _Held | None = None
        self._last: deque[_Held] = deque(maxlen=policy.last)
        self._every: list[_Held] = []
        self._slowest: _Held | None = None
        self._pending: deque[_Held] = deque()
        self._sparing = False

    def add(self, held: _Held, pinned: bool) -> None:
        if self._sparing and not pinned:  # the common case: this one is the last, until the next comes
            self._last.append(held)
        else:
            self._choose(held, pinned)
        self.newest = held.number
        self.count += 1
        if not held.launch.timed:
            return
        self._pending.append(held)
        if not len(self._pending) % TIMES_AT_ONCE and not held.launch.graph:
            self.take_times()

    def _choose(self, held: _Held, pinned: bool) -> None:
        policy = self._policy
        if self.count == 0 and policy.first:
            self._first = held
        if pinned or (policy.every and self.count % policy.every == 0):
            self._every.append(held)
        self._last.append(held)
        self._sparing = not policy.every

    def take_times(self, wait: bool = False, before: float = math.inf) -> None:
        """Take the times that the device has said by now; ``wait`` for all, or those ``before`` a launch."""
        pending, slowest = self._pending, self._slowest
        while pending:
            held = pending[0]
            ns = held.launch.ns(wait and held.number < before)
            if ns is None:
                break
            pending.popleft()
            if math.isnan(ns):  # it never will be known
                continue
            held.ns = ns
            self.times.add(ns)
            if slowest is None or ns > slowest.ns:
                slowest = held
        if self._policy.slowest:
            self._slowest = slowest

    def held(self) -> Iterator[_Held]:
        """What is in memory, the same one perhaps several times."""
        yield from self._pending
        for held, _ in self.kept():
            yield held

    def kept(self) -> Iterator[tuple[_Held, str]]:
        """What is kept, and why, the same one perhaps for several reasons."""
        if self._first is not None:
            yield self._first, "first"
        for held in (*self._every, *self._last):
            yield held, "last" if held.number == self.newest else str(held.turn + 1)
        if self._slowest is not None:
            yield self._slowest, "slowest"

    def forget(self, held: _Held) -> None:
        """Keep it no longer, for whatever reason it was kept."""
        if self._first is held:
            self._first = None
        if self._slowest is held:
            self._slowest = None
        for holder in (self._every, self._last, self._pending):
            if held in holder:
                holder.remove(held)


class Kept:
    """The launches of a process that stay, and the number of all."""

    def __init__(self) -> None:
        self._groups: dict[tuple[int, Hashable], _Group] = {}
        self._count = 0
        self._unchecked = 0
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """Launches so far, whether they stay or not; a number for ``since``."""
        return self._count

    def add(self, launch: Launch, section: Section, budget: int, *, pinned: bool = False) -> None:
        """Take one more launch, which stays if the policy wants it or it is ``pinned``.

        ``budget``: bytes of a GPU's memory that all may hold. Beyond it launches are copied to the host, the oldest
        first and never the one just made, and those of a CUDA graph, which cannot be, are let go. So are the oldest
        beyond ``HOST_BUDGET``, which counts frames as they are when a launch comes in.
        """
        key = section.number, launch.key
        size = launch.device_bytes or launch.trace().nbytes
        with self._lock:
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = _Group(launch.key, section.policy)
                self._forget_sections()
            group.add(_Held(self._count, group.count, launch), pinned)
            self._count += 1
            self._unchecked += size
            if self._unchecked > budget // CHECKS:
                self._unchecked = 0
                self._relieve(budget, launch.graph)

    def since(self, number: int = 0) -> list[Trace]:
        """The traces of launches from a number on that stay, in the order of their launches."""
        with self._lock:
            return [held.launch.trace() for held in self._kept() if held.number >= number]

    def alike(self, trace: Trace) -> dict[int, Trace]:
        """What stays of the launches like that of ``trace``, by their numbers, counted from 1; none of another's."""
        with self._lock:
            self._take_times()
            for group in self._groups.values():
                found = {held.turn + 1: held.launch.trace() for held, _ in group.kept()}
                if any(each is trace for each in found.values()):
                    return dict(sorted(found.items()))
        return {}

    def launches(self) -> list[Launch]:
        """The launches that stay, in their order."""
        with self._lock:
            return [held.launch for held in self._kept()]

    def launched(self, number: int = 0) -> list[Launched]:
        """What is known of each kernel and shape that was launched from a number on."""
        with self._lock:
            self._take_times()
            return [_launched(group, number) for group in self._groups.values() if group.newest >= number]

    def clear(self) -> None:
        """Let all launches go."""
        with self._lock:
            self._groups.clear()

    def _forget_sections(self) -> None:
        """Let go of the sections that launched nothing for longest; one that has not launched yet is the newest."""
        newest: dict[int, int] = {}
        for (section, _), group in self._groups.items():
            last = group.newest if group.count else self._count
            newest[section] = max(last, newest.get(section, -1))
        gone = set(sorted(newest, key=newest.__getitem__)[:-SECTIONS])
        if gone:
            self._groups = {key: group for key, group in self._groups.items() if key[0] not in gone}

    def _take_times(self) -> None:
        for group in self._groups.values():
            group.take_times(wait=True)

    def _kept(self) -> list[_Held]:
        """What stays, once each, in the order of the launches."""
        self._take_times()
        found = {held.number: held for group in self._groups.values() for held, _ in group.kept()}
        return [found[number] for number in sorted(found)]

    def _relieve(self, budget: int, capturing: bool) -> None:
        """Bring what is in memory within the budgets, the newest launch apart; while capturing nothing waits."""
        newest = self._count - 1
        if not capturing and self._device_bytes() > budget // 2:
            for group in self._groups.values():
                group.take_times()
        if not capturing and self._device_bytes() > budget:
            # The device has later launches in its queue, so that it does not run dry while this waits.
            for group in self._groups.values():
                group.take_times(wait=True, before=newest)
        over = self._device_bytes() - budget
        total = sum(held.launch.device_bytes + held.launch.host_bytes for _, held in self._in_memory())
        for group, held in self._in_memory():
            if held.number == newest:
                continue
            size = held.launch.device_bytes
            if total > HOST_BUDGET or (over > 0 and size and held.launch.graph):
                group.forget(held)
                total -= size + held.launch.host_bytes
                over -= size
            elif over > 0 and size and not capturing:
                _ = held.launch.trace().slots
                over -= size

    def _device_bytes(self) -> int:
        return sum(held.launch.device_bytes for _, held in self._in_memory())

    def _in_memory(self) -> list[tuple[_Group, _Held]]:
        found = {held.number: (group, held) for group in self._groups.values() for held in group.held()}
        return [found[number] for number in sorted(found)]


def _launched(group: _Group, number: int) -> Launched:
    """What is known of a group's launches, of which those from a number on are told one by one."""
    reasons: dict[int, tuple[_Held, list[str]]] = {}
    for held, why in group.kept():
        if held.number >= number:
            reasons.setdefault(held.number, (held, []))[1].append(why)
    kept = tuple((_joined(whys), held.launch.trace()) for _, (held, whys) in sorted(reasons.items()))
    median = group.times.median()
    if median is None and kept:  # a kernel's first launch on a GPU is not timed, and may be the only one
        median = span_ns(kept[0][1].slots)
    return Launched(_name(group.key, kept), group.count, median, kept)


def _joined(whys: list[str]) -> str:
    """Why a launch is kept: in words where there are any, else its number."""
    words = [why for why in dict.fromkeys(whys) if not why.isdecimal()]
    return ", ".join(words) or whys[0]


def _name(key: Hashable, kept: tuple[tuple[str, Trace], ...]) -> str:
    """The kernel's name, of its trace where one is kept."""
    if kept:
        return kept[0][1].table.kernel
    kernel: Any = key[0] if isinstance(key, tuple) and key else key
    return str(getattr(getattr(kernel, "table", kernel), "kernel", kernel))


def launch_of(launch: Launch | Trace) -> Launch:
    """The launch; a trace's, where that is given."""
    if hasattr(launch, "key"):
        return cast("Launch", launch)
    if not hasattr(launch, "table"):
        wrong("launch", launch, "a launch, or the Trace of one", TypeError)
    return _LaunchOf(launch)


class _LaunchOf:
    """The launch of a trace that exists already."""

    graph = False
    timed = True
    shape = ()

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.key: Hashable = (trace.table, trace.meta.grids)

    @property
    def device_bytes(self) -> int:
        """Bytes of a GPU's memory that the trace holds."""
        return self._trace.device_bytes

    @property
    def host_bytes(self) -> int:
        """Bytes of the host's memory that the trace holds."""
        return self._trace.host_bytes

    def ns(self, wait: bool) -> float | None:
        """From the first entry to the last exit of its writers; ``None`` before there is an exit and nobody waits."""
        if self._trace.device_bytes and not wait:
            return None
        taken = span_ns(self._trace.slots)
        return math.nan if taken is None and wait else taken

    def trace(self) -> Trace:
        """The trace."""
        return self._trace
