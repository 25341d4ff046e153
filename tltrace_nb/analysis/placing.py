"""Which kernel of a profile a traced launch is, and where on the profile's axis its CTAs belong.

In: traces, and the :class:`~tltrace_nb.data.kineto.Recording` of the program. Out: a :class:`Placed` for each launch
of each trace, with its kernel in the profile and the error of its place, or with the reason why there is none.

A launch and a kernel of the profile can be the same if they have device function and grid in common, and the CTAs fit
between the kernel's start and end. Of those:

1. *by the call*: a trace knows when its kernel was called, on the host's clock, which the profiler's calls have, too:
   the launch is the kernel of the first call of it, in one of the threads, that had not returned by then. A trace of a
   CUDA graph knows when it was captured: it is one of the kernels of the graph's launches since.
2. *by the GPU's clock*: CTAs are timed by ``%globaltimer``, kernels by CUPTI, and the two differ by the same for all
   launches on a GPU, but for drift. For each kernel that a launch can be there is a range of differences in which its
   CTAs fit; that in which the most launches fit is the right one, and a launch is placed if it leaves one kernel.

The same ranges say where the CTAs belong: the difference is within that of the launch's own kernel, and within those
of the others, each widened by what the clocks may drift until then. The middle is taken; half of what is left is the
error. Times since 1970 are integers: a ``float64`` of them has lost its last digits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from tltrace_nb.base.numbers import count, duration
from tltrace_nb.base.words import clean
from tltrace_nb.data.clock import timer_step
from tltrace_nb.data.reading import place_blocks, read_writers

if TYPE_CHECKING:
    from tltrace_nb.data.kineto import Line, Recording, Span
    from tltrace_nb.data.trace_data import TraceData

DRIFT = 50e-6
"""By how much two clocks of a machine drift at most, in ns per ns: what quartz is specified for."""
SLACK = 1_000
"""ns by which CTAs may seem to take longer than their kernel: the step of the coarsest ``%globaltimer``."""
REACH = 1_000_000
"""ns in which threads that call the same kernel may be mistaken for each other."""
SECOND = 1_000_000_000
GRAPH = "GraphLaunch"
"""Part of the name of a call that launches a CUDA graph."""
_HINT = ": launch its kernel without a graph, too, while the profile is recorded, so that the clocks can be compared"
_FAR = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a trace as its CTAs tell it.

    ``number`` counts the launches of its trace from 0. ``first`` and ``last`` are the first entry and the last exit in
    ns of ``%globaltimer``, which is ``axis`` at the zero of the trace's own times and has a ``step``; ``timed``: they
    are known. ``called``: its call began between these times, in ns since 1970; ``graph``: a graph captured it then.
    """

    trace: TraceData
    number: int
    function: str
    grid: tuple[int, ...]
    first: int
    last: int
    axis: int
    step: int
    timed: bool
    called: tuple[int, int]
    graph: bool

    @property
    def name(self) -> str:
        """Kernel and grid, in words."""
        return f"{clean(self.function, 60)} with grid {self.grid}"


@dataclass(frozen=True, slots=True)
class Placed:
    """A launch at its ``kernel`` in a profile; ``None`` where it cannot be told which, and ``reason`` says why.

    ``shift``: what to add to the trace's own times, in ns, for ns since 1970. ``error``: ns by which that may be wrong,
    to either side. ``play``: ns by which the kernel took longer than from the first CTA's entry to the last one's exit.
    """

    launch: Launch
    kernel: Span | None
    reason: str = ""
    shift: int = 0
    error: int = 0
    play: int = 0


@dataclass(frozen=True, slots=True)
class _Fit:
    """A launch, by its number, in a kernel: CUPTI's time minus ``%globaltimer`` is between ``low`` and ``high``."""

    launch: int
    kernel: Span
    low: int
    high: int


def place(traces: Sequence[TraceData], recording: Recording) -> list[Placed]:
    """Find the kernel of every launch of every trace, in their order; the rules are the module's."""
    launches = [launch for trace in traces for launch in _launches(trace)]
    kernels: dict[str, list[Span]] = defaultdict(list)
    for kernel in recording.kernels:
        kernels[kernel.name].append(kernel)
    fits: list[_Fit] = []
    chosen: dict[int, _Fit | str] = {}
    for number, launch in enumerate(launches):
        try:
            fits += _fits(number, launch, kernels[launch.function], recording)
        except _NoneError as error:
            chosen[number] = str(error)
    chosen |= _chosen(launches, fits)
    lost = {id(launches[number].trace) for number, fit in chosen.items() if isinstance(fit, str)}
    for number, fit in chosen.items():
        if isinstance(fit, _Fit) and id(launches[number].trace) in lost:
            chosen[number] = "another kernel of its trace is not in the profile"
    between = _between(launches, [fit for fit in chosen.values() if isinstance(fit, _Fit)])
    placed = []
    for number, launch in enumerate(launches):
        fit = chosen[number]
        if isinstance(fit, str):
            placed.append(Placed(launch, None, fit))
            continue
        low, high = between[number]
        play = fit.kernel.end - fit.kernel.start - (launch.last - launch.first)
        half = (high - low) // 2
        placed.append(Placed(launch, fit.kernel, "", low + half + launch.axis, half + launch.step, play))
    return placed


class _NoneError(Exception):
    """A launch can be none of the kernels; the message says why."""


# ---- what a trace tells of its launches


def _launches(trace: TraceData) -> Iterator[Launch]:
    """The launches of a trace; times are NaN where no CTA recorded one."""
    table, meta = trace.table, trace.meta
    slots, blocks = place_blocks(trace.slots, table, meta.grids)
    writers = read_writers(slots, table)
    order = np.argsort(blocks.cta, kind="stable")
    entries = np.where(writers.entered, writers.head["entry_ns"], _FAR).reshape(len(order), -1).min(1, initial=_FAR)
    first = entries[order][entries[order] < _FAR]  # of each row of ``ctas``
    start, end = (trace.ctas[column].to_numpy(np.float64) for column in ("start_ns", "end_ns"))
    timed = np.isfinite(start) & np.isfinite(end)
    axis, step = 0, 0
    if timed.any():
        zero = int(first[timed].min())
        axis = zero + round(float(np.mean((first[timed] - zero) - start[timed])))
        step = timer_step(first[timed])
    kernel = trace.ctas["kernel"].astype(str).to_numpy()
    called = _called(meta.captured)
    for number, each in enumerate(table.launches):
        mine = timed & (kernel == each.name)
        grid = each.grid if meta.grids is None else meta.grids[number]
        yield Launch(
            trace=trace,
            number=number,
            function=f"{table.kernel}_kernel_{number}" if number else f"{table.kernel}_kernel",
            grid=tuple(extent or 0 for extent in grid),
            first=axis + round(float(start[mine].min(initial=np.inf))) if mine.any() else 0,
            last=axis + round(float(end[mine].max(initial=-np.inf))) if mine.any() else 0,
            axis=axis,
            step=step,
            timed=bool(mine.any()),
            called=called,
            graph=meta.replayed,
        )


def _called(captured: str) -> tuple[int, int]:
    """The ns since 1970 between which a trace was captured: it says it in whole seconds, or in µs."""
    try:
        when = datetime.fromisoformat(captured)
    except ValueError:
        return 0, _FAR
    since = (when.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000
    return since, since + (1000 if "." in captured else SECOND)


# ---- which kernels a launch can be


def _fits(number: int, launch: Launch, named: list[Span], recording: Recording) -> list[_Fit]:
    """The kernels that a launch can be. Raises ``_NoneError`` where there is none."""
    if launch.trace.meta.device == "virtual":
        raise _NoneError("it ran on the virtual GPU, whose times are those of a model")
    if not launch.timed:
        raise _NoneError("none of its CTAs has recorded a time" + " before the graph was launched" * launch.graph)
    if not named:
        raise _NoneError("the profile has no kernel of that name: was it launched while the profile was recorded?")
    shaped = [each for each in named if each.extents("grid") in (None, launch.grid)]
    if not shaped:
        raise _NoneError(f"the profile has {count(len(named), 'kernel')} of that name, none with this grid")
    called = list(_by_call(launch, shaped, recording))
    if not called:
        when = "by a CUDA graph since it was captured" if launch.graph else "when it was called"
        raise _NoneError(f"the profile has {count(len(shaped), 'such kernel')}, none launched {when}")
    took, longest = launch.last - launch.first, max(each.end - each.start for each in called)
    if took - SLACK > longest:
        raise _NoneError(f"its CTAs took {duration(took)}, the kernel in the profile {duration(longest)}")
    long = [each for each in called if each.end - each.start >= took - SLACK]
    return [_Fit(number, each, *sorted((each.start - launch.first, each.end - launch.last))) for each in long]


def _by_call(launch: Launch, kernels: list[Span], recording: Recording) -> Iterator[Span]:
    """The kernels that the launch's call can have launched, or a launch of its graph."""
    since, until = launch.called
    seen: dict[Line, int] = {}  # per thread, the start of its first call that had not returned ``until`` then
    calls = [(recording.call_of(kernel), kernel) for kernel in kernels]
    yield from (kernel for call, kernel in calls if call is None and kernel.end >= since)
    known = [(call, kernel) for call, kernel in calls if call is not None and (GRAPH in call.name) == launch.graph]
    for call, kernel in sorted(known, key=lambda pair: pair[0].start):
        if call.end < since or (seen and call.start > min(seen.values()) + REACH):
            continue
        if launch.graph:
            yield kernel
        elif call.line not in seen:
            yield kernel
            if call.end >= until:
                seen[call.line] = call.start


# ---- which of them it is


def _chosen(launches: Sequence[Launch], fits: Sequence[_Fit]) -> dict[int, _Fit | str]:
    """Of each launch its kernel, which fits wherever the most launches do, or why that is not known."""
    found: dict[int, list[_Fit]] = {fit.launch: [] for fit in fits}
    for device in {fit.kernel.line[0] for fit in fits}:
        for fit in _agreeing(launches, [fit for fit in fits if fit.kernel.line[0] == device]):
            found[fit.launch].append(fit)
    users = Counter(id(each[0].kernel) for each in found.values() if len(each) == 1)
    chosen: dict[int, _Fit | str] = {}
    for number, each in found.items():
        if not each:
            chosen[number] = "by the GPU's clock it ran at another time than the kernel that its call launched"
        elif len(each) > 1:
            several = f"it may be any of {count(len(each), 'kernel')} in the profile"
            chosen[number] = several + _HINT * launches[number].graph
        elif users[id(each[0].kernel)] > 1:
            chosen[number] = "another traced launch fits the same kernel in the profile"
        else:
            chosen[number] = each[0]
    return chosen


def _agreeing(launches: Sequence[Launch], fits: Sequence[_Fit]) -> list[_Fit]:
    """The fits of one GPU at the differences of clocks at which the most launches fit."""
    times = [launches[fit.launch].first for fit in fits]
    middle = sorted(times)[len(times) // 2]
    wide = [SLACK + round(DRIFT * abs(time - middle)) for time in times]
    ranges = [(fit.low - more, fit.high + more) for fit, more in zip(fits, wide, strict=True)]
    edges = [(at, closes, n) for n, ends in enumerate(ranges) for closes, at in enumerate(ends)]
    open_: Counter[int] = Counter()  # per launch, its fits at this place
    most = 0
    places: list[int] = []
    for at, closes, n in sorted(edges):
        launch = fits[n].launch
        open_[launch] += -1 if closes else 1
        if closes:
            open_ += Counter()  # forgets those of which none is open
            continue
        if len(open_) > most:
            most, places = len(open_), []
        if len(open_) == most:
            places.append(at)
    at_most = np.array(places)
    return [fit for fit, (low, high) in zip(fits, ranges, strict=True) if ((at_most >= low) & (at_most <= high)).any()]


def _between(launches: Sequence[Launch], fits: Sequence[_Fit]) -> dict[int, tuple[int, int]]:
    """The least and the largest difference of clocks of each launch, given the others on its GPU.

    What others say may be off by what clocks drift until then, and by a step of either's. Launches of one trace, which
    has one axis, have the same. Where others contradict a trace, it is believed alone.
    """
    found = {}
    for fit in fits:
        trace = launches[fit.launch].trace
        here = [each for each in fits if each.kernel.line[0] == fit.kernel.line[0]]
        mine = np.array([launches[each.launch].trace is trace for each in here])
        time = np.array([launches[each.launch].first for each in here])
        steps = np.array([launches[each.launch].step for each in here]) + launches[fit.launch].step
        drift = np.where(mine, 0, np.rint(DRIFT * np.abs(time - time[mine][0])).astype(np.int64) + steps)
        low, high = (np.array([getattr(each, side) for each in here]) for side in ("low", "high"))
        least, most = int((low - drift).max()), int((high + drift).min())
        if least > most:
            least, most = sorted((int(low[mine].max()), int(high[mine].min())))
        found[fit.launch] = least, most
    return found
