"""The ranges of a trace as plain arrays, with what every analysis asks of them.

In: ``Trace.events``. Out: :class:`Ranges`, and columns of ``Trace.events`` gathered into a result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tltrace_nb.analysis.spans import Array, Ints, groups

NO_RANGES = "this trace has no ranges: durations are not told"


@dataclass(frozen=True, slots=True)
class Ranges:
    """The ranges, in the order of ``Trace.events``: ``row`` is the row there, times are cycles.

    ``name`` is the code of the category, of which there are ``names``; ``home``, ``thread`` and ``track`` are dense
    numbers, of the CTA, of (cta, thread) and of (cta, thread, lane). ``encloses``: it has a range inside.
    """

    row: Ints
    cta: Ints
    home: Ints
    name: Ints
    start: Ints
    end: Ints
    thread: Ints
    track: Ints
    encloses: npt.NDArray[np.bool_]
    names: int
    ctas: int
    threads: int
    tracks: int

    def __len__(self) -> int:
        return len(self.row)


def ranges_of(events: pd.DataFrame, ended: bool = False) -> Ranges:
    """The ranges of ``events``, or of rows of it that are whole CTAs; with ``ended`` only those that ended."""
    is_range = codes(events["kind"]) == list(events["kind"].cat.categories).index("range")
    encloses = np.zeros(len(events), np.bool_)
    parent = events["parent"].array
    inside = is_range & ~np.asarray(parent.isna())
    # A parent is told by the label of its row; labels ascend by one.
    encloses[parent.to_numpy(np.int64, na_value=0)[inside] - (int(events.index[0]) if len(events) else 0)] = True
    if ended:
        is_range &= ~events["truncated"].to_numpy()
    row = np.flatnonzero(is_range)
    at = slice(None) if len(row) == len(events) else row
    cta, start, end = (events[column].to_numpy()[at].astype(np.int64, copy=False) for column in ("cta", "start", "end"))
    home, ctas = groups(cta - int(cta.min(initial=0)))
    thread, threads = groups(home, events["thread"].to_numpy()[at])
    track, tracks = groups(thread, codes(events["lane"])[at])
    name = codes(events["name"])[at].astype(np.int64)
    names = len(events["name"].cat.categories)
    return Ranges(row, cta, home, name, start, end, thread, track, encloses[at], names, ctas, threads, tracks)


def codes(column: pd.Series[Any]) -> Array:
    """The codes of a categorical column, -1 where it is missing."""
    found: Array = column.cat.codes.to_numpy()
    return found


def cells(events: pd.DataFrame, rows: Array, columns: Iterable[str]) -> dict[str, Any]:
    """Those columns of ``events`` at ``rows``, as arrays of their own types."""
    return {column: events[column].array.take(rows) for column in columns}


def numbered(events: pd.DataFrame, names: str | Iterable[str], argument: str) -> list[int]:
    """The codes of ``names`` in ``events``; a name may be a pattern with ``*``.

    Raises ``ValueError`` for a name that no event has, listing those that there are.
    """
    known = list(events["name"].cat.categories)
    found: dict[int, None] = {}
    for name in [names] if isinstance(names, str) else names:
        mine = [known.index(name)] if name in known else [i for i, k in enumerate(known) if fnmatchcase(k, name)]
        if not mine:
            raise ValueError(
                f"{argument}={name!r}: no event of this trace is named so; there are: {', '.join(known) or 'none'}"
            )
        found |= dict.fromkeys(mine)
    return list(found)


def renamed(names: pd.Index[Any], codes: Array) -> Any:
    """A categorical of ``codes`` (-1 for missing) among ``names``."""
    dtype: Any = pd.CategoricalDtype(names)
    return pd.Categorical.from_codes(codes, dtype=dtype)
