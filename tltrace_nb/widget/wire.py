"""The events of a trace as a few columns of bytes, small enough to send and to put into a page.

In: the frames of a trace. Out: :class:`Wire`, a JSON header and one run of bytes; ``frontend/src/wire.ts`` reads it.

Events are in wire order: by lane, then start, then the longer first. A **lane** is a track (cta, thread, lane),
numbered in that order. Every column of integers is stored as its least value and *byte planes*: first the lowest byte
of all values, then the next byte of all, and only as many planes as the largest value needs. Equal values take no bytes
at all, and planes compress well, as neighbours are alike. Of several ranks or launches a lane is of one of
these, too::

    gap        cycles from the start of the lane's event before; 0 for its first (whose start is in the lane's table)
    duration   cycles
    site       number of the (name, source) pair
    flags      INSTANT | TRUNCATED | PAYLOAD | PAYLOAD_END
    payload    at the begin; 0 where the flag is not set
    change     payload at the end less that at the begin (integers), or the two xor-ed (floats)
    id         position in the frame, only where that is not the wire order

Times are exact: integers from a common origin, which is in the header as text. Nanoseconds are not sent per event: in a
CTA they are ``ns_offset + ns_rate * cycles``, and where that does not hold there is no axis in ns.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tltrace_nb.base.palette import PALETTE
from tltrace_nb.base.words import clean
from tltrace_nb.render.colors import Names
from tltrace_nb.render.launches import facts_of
from tltrace_nb.render.text import badge, code_of, light_names, loss_text
from tltrace_nb.render.views import PARTS, on_one_axis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tltrace_nb.data.frames import TraceLike
    from tltrace_nb.render.launches import LaunchFacts
    from tltrace_nb.render.options import Time

VERSION = 1
INSTANT, TRUNCATED, PAYLOAD, PAYLOAD_END = 1, 2, 4, 8
EXACT = 2**53
"""Integers below it are exact in the browser."""
NAME_CHARS = 2000
"""Longest text that is sent of a name, lane, group or source."""
_NS_ERROR = 0.01
"""Nanoseconds by which an event may miss its CTA's line before the trace counts as not aligned."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Wire:
    """A trace on its way to a browser. ``aligned``: it has a time in ns that is common to all CTAs."""

    header: str
    columns: bytes
    aligned: bool

    def script(self) -> str:
        """JavaScript of what ``mount`` of ``static/timeline.js`` takes, fit for a script element of a page."""
        packed = base64.b64encode(gzip.compress(self.columns, 6, mtime=0)).decode()
        header = self.header.replace("<", "\\u003c")  # a name may say </script> or <!--
        return f'{{header: {header}, columns: "{packed}"}}'


class _Columns:
    """Collects columns: what the header says of them, and their bytes."""

    def __init__(self) -> None:
        self.specs: list[dict[str, Any]] = []
        self.parts: list[bytes] = []

    def integers(self, name: str, values: npt.NDArray[Any]) -> None:
        values = values.astype(np.int64, copy=False)
        least = int(values.min()) if len(values) else 0
        above = values.view(np.uint64) - np.uint64(least % 2**64)
        width = (int(above.max()).bit_length() + 7) // 8 if len(values) else 0
        self._add(name, "int", above, width, str(least))

    def floats(self, name: str, values: npt.NDArray[np.float64]) -> None:
        """Float64, or float32 where that is the same."""
        with np.errstate(over="ignore"):
            short = values.astype(np.float32)
        same = bool(np.array_equal(short.astype(np.float64), values, equal_nan=True))
        bits: npt.NDArray[Any] = short.view(np.uint32) if same else values.view(np.uint64)
        self._add(name, "f32" if same else "f64", bits, bits.itemsize, "0")

    def _add(self, name: str, code: str, values: npt.NDArray[Any], width: int, least: str) -> None:
        if width <= 4:
            values = values.astype(np.uint32)
        rows = values.view(np.uint8).reshape(len(values), values.itemsize)
        self.specs.append({"name": name, "code": code, "width": width, "least": least, "length": len(values)})
        self.parts.append(np.ascontiguousarray(rows[:, :width].T).tobytes())


def encode(
    trace: TraceLike,
    *,
    title: str | None = None,
    names: Names | None = None,
    beside: TraceLike | None = None,
    launches: Sequence[LaunchFacts] = (),
    light: Sequence[str] = (),
    code: Mapping[str, str] | None = None,
) -> Wire:
    """Encode ``trace``. ``title`` defaults to the kernel's name; the axis has room for the events of ``beside``, too.

    ``launches`` is what is known of those that the column ``launch`` numbers. ``light``: names that are moments in
    place of durations, as ``SiteTable.light`` has them; ``code``: lines of the kernel by source, as ``SiteTable.code``.

    ``names`` are those among which colours are given out (default: those of the events); of a part of a trace, give
    those of the whole, so that a name has one colour in all views.

    Raises ``ValueError`` where the starts of the events lie 2**53 cycles apart, which no browser can draw.
    """
    events, ctas, parts = _by_part(trace)
    lane_of, lanes = _lanes(events)
    start, duration = (events[key].to_numpy(np.int64) for key in ("start", "duration"))
    order = _order(lane_of, start, duration)
    lane_of, start, duration = lane_of[order], start[order], duration[order]
    origin = int(start.min()) if len(start) else 0
    if len(start) and int((start + duration).max()) - origin >= EXACT:
        raise ValueError("these events lie more than 2**53 cycles apart: select some of them, trace.events.query(...)")
    first = np.flatnonzero(np.diff(lane_of, prepend=-1)) if len(lane_of) else np.zeros(0, np.int64)
    (name, all_names), (source, sources) = _codes(events["name"]), _codes(events["source"])
    sites, site = _distinct((name * len(sources) + source)[order], len(all_names) * len(sources))
    columns = _Columns()
    gap = np.diff(start, prepend=0)
    gap[first] = 0
    columns.integers("gap", gap)
    columns.integers("duration", duration)
    columns.integers("site", site)
    _payloads(columns, events, order)
    if (order != np.arange(len(order))).any():
        columns.integers("id", order)
    columns.integers("site_name", sites // len(sources))
    columns.integers("site_source", sites % len(sources))
    groups, roles, lane_names = (_codes(lanes[key]) for key in ("group", "role", "lane"))
    count = np.diff(first, append=len(start))
    columns.integers("lane_first", start[first] - origin)
    columns.integers("lane_count", count)
    number: Ints = lanes["cta"].to_numpy(np.int64)
    if parts is not None:
        part = parts.columns[0]
        columns.integers(f"lane_{part}", parts[part].to_numpy(np.int64)[number])
        number = parts["cta"].to_numpy(np.int64)[number]
    columns.integers("lane_cta", number)
    for key in ("block_x", "block_y", "block_z", "thread", "sm"):
        columns.integers(f"lane_{key}", lanes[key].to_numpy(np.int64))
    for key, coded in (("group", groups), ("role", roles), ("lane", lane_names)):
        columns.integers(f"lane_{key}", coded[0])
    columns.floats("lane_cta_cycles", _cta_cycles(events, ctas, lanes))
    offset, rate = _clock(events, origin, order[np.concatenate([first, first + count - 1])])
    aligned = bool(np.isfinite(rate).all()) and len(rate) > 0
    if aligned:
        _, nth = np.unique(lanes["cta"].to_numpy(), return_inverse=True)
        columns.floats("lane_ns_offset", offset[nth])
        columns.floats("lane_ns_rate", rate[nth])
    _flows(columns, trace.flows, events, order)
    colors = (names or Names.of(trace)).colors()
    heading = trace.meta.kernel if title is None else title
    worn = badge(trace.meta)
    header = {
        "version": VERSION,
        "title": clean(heading, 80) if heading else "",
        "device": clean(trace.meta.gpu, 40) if trace.meta.gpu and trace.meta.device == "cuda" else "",
        "badge": worn and dataclasses.asdict(worn),
        "room": None if beside is None else _room(beside.events),
        "losses": loss_text(trace.losses),
        "light": list(light),
        "launches": [dataclasses.asdict(each) for each in launches],
        "events": len(events),
        "origin": str(origin),
        "ns": aligned,
        "palette": list(PALETTE),
        "names": _short(all_names),
        "name_color": [PALETTE.index(colors.get(each, PALETTE[0])) for each in all_names],
        "sources": _short(sources),
        "code": code or {},
        "groups": _short(groups[1]),
        "roles": _short(roles[1]),
        "lane_names": _short(lane_names[1]),
        "columns": columns.specs,
    }
    return Wire(json.dumps(header), b"".join(columns.parts), aligned)


def said_of(trace: TraceLike) -> dict[str, Any]:
    """What ``encode`` is told of a trace beside its frames, also where a part of it is encoded."""
    return {"launches": facts_of(trace), "light": light_names(trace), "code": code_of(trace)}


def _room(events: pd.DataFrame) -> dict[str, list[float] | None]:
    """From the first begin to the last end, in cycles and in ns; ``None`` where that is not known."""
    spans: dict[str, list[float] | None] = {}
    for unit_, start, duration in (("cycles", "start", "duration"), ("ns", "start_ns", "duration_ns")):
        begin, end = events[start].min(), (events[start] + events[duration]).max()
        spans[unit_] = None if pd.isna(begin) or pd.isna(end) else [float(begin), float(end)]
    return spans


def _codes(values: pd.Series[Any]) -> tuple[Ints, list[str]]:
    """The number of each value among the distinct ones, and those as text; a missing value is the empty text."""
    if not isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype("category")
    words = [str(word) for word in values.cat.categories]
    codes = values.cat.codes.to_numpy(np.int64)
    if (codes < 0).any():
        codes = np.where(codes < 0, len(words), codes)
        words.append("")
    return np.asarray(codes, np.int64), words or [""]


def _short(words: Sequence[str]) -> list[str]:
    return [word[:NAME_CHARS].encode("utf-8", "replace").decode() for word in words]


def _lanes(events: pd.DataFrame) -> tuple[Ints, pd.DataFrame]:
    """The lane of every event, and a row of ``events`` for every lane."""
    lane, words = _codes(events["lane"])
    cta, thread = (events[key].to_numpy(np.int64) for key in ("cta", "thread"))
    threads, thread_code = np.unique(thread, return_inverse=True)
    key = (cta * max(len(threads), 1) + thread_code) * len(words) + lane
    changed = np.diff(key, prepend=-1) if len(key) else key
    if (changed >= 0).all():  # as the frames of a trace are
        first, number = np.flatnonzero(changed), np.cumsum(changed > 0) - 1
    else:
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(number, np.int64), events.iloc[first]


def _distinct(values: Ints, below: int) -> tuple[Ints, Ints]:
    """The distinct values, ascending, and the number of each value among them. All are from 0 to ``below``."""
    if below > len(values) + 1000:
        found, number = np.unique(values, return_inverse=True)
        return found, np.asarray(number, np.int64)
    found = np.flatnonzero(np.bincount(values, minlength=below))
    numbers = np.zeros(below, np.int64)
    numbers[found] = np.arange(len(found))
    return found, numbers[values]


def _order(lane: Ints, start: Ints, duration: Ints) -> Ints:
    """By lane, then start, then the longer first; equal events stay as they are."""
    step, later, longer = np.diff(lane), np.diff(start), np.diff(duration)
    if ((step > 0) | ((step == 0) & ((later > 0) | ((later == 0) & (longer <= 0))))).all():
        return np.arange(len(lane))
    return np.lexsort((-duration, start, lane))


def _payloads(columns: _Columns, events: pd.DataFrame, order: Ints) -> None:
    begin, end = (events[key].iloc[order] for key in ("payload", "payload_end"))
    have, ended = (~value.isna().to_numpy() for value in (begin, end))
    flags = INSTANT * (events["kind"].to_numpy() == "instant")[order]
    flags |= TRUNCATED * events["truncated"].to_numpy(bool)[order] | PAYLOAD * have | PAYLOAD_END * ended
    columns.integers("flags", flags)
    kind = np.float64 if "f" in {value.dtype.kind for value in (begin, end)} else np.int64
    first, last = (value.to_numpy(kind, na_value=0) for value in (begin, end))
    if kind is np.int64:
        columns.integers("payload", first)
        columns.integers("change", np.where(ended, last.astype(np.int64) - np.where(have, first, 0), 0))
        return
    columns.floats("payload", first)
    same = np.where(ended, last, first).view(np.uint64) ^ first.view(np.uint64)
    columns.integers("change_low", (same & np.uint64(0xFFFFFFFF)).astype(np.int64))
    columns.integers("change_high", (same >> np.uint64(32)).astype(np.int64))


def _by_part(trace: TraceLike) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None]:
    """Events and CTAs, and of every CTA the rank or launch, where there are several, and ``cta``.

    CTAs of several ranks have the same numbers; they get their own here, ascending by rank, then CTA.
    """
    events, ctas = trace.events, trace.ctas
    part = next((column for column in PARTS if column in events), None)
    if part is None:
        return events, ctas, None
    both = [frame[[part, "cta"]] for frame in (events, ctas) if part in frame]
    known = pd.concat(both).drop_duplicates().sort_values([part, "cta"], ignore_index=True)
    number = pd.Series(known.index, index=pd.MultiIndex.from_frame(known))

    def own(frame: pd.DataFrame) -> pd.DataFrame:
        if part not in frame:
            return frame
        return frame.assign(cta=number.reindex(pd.MultiIndex.from_frame(frame[[part, "cta"]])).to_numpy())

    return own(events), own(ctas), known


def _cta_cycles(events: pd.DataFrame, ctas: pd.DataFrame, lanes: pd.DataFrame) -> npt.NDArray[np.float64]:
    """The duration of every lane's CTA, in cycles; where it is not known, to the end of its last event."""
    known = events.groupby("cta", sort=False)["end"].max()
    if {"cta", "duration"} <= set(ctas) and len(ctas):
        known = ctas.drop_duplicates("cta").set_index("cta")["duration"].combine_first(known)
    return np.asarray(known.reindex(lanes["cta"]).to_numpy(np.float64), np.float64)


def _clock(events: pd.DataFrame, origin: int, ends: Ints) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Per CTA, in ascending order: the ns of the cycle ``origin``, and ns per cycle.

    ``ends`` are the positions of the first and the last event of every lane. NaN for all CTAs where an event is off its
    CTA's line.
    """
    cta, start, ns = (events[key].to_numpy() for key in ("cta", "start", "start_ns"))
    ids = np.unique(cta[ends])
    none = np.full(len(ids), np.nan)
    if not len(ids) or not np.isfinite(ns).all():
        return none, none
    cycles = (start - origin).astype(np.float64)
    by = ends[np.lexsort((cycles[ends], cta[ends]))]
    low = by[np.flatnonzero(np.diff(cta[by], prepend=cta[by[0]] - 1))]
    high = by[np.flatnonzero(np.diff(cta[by], append=cta[by[-1]] + 1))]
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = (ns[high] - ns[low]) / (cycles[high] - cycles[low])
        own = events["duration_ns"].to_numpy(np.float64)[by] / events["duration"].to_numpy(np.float64)[by]
    # A CTA whose events all start at once has the rate of one that lasts; one of instants alone, that of its peers.
    usual = np.median(own[np.isfinite(own)]) if np.isfinite(own).any() else 1.0
    lasting = pd.Series(np.where(np.isfinite(own), own, np.nan)).groupby(cta[by]).first().fillna(usual).to_numpy()
    rate = np.where(np.isfinite(rate) & (rate > 0), rate, lasting)
    offset = ns[low] - rate * cycles[low]
    of = np.searchsorted(ids, cta)
    missed = np.abs(offset[of] + rate[of] * cycles - ns)
    return (offset, rate) if (missed <= _NS_ERROR + 1e-9 * np.abs(ns)).all() else (none, none)


def _flows(columns: _Columns, flows: pd.DataFrame, events: pd.DataFrame, order: Ints) -> None:
    """Arrows between events that are there, as positions in wire order."""
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    src, dst = (events.index.get_indexer(pd.Index(flows[key])) for key in ("src", "dst"))
    kept = (src >= 0) & (dst >= 0)
    columns.integers("flow_src", position[src[kept]])
    columns.integers("flow_dst", position[dst[kept]])


def unit(aligned: bool, events: pd.DataFrame, time: Time) -> str:
    """The unit in which ``events`` are drawn at first. Raises ``ValueError`` for ``"ns"`` where none is common."""
    if time == "ns" and not aligned:
        raise ValueError("time='ns': these events have no time that is aligned across SMs; use 'cycles' or 'auto'")
    if time == "auto":
        return "ns" if aligned and on_one_axis(events) else "cycles"
    return time
