"""The columns of the frames: each name, order and type is stated here and nowhere else.

In: nothing. Out: one ``dict`` of column name to type per frame. ``category`` stands for a categorical whose categories
are strings in order of first appearance in the site table.
"""

from __future__ import annotations

from collections.abc import Mapping

EVENTS: Mapping[str, str] = {
    "kind": "category",
    "name": "category",
    "group": "category",
    "role": "category",
    "lane": "category",
    "source": "category",
    "cta": "int32",
    "block_x": "int32",
    "block_y": "int32",
    "block_z": "int32",
    "thread": "int32",
    "warp": "int32",
    "sm": "int32",
    "start": "int64",
    "end": "int64",
    "duration": "int64",
    "start_ns": "float64",
    "duration_ns": "float64",
    "payload": "Int64 | Float64",
    "payload_end": "Int64 | Float64",
    "payload_raw": "uint32",
    "depth": "int16",
    "parent": "Int32",
    "truncated": "bool",
}
"""One row per range or instant, sorted by track (cta, thread, lane) then start.

``kind``: range or instant. ``role``: producer, consumer or missing. ``source``: the marker's ``file:line``. ``cta`` and
``thread`` are the hardware's, linear, x fastest; ``block_x`` to ``block_z`` are the block's indices as the kernel has
them, which ``T.use_swizzle`` reorders (-1 where that cannot be told), ``sm`` is where it ran.

``start``, ``end``, ``duration`` are SM cycles since the CTA's entry; ``start_ns`` is zeroed at the trace's first CTA
and aligned across SMs.

``payload`` and ``payload_end``: the value at begin and end, missing where none was given; ``payload_end`` is missing
for an instant and for a truncated range, too. ``payload_raw``: the bits at the begin, 0 where none was given.

``depth``: how many ranges of its track enclose it; ``parent``: the row number of the innermost of them in this frame.
``truncated``: begun, never ended; it then lasts until its thread's exit.
"""

CTAS: Mapping[str, str] = {
    "kernel": "category",
    "cta": "int32",
    "block_x": "int32",
    "block_y": "int32",
    "block_z": "int32",
    "sm": "int32",
    "start": "int64",
    "duration": "int64",
    "start_ns": "float64",
    "end_ns": "float64",
    "clock_ghz": "float64",
}
"""One row per CTA that at least one writer entered: where it ran, when, and its measured clock.

``kernel``: of several launches, which one. ``start`` is 0: a CTA's cycles are counted from its own entry; ``duration``
are cycles. ``start_ns`` and ``end_ns`` are since the trace's first CTA. ``clock_ghz``: the SM's measured rate, missing
where none could be measured; on the virtual GPU its model's.
"""

FLOWS: Mapping[str, str] = {
    "src": "int32",
    "dst": "int32",
    "src_name": "category",
    "dst_name": "category",
    "cta": "int32",
}
"""One row per arrow: ``src`` and ``dst`` are row numbers of the events, the names those given to ``trace.dag``."""

SITES: Mapping[str, str] = {
    "site": "int32",
    "kind": "category",
    "name": "category",
    "group": "category",
    "lane": "category",
    "payload": "category",
    "source": "category",
    "range": "int32",
    "count": "int64",
    "reason": "category",
}
"""One row per site, a marker of the kernel; the begin and the end of a range are two.

``site``: the marker's number; ``range``: that of its range's begin, -1 for an instant. ``kind``: begin, end or instant.
``payload``: its type, none, int32, uint32, float32 or bool. ``count``: how often it recorded, 0 for one that never did.
``reason``: why it never did, as far as the kernel tells; missing for one that did.
"""

LOSSES: Mapping[str, str] = {
    "cta": "int32",
    "group": "category",
    "role": "category",
    "thread": "int32",
    "entered": "bool",
    "unfinished": "bool",
    "executed": "int64",
    "recorded": "int64",
    "lost": "int64",
    "corrupt": "int64",
    "unmatched_ends": "int64",
    "timer_back": "bool",
    "max_events": "int64",
}
"""One row per writer that lost something, holds something wrong, or never recorded.

``executed`` markers are ``recorded`` (readable), ``lost`` (no room) or ``corrupt`` (unknown site, a clock that goes
backwards). ``entered`` is false where the header was never written, or is nonsense (then ``corrupt`` is 1). A header
with more markers than cycles counts as 1 ``corrupt``, too, and its writer as unfinished.
``timer_back``: in its CTA the global timer was earlier at the last reading than at the first, so that the CTA has no
time in ns. ``unfinished``: the writer never left the kernel; what it executed is known only as far as it was recorded.
``max_events`` is the same in all rows: records per writer that would have held everything. CTAs that were left out as
the slots had no room for them, or by a sample, have no rows: ``losses.attrs["ctas_left_out"]`` is how many they are, of
how many, and the budget in bytes that would have held all (0: a sample); it is not there where none was.
"""
