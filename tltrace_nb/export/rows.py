"""Many messages or lines of the same make, as one table of bytes instead of a Python object for each.

In: whole columns of numbers, and words that rows choose among. Out: the bytes of all rows behind each other. Every
column has as many bytes in each row as its longest value needs, and a mask that says which are there; only in the end
are the others left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

AT_ONCE = 1 << 14
"""Rows that are made together: enough for whole columns to pay, few enough for a processor's cache."""


_ALL = np.ones((1, 1), np.bool_)


class Words:
    """Words of bytes for rows to choose among by number; -1 is the last."""

    def __init__(self, words: Sequence[bytes]) -> None:
        self.lengths = np.array([len(word) for word in words], np.int64)
        width = int(self.lengths.max(initial=0))
        padded = b"".join(word.ljust(width, b"\0") for word in words)
        self.table = np.frombuffer(padded, np.uint8).reshape(len(words), width)
        self.there = np.arange(width) < self.lengths[:, None]


class Rows:
    """So many rows of bytes, made column by column. ``where`` says which rows have the column (default: all).

    ``lengths`` are the bytes of each row so far.
    """

    def __init__(self, count: int) -> None:
        self.lengths = np.zeros(count, np.int64)
        self._bytes: list[Array] = []
        self._there: list[Bools] = []

    def constant(self, data: bytes, where: Bools | None = None) -> None:
        """The same bytes in every row."""
        same = np.broadcast_to(np.frombuffer(data, np.uint8), (len(self.lengths), len(data)))
        self._add(same, _ALL, len(data), where)

    def words(self, words: Words, number: Array, where: Bools | None = None) -> None:
        """The word of each row's number."""
        self._add(words.table[number], words.there[number], words.lengths[number], where)

    def fixed(self, values: Array, where: Bools | None = None) -> None:
        """Values as they lie in memory, the lowest byte first."""
        little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        self._add(little.view(np.uint8).reshape(len(values), little.itemsize), _ALL, little.itemsize, where)

    def varint(self, values: npt.NDArray[np.int64], where: Bools | None = None) -> None:
        """64-bit numbers, seven bits to a byte, the lowest first; a negative one as its two's complement."""
        left = values.view(np.uint64) if where is None else np.where(where, values, 0).view(np.uint64)
        width = max(-(-int(left.max(initial=0)).bit_length() // 7), 1)
        out, there = np.empty((len(left), width), np.uint8), np.ones((len(left), width), np.bool_)
        lengths = np.ones(len(left), np.int64)
        for i in range(width):
            following = left >> np.uint64(7)
            more = following > 0
            out[:, i] = left.astype(np.uint8) & 0x7F | more.view(np.uint8) << 7
            if i + 1 < width:
                there[:, i + 1] = more
                lengths += more
            left = following
        self._add(out, there, lengths, where)

    def decimal(self, values: npt.NDArray[np.int64], where: Bools | None = None, *, digits: int = 1) -> None:
        """Numbers as text, of so many digits at least."""
        if where is not None:
            values = np.where(where, values, 0)
        if (values < 0).any():
            self.constant(b"-", values < 0)
        left = np.abs(values).view(np.uint64)
        width = max(len(str(int(left.max(initial=0)))), digits)
        out, there = np.empty((len(left), width), np.uint8), np.ones((len(left), width), np.bool_)
        lengths = np.full(len(left), digits)
        for i in range(width):
            if i >= digits:
                there[:, width - 1 - i] = more = left > 0
                lengths += more
            following = left // np.uint64(10)
            out[:, width - 1 - i] = (left - following * np.uint64(10)).astype(np.uint8) + ord("0")
            left = following
        self._add(out, there, lengths, where)

    def append(self, rows: Rows, where: Bools | None = None) -> None:
        """What other rows have, behind what is there."""
        for data, there in zip(rows._bytes, rows._there, strict=True):
            self._add(data, there, 0, where)
        self.lengths += rows.lengths if where is None else rows.lengths * where

    def tobytes(self) -> bytes:
        """All rows behind each other."""
        if not self._bytes:
            return b""
        joined: Array = np.concatenate(self._bytes, axis=1)[np.concatenate(self._there, axis=1)]
        return joined.tobytes()

    def _add(self, data: Array, there: Array, lengths: Array | int, where: Bools | None) -> None:
        if where is not None:
            if not where.any():
                return
            there, lengths = there & where[:, None], lengths * where
        self._bytes.append(data)
        self._there.append(np.broadcast_to(there, data.shape))
        self.lengths += lengths
