"""Iterating a trace, with the names that ``tileops.trace`` has for its rows."""

from __future__ import annotations

from typing import Any

import pytest
from synthetic import Rec, build, instant, span, table

from tltrace_nb.core.trace import Trace
from tltrace_nb.data.rows import FlowEdge, Instant, Slice, compute_flows
from tltrace_nb.data.sites import PayloadType, Site, Writer


def traced(records: list[Rec], *sites: Site, rows: int = 1, **options: Any) -> Trace:
    of = table(*sites, grid=(rows, 1, 1), **options)
    return Trace(build(of, records, rows=rows), of)


def test_a_range_is_a_slice_and_an_instant_an_instant() -> None:
    trace = traced(
        [Rec(0, 0, 1100, 0, 7), Rec(0, 0, 1130, 2, 8), Rec(0, 0, 1150, 1, 7)], *span(0, "a"), instant(2, "i")
    )
    assert list(trace) == [Slice((0, 0, 0), "a", 0, 50, 7), Instant((0, 0, 0), "i", 30, 8)]


def test_time_is_zeroed_at_the_first_record_of_each_cta() -> None:
    records = [Rec(0, 0, 1500, 0), Rec(0, 0, 1510, 1), Rec(1, 0, 3000, 0), Rec(1, 0, 3010, 1)]
    assert [row.ts_cy for row in traced(records, *span(0, "a"), rows=2)] == [0, 0]


def test_payload_is_0_where_none_was_given() -> None:
    trace = traced([Rec(0, 0, 1100, 0, 99)], instant(0, "i", payload=PayloadType.NONE))
    assert trace.rows[0].payload == 0
    assert trace.events["payload"].isna().all()


def test_the_sign_of_a_payload_is_restored() -> None:
    assert traced([Rec(0, 0, 1100, 0, -1)], instant(0, "i")).rows[0].payload == -1


def test_an_unsigned_payload_stays_unsigned() -> None:
    trace = traced([Rec(0, 0, 1100, 0, 0xFFFFFFFF)], instant(0, "i", payload=PayloadType.UINT32))
    assert trace.rows[0].payload == 0xFFFFFFFF


def test_groups_and_lanes_are_numbered_by_first_appearance() -> None:
    sites = (instant(0, "a", group="z", lane="y"), instant(1, "b", group="c", lane="x"))
    writers = (Writer(0, "c", None, 0), Writer(1, "z", None, 64))
    trace = traced([Rec(0, 0, 1100, 1), Rec(0, 1, 1200, 0)], *sites, writers=writers)
    assert {row.name: row.track for row in trace} == {"a": (0, 0, 0), "b": (0, 1, 1)}


def test_there_are_as_many_rows_as_events() -> None:
    trace = traced([Rec(0, 0, 1100, 0), Rec(0, 0, 1200, 0), Rec(0, 0, 1300, 1)], *span(0, "a"))
    assert len(trace) == len(trace.rows) == len(trace.events) == 2


def test_rows_are_plain_python_numbers() -> None:
    row = traced([Rec(0, 0, 1100, 0, 3)], instant(0, "i")).rows[0]
    assert {type(value) for value in (*row.track, row.ts_cy, row.payload)} == {int}


def test_the_ith_source_points_to_the_ith_destination() -> None:
    first, second, to = (
        Slice((0, 0, 0), "s", 10, 5, 0),
        Slice((0, 0, 0), "s", 20, 5, 0),
        Slice((0, 1, 0), "d", 40, 5, 0),
    )
    edges = compute_flows([second, to, first], [("s", "d")])
    assert edges == [FlowEdge((0, 0, 0), 15, (0, 1, 0), 40, "s", "d")]


def test_flows_stay_within_a_cta() -> None:
    assert compute_flows([Slice((0, 0, 0), "s", 0, 1, 0), Slice((1, 0, 0), "d", 5, 1, 0)], [("s", "d")]) == []


@pytest.mark.parametrize("flows", [[], [("s", "nowhere")], [("nowhere", "s")]])
def test_a_flow_without_both_ends_has_no_arrow(flows: list[tuple[str, str]]) -> None:
    assert compute_flows([Slice((0, 0, 0), "s", 0, 1, 0)], flows) == []


def test_flows_of_rows_and_of_frames_agree() -> None:
    sites = (*span(0, "s"), *span(2, "d", lane="x"))
    records = [
        Rec(c, 0, 1000 + 10 * i + c, site) for c in range(2) for i, site in enumerate([0, 2, 1, 3, 0, 1, 2, 3, 0, 1])
    ]
    trace = traced(records, *sites, rows=2, flows=(("s", "d"),))
    rows, arrows = trace.rows, trace.flows[["src", "dst"]].to_numpy().tolist()
    framed = [(rows[a].track, rows[a].ts_cy + getattr(rows[a], "dur_cy", 0), rows[b].ts_cy) for a, b in arrows]
    assert framed == [(e.src_track, e.src_ts_cy, e.dst_ts_cy) for e in compute_flows(rows, trace.table.flows)]
    assert len(framed) == 4
