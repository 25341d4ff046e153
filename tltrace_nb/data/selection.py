"""A hand-picked list of rows, as something that the views draw: what ``trace.export_html(list, ...)`` takes.

In: ``Slice`` and ``Instant`` rows and the kernel's site table. Out: :class:`Frames`.
What rows do not carry (SMs, blocks) stays unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tltrace_nb.data import cells, columns
from tltrace_nb.data.frames import Frames
from tltrace_nb.data.rows import Instant, Slice
from tltrace_nb.data.sites import SiteTable
from tltrace_nb.data.tracefile import TraceMeta


def select(rows: Sequence[Slice | Instant], table: SiteTable, sm_clock_ghz: float | None) -> Frames:
    """Frames of some rows. ``sm_clock_ghz`` turns their cycles into nanoseconds; ``None`` leaves those missing."""
    ordered = sorted(rows, key=lambda row: (row.track, row.ts_cy))
    return Frames(
        events=_events(ordered, table, sm_clock_ghz),
        ctas=pd.DataFrame({name: [] for name in columns.CTAS}),
        flows=_flows(ordered, table),
        losses=pd.DataFrame({name: [] for name in columns.LOSSES}),
        meta=TraceMeta(table.kernel, source=table.source, source_hash=table.source_hash),
    )


def _events(rows: Sequence[Slice | Instant], table: SiteTable, ghz: float | None) -> pd.DataFrame:
    names, name_codes = cells.coded([row.name for row in rows])
    groups, lanes = (list(dict.fromkeys(getattr(site, part) for site in table.sites)) for part in ("group", "lane"))
    start = np.array([row.ts_cy for row in rows], np.int64)
    duration = np.array([row.dur_cy if isinstance(row, Slice) else 0 for row in rows], np.int64)
    payload = np.array([row.payload for row in rows], np.float64)
    typed = {site.name for site in table.sites if site.payload != "none"}
    missing = np.array([row.name not in typed for row in rows], np.bool_)
    whole = bool(np.isfinite(payload).all() and (payload == np.floor(payload)).all())
    values = cells.masked(payload.astype(np.int64) if whole else payload, missing)
    unknown, none = np.full(len(rows), -1, np.int32), [0] * len(rows)
    ns = np.nan if ghz is None else 1 / ghz
    return pd.DataFrame(
        {
            "kind": cells.category(["range", "instant"], [int(isinstance(row, Instant)) for row in rows]),
            "name": cells.category(names, name_codes),
            "group": cells.category(groups, [row.track[1] for row in rows]),
            "role": cells.category([""], none),
            "lane": cells.category(lanes, [row.track[2] for row in rows]),
            "source": cells.category([table.source], none),
            "cta": np.array([row.track[0] for row in rows], np.int32),
            **dict.fromkeys(("block_x", "block_y", "block_z"), unknown),
            # Rows know groups, not threads; the number of the group keeps their lanes apart.
            "thread": np.array([row.track[1] for row in rows], np.int32),
            **dict.fromkeys(("warp", "sm"), unknown),
            "start": start,
            "end": start + duration,
            "duration": duration,
            "start_ns": start * ns,
            "duration_ns": duration * ns,
            "payload": values,
            "payload_end": values,
            "payload_raw": np.zeros(len(rows), np.uint32),
            "depth": np.zeros(len(rows), np.int16),
            "parent": cells.masked(np.zeros(len(rows), np.int32), np.ones(len(rows), np.bool_)),
            "truncated": np.zeros(len(rows), np.bool_),
        }
    )


def _flows(rows: Sequence[Slice | Instant], table: SiteTable) -> pd.DataFrame:
    """The i-th source of a CTA with its i-th destination, as row numbers."""
    arrows = []
    for source, destination in table.flows:
        for cta in sorted({row.track[0] for row in rows}):
            sides = [
                sorted(
                    (
                        i
                        for i, row in enumerate(rows)
                        if isinstance(row, Slice) and row.track[0] == cta and row.name == name
                    ),
                    key=lambda i: rows[i].ts_cy,
                )
                for name in (source, destination)
            ]
            arrows += [(src, dst, source, destination, cta) for src, dst in zip(*sides, strict=False)]
    return pd.DataFrame(arrows, columns=list(columns.FLOWS))
