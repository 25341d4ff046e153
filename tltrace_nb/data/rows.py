"""Events as rows, with the names that ``tileops.trace`` has for them, so that code written for it goes on working.

In: the events frame. Out: :class:`Slice` and :class:`Instant`, and :class:`FlowEdge` between slices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tltrace_nb.base.checks import a, checked, listed, wrong

if TYPE_CHECKING:
    import pandas as pd

Track = tuple[int, int, int]
"""(cta, group, lane); groups and lanes are numbered in order of first appearance in the kernel's sites."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One range. ``ts_cy`` and ``dur_cy`` are cycles, zeroed at the CTA's first record; ``payload`` is the begin's."""

    track: Track
    name: str
    ts_cy: int
    dur_cy: int
    payload: int | float


@dataclass(frozen=True, slots=True)
class Instant:
    """One instant. ``ts_cy`` is in cycles, zeroed at the first record of the CTA."""

    track: Track
    name: str
    ts_cy: int
    payload: int | float


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """One arrow, from the end of a source slice to the start of a destination slice, in cycles as theirs."""

    src_track: Track
    src_ts_cy: int
    dst_track: Track
    dst_ts_cy: int
    src_name: str
    dst_name: str


ROWS_AT_ONCE = 10_000
"""Rows of the frame that are made Python objects together."""


def rows(events: pd.DataFrame, chosen: range | None = None) -> Iterator[Slice | Instant]:
    """The rows of an events frame, in its order, or those at the positions ``chosen``, in theirs.

    ``payload`` is 0 where none was given, signed where its type is. A truncated range is a slice up to its writer's
    exit.
    """
    chosen = range(len(events)) if chosen is None else chosen
    if not len(chosen):
        return
    cta = events["cta"].to_numpy()
    ends = sorted((chosen[0], chosen[-1]))
    ctas = slice(np.searchsorted(cta, cta[ends[0]]), np.searchsorted(cta, cta[ends[1]], side="right"))
    zero = events.iloc[ctas].groupby("cta", sort=False)["start"].min()
    for first in range(0, len(chosen), ROWS_AT_ONCE):
        yield from _rows(events.iloc[np.asarray(chosen[first : first + ROWS_AT_ONCE])], zero)


def _rows(events: pd.DataFrame, zero: pd.Series[int]) -> Iterator[Slice | Instant]:
    """The rows of ``events``; ``zero`` is each CTA's first start."""
    names = list(events["name"].cat.categories)
    first = events["start"] - events["cta"].map(zero)
    columns = (
        events["kind"].cat.codes,
        events["cta"],
        events["group"].cat.codes,
        events["lane"].cat.codes,
        events["name"].cat.codes,
        first,
        events["duration"],
        events["payload"].fillna(0),
    )
    for kind, cta, group, lane, name, start, duration, payload in zip(*(c.tolist() for c in columns), strict=True):
        if kind == 0:
            yield Slice((cta, group, lane), names[name], start, duration, payload)
        else:
            yield Instant((cta, group, lane), names[name], start, payload)


def _names(name: str, value: Any) -> tuple[str, str]:
    """A source and a destination."""
    may = "the names of a source and of a destination"
    if not (isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(each, str) for each in value)):
        wrong(name, value, may, TypeError)
    return value[0], value[1]


@checked(
    events=listed(a((Slice, Instant), "a row of a trace"), "rows of a trace"),
    flows=listed(_names, "pairs of names, of a source and of a destination"),
)
def compute_flows(events: Iterable[Slice | Instant], flows: Iterable[tuple[str, str]]) -> list[FlowEdge]:
    """The arrows of ``flows``, (source, destination) names.

    In each CTA the i-th slice of the source points to the i-th of the destination, both in order of start.
    """
    by_name: dict[str, dict[int, list[Slice]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if isinstance(event, Slice):
            by_name[event.name][event.track[0]].append(event)
    edges: list[FlowEdge] = []
    for source, destination in flows:
        for cta, sources in by_name[source].items():
            targets = sorted(by_name[destination].get(cta, []), key=lambda event: event.ts_cy)
            for src, dst in zip(sorted(sources, key=lambda event: event.ts_cy), targets, strict=False):
                edges.append(FlowEdge(src.track, src.ts_cy + src.dur_cy, dst.track, dst.ts_cy, source, destination))
    return edges
