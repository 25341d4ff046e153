"""Stretches of time on one axis: merged, measured, intersected, as whole arrays.

In: keys (a CTA, a track) and times, as integers. Out: :class:`Spans`. Each key has a part of one long axis, so that
one sort or one search does for all keys; the parts do not touch, so that nothing merges across keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Array = npt.NDArray[Any]

_MOST = 1 << 62
_SPARSE = 2
"""Times as many possible keys as there are rows up to which a table of all of them is smaller than a sort."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis on which every key from 0 to ``keys - 1`` has a part for the times ``first`` to ``last``."""

    keys: int
    first: int
    last: int

    @classmethod
    def of(cls, keys: int, *times: Array) -> Axis:
        """The axis for these times. Raises ``ValueError`` where they are too far apart for 64 bits."""
        several = [each for each in times if len(each)]
        first = min((int(each.min()) for each in several), default=0)
        last = max((int(each.max()) for each in several), default=0)
        axis = cls(keys, first, last)
        if axis.stride * max(keys, 1) > _MOST:
            raise ValueError(
                f"times of {first:,} to {last:,} cycles in {keys:,} tracks: the clocks in this trace are damaged"
            )
        return axis

    @property
    def stride(self) -> int:
        """The length of one key's part, with space behind it."""
        return self.last - self.first + 2

    def at(self, key: Array, time: Array) -> Ints:
        """Where ``time`` of ``key`` lies."""
        return key.astype(np.int64) * self.stride + (time.astype(np.int64) - self.first)

    def key(self, place: Ints) -> Ints:
        """The key whose part ``place`` lies in."""
        return place // self.stride


@dataclass(frozen=True, slots=True)
class Spans:
    """Disjoint stretches of an axis in order, ``int64[n]`` each."""

    start: Ints
    end: Ints

    @property
    def length(self) -> Ints:
        """Of each stretch."""
        return self.end - self.start

    def before(self, place: Ints) -> Ints:
        """The length of all stretches before ``place``, as far as they lie before it."""
        if not len(self.start):
            return np.zeros(len(place), np.int64)
        total = np.concatenate([[0], np.cumsum(self.length)])
        index = np.searchsorted(self.start, place, side="right") - 1
        known = np.maximum(index, 0)
        inside = np.clip(place - self.start[known], 0, self.length[known])
        return np.where(index < 0, 0, total[known] + inside)

    def within(self, start: Ints, end: Ints) -> Ints:
        """The length of what lies between each ``start`` and ``end``."""
        return self.before(end) - self.before(start)


def union(start: Ints, end: Ints) -> Spans:
    """What any of the stretches covers; they may overlap and come in any order."""
    if not len(start):
        return Spans(start, end)
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    latest = np.maximum.accumulate(end)
    first = np.concatenate([[True], start[1:] > latest[:-1]])
    last = np.concatenate([first[1:], [True]])
    return Spans(start[first], latest[last])


def groups(*columns: Array) -> tuple[Ints, int]:
    """A dense number per distinct row of ``columns`` (integers from 0), in their order, and how many there are."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        most = int(column.max(initial=0))
        key *= most + 1
        key += column
        if int(key.max(initial=0)) > 1 << 31:
            key, _ = _dense(key)
    return _dense(key)


def _dense(key: Ints) -> tuple[Ints, int]:
    """A dense number per distinct value of ``key`` (from 0), in their order: without a sort where one pass does."""
    if not len(key):
        return key, 0
    if (key[1:] >= key[:-1]).all():
        number = np.zeros(len(key), np.int64)
        np.cumsum(key[1:] != key[:-1], out=number[1:])
        return number, int(number[-1]) + 1
    most = int(key.max())
    if most <= _SPARSE * len(key):
        there = np.zeros(most + 1, np.bool_)
        there[key] = True
        numbers = np.cumsum(there) - 1
        return numbers[key], int(numbers[-1]) + 1
    distinct, number = np.unique(key, return_inverse=True)
    return number.astype(np.int64), len(distinct)


def by_number(number: Array) -> Ints:
    """The rows in order of a number from 0, and as they come where it is the same; small ones are sorted in a pass."""
    return np.argsort(number.astype(np.min_scalar_type(int(number.max(initial=0)))), kind="stable")


def ascending(rows: Array, most: int) -> Ints:
    """The order in which ``rows``, distinct numbers below ``most``, ascend."""
    place = np.full(most, -1, np.int64)
    place[rows] = np.arange(len(rows))
    return place[place >= 0]


def ordinal(key: Array, order: Array) -> Ints:
    """For each row how many rows of the same ``key`` come before it in ``order`` (row numbers, sorted by key)."""
    ordered = key[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(order) else np.zeros(0, np.bool_)
    begin = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0)) if len(order) else np.zeros(0, np.int64)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) - begin
    return number
