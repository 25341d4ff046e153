"""Which CTAs of a launch record, in few numbers: a closed form that kernels test, tables store and decoding expands.

In: ids, or how many rows there are for how many CTAs. Out: :class:`CtaRuns`, ascending ids in rows of the slots, and
:class:`Cut` and :class:`Sample`, which pick them launch by launch once the grid is known. Plain data and arithmetic:
device code is made in ``lowering``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Grid = tuple[int, int, int]

IDS = 1 << 31
"""Ids are below it: they have 32 bits on the device."""
LISTED = 1 << 20
"""Ids of ranges that are listed at most, to find the fewest runs."""


@dataclass(frozen=True, slots=True)
class Run:
    """``count`` blocks of ``width`` consecutive ids, the first at ``start``, one every ``stride``."""

    start: int
    stride: int
    count: int
    width: int = 1

    @property
    def rows(self) -> int:
        """How many ids there are."""
        return self.count * self.width

    @property
    def last(self) -> int:
        """The largest id."""
        return self.start + (self.count - 1) * self.stride + self.width - 1

    def ids(self) -> npt.NDArray[np.int64]:
        """The ids, ascending."""
        import numpy as np

        starts = self.start + self.stride * np.arange(self.count, dtype=np.int64)
        return (starts[:, None] + np.arange(self.width)).reshape(-1)

    def below(self, total: int) -> tuple[Run, ...]:
        """The same without the ids from ``total`` on."""
        if self.last < total:
            return (self,)
        whole = max((total - self.start - self.width) // self.stride + 1, 0)
        begun = self.start + whole * self.stride
        found = [] if whole == 0 else [Run(self.start, self.stride, whole, self.width)]
        if begun < total:
            found.append(Run(begun, 1, min(total - begun, self.width)))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class CtaRuns:
    """Ascending linear ids of CTAs as runs that do not overlap; the n-th id has the n-th row of its launch."""

    runs: tuple[Run, ...]

    @classmethod
    def of(cls, ids: Iterable[int]) -> CtaRuns:
        """From ids in any order, each once however often it is given."""
        if isinstance(ids, CtaRuns):
            return ids
        if isinstance(ids, range):
            if not ids:
                return cls(())
            forward = ids if ids.step > 0 else ids[::-1]
            count = (forward[-1] - forward[0]) // forward.step + 1  # a range may be longer than len can say
            return cls((Run(forward[0], forward.step if count > 1 else 1, count),))
        ordered = sorted(set(ids))
        runs: list[Run] = []
        at = 0
        while at < len(ordered):
            end = at + 1
            stride = ordered[end] - ordered[at] if end < len(ordered) else 1
            while end < len(ordered) and ordered[end] - ordered[end - 1] == stride:
                end += 1
            runs.append(Run(ordered[at], stride, end - at))
            at = end
        return cls(tuple(runs))

    @classmethod
    def of_ranges(cls, ranges: Iterable[range]) -> CtaRuns:
        """From ranges in any order, each id once. Long ranges stay ranges.

        Raises ``ValueError`` where such ones overlap in steps.
        """
        ordered = sorted((run for each in ranges for run in cls.of(each).runs), key=lambda run: run.start)
        if sum(run.rows for run in ordered) <= LISTED:
            return cls.of(id_ for run in ordered for id_ in run.ids().tolist())
        overlapping: list[list[Run]] = []
        last = -1
        for run in ordered:
            if not overlapping or run.start > last:
                overlapping.append([])
            overlapping[-1].append(run)
            last = max(last, run.last)
        return cls(tuple(run for together in overlapping for run in _joined(together)))

    @property
    def rows(self) -> int:
        """How many ids there are."""
        return sum(run.rows for run in self.runs)

    def among(self, ids: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Which of these ids, all below ``IDS``, are chosen."""
        import numpy as np

        runs = self.below(IDS).runs
        if not runs:
            return np.zeros(len(ids), np.bool_)
        start, stride, width, last = (
            np.array([getattr(run, name) for run in runs], np.int64) for name in ("start", "stride", "width", "last")
        )
        mine = np.maximum(np.searchsorted(start, ids, side="right") - 1, 0)
        since = ids - start[mine]
        found: npt.NDArray[np.bool_] = (since >= 0) & (ids <= last[mine]) & (since % stride[mine] < width[mine])
        return found

    def ids(self) -> npt.NDArray[np.int64]:
        """The ids, ascending."""
        import numpy as np

        return np.concatenate([np.zeros(0, np.int64), *(run.ids() for run in self.runs)])

    def below(self, total: int) -> CtaRuns:
        """The same without the ids from ``total`` on."""
        return CtaRuns(tuple(part for run in self.runs for part in run.below(total)))

    def of_launch(self, number: int, grid: Grid) -> CtaRuns:  # noqa: ARG002 (as Cut has it)
        """Those that a launch of this grid has."""
        return self.below(math.prod(grid))

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids().tolist())

    def __len__(self) -> int:
        return self.rows

    def to_json(self) -> dict[str, Any]:
        """Plain lists; ``chosen_from_json`` is the inverse."""
        return {"runs": [[run.start, run.stride, run.count, run.width] for run in self.runs]}


def _joined(runs: list[Run]) -> tuple[Run, ...]:
    """Runs of single ids that overlap, in order of their starts, as ones that do not."""
    first, last = runs[0].start, max(run.last for run in runs)
    if len(runs) == 1:
        return (runs[0],)
    if all(run.stride == 1 for run in runs):
        return (Run(first, 1, last - first + 1),)
    if sum(run.rows for run in runs) > LISTED:
        raise ValueError("long ranges with steps overlap: give them apart, or without steps")
    return CtaRuns.of(id_ for run in runs for id_ in run.ids().tolist()).runs


@dataclass(frozen=True, slots=True)
class Cut:
    """What is taken where not all CTAs have room: whole clusters from the beginning, the end and between, evenly.

    ``most``: rows of each launch at most. ``clusters``: CTAs of a cluster along x, y, z in each launch. ``sms``: CTAs
    are dispatched by id, so that the first of them go to one SM each; where two thirds of the rows hold so many, they
    are all taken.
    """

    most: tuple[int, ...]
    clusters: tuple[Grid, ...]
    sms: int

    def of_launch(self, number: int, grid: Grid) -> CtaRuns:
        """Those that a launch of this grid traces. ``__tlt_row`` of the device helper is the same arithmetic."""
        total, most = math.prod(grid), self.most[number]
        if total <= most:
            return CtaRuns.of(range(total))
        unit = whole_clusters(grid, self.clusters[number])
        if unit > most or total % unit:
            unit = 1
        units, of_all, wave = most // unit, total // unit, -(-self.sms // unit)
        first = max((units + 2) // 3, min(wave, 2 * units // 3))
        last = (units - first + 1) // 2
        between = units - first - last
        stride = (of_all - first - last) // max(between, 1)
        start = first + stride // 2
        parts = (
            Run(0, 1, first * unit),
            Run(start * unit, stride * unit, between, unit),
            Run((of_all - last) * unit, 1, last * unit),
        )
        return CtaRuns(tuple(part for part in parts if part.rows))

    def to_json(self) -> dict[str, Any]:
        """Plain lists; ``chosen_from_json`` is the inverse."""
        return {"most": list(self.most), "clusters": [list(cluster) for cluster in self.clusters], "sms": self.sms}


@dataclass(frozen=True, slots=True)
class Sample:
    """Of each launch its first wave, which meets every SM, and of the others one cluster in so many."""

    launches: tuple[CtaRuns, ...]

    def of_launch(self, number: int, grid: Grid) -> CtaRuns:
        """Those that a launch of this grid has."""
        return self.launches[number].below(math.prod(grid))

    @property
    def share(self) -> int:
        """One in how many clusters of the others there is, at least."""
        return max(run.stride // run.width for runs in self.launches for run in runs.runs[-1:])

    def to_json(self) -> dict[str, Any]:
        """Plain lists; ``chosen_from_json`` is the inverse."""
        return {"sample": [runs.to_json()["runs"] for runs in self.launches]}


Chosen = CtaRuns | Cut | Sample


def evenly(total: int, most: int) -> CtaRuns:
    """At most so many of the numbers below ``total``: a third from the beginning, one from the end, one between."""
    return Cut((most,), ((1, 1, 1),), 0).of_launch(0, (total, 1, 1))


def whole_clusters(grid: Grid, cluster: Grid) -> int:
    """So many CTAs that follow each other are whole clusters."""
    if cluster[2] > 1:
        return grid[0] * grid[1] * cluster[2]
    return grid[0] * cluster[1] if cluster[1] > 1 else cluster[0]


def chosen_from_json(raw: Any) -> Chosen | None:
    """What ``to_json`` made, or the list of ids that earlier versions wrote.

    Raises ``LookupError``, ``TypeError`` or ``ValueError`` for anything else.
    """
    if raw is None:
        return None
    if isinstance(raw, list):
        return CtaRuns.of(raw)
    if "runs" in raw:
        return CtaRuns(tuple(Run(*run) for run in raw["runs"]))
    if "sample" in raw:
        return Sample(tuple(CtaRuns(tuple(Run(*run) for run in runs)) for runs in raw["sample"]))
    x_y_z = [(x, y, z) for x, y, z in raw["clusters"]]
    return Cut(tuple(raw["most"]), tuple(x_y_z), raw["sms"])
