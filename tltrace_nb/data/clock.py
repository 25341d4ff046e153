"""SM-aligned time: what each CTA's (clock64, globaltimer) readings say about its clock.

In: the readings of every writer at entry and exit. Out: :class:`Clocks`, one rate and one place in time per CTA.

``clock64`` counts the cycles of one SM and starts anywhere; ``%globaltimer`` is common to the SMs but steps (by 32 ns
on an H200). A trace of the virtual GPU states the rate of its model; else none is assumed, and each is measured, by the
first of these that suffices:

1. *own*: the CTA's earliest and latest reading, when they lie at least ``OWN_STEPS`` timer steps apart;
2. *SM*: the first and the last reading on the same SM in the same launch, when they lie ``OWN_STEPS`` apart (the CTAs
   of an SM share its clock, so the baseline may span many CTAs);
3. *launch*: the cycles of all its SMs' baselines over their nanoseconds, when those sum to ``LAUNCH_STEPS`` (the
   roundings of many short baselines average out);
4. otherwise the rate is NaN: unknown, never guessed.

The step is measured too: the largest power of two that divides every difference of readings, at most ``COARSEST_STEP``.
A CTA is placed by the mean of what its own readings say, so an error in a borrowed rate does not accumulate over CTAs.
Readings are subtracted as integers (a ``float64`` of absolute ns has lost its last digits) and divided at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

OWN_STEPS = 64
"""Timer steps between two readings that give a rate of their own: an error of at most 1/64."""

LAUNCH_STEPS = 16
"""Timer steps, summed over SMs, below which a launch's rate is unknown."""

COARSEST_STEP = 1024
"""ns; no GPU's timer is known to step by more. Bounds the step when there are too few readings to see it."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_FAR = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clock of each CTA, as ``float64[num_cta]``.

    ``ghz`` is in cycles per ns, NaN where nothing can be known. ``start_ns`` and ``end_ns`` are zeroed at the entry of
    the trace's first CTA, NaN for a CTA without a reading, and for one whose timer ran ``backwards`` (``bool``): its
    last reading was before its first.
    """

    ghz: Floats
    start_ns: Floats
    end_ns: Floats
    backwards: Bools


def align(
    clock: Ints,
    ns: Ints,
    valid: Bools,
    *,
    entry: Ints,
    duration: Ints,
    sm: npt.NDArray[np.integer],
    launch: npt.NDArray[np.integer],
    stated: float | None = None,
) -> Clocks:
    """Measure each CTA's clock and place the CTAs on one time axis; the rules are the module's.

    ``clock`` (cycles) and ``ns`` are readings ``[num_cta, n]``, of which ``valid`` are real. Per CTA: ``entry`` its
    first clock, ``duration`` its cycles, ``sm`` and ``launch`` where and in which launch it ran. ``stated``: the rate
    of all, in GHz, where it is known beforehand. Subtractions wrap, so that garbage gives garbage but neither an error
    nor a warning.
    """
    rows, points = clock.shape
    nothing = np.full(rows, np.nan)
    if rows == 0 or points == 0:
        return Clocks(nothing, nothing.copy(), nothing.copy(), np.zeros(rows, np.bool_))
    cycles = clock - entry[:, None]
    each = np.arange(rows)
    first = np.where(valid, cycles, _FAR).argmin(axis=1)
    last = np.where(valid, cycles, -_FAR).argmax(axis=1)
    backwards = valid.any(axis=1) & (ns[each, last] < ns[each, first])
    valid = valid & ~backwards[:, None]
    seen = valid.any(axis=1)
    if not seen.any():
        return Clocks(nothing, nothing.copy(), nothing.copy(), backwards)
    time = ns - ns[valid].min()
    first_time, last_time = time[each, first], time[each, last]
    step = timer_step(time[valid])

    own = _Span(cycles[each, last] - cycles[each, first], last_time - first_time)
    home = np.where(seen, launch.astype(np.int64) << 32 | sm.astype(np.int64), -1)
    on_sm = _baselines(home, first_time, last_time, clock[each, first], clock[each, last])
    of_launch = _sums(on_sm, home, launch)
    ghz = np.full(rows, np.nan)
    for span, steps in ((of_launch, LAUNCH_STEPS), (on_sm, OWN_STEPS), (own, OWN_STEPS)):
        good = seen & (span.cycles > 0) & (span.ns >= steps * step)
        ghz[good] = span.cycles[good] / span.ns[good]
    if stated is not None:
        ghz[seen] = stated

    known = np.isfinite(ghz)
    readings = np.where(valid, time - cycles / ghz[:, None], 0.0).sum(axis=1) / np.maximum(valid.sum(axis=1), 1)
    start = np.where(known, readings, first_time.astype(np.float64))
    end = np.where(known, start + duration / ghz, last_time.astype(np.float64))
    zero = start[seen].min()
    return Clocks(ghz, np.where(seen, start - zero, np.nan), np.where(seen, end - zero, np.nan), backwards)


def timer_step(time: Ints) -> int:
    """The step of the timer in ns: the largest power of two that divides all differences of ``time``.

    At most ``COARSEST_STEP``, which is also the answer when all readings are the same.
    """
    differences = int(np.bitwise_or.reduce(time - time[0])) | COARSEST_STEP
    return differences & -differences


@dataclass(frozen=True, slots=True)
class _Span:
    """Cycles and ns between the same two readings, ``int64[num_cta]`` each."""

    cycles: Ints
    ns: Ints


def _baselines(home: Ints, first_time: Ints, last_time: Ints, first_clock: Ints, last_clock: Ints) -> _Span:
    """For each CTA, the span from the first to the last reading among the CTAs of the same ``home``."""
    by_start, by_end = np.lexsort((first_time, home)), np.lexsort((last_time, home))
    earliest = by_start[np.searchsorted(home[by_start], home, side="left")]
    latest = by_end[np.searchsorted(home[by_end], home, side="right") - 1]
    return _Span(last_clock[latest] - first_clock[earliest], last_time[latest] - first_time[earliest])


def _sums(on_sm: _Span, home: Ints, launch: npt.NDArray[np.integer]) -> _Span:
    """For each CTA, the baselines of its launch's SMs summed, each SM once."""
    once = np.unique(home, return_index=True)[1]
    once = once[(on_sm.cycles[once] > 0) & (on_sm.ns[once] > 0) & (home[once] >= 0)]
    total = np.zeros((2, int(launch.max()) + 1), np.int64)
    np.add.at(total[0], launch[once], on_sm.cycles[once])
    np.add.at(total[1], launch[once], on_sm.ns[once])
    return _Span(total[0][launch], total[1][launch])
