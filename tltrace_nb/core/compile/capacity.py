"""How many records of how many CTAs the slots have room for, within the budget.

In: the grids of a kernel's launches, what its loops may record, the author's limits. Out: :class:`Room`. A limit that
the author has set holds; what they left open is made smaller until it fits, CTAs first, and what that leaves out is
said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tltrace_nb.base.errors import CapacityError
from tltrace_nb.core.compile.options import DEFAULT_MAX_EVENTS, SAMPLE, TraceOptions
from tltrace_nb.data.chosen import Chosen, CtaRuns, Cut, Grid, Run, Sample
from tltrace_nb.data.left_out import size
from tltrace_nb.data.sites import Keep
from tltrace_nb.data.slots import HEADER_RECORDS, RECORD_BYTES, slots_bytes

LEAST_RECORDS = 2
"""Records per writer below which a trace says nothing: a begin and its end."""
SHARE = 17
"""A sample has one CTA in so many: a number that has no factor in common with the extents of most grids."""
MANY = 1 << 14
"""Launches of so many CTAs are sampled where the author does not say which CTAs record."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One launch as it would be traced whole: its CTAs (``None``: known only at run time), its clusters' extents, a
    writer's records at most (``None`` where no constant bounds them), and how many CTAs one after the other are whole
    clusters."""

    ctas: int | None
    cluster: Grid
    records: int | None
    unit: int = 1


@dataclass(frozen=True, slots=True)
class Room:
    """What the slots hold: ``capacity`` records per writer, of these CTAs of each launch; ``note`` is on records."""

    capacity: int
    ctas: Chosen | None
    note: str = ""


def room(kernel: str, launches: Sequence[Wanted], writers: int, options: TraceOptions, sms: int) -> Room:
    """Make a trace fit the budget. ``sms``: those of the device, which the first CTAs of a launch go to.

    Raises ``CapacityError`` where the author's own ``ctas`` and ``max_events`` leave nothing to make smaller, and
    ``ValueError`` where no launch has any of ``ctas``.
    """
    capacity = _rounded(max(_records(launch, options) for launch in launches), options.keep, up=True)
    whole = _sum([launch.ctas for launch in launches])
    if options.ctas == SAMPLE or (options.ctas is None and whole is not None and whole >= MANY):
        fitting = options.budget // slots_bytes(1, writers, capacity)
        sample = sampled(launches, fitting, sms) if fitting >= len(launches) else None
        if sample is not None:
            rows = sum(runs.rows for runs in sample.launches)
            return Room(capacity, None if rows == whole else sample)
        options = replace(options, ctas=None)
    if isinstance(options.ctas, CtaRuns):
        rows = _chosen_rows(kernel, launches, options.ctas)
        chosen = None if rows == whole else options.ctas
        if slots_bytes(rows, writers, capacity) <= options.budget:
            return Room(capacity, chosen)
        fewer = _smaller(kernel, rows, writers, capacity, options)
        return Room(fewer, chosen, _said(fewer, capacity, rows, writers))
    if whole is not None and slots_bytes(whole, writers, capacity) <= options.budget:
        return Room(capacity, None)
    fitting, note = options.budget // slots_bytes(1, writers, capacity), ""
    if fitting < len(launches):
        wave = max(min(sms, sms if whole is None else whole), len(launches))
        fewer = _smaller(kernel, wave, writers, capacity, options)
        note, capacity = _said(fewer, capacity, wave, writers), fewer
        fitting = options.budget // slots_bytes(1, writers, capacity)
    clusters = tuple(launch.cluster for launch in launches)
    if whole is not None and whole <= fitting:
        return Room(capacity, None, note)
    return Room(capacity, Cut(_shares([launch.ctas for launch in launches], fitting), clusters, sms), note)


def sampled(launches: Sequence[Wanted], fitting: int, sms: int) -> Sample | None:
    """The first wave of each launch and one cluster in ``SHARE`` of the others, or fewer; ``None`` without the room.

    The block scheduler hands the first CTAs out to one SM each; which SM has a later one is decided as it runs. The
    last wave may be short: the last cluster is one of the sample, where the grid is known.
    """
    wanted = []
    for launch in launches:
        others = _others(launch, sms)
        rows = None if others is None else (launch.ctas or 0) - (others - -(-others // SHARE)) * launch.unit
        wanted.append(rows)
    found = [_sample(launch, most, sms) for launch, most in zip(launches, _shares(wanted, fitting), strict=True)]
    known = [runs for runs in found if runs is not None]
    return Sample(tuple(known)) if len(known) == len(found) else None


def _wave(launch: Wanted, sms: int) -> int:
    """CTAs of whole clusters, one for each SM at least."""
    return -(-sms // launch.unit) * launch.unit


def _others(launch: Wanted, sms: int) -> int | None:
    """Clusters behind the first wave, if it is known how many."""
    return None if launch.ctas is None else max(-(-(launch.ctas - _wave(launch, sms)) // launch.unit), 0)


def _sample(launch: Wanted, most: int, sms: int) -> CtaRuns | None:
    """What at most so many rows have of a launch, ``None`` if they have no room for its first wave and another CTA."""
    wave, others = _wave(launch, sms), _others(launch, sms)
    if others == 0:
        return CtaRuns.of(range(launch.ctas or 0)) if most >= (launch.ctas or 0) else None
    room = (most - wave) // launch.unit
    if room < 1:
        return None
    step = SHARE if others is None else max(SHARE, -(-others // room))
    first, count = (0, room) if others is None else ((others - 1) % step, (others - 1) // step + 1)
    behind = Run(wave + first * launch.unit, step * launch.unit, count, launch.unit)
    return CtaRuns((Run(0, 1, wave), behind))


def _sum(numbers: Sequence[int | None]) -> int | None:
    """``None`` where one of them is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _records(launch: Wanted, options: TraceOptions) -> int:
    if launch.records is None:
        return options.max_events or DEFAULT_MAX_EVENTS
    return min(launch.records, options.max_events or launch.records)


def _rounded(records: int, keep: Keep, *, up: bool) -> int:
    """A ring's records are a power of two."""
    if keep is not Keep.LAST:
        return records
    return 1 << (max(records - 1, 0) if up else records >> 1).bit_length()


def _chosen_rows(kernel: str, launches: Sequence[Wanted], ctas: CtaRuns) -> int:
    """Rows that the author's CTAs take in all launches."""
    rows = sum(ctas.rows if launch.ctas is None else ctas.below(launch.ctas).rows for launch in launches)
    if not rows:
        most = max(launch.ctas or 0 for launch in launches)
        raise ValueError(f"kernel {kernel}: ctas= names CTA {ctas.runs[0].start}, but the grid has {most}")
    return rows


def _smaller(kernel: str, rows: int, writers: int, capacity: int, options: TraceOptions) -> int:
    """Records per writer with which so many rows fit, where the author has not said how many."""
    fitting = options.budget // (rows * writers * RECORD_BYTES) - HEADER_RECORDS
    fitting = _rounded(fitting, options.keep, up=False) if fitting > 0 else 0
    if options.max_events is None and fitting >= min(LEAST_RECORDS, capacity):
        return fitting
    needed = slots_bytes(rows, writers, capacity)
    most = options.budget // slots_bytes(1, writers, capacity)
    fewer = f"trace fewer CTAs (ctas={most}), " if options.ctas is not None and most else ""
    raise CapacityError(
        f"kernel {kernel}: slots of {rows} CTAs x {writers} writers x {capacity} events take {size(needed)}, over the "
        f"budget of {size(options.budget)}; {fewer}trace fewer events (max_events=...) or raise the budget "
        f"(budget={needed})"
    )


def _said(fewer: int, capacity: int, rows: int, writers: int) -> str:
    needed = slots_bytes(rows, writers, capacity)
    return (
        f"room for {fewer:,} of the {capacity:,} records that a writer may make: all, of {rows:,} CTAs, would take "
        f"{size(needed)} (budget={needed})"
    )


def _shares(totals: Sequence[int | None], fitting: int) -> tuple[int, ...]:
    """Rows for each launch: small ones have what they need, large ones the same."""
    shares = [0] * len(totals)
    order = sorted(range(len(totals)), key=lambda i: math.inf if totals[i] is None else totals[i] or 0)
    for place, number in enumerate(order):
        total, share = totals[number], fitting // (len(order) - place)
        shares[number] = share if total is None else min(total, share)
        fitting -= shares[number]
    return tuple(shares)
