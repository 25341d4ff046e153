"""Which end closes which begin, and which range encloses which.

In: the records of a kernel, ordered by track and then by time. Out: indices into them.

An end closes a begin of the same track and range: the most recent open one with the same payload bits, else (a payload
may be worth something else by the end) the most recent open one. Ranges need not nest. Both functions first settle, in
whole-array steps, what is regular, and loop only over what is left: groups whose begins and ends do not alternate, even
payload by payload, and tracks whose ranges cross or nest deeply.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from tltrace_nb.data.sites import EventKind

Indices = npt.NDArray[np.int32]
Index = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

BEGIN, END, INSTANT = (np.int8(kind) for kind in EventKind)

LEVELS = 24
"""Nesting depth up to which enclosing ranges are found level by level, in whole arrays."""


def pair_ends(
    track: Indices,
    range_: npt.NDArray[np.unsignedinteger],
    kind: npt.NDArray[np.int8],
    payload: npt.NDArray[np.uint32],
) -> Indices:
    """For each record, the index of the end that closes it; -1 for what is not a begin, or never ended.

    One element per record: ``track`` never decreases, ``range_`` is the range's number, larger than any for an instant,
    ``kind`` an ``EventKind`` and ``payload`` the raw bits.
    """
    end_of = np.full(len(kind), -1, np.int32)
    # Unsigned 8 and 16 bit keys are sorted by radix: grouping by range costs one linear pass.
    order = np.argsort(range_, kind="stable")[: np.count_nonzero(kind != INSTANT)]
    opens, closes = order[0::2], order[1::2]
    if (
        len(opens) == len(closes)
        and bool((kind[opens] == BEGIN).all())
        and bool((kind[closes] == END).all())
        and bool((range_[opens] == range_[closes]).all())
        and bool((track[opens] == track[closes]).all())
    ):
        end_of[opens] = closes
        return end_of
    del opens, closes
    numbers = order.astype(np.int32)
    del order
    is_begin = kind[numbers] == BEGIN
    same = _same_as_next(range_[numbers], track[numbers])
    pairs = np.flatnonzero(same & is_begin[:-1] & ~is_begin[1:]).astype(np.int32)
    clashes = np.flatnonzero(same & (is_begin[:-1] == is_begin[1:]))
    if len(clashes):
        group = np.zeros(len(numbers), np.int32)
        np.cumsum(~same, out=group[1:])
        left = np.zeros(int(group[-1]) + 1, np.bool_)
        left[group[clashes]] = True
        left = left[group]
        _pair_by_payload(numbers[left], group[left], kind, payload, end_of)
        pairs = pairs[~left[pairs]]
    end_of[numbers[pairs]] = numbers[pairs + 1]
    return end_of


def _same_as_next(*keys: npt.NDArray[np.integer]) -> Bools:
    """Whether each element agrees with its successor in every key; one shorter than the keys."""
    same = keys[0][:-1] == keys[0][1:]
    for key in keys[1:]:
        same &= key[:-1] == key[1:]
    return np.asarray(same, np.bool_)


def _pair_by_payload(
    order: Indices, group: Indices, kind: npt.NDArray[np.int8], payload: npt.NDArray[np.uint32], end_of: Indices
) -> None:
    """Settle the groups in which each end directly follows a begin of its payload; hand the others on."""
    bits = payload[order]
    fine = np.lexsort((bits, group))
    order_, group_, is_begin = order[fine], group[fine], kind[order[fine]] == BEGIN
    exact = np.zeros(len(order), np.bool_)
    exact[1:] = _same_as_next(bits[fine], group_) & is_begin[:-1] & ~is_begin[1:]
    unsettled = np.zeros(int(group.max()) + 1, np.bool_)
    unsettled[group_[~is_begin & ~exact]] = True
    pairs = np.flatnonzero(exact & ~unsettled[group_])
    end_of[order_[pairs - 1]] = order_[pairs]
    left = unsettled[group]
    order, group = order[left], group[left]
    for part in np.split(order, np.flatnonzero(np.diff(group)) + 1):
        _pair_one_by_one(part, kind, payload, end_of)


def _pair_one_by_one(
    order: Indices, kind: npt.NDArray[np.int8], payload: npt.NDArray[np.uint32], end_of: Indices
) -> None:
    """The rule itself, record by record, for one track and range."""
    by_payload: dict[int, list[int]] = {}
    stack: list[int] = []
    closed: set[int] = set()
    for record, is_begin, bits in zip(
        order.tolist(), (kind[order] == BEGIN).tolist(), payload[order].tolist(), strict=True
    ):
        if is_begin:
            stack.append(record)
            by_payload.setdefault(bits, []).append(record)
            continue
        for opened in (by_payload.get(bits, []), stack):
            while opened and opened[-1] in closed:
                opened.pop()
            if opened:
                begin = opened.pop()
                closed.add(begin)
                end_of[begin] = record
                break


_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def nest(
    track: Indices, kind: npt.NDArray[np.int8], end_of: Indices, rows: Index
) -> tuple[npt.NDArray[np.int16], Indices]:
    """Depth and parent of each row; a row is a record that begins a range or is an instant.

    The parent is the row number of the innermost range of the same track that encloses the row, -1 if there is none. A
    range that merely crosses is no parent. Enclosing is decided by the order of records, not by clocks, so that
    neighbours of zero length stay apart. A range that never ended encloses all that follows.
    """
    begins = kind[rows] == BEGIN
    ends = end_of[rows]
    closed = ends >= 0
    step = np.zeros(len(kind), np.int8)
    step[rows[begins]] = 1
    step[ends[closed]] = -1
    level = np.cumsum(step, dtype=np.int32)
    depth = level[rows] - begins
    open_ended = np.count_nonzero(begins) != np.count_nonzero(closed)
    base: npt.NDArray[np.int32] | np.int32 = np.int32(0)
    if open_ended:
        first = np.flatnonzero(np.concatenate(([True], track[1:] != track[:-1])))
        base = np.repeat(level[first] - step[first], np.diff(np.append(first, len(track))))[rows]
    # In a track that nests, the level after an end is the level before its begin (and then the pairs are the stack's).
    crossing = closed & (level[ends] != depth)
    depth -= base
    odd = crossing | (depth > LEVELS)
    del step, level, base
    parent = np.full(len(rows), -1, np.int32)
    number = np.arange(len(rows), dtype=np.int32)
    for above in range(min(int(depth.max(initial=0)), LEVELS)):
        enclosing = np.maximum.accumulate(np.where(depth == above, number, np.int32(-1)))
        np.copyto(parent, enclosing, where=depth == above + 1)
    if odd.any():
        row_track = track[rows]
        tracks = np.unique(row_track[odd])
        bounds = (np.searchsorted(row_track, tracks, side=side).tolist() for side in _SIDES)
        for first_row, end_row in zip(*bounds, strict=True):
            _nest_one_by_one(slice(first_row, end_row), begins, ends, rows, depth, parent)
    return np.minimum(depth, np.iinfo(np.int16).max).astype(np.int16), parent


def _nest_one_by_one(span: slice, begins: Bools, ends: Indices, rows: Index, depth: Indices, parent: Indices) -> None:
    """One track with a stack: whoever ends before a newcomer does can enclose nothing after it."""
    never = np.iinfo(np.int32).max
    lasts = np.where(ends[span] >= 0, ends[span], np.where(begins[span], never, rows[span])).tolist()
    stack: list[tuple[int, int]] = []
    depths, parents = [], []
    for row, (last, is_range) in enumerate(zip(lasts, begins[span].tolist(), strict=True), start=span.start):
        while stack and stack[-1][0] < last:
            stack.pop()
        depths.append(len(stack))
        parents.append(stack[-1][1] if stack else -1)
        if is_range:
            stack.append((last, row))
    depth[span], parent[span] = depths, parents
