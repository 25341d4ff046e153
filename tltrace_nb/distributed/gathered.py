"""The traces of several ranks as one: frames with the rank in front, on the clock of rank 0.

In: each rank's trace, and what is known of its clock (:class:`Rank`). Out: :class:`Gathered`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.base.checks import checked, file
from tltrace_nb.base.notices import say_once
from tltrace_nb.base.numbers import count, duration
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.frames import Frames
from tltrace_nb.data.stacked import stacked
from tltrace_nb.render.options import PAGE_EVENTS, ViewOptions

if TYPE_CHECKING:
    from tltrace_nb.widget.timeline import Timeline

RANKS = ["rank", "host", "events", "offset_ns", "error_ns", "drift_ppm", "clock", "trouble"]
PAIRS = ["rank", "other", "error_ns"]
SKEW = ["launch", "rank", "start_ns", "end_ns", "skew_ns", "error_ns"]


@dataclass(frozen=True, slots=True)
class Launched:
    """When a launch was on its rank's clock, from ``begin`` to ``end``, and how that differed from ``first``'s."""

    launch: int
    begin: int
    end: int
    offset: int
    error: float


@dataclass(frozen=True, slots=True)
class Rank:
    """What is known of a rank; ``zero`` is the time 0 of its trace, on its own clock.

    ``offset_ns`` is its clock less that of the rank ``first``, the first of its host, to whose it was compared; of
    such a first rank, less that of rank 0. ``error_ns``: how far that may be off, NaN where nothing is known.
    ``clock``: how it was found, by the ``"GPU"`` or the ``"host"``.
    """

    rank: int
    events: int = 0
    offset_ns: int = 0
    error_ns: float = np.nan
    zero: int = 0
    trouble: str = ""
    host: str = ""
    first: int = 0
    clock: str = ""
    drift_ppm: float = np.nan
    launches: tuple[Launched, ...] = ()


@dataclass(frozen=True, eq=False)
class Gathered(Frames):
    """The traces of all ranks that answered; what a view reads of a trace, it has, too.

    ``events``, ``ctas``, ``flows`` and ``losses`` are those of a trace with ``rank`` in front; ``start_ns`` is zeroed
    at the first CTA of all ranks. An arrow between ranks has the rank that it comes from.

    ``ranks``: one row per rank, with its ``host``, ``events``, ``offset_ns`` (its clock less that of rank 0 while the
    trace was recorded), ``error_ns`` (how far the offset may be off), ``drift_ppm`` (by how many millionths its clock
    runs faster than that of its host's first rank, where that was measured), ``clock`` (what was compared: the
    ``"GPU"``'s own timers, or those through the ``"host"``'s) and ``trouble`` (why it is missing; empty otherwise).
    ``pairs``: ``error_ns`` between any two ranks, which for two of another host is less than the sum of theirs.
    ``skew``: one row per rank and launch that several have: ``start_ns`` and ``end_ns`` as those of the CTAs,
    ``skew_ns`` by how much later than on the rank that was first, ``error_ns`` how far that may be off. ``traces``:
    each rank's own trace.
    """

    ranks: pd.DataFrame
    pairs: pd.DataFrame
    skew: pd.DataFrame
    traces: dict[int, Trace]

    @property
    def title(self) -> str:
        """Heads the views: the kernel, how many ranks, and how far their times may be off from each other's."""
        worst = self.pairs["error_ns"].max() if len(self.pairs) else 0.0
        off = "clocks not compared" if np.isnan(worst) else f"clocks within ± {duration(worst)}"
        return f"{self.meta.kernel} · {count(len(self.traces), 'rank')}" + (f", {off}" if len(self.pairs) else "")

    def timeline(self, **options: Any) -> Timeline:
        """The widget, with the rank as the outermost lane; options and errors as ``Trace.timeline``."""
        from tltrace_nb.widget.timeline import Timeline

        return Timeline(self, **{"title": self.title, **options})

    def show(self, **options: Any) -> None:
        """Show the timeline of all ranks under the cell; options and errors as ``Trace.show``."""
        from tltrace_nb.widget.display import show

        renderer = options.pop("renderer", None)
        show(self, ViewOptions(**{"title": self.title, **options}), renderer=renderer)

    def figure(self, **view: Any) -> Any:
        """The timeline of all ranks as a Plotly figure; options as ``Trace.figure``, but for ``view="sm"``."""
        from tltrace_nb.widget.figure import figure

        return figure(self, ViewOptions(**{"title": self.title, **view}))

    def to_html(self, path: str | Path, title: str = "", **view: Any) -> Path:
        """Write the timeline of all ranks as one offline HTML file; options and errors as ``Trace.to_html``."""
        from tltrace_nb.widget.html import write_html

        most = view.pop("most", PAGE_EVENTS)
        return write_html(self, path, ViewOptions(title=title or self.title, **view), most=most)

    def __repr__(self) -> str:
        return f"Traces of {count(len(self.traces), 'rank')}: {count(len(self.events), 'event')} of {self.meta.kernel}"

    @checked(folder=file)
    def save(self, folder: str | Path) -> None:
        """Write ``rank0.tltrace`` … and ``ranks.csv`` to ``folder``, which is made where it is not there."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        for rank, trace in self.traces.items():
            trace.save(trace_file(folder, rank))
        self.ranks.to_csv(Path(folder) / "ranks.csv", index=False)


def trace_file(folder: str | Path, rank: int) -> Path:
    """Where a rank's trace is in a folder."""
    return Path(folder) / f"rank{rank}.tltrace"


def merge(traces: dict[int, Trace], rows: Sequence[Rank], arrows: Mapping[str, str] | None = None) -> Gathered:
    """One timeline of the traces of several ranks, each moved by what its clock is off; one that nobody knows, by none.

    ``arrows``: ranges that lead to those of another rank, see :func:`between`.
    """
    known = {row.rank: row for row in rows if row.rank in traces}
    starts = {rank: row.zero - _offset(known, rank) for rank, row in known.items() if not np.isnan(_error(known, rank))}
    first = min(starts.values(), default=0)
    frames = stacked(traces, "rank", {rank: float(starts.get(rank, first) - first) for rank in traces})
    if arrows:
        more = between(frames["events"], arrows, frames["flows"])
        frames["flows"] = more
    table = pd.DataFrame([_row(known, row) for row in rows], columns=RANKS)
    pairs = pd.DataFrame(
        [(a, b, _apart(known, a, b)) for a, b in itertools.combinations(sorted(known), 2)], columns=PAIRS
    )
    meta = traces[min(traces)].meta
    whole = Gathered(**frames, meta=meta, ranks=table, pairs=pairs, skew=_skew(known, first), traces=traces)
    return replace(whole, meta=replace(meta, note="; ".join(filter(None, (meta.note, whole.title)))))


def between(events: pd.DataFrame, arrows: Mapping[str, str], flows: pd.DataFrame) -> pd.DataFrame:
    """The arrows ``flows``, and those between ranks.

    ``arrows`` names ranges: where one of that name has the rank that it writes to as its payload, and one of the other
    name the rank that it reads from, the i-th of a CTA leads to the i-th of the same CTA there.
    """
    found = [flows]
    for source, target in arrows.items():
        ways = []
        for name, here, there in ((source, "rank", "payload"), (target, "payload", "rank")):
            if not ((events["name"] == name) & events["payload"].notna()).any():
                say_once(f"arrows: there is no range {name!r} whose payload is the rank at its other end")
            rows = events.loc[(events["name"] == name) & events["payload"].notna(), ["rank", "cta", "payload"]]
            way = pd.DataFrame({"src": rows[here], "dst": rows[there], "cta": rows["cta"]}).astype("int64")
            way["i"] = way.groupby(["src", "dst", "cta"]).cumcount()
            ways.append(way.assign(row=rows.index))
        both = ways[0].merge(ways[1], on=["src", "dst", "cta", "i"], suffixes=("_src", "_dst"))
        columns = {"rank": both["src"], "src": both["row_src"], "dst": both["row_dst"]}
        names = {"src_name": source, "dst_name": target, "cta": both["cta"]}
        found.append(pd.DataFrame({**columns, **names})[list(flows)])
    return _like(flows, pd.concat([each.astype({"src_name": str, "dst_name": str}) for each in found]))


def _like(flows: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """Rows in the types of ``flows``, with new names among the categories."""
    more = more.reset_index(drop=True)
    for column, dtype in flows.dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype):
            new = pd.Index(more[column].unique()).difference(dtype.categories, sort=False)
            more[column] = pd.Categorical(more[column], dtype.categories.append(new))
        else:
            more[column] = more[column].astype(dtype)
    return more


def _offset(known: Mapping[int, Rank], rank: int) -> int:
    """A rank's clock less that of rank 0."""
    row = known[rank]
    first = known.get(row.first, row) if row.first not in (0, rank) else None
    return row.offset_ns + (first.offset_ns if first else 0)


def _error(known: Mapping[int, Rank], rank: int) -> float:
    """How far that may be off."""
    row = known[rank]
    if not row.first or row.first == rank:
        return row.error_ns
    return row.error_ns + known[row.first].error_ns if row.first in known else np.nan


def _apart(known: Mapping[int, Rank], a: int, b: int) -> float:
    """How far the times of two ranks may be off from each other's; those of one host were compared with its first."""
    if known[a].first == known[b].first:
        return sum(known[rank].error_ns for rank in (a, b) if rank != known[rank].first)
    return _error(known, a) + _error(known, b)


def _row(known: Mapping[int, Rank], row: Rank) -> dict[str, Any]:
    values = {column: getattr(row, column) for column in RANKS}
    if row.rank in known:
        error = _error(known, row.rank)
        values |= {"error_ns": error, "offset_ns": np.nan if np.isnan(error) else float(_offset(known, row.rank))}
    else:
        values |= {"offset_ns": np.nan, "error_ns": np.nan}
    return values


def _skew(known: Mapping[int, Rank], zero: int) -> pd.DataFrame:
    """The table of launches that several ranks have; those of ranks whose clock nobody knows are not in it."""
    rows: list[tuple[Any, ...]] = []
    at = {
        (launched.launch, rank): launched
        for rank, row in known.items()
        for launched in row.launches
        if not np.isnan(_error(known, rank))
    }
    for number in sorted({launch for launch, _ in at}):
        moved = {}
        for rank in known:
            if (number, rank) in at:
                each = at[number, rank]
                shift = zero + _offset(known, rank) - known[rank].offset_ns + each.offset
                moved[rank] = each.begin - shift, each.end - shift
        if len(moved) < 2:
            continue
        first = min(moved, key=lambda rank: moved[rank])
        here = {rank: replace(known[rank], error_ns=at[number, rank].error) for rank in moved} | {
            rank: row for rank, row in known.items() if rank not in moved
        }
        for rank, (begin, end) in moved.items():
            error = 0.0 if rank == first else _apart(here, rank, first)
            rows.append((number, rank, float(begin), float(end), float(begin - moved[first][0]), error))
    return pd.DataFrame(rows, columns=SKEW)
