"""Where every event of a timeline stands: which events, in which lane, on which row, at which x.

In: the frames of a trace. Out: a :class:`Layout`, which ``figure`` (Plotly) and ``svg`` draw. No drawing here.
A lane is a track (CTA, thread, lane). It has as many rows as its ranges nest or cross, so that none hides another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from tltrace_nb.base.checks import short, wrong
from tltrace_nb.base.words import clean
from tltrace_nb.core.compile.options import cta_runs, is_count
from tltrace_nb.data.chosen import evenly
from tltrace_nb.data.columns import EVENTS
from tltrace_nb.data.frames import Frames, TraceLike
from tltrace_nb.render.merging import Merged, Strip, merge
from tltrace_nb.render.options import DEFAULTS, Time, View, ViewOptions
from tltrace_nb.render.text import numbers, word
from tltrace_nb.render.views import PARTS, ctas_as_events, idle_sms, lanes_of, on_one_axis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tltrace_nb.core.compile.options import Ctas
    from tltrace_nb.data.trace_data import TraceData

LANE_GAP = 0.25
"""Space between two lanes, in rows."""
CTA_GAP = 0.5
"""Further space between two CTAs, in rows."""

STRIPS_GAP = 1.0
"""Space between the lanes and the merged events, in rows."""
MERGED_SHARE = 4
"""For so many events drawn one by one, one bar of merged events may be drawn."""

OTHERS = "; ctas= or limit= shows others"
"""Follows a note on what was left out."""

_MERGED = ["name", "start", "duration", "start_ns", "duration_ns", "payload"]
"""The columns that merging needs."""
_OF_LANE = (*PARTS, "cta", "thread", "lane", "group", "role", "name", "sm")
"""The columns that a lane is named by."""
_IDENTITY = ["cta", "thread", "start"]
"""Columns by which a row is known again."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One track. ``top`` and ``bottom`` bound it, in rows from the top of the picture.

    ``title`` is its name where it is not that of a track: an SM's, a CTA's, or that of a name.
    """

    cta: int
    thread: int
    lane: str
    group: str
    role: str
    top: float
    bottom: float
    title: str = ""

    @property
    def label(self) -> str:
        """The lane's name in the margin: CTA, thread, lane, and its group and role where they say more."""
        if self.title:
            return self.title
        more = [clean(text, 20) for text in dict.fromkeys((self.group, self.role)) if text not in ("", "default")]
        track = f"CTA {self.cta} · t{self.thread} · {clean(self.lane, 20)}"
        return f"{track} ({', '.join(more)})" if more else track


@dataclass(frozen=True, eq=False)
class Layout:
    """A laid-out timeline.

    ``events`` are the rows to draw, with four columns added: ``x`` and ``width`` (in ``unit``), ``y`` (the middle of
    the event's row, in rows from the top), and ``room`` (from ``x`` to the next event on that row, or infinite).
    ``arrows`` has ``x0, y0, x1, y1, src_name, dst_name``. ``note`` says in words what was left out, and is empty when
    nothing was. ``merged`` are the events for which ``events`` has no room. ``rows`` is the height of it all.
    ``chosen`` are the rows of the trace that were asked for.
    """

    chosen: pd.DataFrame
    events: pd.DataFrame
    lanes: tuple[Lane, ...]
    arrows: pd.DataFrame
    rows: float
    unit: Literal["cycles", "ns"]
    note: str
    merged: Merged

    @property
    def labelled(self) -> tuple[Lane | Strip, ...]:
        """What has a label in the margin, from the top."""
        return (*self.lanes, *self.merged.strips)

    @property
    def extent(self) -> tuple[float, float]:
        """The least and the greatest x of all that is drawn; (0, 1) when there is nothing."""
        if self.events.empty:
            return 0.0, 1.0
        drawn = [frame for frame in (self.events, self.merged.bars) if len(frame)]
        ends = [float((frame["x"] + frame["width"]).max()) for frame in drawn]
        return min(float(frame["x"].min()) for frame in drawn), max(ends)


def layout(trace: TraceLike, options: ViewOptions = DEFAULTS) -> Layout:
    """Lay out what the options choose of ``trace``: at most ``limit`` events, the others merged.

    The SM view draws the CTAs of the chosen rows, in ns. Raises ``ValueError`` for ``"ns"`` (and the SM view) where the
    trace has no aligned time, for ``"cycles"`` in the SM view, and what ``selected`` raises.
    """
    limit, time, view = options.limit, options.time, options.view
    wanted = chosen = selected(trace, options.events, options.ctas)
    whole = chosen is trace.events
    if view == "sm":
        if time == "cycles":
            raise ValueError("time='cycles': every SM counts its own; view='sm' is in ns")
        ctas = ctas_as_events(cast("TraceData", trace))
        time, wanted = "ns", ctas if whole else ctas[ctas["cta"].isin(wanted["cta"])]
    unit = _unit(wanted, time)
    shown, note = choose(wanted, limit)
    rest = _others(wanted, shown) if note else wanted[:0]
    shown, rest = _placed(shown, unit), _placed(rest, unit)
    lanes, y = _stack(shown, view)
    if view == "sm" and whole and not note:
        lanes = (*lanes, *_idle(cast("TraceData", trace), lanes))
    merged = merge(rest, max(limit // MERGED_SHARE, 1), lanes[-1].bottom + STRIPS_GAP if lanes else 0.0)
    shown = shown.assign(y=y)
    following = shown.sort_values("x", kind="stable").groupby("y")["x"].shift(-1)
    shown = shown.assign(room=(following - shown["x"]).fillna(np.inf))
    arrows, hidden = _arrows(shown, trace.flows if view != "sm" else trace.flows.iloc[:0])
    note = ", ".join(filter(None, (note, merged.note)))
    if note and hidden:
        note += f" · {hidden:,} arrows lead to events not shown one by one"
    rows = max([lane.bottom for lane in lanes] + [strip.bottom for strip in merged.strips], default=0.0)
    return Layout(chosen, shown, lanes, arrows, rows, unit, note, merged)


def selected(trace: TraceLike, events: pd.DataFrame | None = None, ctas: Ctas | None = None) -> pd.DataFrame:
    """The rows of ``trace.events`` that a view is asked for: those in ``events`` (default: all) of the CTAs ``ctas``.

    ``ctas`` is ids, a range, a slice with an end, or a count: the first so many CTAs of the trace. Ids that the trace
    does not have are passed over. Raises ``ValueError`` where it has none of them, for values that make no sense, and
    for ``events`` other than rows of this trace under their own row numbers; ``TypeError`` where they are no frame.
    """
    whole = trace.events
    rows = whole if events is None or events is whole else _checked(events, whole)
    if ctas is None:
        return rows
    known = np.union1d(trace.ctas["cta"].to_numpy(), whole["cta"].unique())
    ids = cta_runs("ctas", ctas)
    chosen = known[: ids.rows] if is_count(ctas) else known[ids.among(known)]
    if not len(chosen):
        raise ValueError(f"ctas={short(ctas)}: the trace has none of them, it has CTAs {numbers(known) or 'no'}")
    return rows[rows["cta"].isin(chosen)]


def _checked(events: pd.DataFrame, whole: pd.DataFrame) -> pd.DataFrame:
    """``events`` if it holds rows of ``whole`` under their own row numbers."""
    how = """select them from trace.events, such as trace.events.query("name == 'mma'"), and keep the index"""
    if not isinstance(events, pd.DataFrame):
        wrong("events", events, f"rows: {how}", TypeError)
    lacking = [column for column in EVENTS if column in whole and column not in events]
    if lacking:
        raise ValueError(f"events={short(events)} lacks the columns {', '.join(lacking)}: {how}")
    own = events.index.is_unique and events.index.isin(whole.index).all()
    if not own or (whole.loc[events.index, _IDENTITY].to_numpy() != events[_IDENTITY].to_numpy()).any():
        raise ValueError(
            f"events={short(events)} holds rows that this trace does not have under these row numbers: {how}"
        )
    return events


def of_shown_ctas(frame: pd.DataFrame, trace: TraceLike, shown: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``frame`` (with a column ``cta``) about the CTAs in ``shown``; all if that is the whole trace."""
    return frame if len(shown) == len(trace.events) else frame[frame["cta"].isin(shown["cta"])]


def of_events(trace: TraceLike, events: pd.DataFrame) -> TraceLike:
    """``trace`` with these of its events, and the losses of their CTAs."""
    if events is trace.events:
        return trace
    return Frames(events, trace.ctas, trace.flows, of_shown_ctas(trace.losses, trace, events), trace.meta)


def part(events: pd.DataFrame, most: int | None) -> tuple[pd.DataFrame, str]:
    """At most so many events and what was left out in words: those of whole CTAs at the beginning, the end and between.

    Where one CTA alone has more, its earliest. ``most``: ``None`` for all.
    """
    if most is None or len(events) <= most:
        return events, ""
    sizes = events.groupby("cta").size()
    count = len(sizes)
    fitting = count * most // len(events)
    chosen = sizes
    while fitting and (chosen := sizes.iloc[list(evenly(count, fitting))]).sum() > most:
        fitting -= max(fitting // 20, 1)
    if not fitting:
        own = events[events["cta"] == sizes.index[0]]
        rest = own.loc[own["start"].nsmallest(most).index].sort_index()
        return rest, f"{len(rest):,} of {len(events):,} events: the earliest of CTA {sizes.index[0]}"
    rows = events[events["cta"].isin(chosen.index)]
    where = "the first, the last and some between"
    return rows, f"{len(rows):,} of {len(events):,} events: those of {fitting:,} of {count:,} CTAs, {where}"


def choose(events: pd.DataFrame, limit: int) -> tuple[pd.DataFrame, str]:
    """At most ``limit`` of ``events``, and what that left out in words (empty when nothing).

    The first CTAs that fit are taken whole; if not even one fits, its first lanes that fit; if not even one lane fits,
    its earliest events.
    """
    if len(events) <= limit:
        return events, ""
    sizes = events.groupby("cta").size()
    fitting = sizes.index[sizes.cumsum() <= limit]
    if len(fitting):
        chosen = events[events["cta"].isin(fitting)]
        what = f"CTA{'s' if len(fitting) > 1 else ''} {numbers(fitting)}"
    else:
        cta = sizes.index[0]
        chosen = events[events["cta"] == cta]
        tracks = chosen.groupby(["thread", "lane"], observed=True).size()
        number = chosen.groupby(["thread", "lane"], observed=True).ngroup()
        fit = int((tracks.cumsum() <= limit).sum())
        if fit:
            chosen = chosen[number < fit]
            what = f"CTA {cta}, the first {fit:,} of its {len(tracks):,} lanes"
        else:
            chosen = chosen[number == 0].sort_values("start", kind="stable").iloc[:limit].sort_index()
            what = f"CTA {cta}, the earliest of its first lane"
    return chosen, f"showing {len(chosen):,} of {len(events):,} events: {what}"


def _others(events: pd.DataFrame, shown: pd.DataFrame) -> pd.DataFrame:
    """``events`` without those that are ``shown``, rows of them under their own labels."""
    at = events.index.get_indexer(shown.index)
    if (at == np.arange(len(at))).all():
        return events[_MERGED].iloc[len(at) :]  # the first CTAs are shown: nothing needs to be copied
    others = np.ones(len(events), np.bool_)
    others[at] = False
    return events[_MERGED][others]


def sub_rows(start: Sequence[float], end: Sequence[float]) -> list[int]:
    """The row of every event of one lane, from 0: below what encloses it, and where nothing earlier still runs.

    ``frontend/src/stack.ts`` has the same rule, and ``tests/widget/rows.json`` what both must give. An event of no
    duration takes a cycle, so that two at once stay apart.
    """
    rows = [0] * len(start)
    busy: list[float] = []  # per row, when its last event ends
    for i in sorted(range(len(start)), key=lambda i: (start[i], -end[i], i)):
        begin, until = start[i], max(end[i], start[i] + 1)
        row = len(busy)
        while row > 0 and not (busy[row - 1] > begin and busy[row - 1] >= until):
            row -= 1
        while row < len(busy) and busy[row] > begin:
            row += 1
        busy[row : row + 1] = [until]
        rows[i] = row
    return rows


def _placed(events: pd.DataFrame, unit: str) -> pd.DataFrame:
    """``events`` with ``x`` and ``width`` in ``unit``."""
    start, duration = ("start", "duration") if unit == "cycles" else ("start_ns", "duration_ns")
    return events.assign(x=events[start].to_numpy(), width=np.maximum(events[duration].fillna(0).to_numpy(), 0))


def _unit(events: pd.DataFrame, time: Time) -> Literal["cycles", "ns"]:
    known = not events["start_ns"].isna().any()
    if time == "ns" and not known:
        raise ValueError("time='ns': this trace has no time that is aligned across SMs; use 'cycles' or 'auto'")
    if time == "auto":
        return "ns" if known and on_one_axis(events) else "cycles"
    return time


def _stack(events: pd.DataFrame, view: View) -> tuple[tuple[Lane, ...], npt.NDArray[np.float64]]:
    """The lanes from the top, and the ``y`` of every event."""
    y = np.zeros(len(events))
    lanes: list[Lane] = []
    top, before = 0.0, None
    keys = lanes_of(events, view)
    for position in events.groupby(keys, observed=True, sort=True).indices.values():
        track = events.iloc[position]
        rows = _rows_of_lane(track, view)
        first = {key: track[key].iloc[0] for key in _OF_LANE if key in track}
        block = [first[key] for key in keys[:-2]] if view == "thread" else []
        if lanes:
            top = lanes[-1].bottom + LANE_GAP + (CTA_GAP if block != before else 0.0)
        before = block
        y[position] = top + 0.5 + np.array(rows)
        group, role = (word(first[key]) for key in ("group", "role"))
        lane = Lane(int(first["cta"]), int(first["thread"]), str(first["lane"]), group, role, top, top + max(rows) + 1)
        lanes.append(replace(lane, title=_title(lane, first, view)))
    return tuple(lanes), y


def _idle(trace: TraceData, lanes: tuple[Lane, ...]) -> list[Lane]:
    """One empty lane that names all idle SMs."""
    idle = idle_sms(trace)
    top = lanes[-1].bottom + LANE_GAP
    return [replace(lanes[-1], top=top, bottom=top + 1, title=f"idle: SM {numbers(idle)}")] if idle else []


def _rows_of_lane(track: pd.DataFrame, view: View) -> list[int]:
    """The row of every event of one lane."""
    if view == "sm":
        return [int(place) for place in track["place"]]
    if view == "name":  # CTAs have no common count of cycles: by what is drawn
        return sub_rows(track["x"].to_list(), (track["x"] + track["width"]).to_list())
    return sub_rows(track["start"].to_list(), track["end"].to_list())


def _title(lane: Lane, first: Mapping[str, Any], view: View) -> str:
    """The lane's name where it is not that of a track."""
    of_view = {"thread": "", "cta": f"CTA {lane.cta}", "name": clean(str(first["name"]), 40), "sm": f"SM {first['sm']}"}
    parts = [f"{column} {first[column]}" for column in PARTS if column in first]
    return " · ".join([*parts, of_view[view] or lane.label]) if parts else of_view[view]


def _arrows(events: pd.DataFrame, flows: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """From the end of each flow's source to the start of its destination, and how many lead out of ``events``."""
    inside = flows["src"].isin(events.index) & flows["dst"].isin(events.index)
    kept = flows[inside]
    src, dst = events.loc[kept["src"]], events.loc[kept["dst"]]
    columns: dict[str, Any] = {
        "x0": (src["x"] + src["width"]).to_numpy(),
        "y0": src["y"].to_numpy(),
        "x1": dst["x"].to_numpy(),
        "y1": dst["y"].to_numpy(),
        "src_name": kept["src_name"].to_numpy(),
        "dst_name": kept["dst_name"].to_numpy(),
    }
    return pd.DataFrame(columns), int((~inside).sum())


def rows_of(events: pd.DataFrame) -> list[dict[str, Any]]:
    """The events as dictionaries of plain Python values."""
    return cast("list[dict[str, Any]]", events.to_dict("records"))
