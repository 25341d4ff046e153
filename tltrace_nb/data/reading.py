"""Slots to records: what each writer left behind, checked, in order of track and time.

In: ``slots`` and the :class:`SiteTable`. Out: :class:`Blocks` (which CTA a row is), :class:`Writers` (what the headers
say) and :class:`Records` (one element per readable record). Slots may hold anything: a header or record that cannot be
right is counted and left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tltrace_nb.base.errors import SlotsError
from tltrace_nb.data import slots as layout
from tltrace_nb.data.rasterised import block_indices
from tltrace_nb.data.sites import Keep, SiteTable, launch_rows

Grids = tuple[tuple[int, int, int], ...]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LONGEST = 1 << 50
"""Cycles (six days) that no kernel lasts; differences of clocks beyond it are nonsense. Sums of a few below it are
exact in a float, and in a browser."""
_AT_ONCE = 16 << 20
"""Bytes of slots that are looked at together."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Where each row of the slots ran: ``launch``, ``cta`` and ``xyz[3]``, ``int32[num_cta]`` each.

    ``cta`` is the hardware's linear id (x fastest); the CTAs of a second launch continue after those of the first.
    ``xyz`` are the block's indices as the kernel has them.
    """

    launch: Int32s
    cta: Int32s
    xyz: Int32s


@dataclass(frozen=True, slots=True)
class Writers:
    """What the headers say, one element per slot (slot = row * number of writers + writer).

    ``nonsense``: the header cannot be right; where only its exit is wrong, the writer has ``entered``, is not ``done``.
    ``held`` records lie in the slot, from position ``first`` of the ring. ``offset`` is the writer's entry and ``span``
    its time inside the kernel (``LONGEST`` while unknown), in cycles; ``entry`` (per row) is its CTA's entry clock.
    """

    head: npt.NDArray[np.void]
    row: Int32s
    writer: Int32s
    entered: Bools
    done: Bools
    nonsense: Bools
    executed: Int64s
    held: Int64s
    first: Int64s
    offset: Int64s
    span: Int64s
    entry: Int64s


@dataclass(frozen=True, slots=True)
class Records:
    """The readable records, by track (cta, thread, lane) and then time.

    Per record: ``track`` (dense, rising), ``slot``, ``site``, ``payload`` bits and ``time`` in cycles since its
    writer's entry. Per slot: how many were ``recorded`` and ``corrupt``, and ``stay``, the cycles from entry to exit
    (to the last record of a writer that never left).
    """

    track: Int32s
    slot: Int32s
    site: npt.NDArray[np.unsignedinteger]
    payload: npt.NDArray[np.uint32]
    time: Int64s
    recorded: Int64s
    corrupt: Int64s
    stay: Int64s


def place_blocks(slots: Int64s, table: SiteTable, grids: Grids | None = None) -> tuple[Int64s, Blocks]:
    """Find each row's launch, CTA and block index; the rows are those of CTAs that the grids have.

    Raises ``SlotsError`` when the slots are not those of ``table``, or an extent of a grid is unknown.
    """
    if slots.dtype != np.int64 or slots.ndim != 3:
        raise SlotsError(f"slots must be int64[num_cta, num_writers, words], got {slots.dtype}{list(slots.shape)}")
    rows, writers, words = slots.shape
    if writers != len(table.writers) or (writers and words != layout.slot_words(table.capacity)):
        raise SlotsError(
            f"slots of shape {list(slots.shape)} do not belong to kernel {table.kernel!r}, which has "
            f"{len(table.writers)} writers of {layout.slot_words(table.capacity)} words: "
            "were they recorded by another build of it?"
        )
    actual = tuple(launch.grid for launch in table.launches) if grids is None else grids
    if len(actual) != len(table.launches):
        raise SlotsError(
            f"grids has {len(actual)} entries for {len(table.launches)} launches of kernel {table.kernel!r}"
        )
    extents = np.ones((max(len(actual), 1), 3), np.int64)
    for index, grid in enumerate(actual):
        if None in grid:
            raise SlotsError(
                f"the grid {grid} of kernel {table.kernel!r} is known only at run time: pass grids=((x, y, z), …)"
            )
        extents[index] = np.array(grid, np.int64)
    sizes = extents.prod(axis=1)
    first_cta = np.cumsum(sizes) - sizes
    launch, linear = _rows_of(table, extents[: len(actual)], rows)
    if writers and len(linear) != rows:
        raise SlotsError(
            f"slots hold {rows} CTAs, the table of kernel {table.kernel!r} means {len(linear)} of the grid {actual}"
        )
    if (linear < 0).any():
        slots, launch, linear = slots[linear >= 0], launch[linear >= 0], linear[linear >= 0]
    xyz = np.zeros((3, len(linear)), np.int64)
    for index, each in enumerate(table.launches):
        mine = launch == index
        xyz[:, mine] = block_indices(linear[mine], extents[index], each.rasterisation)
    return slots, Blocks(launch.astype(np.int32), (first_cta[launch] + linear).astype(np.int32), xyz.astype(np.int32))


def _rows_of(table: SiteTable, extents: Int64s, rows: int) -> tuple[Int64s, Int64s]:
    """Launch and linear id of each row, -1 as id where its CTA is beyond the grid; no more than one above ``rows``."""
    launches: list[Int64s] = [np.zeros(0, np.int64)]
    linear: list[Int64s] = [np.zeros(0, np.int64)]
    left = rows
    for number, (x, y, z) in enumerate(extents.tolist()):
        if table.ctas is None:
            ids = np.arange(min(x * y * z, left))
        else:
            chosen = table.ctas.of_launch(number, (x, y, z))
            count = launch_rows(table.ctas, number, table.launches[number].grid)
            ids = np.full(min(chosen.rows if count is None else count, left + 1), -1)
            if chosen.rows <= len(ids):
                ids[: chosen.rows] = chosen.ids()
        left -= len(ids)
        launches.append(np.full(len(ids), number))
        linear.append(ids)
    return np.concatenate(launches), np.concatenate(linear)


def read_writers(slots: Int64s, table: SiteTable) -> Writers:
    """Read the headers. One that never was written, or is nonsense, has not ``entered``."""
    rows, count, words = slots.shape
    capacity = layout.slot_capacity(words) if count else 0
    head = layout.headers(slots).reshape(-1) if count else np.zeros(0, layout.HEADER)
    row = np.repeat(np.arange(rows, dtype=np.int32), count)
    done, stuck = head["state"] == layout.STATE_DONE, head["state"] == layout.STATE_STUCK
    entered = (head["state"] == layout.STATE_OPEN) | stuck | done
    span = np.where(done | stuck, head["exit_clock"] - head["entry_clock"], LONGEST)
    sane = (span >= 0) & (span <= LONGEST)
    # Entries are compared as differences from one of the CTA's, so that a clock may wrap.
    some = _first_true(entered & sane, rows, count)
    since = head["entry_clock"] - head["entry_clock"][some][row]
    sane &= (since > -LONGEST) & (since < LONGEST)
    nonsense = (entered & ~sane) | ~(entered | (head["state"] == 0))
    entered &= sane
    done &= sane
    # A marker takes its thread at least a cycle, so who counted more has another's exit in its header. Its records are
    # read like those of a writer that never left.
    miscounted = done & (head["executed"] > span)
    done &= ~miscounted
    span[miscounted] = LONGEST
    earliest = np.where(entered, since, LONGEST).reshape(rows, count).min(axis=1, initial=LONGEST)
    entry = head["entry_clock"][some] + earliest if count else np.zeros(rows, np.int64)

    executed = np.where(done, head["executed"], 0).astype(np.int64)
    held = np.minimum(executed, capacity)
    first = np.zeros(len(head), np.int64)
    if table.keep is Keep.LAST and capacity:
        first = np.where(executed > capacity, executed % capacity, 0)
    unfinished = np.flatnonzero(entered & ~done) if capacity else np.zeros(0, np.intp)
    step = max(_AT_ONCE // (8 * max(words, 1)), 1)
    for begin in range(0, len(unfinished), step):
        opened = unfinished[begin : begin + step]
        body = slots.reshape(rows * count, words)[opened, layout.RECORD_WORDS * layout.HEADER_RECORDS :]
        empty = (body[:, 0::2] == 0) & (body[:, 1::2] == 0)
        held[opened] = np.where(empty.any(axis=1), empty.argmax(axis=1), capacity)
        executed[opened] = held[opened]
        if table.keep is Keep.LAST:
            first[opened] = np.where(held[opened] == capacity, body[:, 0::2].argmin(axis=1), 0)
    return Writers(
        head=head,
        row=row,
        writer=np.tile(np.arange(count, dtype=np.int32), rows),
        entered=entered,
        done=done,
        nonsense=nonsense | miscounted,
        executed=executed,
        held=held,
        first=first,
        offset=np.where(entered, since - earliest[row], 0),
        span=span,
        entry=entry,
    )


def _first_true(flags: Bools, rows: int, count: int) -> Int64s:
    """Slot of each row's first true flag (of its first slot if there is none)."""
    if count == 0:
        return np.zeros(0, np.int64)
    slot: Int64s = np.arange(rows) * count + flags.reshape(rows, count).argmax(axis=1)
    return slot


def read_records(slots: Int64s, table: SiteTable, blocks: Blocks, writers: Writers) -> Records:
    """Gather the records of all slots and drop what cannot be right.

    Corrupt are an unknown site, a clock outside the writer's stay, and a clock before one already seen in its slot.
    """
    order = _slot_order(table, blocks)
    held = writers.held[order]
    at = _positions(order, held, writers.first, slots.shape[2] // layout.RECORD_WORDS)
    raw = np.ascontiguousarray(slots).reshape(-1).view(layout.RECORD)
    slot = np.repeat(order.astype(np.int32), held)
    time = raw["clock"][at]
    time -= np.repeat(writers.head["entry_clock"][order], held)
    site = raw["site"][at]
    payload = raw["payload"][at]
    del at

    good = time.view(np.uint64) <= np.repeat(writers.span[order].view(np.uint64), held)
    good &= site < len(table.sites)
    good = _without_steps_back(good, time, slot)
    corrupt = np.zeros(len(writers.row), np.int64)
    if not good.all():
        corrupt = np.bincount(slot[~good], minlength=len(writers.row))
        slot, time, site, payload = slot[good], time[good], site[good], payload[good]
    site = site.astype(np.min_scalar_type(len(table.sites)))
    recorded = writers.held - corrupt
    known = writers.entered & (writers.span < LONGEST)
    stay = np.where(known, writers.span, 0)
    last = np.cumsum(recorded[order]) - 1
    wants = (recorded[order] > 0) & ~known[order]
    stay[order[wants]] = time[last[wants]]

    lanes: dict[str, int] = {}
    of_site = [lanes.setdefault(site_.lane, len(lanes)) for site_ in table.sites]
    lane = np.array(of_site, np.min_scalar_type(len(lanes)))[site]
    line = slot
    threads = [writer.thread for writer in table.writers]
    if len(set(threads)) < len(threads):
        # Several writers of one thread share its tracks: merge their records by time.
        number = {thread: index for index, thread in enumerate(sorted(set(threads)))}
        of_writer = np.array([number[thread] for thread in threads], np.int32)
        line = (
            np.argsort(np.argsort(blocks.cta)).astype(np.int32)[writers.row] * len(number) + of_writer[writers.writer]
        )[slot]
        regroup = np.lexsort((time + writers.offset[slot], lane, line))
    elif ((lane[1:] != lane[:-1]) & (slot[1:] == slot[:-1])).any():
        regroup = _by_lane(recorded[order], lane, len(lanes))
    else:
        return Records(_tracks(line, lane), slot, site, payload, time, recorded, corrupt, stay)
    track = _tracks(line[regroup], lane[regroup])
    del line, lane  # and one array at a time, so that no two copies of all lie in memory
    slot = slot[regroup]
    site = site[regroup]
    payload = payload[regroup]
    time = time[regroup]
    return Records(track, slot, site, payload, time, recorded, corrupt, stay)


def _slot_order(table: SiteTable, blocks: Blocks) -> npt.NDArray[np.intp]:
    """All slots, by CTA and then thread."""
    of_writer = np.argsort([writer.thread for writer in table.writers], kind="stable").astype(np.intp)
    rows = np.argsort(blocks.cta, kind="stable")
    return (rows[:, None] * len(of_writer) + of_writer).reshape(-1)


def _positions(order: npt.NDArray[np.intp], held: Int64s, first: Int64s, slot_records: int) -> Int64s:
    """Number of each held record, counted in records from the start of the buffer, oldest first in each slot."""
    before = np.cumsum(held) - held
    start = order * slot_records + layout.HEADER_RECORDS
    position = np.arange(int(held.sum()))
    if not first.any():
        position += np.repeat(start - before, held)
        return position
    position += np.repeat(first[order] - before, held)
    position %= slot_records - layout.HEADER_RECORDS
    position += np.repeat(start, held)
    return position


def _without_steps_back(good: Bools, time: Int64s, slot: Int32s) -> Bools:
    """Also clear the records whose clock lies before a good one of the same slot."""
    where = np.flatnonzero(good) if not good.all() else slice(None)
    kept, owner = time[where], slot[where]
    back = (kept[1:] < kept[:-1]) & (owner[1:] == owner[:-1])
    if not back.any():
        return good
    late = np.ones(len(kept), np.bool_)
    edges = np.flatnonzero(np.diff(owner, prepend=-1, append=-1))
    for index in np.unique(np.searchsorted(edges, np.flatnonzero(back), side="right") - 1).tolist():
        part = slice(int(edges[index]), int(edges[index + 1]))
        late[part] = kept[part] >= np.maximum.accumulate(kept[part])
    good[where] &= late
    return good


def _by_lane(recorded: Int64s, lane: npt.NDArray[np.unsignedinteger], lanes: int) -> Int64s:
    """The order that groups each slot's records by lane, otherwise keeping their order.

    A radix sort by lane alone, whose segments (lane, slot) are then put in order (slot, lane).
    """
    line = np.repeat(np.arange(len(recorded)), recorded)
    line *= lanes
    line += lane
    sizes = np.bincount(line, minlength=len(recorded) * lanes).reshape(-1, lanes)
    del line
    by_lane = np.argsort(lane, kind="stable")
    source = (np.cumsum(sizes.T).reshape(lanes, -1) - sizes.T).T.reshape(-1)
    target = np.cumsum(sizes) - sizes.reshape(-1)
    return by_lane[np.repeat(source - target, sizes.reshape(-1)) + np.arange(len(lane))]


def _tracks(line: Int32s, lane: npt.NDArray[np.unsignedinteger]) -> Int32s:
    """Dense numbers of the runs of equal (line, lane)."""
    new = np.zeros(len(line), np.int32)
    new[1:] = (line[1:] != line[:-1]) | (lane[1:] != lane[:-1])
    return np.cumsum(new, dtype=np.int32, out=new)
