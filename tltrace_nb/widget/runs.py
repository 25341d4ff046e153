"""Sets of row positions as runs, the form in which a selection travels between Python and the browser.

In: positions. Out: bytes of uint32 pairs (first, how many), ascending; and back. ``frontend/src/ids.ts`` does the same.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]


def to_runs(positions: npt.ArrayLike) -> bytes:
    """The runs of some positions, in any order, each counted once."""
    ordered = np.unique(np.asarray(positions, np.int64))
    if not len(ordered):
        return b""
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 2) != 1)
    return np.stack([ordered[first], np.diff(first, append=len(ordered))], axis=1).astype("<u4").tobytes()


def from_runs(data: bytes | memoryview) -> Positions:
    """The positions, ascending. Raises ``ValueError`` for bytes that are not pairs of uint32."""
    if len(data) % 8:
        raise ValueError(f"{len(data)} bytes are not pairs of uint32")
    pairs = np.frombuffer(data, "<u4").reshape(-1, 2).astype(np.int64)
    first, count = pairs[:, 0], pairs[:, 1]
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(count.sum())
