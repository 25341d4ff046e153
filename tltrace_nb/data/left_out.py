"""Which CTAs of a launch had room in the slots, and what to say of the others.

In: a site table and the grids of the launches. Out: rows, counts, and a note on the trace.
"""

from __future__ import annotations

import math

from tltrace_nb.data.chosen import Cut, Grid, Sample
from tltrace_nb.data.sites import SiteTable, rows_at, table_rows
from tltrace_nb.data.slots import slots_bytes

LEFT_OUT = "ctas_left_out"
"""The key of ``Trace.losses.attrs`` with what ``left_out`` gives."""
MEBIBYTE = 2**20


def slots_rows(table: SiteTable, grids: tuple[Grid, ...]) -> int:
    """Rows of the slots for launches of these grids."""
    fixed = table_rows(table)
    return rows_at(table, grids) if fixed is None else fixed


def left_out(table: SiteTable, grids: tuple[Grid, ...]) -> tuple[int, int, int] | None:
    """CTAs left out, of how many, and the bytes that all take, 0 where it is not for their sake that some are left out.

    ``None`` where there are none, or the author named those that record.
    """
    if not isinstance(table.ctas, (Cut, Sample)):
        return None
    total, rows = sum(math.prod(grid) for grid in grids), rows_at(table, grids)
    needed = slots_bytes(total, len(table.writers), table.capacity) if isinstance(table.ctas, Cut) else 0
    return None if rows == total else (total - rows, total, needed)


def cut_note(table: SiteTable, grids: tuple[Grid, ...]) -> str:
    """Which CTAs are traced where not all have room, and how to get the others; empty where all have."""
    missing = left_out(table, grids)
    if missing is None or table.ctas is None:
        return ""
    left, total, needed = missing
    if isinstance(table.ctas, Sample):
        return (
            f"{total - left:,} of {total:,} CTAs are traced: the first wave and one in {table.ctas.share} behind it; "
            f"the others run the untraced code; ctas=range({total}) traces all"
        )
    parts = [run.rows for number, grid in enumerate(grids) for run in table.ctas.of_launch(number, grid).runs]
    which = "the first, the last and some between" if len(grids) > 1 or len(parts) < 3 else _which(parts)
    return (
        f"{total - left:,} of {total:,} CTAs are traced: {which}; budget={needed} ({size(needed)}) holds all, ctas= "
        "chooses others"
    )


def _which(parts: list[int]) -> str:
    first, between, last = parts
    return f"the first {first:,}, the last {last:,} and {between:,} between"


def size(count: int) -> str:
    """Bytes in words."""
    return f"{count / MEBIBYTE:,.0f} MiB" if count >= MEBIBYTE else f"{count:,} bytes"
