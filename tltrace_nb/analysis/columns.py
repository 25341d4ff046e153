"""The columns of every result: each name, order, type and unit is stated here and nowhere else.

In: nothing. Out: one ``dict`` of column name to type per result. Times without a unit in their name are cycles of the
CTA's SM since its entry; names that end in ``_ns`` are nanoseconds since the trace's first CTA entered.
"""

from __future__ import annotations

from collections.abc import Mapping

OCCUPANCY: Mapping[str, str] = {
    "kernel": "category",
    "sm": "int32",
    "start_ns": "float64",
    "end_ns": "float64",
    "duration_ns": "float64",
    "ctas": "int32",
    "warps": "int32",
    "limit_ctas": "Int32",
    "limit_warps": "Int32",
    "achieved": "Float64",
    "theoretical": "Float64",
}
"""One row per stretch of time in which the CTAs resident on an SM stayed the same, from a launch's first entry to its
last exit. ``limit_ctas`` and ``limit_warps`` are what the SM could hold of this kernel; ``achieved`` and
``theoretical`` are ``warps`` and ``limit_warps`` over the warps that an SM of this GPU can hold at all."""

WAVES: Mapping[str, str] = {
    "kernel": "category",
    "wave": "int32",
    "ctas": "int32",
    "sms": "int32",
    "filled": "float64",
    "start_ns": "float64",
    "end_ns": "float64",
    "duration_ns": "float64",
    "mean_ns": "float64",
    "longest_ns": "float64",
    "imbalance": "float64",
}
"""One row per wave. ``filled``: its CTAs over the CTA slots of the GPU. ``mean_ns`` and ``longest_ns`` are of its CTAs,
``imbalance`` is longest over mean, less 1."""

WAVES_BY_SM: Mapping[str, str] = {
    "kernel": "category",
    "sm": "int32",
    "ctas": "int32",
    "waves": "int32",
    "start_ns": "float64",
    "end_ns": "float64",
    "busy_ns": "float64",
    "idle_ns": "float64",
    "tail_ns": "float64",
    "imbalance": "float64",
}
"""One row per SM that ran a CTA. ``busy_ns``: at least one CTA was resident; ``idle_ns``: none was, before the last
exit of the launch; ``tail_ns``: the part of it after this SM's last CTA. ``imbalance``: busy over the mean of the SMs,
less 1."""

WAVES_BY_LAUNCH: Mapping[str, str] = {
    "kernel": "category",
    "ctas": "int64",
    "sms": "int32",
    "places": "int32",
    "waves": "int32",
    "ideal_waves": "float64",
    "quantisation_loss": "float64",
    "start_ns": "float64",
    "end_ns": "float64",
    "duration_ns": "float64",
    "tail_ns": "float64",
    "tail": "float64",
    "idle": "float64",
    "imbalance": "float64",
}
"""One row per launch. ``places``: CTAs that run at once on all SMs. ``ideal_waves``: CTAs over CTA slots;
``quantisation_loss``: the share of the slots of all waves that stays empty because the CTAs are no multiple of them.
``tail_ns``: from when the first SM ran out of CTAs for good to the last exit; ``tail`` is its share of the launch.
``idle``: the share of the time of ``sms`` without a CTA. ``imbalance``: busiest SM over the mean, less 1.

Where not all CTAs recorded, ``waves``, ``ideal_waves`` and ``quantisation_loss`` follow from the grid, ``wave`` from
the order in which CTAs are dispatched, and ``filled``, ``busy_ns``, idle, tail and imbalance are missing."""

SUMMARY: Mapping[str, str] = {
    "name": "category",
    "count": "int64",
    "total": "Int64",
    "mean": "Float64",
    "p50": "Float64",
    "p99": "Float64",
    "share": "Float64",
    "overlap": "Float64",
    "payload_min": "Int64 | Float64",
    "payload_max": "Int64 | Float64",
}
"""One row per name, the longest total first. ``total`` to ``p99`` are cycles, over ranges. ``share``: the part of the
CTAs' time in which such a range was open. ``overlap``: the part of that in which another track of the CTA was in a
range that encloses no other. Missing for a name of instants alone."""

NESTING: Mapping[str, str] = {
    "path": "str",
    "name": "category",
    "depth": "int16",
    "count": "int64",
    "total": "int64",
    "self": "int64",
    "share": "float64",
}
"""One row per path, the names of ranges of a track that enclose each other, " / " between them; behind each path those
inside it, the longest total first. ``name`` is the last of them, ``depth`` how many are before it. ``total`` and
``self``, the part of it in which no range inside was open, are cycles over all tracks; ``share`` is of the ``self`` of
all paths."""

WAITS: Mapping[str, str] = {
    "name": "category",
    "barrier": "category",
    "producer": "category",
    "role": "category",
    "count": "int64",
    "total": "int64",
    "mean": "float64",
    "p99": "float64",
    "longest": "int64",
    "share": "float64",
    "unexplained": "int64",
}
"""One row per (name, barrier, producer, role), the longest total first. ``name``: the range that waited; ``barrier``:
the range that is the wait, missing where the wait is the gap before ``name``; ``producer``: the range waited for,
missing where no arrow tells. ``total`` to ``longest`` are blocked cycles; ``share`` is of the time of all CTAs, one
thread each. ``unexplained``: cycles of waiting after the producer's range had ended, such
as an asynchronous copy still on its way, or work without a marker; inside of ``total`` where the wait is a range,
beside it where it is a gap."""

WAITS_EACH: Mapping[str, str] = {
    "event": "int32",
    "cta": "int32",
    "thread": "int32",
    "name": "category",
    "barrier": "category",
    "producer": "category",
    "role": "category",
    "payload": "Int64 | Float64",
    "start": "int64",
    "end": "int64",
    "blocked": "int64",
    "unexplained": "int64",
}
"""One row per wait. ``event`` is a row number of ``Trace.events``; its thread was blocked from
``start`` to ``end``."""

CRITICAL_PATH: Mapping[str, str] = {
    "event": "int32",
    "cta": "int32",
    "thread": "int32",
    "name": "category",
    "role": "category",
    "lane": "category",
    "payload": "Int64 | Float64",
    "start": "int64",
    "end": "int64",
    "critical": "bool",
    "step": "Int32",
    "on_path": "int64",
    "gap": "int64",
    "via": "category",
    "slack": "int64",
}
"""One row per range that encloses no other, in the order of ``Trace.events``, whose row number is ``event``.
``critical``: on the chain that bounds its CTA, as its ``step``-th link. ``on_path``: the cycles of the chain spent in
it; ``gap``: those between the link before and this one, which no marker covers. ``via``: what it followed: ``thread``
(the range before it on its thread), ``dag`` (an arrow), ``barrier``, or ``entry`` (nothing, the CTA's entry).
``slack``: cycles by which it could end later before the CTA's last range does."""

PIPELINE: Mapping[str, str] = {
    "cta": "int32",
    "producer": "category",
    "consumer": "category",
    "iteration": "int32",
    "payload": "Int64 | Float64",
    "issue": "int64",
    "issued": "int64",
    "ready": "int64",
    "use": "int64",
    "done": "int64",
    "gap": "Int64",
    "bubble": "Int64",
    "ahead": "int32",
    "overlap": "int64",
}
"""One row per iteration of a producer and a consumer in a CTA. ``issue`` to ``issued`` is the producer's range, ``use``
to ``done`` the consumer's; ``ready`` is when the data were there. ``gap``: since the consumer's last ``done``;
``bubble``: the part of it before ``ready``; both are missing for a CTA's first iteration. ``ahead``: iterations that
were issued and not yet used at ``use``, this one not counted. ``overlap``: cycles from ``issue`` to ``ready`` in which
the consumer was at work."""

ROOFLINE: Mapping[str, str] = {
    "name": "category",
    "flop": "float64",
    "bytes": "float64",
    "intensity": "float64",
    "time_ns": "float64",
    "flop_per_second": "float64",
    "bytes_per_second": "float64",
    "attainable": "float64",
    "efficiency": "float64",
    "bound": "category",
}
"""One row for the launch, and one per name with work of its own. ``intensity``: flop per byte. ``time_ns``: the span of
the launch; for a name the time its ranges were open, as if on all SMs at once. ``attainable``: flop per second under
the roof (bytes per second where no flop is known). ``efficiency``: achieved over attainable. ``bound``: memory or
compute, which of the two roofs is the lower at this intensity."""

OVERHEAD: Mapping[str, str] = {
    "name": "category",
    "count": "int64",
    "total": "int64",
    "records": "int64",
    "cost": "float64",
    "share": "float64",
}
"""One row per name of ranges. ``records``: markers whose cost lies inside of such ranges, their own begin included;
``cost``: the cycles that they take; ``share``: of ``total``, the cycles of the ranges."""

COMPARE: Mapping[str, str] = {
    "name": "category",
    "payload": "Int64 | Float64",
    "thread": "Int32",
    "lane": "category",
    "matched": "int64",
    "only_a": "int64",
    "only_b": "int64",
    "mean_a": "float64",
    "mean_b": "float64",
    "difference": "float64",
    "ratio": "float64",
    "noise": "float64",
    "p": "float64",
    "changed": "bool",
}
"""One row per name (and payload, or thread and lane, where asked for; else those are missing), the largest change
first. ``matched``: ranges in both; ``only_a``, ``only_b``: in one alone. Means are cycles of the matched ranges;
``ratio`` is b over a; ``noise`` is the standard error of ``ratio``; ``p`` the chance of such a ratio without a change,
over all rows; ``changed``: neither noise nor too small to matter."""
