"""Which CTAs of a large grid are simulated, on which part of the GPU, and whose run each of the others repeats.

In: the classes of the CTAs, the places that SMs have for them, and how many events a CTA takes. Out: a
:class:`Sample`: the CTAs that run, in their order, on a GPU with fewer SMs, and its share of what all SMs share.

A wave is as many CTAs as the GPU holds at once. The sample has the same number of waves, each with fewer CTAs; where
even so there would be too many events, waves in the middle are left out, and their CTAs repeat those of the last wave
before them. Among neighbours, a class gets its turn when it is behind by most: the mixture in each stretch stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.simulator.memory import Array

BUDGET = 150_000
"""Events that the simulation of one launch may take before CTAs are left out: one to two seconds."""
BESIDE_VALUES = 0.1
"""The part of it that there is where values are computed, too."""
OF_A_CTA = 8
"""Events that take as long as making a CTA."""
LEAST_SMS = 4
"""SMs of a sample, so that memory is shared as between SMs."""
LEAST_WAVES = 5
"""Waves of a sample: two that fill the GPU, one that goes on as those left out, two that empty it."""
LEAST_OF_A_CLASS = 3
"""CTAs of a sample for each class, at least, on average."""
LEAST_GAIN = 4
"""How many times fewer CTAs a sample has, at least: repeating them takes time, too."""
_LAST_WAVES = 2


@dataclass(frozen=True)
class Sample:
    """``numbers``: the CTAs that run, in their order. ``like``: for each CTA of the grid, the place in ``numbers``."""

    numbers: Array
    like: Array
    gpu: Gpu
    stands_for: float


def sample(of: Array, places: int, gpu: Gpu, events: float, part: float = 1.0) -> Sample | None:
    """The sample of a grid whose CTAs are of the classes ``of``; ``None`` where all of them are to run.

    ``places``: CTAs that an SM holds; ``events``: of one CTA, on average; ``part`` of the budget is there for it.
    """
    total = len(of)
    events += OF_A_CTA
    if total * events <= BUDGET * part:
        return None
    allowed = max(BUDGET * part / events, LEAST_OF_A_CLASS * len(np.unique(of)))
    waves = total / (places * gpu.sms)
    sms = max(LEAST_SMS, round(allowed / (places * waves)))
    if sms >= gpu.sms:
        return None
    kept = waves
    whole = max(LEAST_WAVES, int(allowed / (places * sms)))
    if whole < int(waves):
        kept = whole + waves % 1
    wave = places * sms
    count = max(1, round(kept * wave))
    at = np.minimum(_compressed(np.arange(total) / (places * gpu.sms), waves, kept) * wave, count - 1).astype(np.int64)
    if count > total / LEAST_GAIN or 2 * len(np.unique(of)) > count:
        return None
    numbers = _chosen(of, at, count)
    if numbers is None:
        return None
    smaller = replace(
        gpu,
        sms=sms,
        hbm_bytes_per_second=gpu.hbm_bytes_per_second * sms / gpu.sms,
        l2_bytes_per_cycle=gpu.l2_bytes_per_cycle * sms / gpu.sms,
        dispatch_cycles=gpu.dispatch_cycles * gpu.sms / sms,
    )
    return Sample(numbers, _nearest(of, at, of[numbers]), smaller, gpu.sms / sms)


def _compressed(wave: Array, waves: float, kept: float) -> Array:
    """Where a CTA's place in the grid, in waves, comes to lie when waves in the middle are left out."""
    skipped = round(waves - kept)
    if not skipped:
        return wave
    head = int(kept) - _LAST_WAVES
    return np.where(wave < head, wave, np.where(wave < head + skipped, head - 1 + wave % 1, wave - skipped))


def _chosen(of: Array, at: Array, count: int) -> Array | None:
    """A CTA for each place: of the class that is behind by most among those that come to lie there."""
    order = np.argsort(at, kind="stable")
    bounds = np.searchsorted(at[order], np.arange(count + 1))
    behind = np.zeros(int(of.max()) + 1)
    numbers = np.empty(count, np.int64)
    for place in range(count):
        here = order[bounds[place] : bounds[place + 1]]
        if not len(here):
            return None
        classes, first, sizes = np.unique(of[here], return_index=True, return_counts=True)
        behind[classes] += sizes / len(here)
        best = int(np.argmax(behind[classes]))
        behind[classes[best]] -= 1
        numbers[place] = here[first[best]]
    return numbers if len(np.unique(of[numbers])) == len(behind) else _with_all(of, at, numbers)


def _with_all(of: Array, at: Array, numbers: Array) -> Array | None:
    """The same with one of each class, in the place of one whose class has others."""
    sizes = np.bincount(of[numbers], minlength=int(of.max()) + 1)
    for missing in np.flatnonzero(sizes == 0):
        number = int(np.flatnonzero(of == missing)[0])
        near = np.argsort(abs(np.arange(len(numbers)) - at[number]), kind="stable")
        place = next((p for p in near if sizes[of[numbers[p]]] > 1), None)
        if place is None:
            return None
        sizes[of[numbers[place]]] -= 1
        sizes[missing] = 1
        numbers[place] = number
    return numbers


def _nearest(of: Array, at: Array, classes: Array) -> Array:
    """For each CTA the nearest place that has one of its class."""
    like = np.empty(len(of), np.int64)
    for each in range(int(of.max()) + 1):
        members, places = np.flatnonzero(of == each), np.flatnonzero(classes == each)
        after = np.searchsorted(places, at[members]).clip(0, len(places) - 1)
        before = np.maximum(after - 1, 0)
        closer = abs(places[before] - at[members]) <= abs(places[after] - at[members])
        like[members] = places[np.where(closer, before, after)]
    return like
