"""Which ranges of several traces are the same one.

In: the same CTAs of several traces. Out: their ranges with joint numbers (:class:`Rows`), which of them count, and what
a comparison needs of those (:class:`Matched`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.analysis.parts import each, side_by_side
from tltrace_nb.analysis.ranges import codes, renamed
from tltrace_nb.analysis.spans import Array, Ints, groups, ordinal
from tltrace_nb.data.cells import masked

if TYPE_CHECKING:
    from tltrace_nb.data.trace_data import TraceData

BY: dict[str, tuple[str, ...]] = {"name": (), "payload": ("payload",), "track": ("thread", "lane")}
"""What a row of a comparison is about, besides a name."""
_KEYS = ("name", "payload", "thread", "lane")
"""What makes a row, where it is asked for: codes, numbers, and the bits of a payload with 1 added (0: none)."""


@dataclass(frozen=True, slots=True)
class Matched:
    """What is compared: the ranges that are in all runs, or all (``paired`` or not).

    ``keys`` has a line per row. ``number`` and ``total`` (cycles) are by row and run; ``only_a`` and ``only_b`` count
    the ranges that one side alone has. ``cell_row``, ``cell_side`` and ``cell_value`` are per row and block (a CTA, or
    a range where all are of one CTA) the mean of b less that of a where they are paired, else the mean of each side.
    """

    keys: pd.DataFrame
    number: Ints
    total: Array
    only_a: Ints
    only_b: Ints
    cell_row: Ints
    cell_side: Ints
    cell_value: Array
    paired: bool


def match(traces: Sequence[TraceData], first_b: int, by: str, cells: bool, notes: list[str]) -> Matched:
    """Match the ranges that ended of some runs, of which those from ``first_b`` on are on the other side.

    All ranges count where fewer than half of either side have a partner. ``cells``: whether they are wanted.
    """
    codings = {column: _joint([trace.events[column].cat.categories for trace in traces]) for column in ("name", "lane")}
    several = side_by_side(traces)

    def of_parts(paired: bool, by_unit: bool) -> list[_Counts]:
        return each(
            lambda parts: _counts(_rows(parts, by, codings), len(traces), first_b, paired, by_unit, cells), several
        )

    found = of_parts(paired=True, by_unit=False)
    whole, in_a, in_b = (sum(getattr(part, of) for part in found) for of in ("whole", "in_a", "in_b"))
    paired = 2 * whole >= max(in_a, in_b, 1)
    if not paired:
        notes.append(
            f"only {whole:,} ranges have a partner of the same name, payload and track: names are compared as a "
            "whole, over different CTAs, threads or iterations"
        )
        found = of_parts(paired=False, by_unit=False)
    if cells and sum(part.ctas for part in found) <= 1:
        found = of_parts(paired=paired, by_unit=True)
    return _together(found, by, codings, paired)


@dataclass(frozen=True, slots=True)
class _Coding:
    """The categories of a column in all runs, and of each run the joint number of each of its own."""

    names: pd.Index[Any]
    number: list[Ints]


def _joint(categories: Sequence[pd.Index[Any]]) -> _Coding:
    names = categories[0]
    for each_ in categories[1:]:
        names = names.append(each_.difference(names, sort=False))
    return _Coding(names, [names.get_indexer(each_).astype(np.int64) for each_ in categories])


@dataclass(frozen=True, slots=True)
class _Rows:
    """The ranges of some CTAs in all runs: their run, their number among like ones of all runs, the row they count for.

    ``keys`` are of each row the ``_KEYS``, the ``run`` of its first range, and the ``value`` of that one's payload.
    """

    run: Ints
    unit: Ints
    units: int
    row: Ints
    cta: Ints
    duration: Ints
    keys: dict[str, Any]


def _rows(parts: Sequence[pd.DataFrame], by: str, codings: dict[str, _Coding]) -> _Rows:
    """The ranges that ended, with joint numbers for their names, lanes, payloads and tracks."""
    places = [_ended(events) for events in parts]
    found = list(zip(parts, places, strict=True))
    runs = [_identity(events, at, number, codings) for number, (events, at) in enumerate(found)]
    lengths = [len(run["name"]) for run in runs]
    # Runs of one kernel most often have the same ranges in the same order: then the i-th is the i-th.
    alike = all(np.array_equal(run[column], runs[0][column]) for run in runs[1:] for column in run)
    one = runs[0] if alike else {column: np.concatenate([run[column] for run in runs]) for column in runs[0]}
    row, count = groups(one["name"], *(groups(one[column])[0] for column in BY[by]))
    run = np.repeat(np.arange(len(runs)), lengths)
    if alike:
        unit, units = np.arange(len(row)), len(row)
    else:
        same, _ = groups(one["name"], groups(one["payload"])[0], one["cta"], one["thread"], one["lane"])
        in_run, _ = groups(same, run)
        unit, units = groups(same, ordinal(in_run, np.argsort(in_run, kind="stable")))
    first = np.zeros(count, np.int64)
    first[row[::-1]] = np.arange(len(row))[::-1]
    keys: dict[str, Any] = {column: one[column][first] for column in _KEYS} | {"run": run[first]}
    if by == "payload":
        keys["value"] = _values(found, first, run[first], np.cumsum([0, *lengths]))
    times = len(runs) if alike else 1
    return _Rows(
        run=run,
        unit=np.tile(unit, times),
        units=units,
        row=np.tile(row, times),
        cta=np.tile(one["cta"], times),
        duration=np.concatenate([events["duration"].to_numpy()[at] for events, at in found]),
        keys=keys,
    )


def _ended(events: pd.DataFrame) -> Array | slice:
    """Where the ranges that ended stand."""
    ended = codes(events["kind"]) == list(events["kind"].cat.categories).index("range")
    ended &= ~events["truncated"].to_numpy()
    return slice(None) if ended.all() else np.flatnonzero(ended)


def _identity(events: pd.DataFrame, at: Array | slice, run: int, codings: dict[str, _Coding]) -> dict[str, Array]:
    """What ranges are matched by."""
    payload = np.where(events["payload"].isna(), 0, events["payload_raw"].to_numpy().astype(np.int64) + 1)
    return {
        **{column: coding.number[run][codes(events[column])[at]] for column, coding in codings.items()},
        "payload": payload[at],
        "thread": events["thread"].to_numpy()[at],
        "cta": events["cta"].to_numpy()[at],
    }


def _values(found: Sequence[tuple[pd.DataFrame, Array | slice]], first: Ints, run: Ints, starts: Ints) -> Any:
    """The payloads of the ranges ``first`` (positions in all runs), each of which is of the run ``run``."""
    parts = [
        pd.Series(events["payload"].array.take(np.arange(len(events))[at][first[run == number] - starts[number]]))
        for number, (events, at) in enumerate(found)
    ]
    return pd.concat(parts, ignore_index=True).array.take(np.argsort(np.argsort(run, kind="stable"), kind="stable"))


@dataclass(frozen=True, slots=True)
class _Counts:
    """What is counted in some CTAs: as :class:`Matched`; the units of each side, and ``whole``, those in all runs."""

    keys: dict[str, Any]
    number: Ints
    total: Array
    only: tuple[Ints, Ints]
    cells: tuple[Ints, Ints, Array]
    ctas: int
    whole: int
    in_a: int
    in_b: int


def _counts(rows: _Rows, runs: int, first_b: int, paired: bool, by_unit: bool, cells: bool) -> _Counts:
    presence = np.bincount(rows.unit, minlength=rows.units)
    in_a, in_b = np.zeros(rows.units, np.bool_), np.zeros(rows.units, np.bool_)
    in_a[rows.unit[rows.run < first_b]] = True
    in_b[rows.unit[rows.run >= first_b]] = True
    whole = presence == max(runs, 2)
    unit_row = np.zeros(rows.units, np.int64)
    unit_row[rows.unit] = rows.row
    count = len(rows.keys["name"])
    chosen = whole[rows.unit] if paired else slice(None)
    if paired and whole.all():
        chosen = slice(None)
    row, run, duration = rows.row[chosen], rows.run[chosen], rows.duration[chosen]
    cell = row * runs + run
    block, ctas = groups(rows.cta[chosen])
    return _Counts(
        keys=rows.keys,
        number=np.bincount(cell, minlength=count * runs).reshape(count, runs),
        total=np.bincount(cell, duration, count * runs).reshape(count, runs),
        only=(
            np.bincount(unit_row[in_a & ~in_b], minlength=count),
            np.bincount(unit_row[in_b & ~in_a], minlength=count),
        ),
        cells=_cells(row, rows.unit[chosen] if by_unit else block, (run >= first_b).astype(np.int64), duration, paired)
        if cells
        else (row[:0], row[:0], np.zeros(0)),
        ctas=ctas,
        whole=int(whole.sum()),
        in_a=int(in_a.sum()),
        in_b=int(in_b.sum()),
    )


def _cells(row: Ints, block: Ints, side: Ints, duration: Ints, paired: bool) -> tuple[Ints, Ints, Array]:
    """Per row and block (and side, unless paired): row, side, and the mean duration, or the difference of it."""
    cell, count = groups(row, block, *(() if paired else (side,)))
    row_of, side_of = np.zeros(count, np.int64), np.zeros(count, np.int64)
    row_of[cell] = row
    if not paired:
        side_of[cell] = side
        return row_of, side_of, np.bincount(cell, duration, count) / np.bincount(cell, minlength=count)
    value = np.zeros(count)
    for which, sign in ((0, -1), (1, 1)):
        mine = side == which
        value += sign * np.bincount(cell[mine], duration[mine], count) / np.bincount(cell[mine], minlength=count)
    return row_of, side_of, value


def _together(found: Sequence[_Counts], by: str, codings: dict[str, _Coding], paired: bool) -> Matched:
    """The counts of all parts, whose rows are numbered anew, in the order of their keys."""
    keys = {column: np.concatenate([part.keys[column] for part in found]) for column in (*_KEYS, "run")}
    row, count = groups(keys["name"], *(groups(keys[column])[0] for column in BY[by]))
    order = np.lexsort((keys["run"], row))  # of the ranges of a row the first of the first run speaks for it
    first = order[np.flatnonzero(np.diff(row[order], prepend=-1))]
    bounds = np.cumsum([len(part.keys["name"]) for part in found])[:-1]
    rows = np.split(row, bounds)

    def added(of: str, *which: int) -> Any:
        parts = [getattr(part, of) if not which else getattr(part, of)[which[0]] for part in found]
        whole = np.zeros((count, *parts[0].shape[1:]), parts[0].dtype)
        for mine, part in zip(rows, parts, strict=True):
            whole[mine] += part  # the rows of a part are apart
        return whole

    absent = np.ones(count, np.bool_)
    value: Any = pd.array([pd.NA] * count, dtype="Int64")
    if by == "payload":
        values = [pd.Series(part.keys["value"]) for part in found]
        value = pd.concat(values, ignore_index=True).array.take(first)
    told = {
        "name": renamed(codings["name"].names, keys["name"][first]),
        "payload": value,
        "thread": masked(keys["thread"][first].astype(np.int32), absent & (by != "track")),
        "lane": renamed(codings["lane"].names, keys["lane"][first] if by == "track" else np.full(count, -1)),
    }
    return Matched(
        keys=pd.DataFrame(told),
        number=added("number"),
        total=added("total"),
        only_a=added("only", 0),
        only_b=added("only", 1),
        cell_row=np.concatenate([mine[part.cells[0]] for mine, part in zip(rows, found, strict=True)]),
        cell_side=np.concatenate([part.cells[1] for part in found]),
        cell_value=np.concatenate([part.cells[2] for part in found]),
        paired=paired,
    )
