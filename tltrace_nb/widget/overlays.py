"""What is drawn over the lanes: the critical path, waits with their cause, waves, or the rows of any frame.

In: a trace, or a frame with the columns start, end and cta. Out: a dictionary as ``frontend/src/bands.ts`` reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.base.checks import wrong
from tltrace_nb.base.numbers import count, duration
from tltrace_nb.base.words import clean
from tltrace_nb.data.trace_data import TraceData

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tltrace_nb.data.frames import TraceLike

MOST = 50_000
"""Most rows that are drawn over the lanes."""
NEEDED = ("start", "end", "cta")
PARTS = ("launch", "rank")
"""What several traces in one are told apart by."""
NAMED = 3
"""Names in a verdict."""
AUTOMATIC_WAITS = "wait *"
"""How automatic markers call waits."""


def bands(frame: object, words: str = "", *, which: str = "frame", linked: bool = False) -> dict[str, Any]:
    """The rows of ``frame`` as bands over the lanes of their CTA, or of their ``thread`` or ``lane`` if it has these.

    ``start`` and ``end`` are cycles since the CTA's entry; where they are the same, the band is a mark. ``name`` is
    written on a band, ``launch`` or ``rank`` says of which launch or rank it is. ``linked``: a line leads from each to
    the next of its CTA. Raises ``TypeError`` for what is no frame
    and ``ValueError`` for columns that are missing, values that are no numbers, or too many rows.
    """
    if not isinstance(frame, pd.DataFrame):
        known = ", ".join(map(repr, OVERLAYS))
        wrong("what", frame, f"{known}, or a DataFrame with the columns start, end and cta", TypeError)
    lacking = [column for column in NEEDED if column not in frame]
    if lacking:
        raise ValueError(f"the frame lacks {', '.join(lacking)}: bands need {', '.join(NEEDED)}, and may have a thread")
    for column in NEEDED:
        if not pd.api.types.is_numeric_dtype(frame[column].dtype) or frame[column].isna().any():
            raise ValueError(f"column {column} must be numbers, and none of them missing")
    if len(frame) > MOST:
        raise ValueError(f"the frame has {len(frame):,} rows, of which at most {MOST:,} are drawn: select some")
    rows = frame.sort_values(["cta", "start"], kind="stable")
    spans: dict[str, Any] = {key: rows[key].tolist() for key in NEEDED}
    part = next((column for column in PARTS if column in rows), "")
    for key, column in (("thread", "thread"), ("part", part)):
        spans[key] = rows[column].astype("int64").tolist() if column in rows else None
    spans["lane"] = rows["lane"].astype(str).tolist() if "lane" in rows else None
    names = rows["name"] if "name" in rows else pd.Series("", rows.index)
    spans["text"] = [clean(str(name), 60) if not pd.isna(name) and str(name) else "" for name in names]
    return {"which": which, "words": words, "linked": linked, "spans": spans}


def critical_path(trace: TraceLike) -> dict[str, Any]:
    """The chain of ranges that bounds each CTA, and in words what it consists of."""

    def of(one: TraceData) -> tuple[pd.DataFrame, tuple[str, ...]]:
        from tltrace_nb.analysis.critical_path import critical_path

        found = critical_path(one)
        return pd.DataFrame(found[found["critical"]]), found.notes

    chain, notes = _of_all(trace, of)
    if chain.empty:
        return bands(_no_rows(), "; ".join(("no range bounds a CTA", *notes)), which="critical path")
    shares = _shares(chain.groupby("name", observed=True)["on_path"].sum(), int(chain["gap"].sum()))
    chain, cut = _drawn(chain)
    return bands(chain, "; ".join((f"the critical path is {shares}", *cut, *notes)), which="critical path", linked=True)


def waits(trace: TraceLike) -> dict[str, Any]:
    """The blocked time of every thread with its cause, and in words who waits for whom."""

    def of(one: TraceData) -> tuple[pd.DataFrame, tuple[str, ...]]:
        from tltrace_nb.analysis.waits import waits

        automatic = one.events["name"].astype(str).str.startswith(AUTOMATIC_WAITS[:-1]).any()
        found = waits(one, AUTOMATIC_WAITS if automatic else (), each=True)
        return pd.DataFrame(found[found["blocked"] > 0]), found.notes

    found, notes = _of_all(trace, of)
    if found.empty:
        return bands(_no_rows(), "; ".join(("no waits", *notes)), which="waits")
    cause = found["producer"].astype(object).where(found["producer"].notna(), found["barrier"].astype(object))
    what = found["name"].astype(str) + cause.map(lambda name: "" if pd.isna(name) else f" ← {name}")
    total = found.groupby(what)["blocked"].sum().nlargest(NAMED)
    told = ", ".join(f"{clean(str(name), 50)} {cycles:,} cycles" for name, cycles in total.items())
    rows, cut = _drawn(found.assign(name=what))
    return bands(rows, "; ".join((f"blocked: {told} in all", *cut, *notes)), which="waits")


def waves(trace: TraceLike) -> dict[str, Any]:
    """Where CTAs take each other's slots and when SMs have none; in words how many waves, and what is idle."""

    def of(one: TraceData) -> tuple[pd.DataFrame, tuple[str, ...]]:
        from tltrace_nb.analysis.waves import ctas_in_waves, idle_stretches, waves

        try:
            ctas, told = ctas_in_waves(one), waves(one, "launch")
        except ValueError as error:  # a launch that the GPU cannot have run, as a damaged file says
            return _no_rows(), (f"no waves: {error}",)
        entries = ctas[["cta"]].assign(start=0, end=0, name=[f"wave {n}" for n in ctas["wave"]])
        idle = idle_stretches(ctas if one.whole else ctas[:0])
        named = idle.assign(name=[f"SM idle {duration(ns)}" for ns in idle["idle_ns"]])
        words = [_of_launch(row, ctas[ctas["kernel"] == row.kernel], one.whole) for row in told.itertuples()]
        return pd.concat([entries, named[[*entries]]], ignore_index=True), (*words, *told.notes)

    found, notes = _of_all(trace, of)
    rows, cut = _drawn(found)
    return bands(rows, "; ".join((*notes, *cut)), which="waves")


def _of_launch(row: Any, ctas: pd.DataFrame, whole: bool) -> str:
    """A launch in words: its row of ``Trace.waves`` by launch, its CTAs in waves, and whether these are all."""
    last, used = ctas["wave"].eq(ctas["wave"].max()).sum(), ctas["sm"].nunique()
    parts = [f"{count(row.waves, 'wave')} of {count(row.places, 'CTA slot')} on {count(row.sms, 'SM')}"]
    parts += [f"the last has {count(last, 'CTA')}"] * (whole and row.waves > 1)
    parts += [f"{count(row.sms - used, 'SM')} never had a CTA"] * (whole and row.sms > used)
    parts += [f"SMs are idle {row.idle:.0%} of the time"] * (row.idle == row.idle)
    return f"{clean(str(row.kernel), 40)}: {', '.join(parts)}"


OVERLAYS: Mapping[str, Callable[[TraceLike], dict[str, Any]]] = {
    "critical path": critical_path,
    "waits": waits,
    "waves": waves,
}
"""What a view can be asked for, by name."""


def _of_all(
    trace: TraceLike, of: Callable[[TraceData], tuple[pd.DataFrame, tuple[str, ...]]]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The rows of a trace, or of all traces in one, and the notes on them."""
    if isinstance(trace, TraceData):
        return of(trace)
    traces: Mapping[int, TraceData] = getattr(trace, "traces", {})
    if not traces:
        return _no_rows(), ("a frame alone does not tell it, a trace does",)
    part = next(column for column in PARTS if column in trace.events)
    found = [(number, *of(one)) for number, one in traces.items()]
    rows = pd.concat([frame.assign(**{part: number}) for number, frame, _ in found], ignore_index=True)
    return rows, tuple(dict.fromkeys(note for _, _, notes in found for note in notes))


def _drawn(rows: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """As many rows as are drawn, and in words that there are more."""
    if len(rows) <= MOST:
        return rows, ()
    return rows.iloc[:MOST], (f"the first {MOST:,} of {len(rows):,} are drawn",)


def _no_rows() -> pd.DataFrame:
    return pd.DataFrame({key: np.zeros(0, np.int64) for key in NEEDED})


def _shares(by_name: pd.Series[Any], gaps: int) -> str:
    """Names with their share of a whole, the largest first, and what is between them."""
    whole = max(int(by_name.sum()) + gaps, 1)
    largest = by_name.nlargest(NAMED)
    parts = [f"{clean(str(name), 40)} {cycles / whole:.0%}" for name, cycles in largest.items()]
    rest = int(by_name.sum()) - int(largest.sum())
    parts += [f"other ranges {rest / whole:.0%}"] * (rest > 0) + [f"between them {gaps / whole:.0%}"] * (gaps > 0)
    return ", ".join(parts)
