"""From slots to frames."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import Rec, build, instant, span, table
from tiers import examples

from tltrace_nb.base.errors import SlotsError
from tltrace_nb.data import columns
from tltrace_nb.data import slots as layout
from tltrace_nb.data.decode import Decoded, decode
from tltrace_nb.data.sites import Keep, Launch, PayloadType, SiteTable, Writer

A, B = span(0, "a"), span(2, "b")
PAIR = (Writer(0, "default", "producer", 0), Writer(1, "default", "consumer", 128))


def decoded(records: list[tuple[int, ...]], *sites: Any, **options: Any) -> Decoded:
    """Frames of one writer that executed (clock since 1000, site, payload) records."""
    of = table(*(sites or (*A, *B)), **options)
    return decode(build(of, [Rec(0, 0, 1000 + clock, *rest) for clock, *rest in records]), of)


# ---- what a row says


def test_a_begin_and_its_end_are_one_range() -> None:
    event = decoded([(10, 0, 5), (40, 1, 6)]).events.iloc[0]
    assert (event["kind"], event["name"], event["source"]) == ("range", "a", "kernel.py:1")
    assert (event["start"], event["end"], event["duration"]) == (10, 40, 30)
    assert (event["payload"], event["payload_end"], event["payload_raw"]) == (5, 6, 5)


def test_an_instant_has_no_duration_and_no_end_payload() -> None:
    event = decoded([(10, 0, 5)], instant(0, "i")).events.iloc[0]
    assert (event["kind"], event["start"], event["end"], event["duration"], event["payload"]) == (
        "instant",
        10,
        10,
        0,
        5,
    )
    assert event["payload_end"] is pd.NA
    assert not event["truncated"]


def test_cycles_are_zeroed_at_the_first_entry_of_the_cta() -> None:
    of = table(*A, writers=PAIR)
    slots = build(of, [Rec(0, 0, 1500, 0), Rec(0, 1, 1500, 0)])
    layout.headers(slots)  # a copy: the header is written through a view of its words
    slots[0, 1, 2] = 1200
    frames = decode(slots, of)
    assert frames.events["start"].tolist() == [500, 500]
    assert frames.ctas["duration"].tolist() == [9000]


def test_nanoseconds_use_the_measured_clock() -> None:
    event = decoded([(10, 0), (40, 1)]).events.iloc[0]
    assert (event["start_ns"], event["duration_ns"]) == (5.0, 15.0)


def test_where_a_cta_ran_is_in_every_row() -> None:
    of = table(instant(0, "i"), grid=(2, 3, 2), writers=(Writer(0, "default", None, 70),))
    frames = decode(build(of, [Rec(9, 0, 1100, 0)], rows=12, sm=dict.fromkeys(range(12), 7)), of)
    event = frames.events.iloc[0]
    assert event[["cta", "block_x", "block_y", "block_z", "thread", "warp", "sm"]].tolist() == [9, 1, 1, 1, 70, 2, 7]
    assert frames.ctas["cta"].tolist() == list(range(12))


def test_a_subset_of_ctas_keeps_its_ids() -> None:
    of = table(instant(0, "i"), grid=(4, 4, 1), ctas=(3, 9))
    events = decode(build(of, [Rec(0, 0, 1100, 0), Rec(1, 0, 1100, 0)], rows=2), of).events
    assert events[["cta", "block_x", "block_y"]].to_numpy().tolist() == [[3, 3, 0], [9, 1, 2]]


def test_the_ctas_of_a_second_launch_continue_after_the_first() -> None:
    launches = (Launch("one", (2, 1, 1), (32, 1, 1)), Launch("two", (2, 2, 1), (32, 1, 1), 2))
    of = table(instant(0, "i"), launches=launches)
    ctas = decode(build(of, [], rows=6), of).ctas
    assert ctas["kernel"].tolist() == ["one"] * 2 + ["two"] * 4
    assert ctas["cta"].tolist() == list(range(6))
    assert ctas["block_y"].tolist() == [0, 0, 0, 0, 1, 1]


def test_a_dynamic_grid_is_given() -> None:
    of = table(instant(0, "i"), grid=(None, 2, 1))
    slots = build(of, [Rec(5, 0, 1100, 0)], rows=6)
    assert decode(slots, of, grids=((3, 2, 1),)).events[["block_x", "block_y"]].to_numpy().tolist() == [[2, 1]]
    with pytest.raises(SlotsError, match="grids="):
        decode(slots, of)


# ---- payloads


@pytest.mark.parametrize(
    ("type_", "bits", "value"),
    [
        (PayloadType.INT32, 0xFFFFFFFF, -1),
        (PayloadType.INT32, 0x80000000, -(2**31)),
        (PayloadType.UINT32, 0xFFFFFFFF, 0xFFFFFFFF),
        (PayloadType.BOOL, 1, 1),
        (PayloadType.FLOAT32, 0x3FC00000, 1.5),
        (PayloadType.FLOAT32, 0x80000000, -0.0),
    ],
)
def test_payload_bits_are_read_as_the_site_says(type_: PayloadType, bits: int, value: float) -> None:
    event = decoded([(10, 0, bits)], instant(0, "i", payload=type_)).events.iloc[0]
    assert event["payload"] == value
    assert event["payload_raw"] == bits


def test_one_float_payload_makes_the_column_float() -> None:
    sites = (instant(0, "i"), instant(1, "f", payload=PayloadType.FLOAT32))
    payload = decoded([(1, 0, -3), (2, 1, 0x3FC00000)], *sites).events["payload"]
    assert str(payload.dtype) == "Float64"
    assert payload.tolist() == [-3.0, 1.5]


def test_a_payload_that_was_not_given_is_missing_and_raw_zero() -> None:
    events = decoded([(1, 0, 77), (2, 1, 0)], instant(0, "i", payload=PayloadType.NONE), instant(1, "j")).events
    assert events["payload"].tolist() == [pd.NA, 0]
    assert events["payload_raw"].tolist() == [0, 0]


def test_an_end_may_have_no_payload_of_its_own() -> None:
    sites = span(0, "a", end_payload=PayloadType.NONE)
    events = decoded([(1, 0, 4), (2, 1, 0)], *sites).events
    assert (events["payload"].tolist(), events["payload_end"].tolist()) == ([4], [pd.NA])


@pytest.mark.parametrize("nan", [0x7FC00000, 0x7F800001], ids=["quiet", "signalling"])
def test_nan_and_infinity_are_payloads(nan: int) -> None:
    events = decoded([(1, 0, nan), (2, 0, 0xFF800000)], instant(0, "i", payload=PayloadType.FLOAT32)).events
    assert np.isnan(events["payload"].to_numpy()[0])
    assert events["payload"].to_numpy()[1] == -np.inf


# ---- which end closes which begin


def ends(frames: Decoded) -> list[tuple[int, int]]:
    """(start, end) of each event; -1 for an end that is the writer's exit."""
    return [(s, -1 if t else e) for s, e, t in frames.events[["start", "end", "truncated"]].itertuples(index=False)]


def test_ranges_need_not_nest() -> None:
    assert ends(decoded([(1, 0), (2, 2), (3, 1), (4, 3)])) == [(1, 3), (2, 4)]


def test_an_end_closes_the_begin_of_its_payload() -> None:
    assert ends(decoded([(1, 0, 7), (2, 0, 8), (3, 1, 7), (4, 1, 8)])) == [(1, 3), (2, 4)]


def test_of_several_begins_of_its_payload_an_end_closes_the_last() -> None:
    assert ends(decoded([(1, 0, 7), (2, 0, 7), (3, 1, 7), (4, 1, 7)])) == [(1, 4), (2, 3)]


def test_an_end_whose_payload_changed_closes_the_last_begin_of_its_range() -> None:
    assert ends(decoded([(1, 0, 7), (2, 0, 8), (3, 1, 9), (4, 1, 7)])) == [(1, 4), (2, 3)]


def test_a_payload_that_changes_in_a_simple_loop_does_no_harm() -> None:
    frames = decoded([(1, 0, 1), (2, 1, 2), (3, 0, 2), (4, 1, 3)])
    assert ends(frames) == [(1, 2), (3, 4)]
    assert frames.events["payload_end"].tolist() == [2, 3]


def test_an_end_never_closes_another_range() -> None:
    frames = decoded([(1, 0), (2, 3)])
    assert ends(frames) == [(1, -1)]
    assert frames.losses["unmatched_ends"].tolist() == [1]


def test_an_end_never_closes_another_writers_begin() -> None:
    of = table(*A, writers=PAIR)
    frames = decode(build(of, [Rec(0, 0, 1001, 0), Rec(0, 1, 1002, 1)]), of)
    assert ends(frames) == [(1, -1)]


# ---- order, depth and parents


def test_rows_are_sorted_by_track_then_start() -> None:
    sites = (instant(0, "i", lane="late"), instant(1, "j", lane="early"))
    writers = (Writer(0, "default", None, 64), Writer(1, "default", None, 0))
    of = table(*sites, writers=writers, grid=(2, 1, 1))
    records = [Rec(c, w, 1000 + n, n % 2) for c in range(2) for w in range(2) for n in range(1, 5)]
    events = decode(build(of, records, rows=2), of).events
    keys = pd.DataFrame(
        {"cta": events["cta"], "thread": events["thread"], "lane": events["lane"].cat.codes, "start": events["start"]}
    )
    assert keys.equals(keys.sort_values(["cta", "thread", "lane", "start"], kind="stable"))
    assert len(events) == 16


def test_two_writers_of_one_thread_share_its_tracks() -> None:
    sites = (*span(0, "outer", group="g"), *span(2, "inner", group="h"))
    of = table(*sites, writers=(Writer(0, "g", None, 0), Writer(1, "h", None, 0)))
    events = decode(
        build(of, [Rec(0, 0, 1001, 0), Rec(0, 1, 1002, 2), Rec(0, 1, 1003, 3), Rec(0, 0, 1004, 1)]), of
    ).events
    assert (events["name"].tolist(), events["depth"].tolist()) == (["outer", "inner"], [0, 1])


def test_the_parent_is_the_innermost_enclosing_range() -> None:
    events = decoded([(1, 0), (2, 2), (3, 4), (4, 3), (5, 1)], *A, *B, instant(4, "i")).events
    assert (events["name"].tolist(), events["depth"].tolist()) == (["a", "b", "i"], [0, 1, 2])
    assert events["parent"].tolist() == [pd.NA, 0, 1]


def test_a_crossing_range_is_no_parent() -> None:
    events = decoded([(1, 0), (2, 2), (3, 1), (4, 3)]).events
    assert (events["depth"].tolist(), events["parent"].tolist()) == ([0, 0], [pd.NA, pd.NA])


def test_neighbours_of_zero_length_are_not_nested() -> None:
    assert decoded([(1, 0), (1, 1), (1, 2), (1, 3)]).events["depth"].tolist() == [0, 0]


def test_lanes_do_not_nest_in_each_other() -> None:
    events = decoded([(1, 0), (2, 2), (3, 3), (4, 1)], *A, *span(2, "b", lane="other")).events
    assert events["depth"].tolist() == [0, 0]


def test_a_range_that_never_ended_encloses_what_follows() -> None:
    events = decoded([(1, 0), (2, 2), (3, 3)]).events
    assert (events["truncated"].tolist(), events["depth"].tolist()) == ([True, False], [0, 1])


def test_deep_nesting_is_followed() -> None:
    depth = 200
    frames = decoded(
        [*((n, 0, n) for n in range(depth)), *((500 + n, 1, depth - 1 - n) for n in range(depth))], capacity=2 * depth
    )
    assert frames.events["depth"].tolist() == list(range(depth))
    assert frames.events["parent"].tolist()[1:] == list(range(depth - 1))


# ---- flows


def test_the_ith_source_points_to_the_ith_destination_of_its_cta() -> None:
    of = table(*A, *B, grid=(2, 1, 1), flows=(("a", "b"), ("b", "nowhere")))
    order = [[0, 1, 2, 3, 0, 1, 2, 3], [2, 3, 0, 1, 0, 1]]
    records = [Rec(c, 0, 1001 + n, site) for c in range(2) for n, site in enumerate(order[c])]
    frames = decode(build(of, records, rows=2), of)
    assert frames.events["name"].tolist() == ["a", "b", "a", "b", "b", "a", "a"]
    assert frames.flows[["src", "dst", "cta"]].to_numpy().tolist() == [[0, 1, 0], [2, 3, 0], [5, 4, 1]]
    assert set(frames.flows["src_name"]) == {"a"}


# ---- losses


def test_a_sound_trace_has_no_losses() -> None:
    assert len(decoded([(1, 0), (2, 1)]).losses) == 0


def test_what_did_not_fit_is_counted() -> None:
    frames = decoded([(n, 0) for n in range(6)], instant(0, "i"), capacity=4)
    loss = frames.losses.iloc[0]
    assert loss[["executed", "recorded", "lost", "corrupt", "max_events"]].tolist() == [6, 4, 2, 0, 6]
    assert frames.events["start"].tolist() == [0, 1, 2, 3]


def test_a_ring_keeps_the_last_in_order() -> None:
    frames = decoded([(n, 0) for n in range(6)], instant(0, "i"), capacity=4, keep=Keep.LAST)
    assert frames.events["start"].tolist() == [2, 3, 4, 5]
    assert frames.losses["lost"].tolist() == [2]


def test_a_truncated_range_ends_where_its_writer_does() -> None:
    event = decoded([(1, 0)]).events.iloc[0]
    assert (event["end"], event["truncated"], event["payload_end"]) == (9000, True, pd.NA)


def test_an_unfinished_writer_yields_the_records_it_wrote() -> None:
    of = table(*A, *B)
    frames = decode(build(of, [Rec(0, 0, 1001, 0), Rec(0, 0, 1002, 2), Rec(0, 0, 1005, 3)], unfinished=[(0, 0)]), of)
    assert ends(frames) == [(1, -1), (2, 5)]
    assert frames.events["end"].tolist() == [5, 5]
    assert frames.losses[["unfinished", "executed", "recorded"]].to_numpy().tolist() == [[True, 3, 3]]


def test_an_unfinished_ring_is_unrolled() -> None:
    of = table(instant(0, "i"), capacity=4, keep=Keep.LAST)
    frames = decode(build(of, [Rec(0, 0, 1001 + n, 0) for n in range(6)], unfinished=[(0, 0)]), of)
    assert frames.events["start"].tolist() == [3, 4, 5, 6]


def test_a_writer_that_never_entered_is_listed() -> None:
    of = table(*A, writers=PAIR)
    frames = decode(build(of, [Rec(0, 0, 1001, 0), Rec(0, 0, 1002, 1)], absent=[(0, 1)]), of)
    assert frames.losses[["role", "thread", "entered", "executed"]].to_numpy().tolist() == [["consumer", 128, False, 0]]


def test_a_writer_that_never_recorded_is_listed() -> None:
    of = table(*A, writers=PAIR)
    frames = decode(build(of, [Rec(0, 0, 1001, 0), Rec(0, 0, 1002, 1)]), of)
    assert frames.losses[["role", "entered", "recorded"]].to_numpy().tolist() == [["consumer", True, 0]]


def test_a_cta_that_no_writer_entered_has_no_row() -> None:
    of = table(instant(0, "i"), grid=(2, 1, 1))
    frames = decode(build(of, [Rec(1, 0, 1001, 0)], rows=2, absent=[(0, 0)]), of)
    assert frames.ctas["cta"].tolist() == frames.events["cta"].tolist() == [1]
    assert frames.ctas["start_ns"].tolist() == [0.0]


def test_a_nonsensical_header_yields_no_rows_and_is_counted() -> None:
    of = table(instant(0, "i"))
    slots = build(of, [Rec(0, 0, 1001, 0)])
    slots[0, 0, 0] = 0x1234 << 32 | 1
    frames = decode(slots, of)
    assert len(frames.events) == 0
    assert frames.losses[["entered", "corrupt"]].to_numpy().tolist() == [[False, 1]]


@pytest.mark.parametrize("executed", [2**32 - 16, 9001])
@pytest.mark.parametrize("keep", Keep)
def test_more_markers_than_cycles_are_a_corrupt_count_and_no_loss(executed: int, keep: Keep) -> None:
    """What the header of one CTA says if another wrote its exit; the records before it are the writer's own."""
    of = table(*A, keep=keep)
    slots = build(of, [Rec(0, 0, 1001, 0), Rec(0, 0, 1002, 1)])
    slots[0, 0, 0] = layout.STATE_DONE << 32 | executed
    frames = decode(slots, of)
    assert frames.events["duration"].tolist() == [1]
    columns = ["entered", "unfinished", "executed", "recorded", "lost", "corrupt"]
    assert frames.losses[columns].to_numpy().tolist() == [[True, True, 2, 2, 0, 1]]
    assert frames.losses["max_events"].tolist() == [2]


def test_a_marker_in_every_cycle_is_believed() -> None:
    of = table(instant(0, "i"), capacity=4)
    slots = build(of, [Rec(0, 0, 1001 + n, 0) for n in range(4)])
    slots[0, 0, 0] = layout.STATE_DONE << 32 | 9000
    assert decode(slots, of).losses[["lost", "corrupt"]].to_numpy().tolist() == [[8996, 0]]


def test_an_exit_before_the_entry_is_corrupt() -> None:
    of = table(instant(0, "i"))
    frames = decode(build(of, [Rec(0, 0, 1001, 0)], exit_=900), of)
    assert len(frames.events) == 0
    assert frames.losses[["entered", "lost", "corrupt"]].to_numpy().tolist() == [[False, 0, 1]]


@pytest.mark.parametrize(("clock", "site"), [(5, 99), (-5, 0), (9001, 0), (2**62, 0)])
def test_a_record_that_cannot_be_right_is_left_out_and_counted(clock: int, site: int) -> None:
    frames = decoded([(1, 0), (clock, site), (6, 0)], instant(0, "i"))
    assert frames.events["start"].tolist() == [1, 6]
    assert frames.losses[["executed", "recorded", "lost", "corrupt"]].to_numpy().tolist() == [[3, 2, 0, 1]]


def test_a_clock_that_goes_backwards_is_left_out_and_counted() -> None:
    frames = decoded([(1, 0), (6, 0), (4, 0), (7, 0)], instant(0, "i"))
    assert frames.events["start"].tolist() == [1, 6, 7]
    assert frames.losses["corrupt"].tolist() == [1]


def test_a_clock_may_wrap() -> None:
    of = table(*A)
    entry = 2**63 - 50
    slots = build(of, [Rec(0, 0, entry + 10, 0), Rec(0, 0, entry + 90 - 2**64, 1)], entry=entry, exit_=entry + 49)
    slots[0, 0, 4] = entry + 100 - 2**64
    assert decode(slots, of).events[["start", "end"]].to_numpy().tolist() == [[10, 90]]


def test_a_site_that_never_recorded_can_be_found() -> None:
    sites = decoded([(1, 0), (2, 1), (3, 0)]).sites
    assert sites.loc[sites["count"] == 0, "name"].tolist() == ["b", "b"]
    assert sites["count"].tolist() == [2, 1, 0, 0]


# ---- the frames themselves


def test_columns_and_types_are_those_of_the_schema() -> None:
    for frames in (decoded([(1, 0), (2, 1)]), decoded([])):
        for name in ("events", "ctas", "flows", "sites", "losses"):
            schema, found = getattr(columns, name.upper()), getattr(frames, name)
            assert list(found.columns) == list(schema)
            assert all(str(found[column].dtype) in schema[column].split(" | ") for column in schema)


def test_a_kernel_without_markers_has_empty_frames() -> None:
    of = table(writers=(), capacity=0)
    frames = decode(np.zeros((3, 0, layout.slot_words(0)), np.int64), of)
    for name in ("events", "ctas", "flows", "sites", "losses"):
        assert len(getattr(frames, name)) == 0
    assert frames.events["payload"].dtype == "Int64"


def test_categories_are_in_order_of_first_appearance() -> None:
    events = decoded([(1, 0), (2, 2)], instant(0, "z"), instant(1, "y"), instant(2, "x")).events
    assert events["name"].cat.categories.tolist() == ["z", "y", "x"]


def test_writing_to_a_column_reaches_no_other() -> None:
    frames = decoded([(1, 0, 3), (2, 1, 3), (3, 0, 4), (4, 1, 4)])
    for column in ("payload", "payload_end", "cta", "truncated", "sm"):
        before = frames.events.drop(columns=column)
        frames.events.loc[0, column] = True if column == "truncated" else 1
        assert frames.events[column].tolist()[0] == 1
        assert frames.events.drop(columns=column).equals(before)


def test_slots_are_only_read() -> None:
    of = table(*A)
    slots = build(of, [Rec(0, 0, 1001, 0), Rec(0, 0, 1002, 1)])
    before = slots.copy()
    slots.flags.writeable = False
    decode(slots, of)
    assert np.array_equal(slots, before)


@pytest.mark.parametrize(
    "shape", [(1, 2, layout.slot_words(16)), (1, 1, layout.slot_words(15)), (2, 1, layout.slot_words(16))]
)
def test_slots_of_another_kernel_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(SlotsError):
        decode(np.zeros(shape, np.int64), table(*A))


def test_slots_of_another_type_are_refused() -> None:
    with pytest.raises(SlotsError, match="float64"):
        decode(np.zeros((1, 1, layout.slot_words(16))), table(*A))  # type: ignore[arg-type]


# ---- against a slow, obvious decoder

SITES = (
    *span(0, "a"),
    *span(2, "b"),
    *span(4, "c", lane="other", end_payload=PayloadType.NONE),
    instant(6, "i"),
    instant(7, "n", lane="other", payload=PayloadType.NONE),
)


@st.composite
def schedules(draw: st.DrawFn) -> tuple[np.ndarray, SiteTable]:
    """Slots of several CTAs and writers that executed any markers, in order of time."""
    rows = draw(st.integers(1, 3))
    threads = draw(st.lists(st.sampled_from([0, 32, 64, 128]), min_size=1, max_size=3, unique=True))
    of = table(
        *SITES,
        writers=[Writer(index, "default", None, thread) for index, thread in enumerate(threads)],
        grid=(rows, 1, 1),
        capacity=draw(st.integers(1, 24)),
        keep=draw(st.sampled_from(Keep)),
    )
    steps = st.tuples(st.integers(0, 5), st.integers(0, len(SITES) - 1), st.integers(-2, 2))
    nested = st.lists(st.sampled_from([(1, 0, 1), (1, 2, 1), (1, 3, 1), (1, 1, 1), (0, 6, -1)]), max_size=30)
    records = []
    for row in range(rows):
        for writer in range(len(threads)):
            clock = 1000
            for step, site, payload in draw(st.lists(steps, max_size=30) | nested):
                clock += step
                records.append(Rec(row, writer, clock, site, payload))
    return build(of, records, rows=rows), of


def plain(value: Any) -> int | None:
    return None if value is pd.NA else int(value)


@settings(max_examples=examples(300), deadline=None)
@given(schedules())
def test_any_schedule_decodes_as_one_record_at_a_time(case: tuple[np.ndarray, SiteTable]) -> None:
    slots, of = case
    frames, expected = decode(slots, of), reference.decode(slots, of)
    rows: Any = frames.events.itertuples(index=False)
    got = [
        (
            row.name, row.kind, row.cta, row.thread, row.lane, row.start, row.end, row.end - row.duration,
            plain(row.payload), plain(row.payload_end), row.truncated, row.depth, plain(row.parent),
        )
        for row in rows
    ]  # fmt: skip
    assert got == [
        (
            e.name, e.kind, e.cta, e.thread, e.lane, e.start, e.end, e.start, e.payload,
            e.payload_end, e.truncated, e.depth, e.parent,
        )
        for e in expected.events
    ]  # fmt: skip
    assert frames.losses["unmatched_ends"].sum() == sum(expected.unmatched.values())
    losses = frames.losses
    assert (losses["executed"] == losses["recorded"] + losses["lost"] + losses["corrupt"]).all()


@settings(max_examples=examples(100), deadline=None)
@given(schedules())
def test_the_order_of_writers_in_the_table_does_not_matter(case: tuple[np.ndarray, SiteTable]) -> None:
    slots, of = case
    writers = tuple(replace(writer, index=index) for index, writer in enumerate(reversed(of.writers)))
    other = decode(np.ascontiguousarray(slots[:, ::-1]), replace(of, writers=writers)).events
    assert other.equals(decode(slots, of).events)


@settings(max_examples=examples(400), deadline=None)
@given(data=st.data(), rows=st.integers(0, 3), writers=st.integers(1, 2), keep=st.sampled_from(Keep))
def test_random_bytes_neither_raise_nor_warn(data: st.DataObject, rows: int, writers: int, keep: Keep) -> None:
    of = table(*SITES, writers=PAIR[:writers], grid=(rows, 1, 1), capacity=4, keep=keep, flows=(("a", "b"),))
    shape = (rows, writers, layout.slot_words(4))
    small = st.integers(0, 9)
    word = st.sampled_from([0, -1, 2**63 - 1, -(2**63)]) | st.integers(-(2**63), 2**63 - 1) | small
    words = data.draw(st.lists(word, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    slots = np.array(words, np.int64).reshape(shape)
    state = st.sampled_from([0, layout.STATE_OPEN, layout.STATE_DONE])
    for row in range(rows):
        for writer in range(writers):
            if data.draw(st.booleans()):
                slots[row, writer, 0] = data.draw(state) << 32 | data.draw(small)
                slots[row, writer, 7::2] = [data.draw(small) for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frames = decode(slots, of)
    assert len(frames.losses) <= rows * writers
    assert (frames.events["duration"] >= 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_buffer_of_noise_is_decoded_quickly(seed: int) -> None:
    of = table(*SITES, grid=(40, 1, 1), capacity=500)
    rng = np.random.default_rng(seed)
    slots = rng.integers(-(2**63), 2**63 - 1, (40, 1, layout.slot_words(500)))
    slots[..., 0] = (layout.STATE_DONE if seed % 2 else layout.STATE_OPEN) << 32 | 500
    slots[..., 2], slots[..., 4] = 0, 2**49
    slots[..., 7::2] = rng.integers(0, 9, (40, 1, 500))
    frames = decode(slots, of)
    assert frames.losses["corrupt"].sum() + frames.losses["recorded"].sum() == 40 * 500
