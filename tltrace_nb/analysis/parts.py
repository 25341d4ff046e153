"""A trace in parts of whole CTAs, and work on them side by side.

In: a trace. Out: a :class:`Part` per some hundred thousand events. Most analyses look at one CTA at a time: part by
part they need the memory of a part, which mostly fits a processor's cache, and every core has some to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from tltrace_nb.analysis.spans import Array

PART_EVENTS = 1 << 17
"""Events of a part, if its CTAs are smaller: what is done with them stays in a processor's cache, mostly."""
MOST_WORKERS = 4
"""Parts that are in work at once; more would take more memory, and wait for it."""

Result = TypeVar("Result")


class Parted(Protocol):
    """What is told apart by CTA: the frames of a trace."""

    @property
    def events(self) -> pd.DataFrame: ...
    @property
    def flows(self) -> pd.DataFrame: ...


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of ``Trace.events`` under their own labels, which ascend by one, and the arrows between them.

    ``flows`` has ``src`` and ``dst`` as labels.
    """

    events: pd.DataFrame
    flows: pd.DataFrame


def parts(trace: Parted, events: int = 0) -> list[Part]:
    """``trace`` in parts of at most so many events (default: ``PART_EVENTS``), or of one CTA. Nothing is copied."""
    whole, flows = trace.events, trace.flows
    cta = whole["cta"].to_numpy()
    changes = np.flatnonzero(cta[1:] != cta[:-1]) + 1
    bounds = _bounds(np.append(changes, len(whole)), events or PART_EVENTS)
    if len(bounds) == 2:
        return [Part(whole, flows)]
    part_of = np.searchsorted(bounds, flows["src"].to_numpy(), side="right")
    part_of = part_of.astype(np.min_scalar_type(len(bounds)))  # 16 bits are sorted in one pass
    order = np.argsort(part_of, kind="stable")
    ends = np.searchsorted(part_of[order], np.arange(len(bounds)), side="right")
    return [
        Part(whole.iloc[first:last], flows.iloc[order[begin:end]])
        for first, last, begin, end in zip(bounds[:-1], bounds[1:], ends[:-1], ends[1:], strict=True)
    ]


def side_by_side(traces: Sequence[Parted]) -> list[list[pd.DataFrame]]:
    """The events of the same CTAs of several traces, in parts of at most ``PART_EVENTS`` in all, or of one CTA."""
    ctas = [trace.events["cta"].to_numpy() for trace in traces]
    most = max(int(cta.max(initial=0)) for cta in ctas) + 1
    ends = [np.cumsum(np.bincount(cta, minlength=most)) for cta in ctas]
    whole = sum(ends)
    at = np.searchsorted(whole, _bounds(np.unique(whole), PART_EVENTS)[1:])
    bounds = [[0, *end[at].tolist()] for end in ends]
    return [
        [trace.events.iloc[mine[i] : mine[i + 1]] for trace, mine in zip(traces, bounds, strict=True)]
        for i in range(len(at))
    ]


def _bounds(ends: Array, most: int) -> list[int]:
    """The first row of each part, and the number of rows. ``ends``: where each CTA ends."""
    bounds = [0]
    while bounds[-1] < ends[-1]:
        fitting = int(np.searchsorted(ends, bounds[-1] + most, side="right")) - 1
        end = int(ends[max(fitting, 0)])
        bounds.append(end if end > bounds[-1] else int(ends[fitting + 1]))
    return bounds if len(bounds) > 1 else [0, 0]


def each(work: Callable[[Any], Result], on: Iterable[Any]) -> list[Result]:
    """``work`` on every part, in their order, on all cores as far as NumPy lets go of Python's lock."""
    todo = list(on)
    workers = min(os.cpu_count() or 1, MOST_WORKERS, len(todo))
    if workers <= 1:
        return [work(part) for part in todo]
    with ThreadPoolExecutor(workers, "tltrace-parts") as pool:
        return list(pool.map(work, todo))


def joined(frames: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns of several parts behind each other; each part's are given away as they are joined."""
    if len(frames) == 1:
        return frames[0]
    return {
        column: pd.concat([pd.Series(frame.pop(column), copy=False) for frame in frames], ignore_index=True).array
        for column in list(frames[0])
    }
