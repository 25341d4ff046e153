"""What a picture has no room for, merged: a strip per name, with a bar wherever one of its events runs.

In: the events left over. Out: :class:`Merged`. Nothing is dropped: every event is in one bar, counted, its cycles in
the bar's total and its payload in the bar's bounds.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tltrace_nb.base.numbers import count, payload_value
from tltrace_nb.base.words import clean
from tltrace_nb.render.text import HOVER_CHARS

MOST_STRIPS = 12
"""Strips at most; the names with the least cycles share the last one."""
BARS = ["strip", "x", "width", "y", "count", "total", "payload"]
"""The columns of ``Merged.bars``."""
_LISTED = 12
"""Names at most that a shared strip lists."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of merged bars. ``name`` is ``None`` where the names of ``shared`` (in words) share it."""

    label: str
    name: str | None
    shared: str
    events: int
    top: float

    @property
    def bottom(self) -> float:
        """The other edge of the row."""
        return self.top + 1.0


@dataclass(frozen=True, eq=False)
class Merged:
    """Merged events. ``bars`` has ``strip`` (a number), ``x, width, y``, ``count``, ``total`` (cycles) and ``payload``.

    A bar covers the times at which its events run, and pauses between them of up to ``pause``. ``payload`` is its
    events' least and greatest, in words. ``events`` is the number of all.
    """

    strips: tuple[Strip, ...]
    bars: pd.DataFrame
    pause: float
    events: int

    @property
    def note(self) -> str:
        """In words, that events were merged; empty when none were."""
        where = "the lowest row" if len(self.strips) == 1 else f"the lowest {len(self.strips)} rows"
        return f"the other {count(self.events, 'event')} merged in {where}" if self.events else ""


def merge(events: pd.DataFrame, bars: int, top: float) -> Merged:
    """Merge ``events`` (with ``x`` and ``width``) into at most ``bars`` bars, or as many as there are strips if more.

    The first strip begins at row ``top``. The longest pauses of all strips stay open, as many as there are bars for.
    """
    if events.empty:
        return Merged((), pd.DataFrame(columns=BARS), 0.0, 0)
    strips, number = _strips(events, top)
    order = np.argsort(number, kind="stable")  # of 8 bits: one pass
    x = events["x"].to_numpy(np.float64)
    start, end = x[order], (x + events["width"].to_numpy(np.float64))[order]
    of_strip = np.bincount(number, minlength=len(strips))
    bounds = np.cumsum([0, *of_strip]).tolist()
    for mine in itertools.starmap(slice, itertools.pairwise(bounds)):
        start[mine].sort()
        end[mine].sort()
    # Where as many have ended as have begun, nothing runs; then the last of those ends is when the pause begins.
    pause = np.append(0.0, start[1:] - end[:-1])
    pause[bounds[:-1]] = 0.0
    longest = _pause(pause, max(bars - len(strips), 0))
    opens = pause > longest
    opens[bounds[:-1]] = True
    begins = np.flatnonzero(opens)
    ends = np.append(begins[1:], len(x))
    strip = np.repeat(np.arange(len(strips), dtype=np.uint8), of_strip)[begins]
    bar = np.empty(len(x), np.int32)
    for of in range(len(strips)):
        rows = order[bounds[of] : bounds[of + 1]]
        first, last = np.searchsorted(strip, [of, of + 1])
        bar[rows] = first - 1 + np.searchsorted(start[begins[first:last]], x[rows], side="right")
    total = np.zeros(len(begins), np.int64)
    np.add.at(total, bar, events["duration"].to_numpy())
    cells = {
        "strip": strip,
        "x": start[begins],
        "width": end[ends - 1] - start[begins],
        "y": top + 0.5 + strip,
        "count": ends - begins,
        "total": total,
        "payload": _payloads(events["payload"].to_numpy(np.float64, na_value=np.nan), bar, len(begins)),
    }
    return Merged(strips, pd.DataFrame(cells, columns=BARS), longest, len(x))


def _strips(events: pd.DataFrame, top: float) -> tuple[tuple[Strip, ...], npt.NDArray[np.uint8]]:
    """The strips, longest total first, and the strip of each event."""
    sums = events.groupby("name", observed=True)["duration"].agg(["size", "sum"])
    sums = sums.sort_values(["sum", "size"], ascending=False, kind="stable")
    own = len(sums) if len(sums) <= MOST_STRIPS else MOST_STRIPS - 1
    facts = [(str(name), int(size), int(total)) for name, size, total in sums.itertuples()]
    strips = [
        Strip(f"{clean(name, 20)} × {size:,}", name, "", size, top + i) for i, (name, size, _) in enumerate(facts[:own])
    ]
    if rest := facts[own:]:
        listed = [f"{clean(name)} × {size:,} ({count(total, 'cycle')})" for name, size, total in rest[:_LISTED]]
        more = f", and {len(rest) - _LISTED:,} more" if len(rest) > _LISTED else ""
        label, size = f"{len(rest):,} other names", sum(size for _, size, _ in rest)
        strips.append(Strip(label, None, ", ".join(listed) + more, size, top + own))
    rank = {name: min(number, own) for number, (name, *_) in enumerate(facts)}
    categories = pd.Categorical(events["name"])
    of_category = np.array([rank.get(str(name), 0) for name in categories.categories], np.uint8)
    return tuple(strips), of_category[categories.codes]


def _pause(pauses: Floats, breaks: int) -> float:
    """The pause up to which bars are joined, so that no more than ``breaks`` longer ones stay."""
    if np.count_nonzero(pauses > 0) <= breaks:
        return 0.0
    return float(np.partition(pauses, len(pauses) - breaks - 1)[len(pauses) - breaks - 1])


def _payloads(values: Floats, bar: npt.NDArray[np.int32], bars: int) -> list[str]:
    """Least and greatest payload of the events of each bar, in words; empty where none was given."""
    least, greatest = np.full((2, bars), np.nan)
    np.fmin.at(least, bar, values)
    np.fmax.at(greatest, bar, values)
    return [
        "" if np.isnan(low) else payload_value(low) if low == high else f"{payload_value(low)} … {payload_value(high)}"
        for low, high in zip(least.tolist(), greatest.tolist(), strict=True)
    ]


def merged_lines(bar: dict[str, Any], strip: Strip, unit: str) -> list[str]:
    """All that is known of one bar of merged events, a line each; the first line is the name."""
    lines = [
        clean(strip.name, HOVER_CHARS) if strip.name is not None else strip.label,
        f"{count(bar['count'], 'event')} merged, {count(bar['total'], 'cycle')} in total",
        f"payload {bar['payload']}" if bar["payload"] else "",
        f"from {bar['x']:,.0f} to {bar['x'] + bar['width']:,.0f} {unit}",
        strip.shared,
    ]
    return [line for line in lines if line]
