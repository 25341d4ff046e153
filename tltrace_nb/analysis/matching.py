"""Which ranges of several traces are the same one.

In: traces. Out: their ranges with joint numbers (:class:`Rows`), and which of them count (:class:`Matched`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.analysis.ranges import ranges_of, renamed
from tltrace_nb.analysis.spans import Array, Ints, groups, ordinal
from tltrace_nb.data.cells import masked

if TYPE_CHECKING:
    from tltrace_nb.data.trace_data import TraceData

BY: dict[str, tuple[str, ...]] = {"name": (), "payload": ("payload",), "track": ("thread", "lane")}
"""What a row of a comparison is about, besides a name."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The ranges of all runs: their run, their number among like ones of all runs, the row they count for."""

    run: Ints
    unit: Ints
    units: int
    row: Ints
    cta: Ints
    duration: Ints
    keys: pd.DataFrame


def gather(runs: Sequence[TraceData], by: str) -> Rows:
    """The ranges that ended, of all runs, with joint numbers for their names, lanes, payloads and tracks."""
    parts = []
    for number, trace in enumerate(runs):
        events = trace.events
        found = ranges_of(events, ended=True)
        paid = ~np.asarray(events["payload"].isna())[found.row]
        parts.append(
            {
                "run": np.full(len(found), number),
                "name": events["name"].array.take(found.row),
                "lane": events["lane"].array.take(found.row),
                "thread": events["thread"].to_numpy()[found.row].astype(np.int64),
                "cta": found.cta,
                "raw": np.where(paid, events["payload_raw"].to_numpy()[found.row].astype(np.int64) + 1, 0),
                "payload": events["payload"].array.take(found.row),
                "duration": found.end - found.start,
            }
        )
    code = {column: _joint([part[column] for part in parts]) for column in ("name", "lane")}
    whole: dict[str, Array] = {
        column: np.concatenate([part[column] for part in parts])
        for column in ("run", "thread", "cta", "raw", "duration")
    }
    # A payload may be any 32 bits: numbered, so that it multiplies into few keys.
    payload = np.unique(whole["raw"], return_inverse=True)[1]
    alike, _ = groups(code["name"][0], payload, whole["cta"], whole["thread"], code["lane"][0])
    in_run, _ = groups(alike, whole["run"])
    unit, units = groups(alike, ordinal(in_run, np.argsort(in_run, kind="stable")))
    parts_of_row = {"name": code["name"][0], "payload": payload, "thread": whole["thread"], "lane": code["lane"][0]}
    row, count = groups(parts_of_row["name"], *(parts_of_row[column] for column in BY[by]))
    first = np.zeros(count, np.int64)
    first[row[::-1]] = np.arange(len(row))[::-1]
    keys = {"name": renamed(code["name"][1], code["name"][0][first])}
    payloads = pd.concat([pd.Series(part["payload"]) for part in parts], ignore_index=True)
    absent = np.ones(count, np.bool_)
    keys["payload"] = payloads.array.take(first if by == "payload" else np.full(count, -1), allow_fill=True)
    threads = whole["thread"][first].astype(np.int32)
    keys["thread"] = masked(threads, absent & (by != "track"))
    lanes = code["lane"][0][first] if by == "track" else np.full(count, -1)
    keys["lane"] = renamed(code["lane"][1], lanes)
    return Rows(whole["run"], unit, units, row, whole["cta"], whole["duration"], pd.DataFrame(keys))


def _joint(parts: Sequence[Any]) -> tuple[Ints, pd.Index[Any]]:
    """The codes of several categoricals among the categories of all."""
    names = parts[0].categories
    for part in parts[1:]:
        names = names.append(part.categories.difference(names, sort=False))
    return np.concatenate([names.get_indexer(p.categories)[p.codes] for p in parts]).astype(np.int64), names


@dataclass(frozen=True, slots=True)
class Matched:
    """Which ranges count, and per unit whether any run of ``a``, and of ``b``, has it."""

    counts: Array
    in_a: Array
    in_b: Array
    paired: bool


def match(rows: Rows, first_b: int, notes: list[str]) -> Matched:
    """The ranges that are in all runs; all ranges where fewer than half of either side have a partner."""
    runs = int(rows.run.max(initial=0)) + 1
    presence = np.bincount(rows.unit, minlength=rows.units)
    in_a, in_b = np.zeros(rows.units, np.bool_), np.zeros(rows.units, np.bool_)
    in_a[rows.unit[rows.run < first_b]] = True
    in_b[rows.unit[rows.run >= first_b]] = True
    whole = presence == max(runs, 2)
    if 2 * whole.sum() >= max(in_a.sum(), in_b.sum(), 1):
        return Matched(whole[rows.unit], in_a, in_b, True)
    notes.append(
        f"only {int(whole.sum()):,} ranges have a partner of the same name, payload and track: names are compared as a "
        "whole, over different CTAs, threads or iterations"
    )
    return Matched(np.ones(len(rows.unit), np.bool_), in_a, in_b, False)
