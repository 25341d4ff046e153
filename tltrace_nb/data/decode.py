"""Slots to frames.

In: the ``slots`` of a finished launch and the kernel's :class:`SiteTable`. Out: :class:`Decoded`.

Whole arrays, no loop over records: they are gathered in order of track and time (writers already record in order of
time, so this is a permutation of segments, not a sort), begins are paired with ends, and each column is one gather.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from tltrace_nb.base.gpus import WARP
from tltrace_nb.base.words import in_cells, utf8
from tltrace_nb.data import columns
from tltrace_nb.data.cells import category, coded, compact, frame, masked, payload, same_types, spread
from tltrace_nb.data.clock import Clocks, align
from tltrace_nb.data.left_out import LEFT_OUT, left_out
from tltrace_nb.data.pairing import BEGIN, END, nest, pair_ends
from tltrace_nb.data.reading import Blocks, Grids, Records, Writers, place_blocks, read_records, read_writers
from tltrace_nb.data.sites import EventKind, PayloadType, SiteTable

Array = npt.NDArray[Any]

ROLES = ("producer", "consumer")


@dataclass(frozen=True, slots=True)
class Decoded:
    """What slots hold: the frames of one trace, with the columns of ``data.columns``."""

    events: pd.DataFrame
    ctas: pd.DataFrame
    flows: pd.DataFrame
    sites: pd.DataFrame
    losses: pd.DataFrame
    origin: pd.DataFrame = field(repr=False)
    """The events again. Columns of one value, or of the same values, share memory to save some; while pandas sees two
    owners of it, a write to ``events`` copies the column first and reaches no other."""


def decode(
    slots: npt.NDArray[np.int64], table: SiteTable, grids: Grids | None = None, clock_ghz: float | None = None
) -> Decoded:
    """Decode the slots of one kernel into frames.

    ``slots`` is ``int64[num_cta, num_writers, words]`` as ``data.slots`` lays it out, and is only read. ``grids`` are
    the extents (x, y, z) of each launch, needed where the table leaves one open; ``clock_ghz`` is the clock rate of the
    SMs where it is known, else it is measured.

    Raises ``SlotsError`` (a ``ValueError``) when shapes and table do not fit or a grid is unknown. No content of the
    slots raises: what cannot be right is counted in ``losses``.
    """
    slots, blocks = place_blocks(slots, table, grids)
    return decode_rows(slots, table, blocks, grids, clock_ghz)


def decode_rows(
    slots: npt.NDArray[np.int64],
    table: SiteTable,
    blocks: Blocks,
    grids: Grids | None = None,
    clock_ghz: float | None = None,
    clocks: Clocks | None = None,
) -> Decoded:
    """Decode rows of slots: ``blocks`` says where they ran, and ``clocks`` by which clock, where that is known."""
    writers = read_writers(slots, table)
    records = read_records(slots, table, blocks, writers)
    if clocks is None:
        clocks = clocks_of(blocks, writers, records.stay, clock_ghz)
    recorded, corrupt, stay = records.recorded, records.corrupt, records.stay
    counts = np.bincount(records.site, minlength=len(table.sites))
    paired = _paired(records, table, writers)
    del records  # the largest thing here
    events = _events(paired, table, blocks, writers, clocks)
    losses = _losses(table, blocks, writers, recorded, corrupt, paired.unmatched, clocks.backwards)
    if grids is None:
        grids = tuple((x or 1, y or 1, z or 1) for x, y, z in (launch.grid for launch in table.launches))
    if missing := left_out(table, grids):
        losses.attrs[LEFT_OUT] = missing
    return Decoded(
        events=events.copy(deep=False),
        ctas=ctas_of(table, blocks, writers, stay, clocks),
        flows=_flows(events, table),
        sites=_sites(table, counts),
        losses=losses,
        origin=events,
    )


def _duration(writers: Writers, stay: npt.NDArray[np.int64], rows: int) -> npt.NDArray[np.int64]:
    """Cycles of each row's CTA, from its first entry to its last exit."""
    until = np.where(writers.entered, writers.offset + stay, 0)
    return until.reshape(rows, -1).max(axis=1, initial=0) if rows else np.zeros(0, np.int64)


def _sm(writers: Writers, rows: int) -> npt.NDArray[np.int32]:
    """The SM of each row's CTA, by the first of its writers that entered."""
    if not len(writers.row):
        return np.zeros(rows, np.int32)
    entered = writers.entered.reshape(rows, -1)
    sm = writers.head["sm"].reshape(rows, -1)[np.arange(rows), entered.argmax(axis=1)]
    as_int32: npt.NDArray[np.int32] = sm.astype(np.int32)
    return as_int32


def clocks_of(blocks: Blocks, writers: Writers, stay: npt.NDArray[np.int64], stated: float | None) -> Clocks:
    """Hand each writer's readings at entry, and at exit where it left, to the clock."""
    rows, head = len(blocks.cta), writers.head
    valid = (writers.entered, writers.done)
    readings = [
        np.concatenate([part.reshape(rows, head.size // max(rows, 1)) for part in pair], axis=1)
        for pair in ((head["entry_clock"], head["exit_clock"]), (head["entry_ns"], head["exit_ns"]), valid)
    ]
    return align(
        readings[0],
        readings[1],
        readings[2].astype(np.bool_),
        entry=writers.entry,
        duration=_duration(writers, stay, rows),
        sm=_sm(writers, rows),
        launch=blocks.launch,
        stated=stated,
    )


@dataclass(frozen=True, slots=True)
class _Paired:
    """The events, each from its begin and its end, by track and then time.

    Per event: its ``slot``, the ``site`` and payload bits ``raw`` of its begin, those of its end (of any record where
    it has not ``ended``), ``start`` and ``stop`` in cycles since its slot's entry, ``depth`` and ``parent``, and
    whether it is still ``open`` where its writer ends. Per slot: the ends ``unmatched``.
    """

    slot: Array
    site: Array
    raw: Array
    end_site: Array
    end_raw: Array
    start: Array
    stop: Array
    depth: Array
    parent: Array
    ended: Array
    open: Array
    unmatched: npt.NDArray[np.int64]


def _paired(records: Records, table: SiteTable, writers: Writers) -> _Paired:
    """Find the end of each begin, and from there when it was and what encloses it."""
    kind = np.array([site.kind for site in table.sites], np.int8)[records.site]
    end_of = pair_ends(records.track, _range_numbers(table)[records.site], kind, records.payload)
    begin = np.flatnonzero(kind != END)
    end = end_of[begin]
    depth, parent = nest(records.track, kind, end_of, begin)
    ended = end >= 0
    open_ = (kind[begin] == BEGIN) & ~ended
    unmatched = _unmatched(kind, end[ended], records.slot, len(writers.row))
    del kind, end_of

    slot, end_slot = records.slot[begin], records.slot[end]
    start, stop = records.time[begin], records.time[end]
    if bool((ended & (end_slot != slot)).any()):  # of two writers of one thread one began it, the other ended it
        stop += np.where(ended, writers.offset[end_slot] - writers.offset[slot], 0)
    del end_slot
    # An instant ends where it starts, a truncated range with its writer.
    np.copyto(stop, start, where=~ended)
    if open_.any():
        stop[open_] = records.stay[slot[open_]]
    (site, raw), (end_site, end_raw) = ((records.site[at], records.payload[at]) for at in (begin, end))
    return _Paired(slot, site, raw, end_site, end_raw, start, stop, depth, parent, ended, open_, unmatched)


def _payloads(paired: _Paired, table: SiteTable) -> dict[str, Any]:
    """The columns of the payloads."""
    site, end_site, raw, end_raw = paired.site, paired.end_site, paired.raw, paired.end_raw
    typed = np.array([site.payload is not PayloadType.NONE for site in table.sites], np.bool_)
    raw *= typed[site]
    cells = {"payload": payload(table, site, raw, ~typed[site]), "payload_raw": raw}
    missing = ~(paired.ended & typed[end_site])
    if np.array_equal(raw, end_raw) and np.array_equal(missing, ~typed[site]) and same_types(table):
        return cells | {"payload_end": cells["payload"]}
    return cells | {"payload_end": payload(table, end_site, end_raw, missing)}


def _events(paired: _Paired, table: SiteTable, blocks: Blocks, writers: Writers, clocks: Clocks) -> pd.DataFrame:
    """The frame of the events, which takes over the arrays of ``paired``."""
    slot, site, start = paired.slot, paired.site, paired.start
    cells: dict[str, Any] = {"start": start, "end": paired.stop, "duration": paired.stop - start}
    for times in (start, paired.stop):
        times += writers.offset[slot]
    ghz = clocks.ghz[writers.row][slot]
    cells["start_ns"] = start / ghz
    cells["start_ns"] += clocks.start_ns[writers.row][slot]
    cells["duration_ns"] = np.divide(cells["duration"], ghz, out=ghz)
    cells["depth"], cells["parent"] = paired.depth, masked(paired.parent, paired.parent < 0)
    cells["truncated"] = compact(paired.open)
    cells |= _payloads(paired, table)
    cells["kind"] = category(["range", "instant"], [int(s.kind is EventKind.INSTANT) for s in table.sites], site)
    for column in ("name", "group", "lane"):
        cells[column] = category(*coded([getattr(s, column) for s in table.sites]), site)
    cells["source"] = category(*coded([in_cells(s.source) for s in table.sites]), site)
    roles, codes = _roles(table)
    cells["role"] = category(roles, codes, writers.writer[slot])
    threads = np.array([writer.thread for writer in table.writers], np.int32)
    per_row = {"cta": blocks.cta, "sm": _sm(writers, len(blocks.cta))}
    per_row |= {f"block_{axis}": blocks.xyz[index] for index, axis in enumerate("xyz")}
    for column, values in per_row.items():
        cells[column] = spread(values[writers.row], slot)
    cells["thread"] = spread(threads[writers.writer], slot)
    cells["warp"] = spread(threads[writers.writer] // np.int32(WARP), slot)
    return frame(columns.EVENTS, cells, len(slot))


def _unmatched(
    kind: npt.NDArray[np.int8], matched: Array, slot: npt.NDArray[np.int32], slots: int
) -> npt.NDArray[np.int64]:
    """Ends per slot that closed nothing."""
    ends = np.count_nonzero(kind == END)
    if ends == len(matched):
        return np.zeros(slots, np.int64)
    return np.bincount(slot[kind == END], minlength=slots) - np.bincount(slot[matched], minlength=slots)


def _range_numbers(table: SiteTable) -> Array:
    """Each site's range as a dense number in the smallest type; instants get the largest."""
    numbers = {range_: index for index, range_ in enumerate(dict.fromkeys(site.range for site in table.sites))}
    codes = [len(numbers) if site.kind is EventKind.INSTANT else numbers[site.range] for site in table.sites]
    return np.array(codes, np.min_scalar_type(len(numbers)))


def _roles(table: SiteTable) -> tuple[list[str], list[int]]:
    """The roles as categories, and each writer's code (-1: none)."""
    numbers = {role: number for number, role in enumerate(ROLES)}
    codes = [numbers.setdefault(utf8(each.role), len(numbers)) if each.role else -1 for each in table.writers]
    return list(numbers), codes


def ctas_of(
    table: SiteTable, blocks: Blocks, writers: Writers, stay: npt.NDArray[np.int64], clocks: Clocks
) -> pd.DataFrame:
    """One row per CTA that ran, by ``cta``."""
    rows = len(blocks.cta)
    ran = np.zeros(rows, np.bool_)
    ran[writers.row[writers.entered]] = True
    order = np.argsort(blocks.cta, kind="stable")
    order = order[ran[order]]
    cells = {
        "kernel": category(*coded([launch.name for launch in table.launches]), blocks.launch[order]),
        "cta": blocks.cta[order],
        "sm": _sm(writers, rows)[order],
        "start": np.zeros(len(order), np.int64),
        "duration": _duration(writers, stay, rows)[order],
        "start_ns": clocks.start_ns[order],
        "end_ns": clocks.end_ns[order],
        "clock_ghz": clocks.ghz[order],
    } | {f"block_{axis}": blocks.xyz[index][order] for index, axis in enumerate("xyz")}
    return frame(columns.CTAS, cells, len(order))


def _flows(events: pd.DataFrame, table: SiteTable) -> pd.DataFrame:
    """One arrow per CTA from the i-th range of a flow's source to the i-th of its destination, in order of start."""
    names = list(events["name"].cat.categories)
    kind, name = (cast(pd.Categorical, events[column].array).codes for column in ("kind", "name"))
    start, cta = events["start"].to_numpy(), events["cta"].to_numpy()
    nth = np.cumsum(np.diff(cta, prepend=cta[:1]) != 0)  # ids may be anything, and rows are by them

    def by_start(wanted: str) -> Array:
        """The ranges so named, by CTA and then start."""
        wanted = utf8(wanted)
        if wanted not in names:
            return np.zeros(0, np.int32)
        rows = np.flatnonzero((kind == 0) & (name == names.index(wanted))).astype(np.int32)
        # Rows are by CTA already; where a name stays on one track, also by start.
        if ((np.diff(start[rows]) < 0) & (np.diff(cta[rows]) == 0)).any():
            rows = rows[np.lexsort((start[rows], cta[rows]))]
        return rows

    arrows: list[tuple[Array, Array]] = []
    for names_ in table.flows:
        arrow = [by_start(wanted) for wanted in names_]
        counts = [np.bincount(nth[rows], minlength=int(nth.max(initial=0)) + 1) for rows in arrow]
        pairs = np.minimum(*counts)
        for side, count in enumerate(counts):
            if (count > pairs).any():
                number = np.arange(len(arrow[side])) - np.repeat(np.cumsum(count) - count, count)
                arrow[side] = arrow[side][number < np.repeat(pairs, count)]
        arrows.append((arrow[0], arrow[1]))
    lengths = [len(source) for source, _ in arrows]
    src, dst = (np.concatenate([np.zeros(0, np.int32), *(arrow[side] for arrow in arrows)]) for side in (0, 1))
    del arrows
    flow = np.repeat(np.arange(len(lengths), dtype=np.int16), lengths)
    cells = {
        "src": src,
        "dst": dst,
        "src_name": category(*coded([source for source, _ in table.flows]), flow),
        "dst_name": category(*coded([destination for _, destination in table.flows]), flow),
        "cta": cta[src],
    }
    return frame(columns.FLOWS, cells, len(src))


def _sites(table: SiteTable, counts: npt.NDArray[np.int64]) -> pd.DataFrame:
    """One row per site, with the number of its records."""

    def words(of: Any) -> Any:
        return category(*coded([str(of(site)) for site in table.sites]))

    kinds = ["begin", "end", "instant"]
    cells = {
        "site": np.array([site.id for site in table.sites], np.int32),
        "kind": category(kinds, [int(site.kind) for site in table.sites]),
        "payload": words(lambda site: site.payload.value),
        "range": np.array([site.range for site in table.sites], np.int32),
        "count": counts.astype(np.int64),
        "name": words(lambda site: site.name),
        "group": words(lambda site: site.group),
        "lane": words(lambda site: site.lane),
        "source": words(lambda site: in_cells(site.source)),
        "reason": _reasons(table, counts),
    }
    return frame(columns.SITES, cells, len(table.sites))


def _reasons(table: SiteTable, counts: npt.NDArray[np.int64]) -> Any:
    """Why the sites that have not recorded have not; missing for the others."""
    known = dict(table.reasons)
    silent = np.flatnonzero(counts == 0)
    names, codes = coded(
        [known.get(site, "no traced CTA ran it in a thread that records there") for site in silent.tolist()]
    )
    all_codes = np.full(len(table.sites), -1, np.int64)
    all_codes[silent] = codes
    return category(names, all_codes.tolist())


def _losses(
    table: SiteTable,
    blocks: Blocks,
    writers: Writers,
    recorded: Array,
    corrupt: Array,
    unmatched: Array,
    backwards: Array,
) -> pd.DataFrame:
    """One row per writer with something lost or wrong, or which never recorded in a kernel that has markers."""
    lost = writers.executed - writers.held
    unfinished = writers.entered & ~writers.done
    silent = (recorded == 0) & bool(table.sites)  # without markers there was nothing to record
    back = backwards[writers.row] & writers.entered
    wrong = (lost > 0) | (corrupt > 0) | (unmatched > 0) | unfinished | writers.nonsense | silent | back
    slot = np.flatnonzero(wrong)
    slot = slot[np.argsort(blocks.cta[writers.row[slot]], kind="stable")]
    writer = writers.writer[slot]
    cells = {
        "cta": blocks.cta[writers.row[slot]],
        "group": category(*coded([each.group for each in table.writers]), writer),
        "role": category(*_roles(table), writer),
        "thread": np.array([each.thread for each in table.writers], np.int32)[writer],
        "entered": writers.entered[slot],
        "unfinished": unfinished[slot],
        "executed": writers.executed[slot],
        "recorded": recorded[slot],
        "lost": lost[slot],
        "corrupt": corrupt[slot] + writers.nonsense[slot],
        "unmatched_ends": unmatched[slot],
        "timer_back": back[slot],
        "max_events": np.full(len(slot), writers.executed.max(initial=0), np.int64),
    }
    return frame(columns.LOSSES, cells, len(slot))
