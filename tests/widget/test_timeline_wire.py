"""What goes to the browser: every event, exactly, in few bytes."""

import base64
import gzip
import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from fake_trace import FakeTrace, instant, make_trace, pipeline, span
from hypothesis import given, settings
from random_traces import traces
from tiers import examples
from wire_reader import Read, columns, read

from tltrace_nb.base.palette import name_colors
from tltrace_nb.core.loading import load
from tltrace_nb.render.colors import Names
from tltrace_nb.render.frames import Frames, frames
from tltrace_nb.widget.wire import encode

RECORDED = files("tltrace_nb").joinpath("datasets", "h200")
FAR = (0, -5000, 2**31, 2**53 - 3000, 2**60, -(2**62))


def expected(trace: FakeTrace) -> list[Read]:
    def value(cell: object) -> int | float | None:
        return None if cell is pd.NA else getattr(cell, "item", lambda: cell)()

    return [
        Read(
            cta=row.cta, thread=row.thread, lane=row.lane, group=row.group, name=row.name_, source=row.source,
            start=row.start, end=row.end, kind=row.kind, truncated=row.truncated, payload=value(row.payload),
            payload_end=value(row.payload_end), id=i,
        )
        for i, row in enumerate(trace.events.rename(columns={"name": "name_"}).itertuples())
    ]  # fmt: skip


@given(traces(offsets=FAR))
@settings(max_examples=examples(60), deadline=None)
def test_every_event_arrives_exactly(trace: FakeTrace) -> None:
    arrived = sorted(read(encode(trace)), key=lambda event: event.id)
    assert [repr(event) for event in arrived] == [repr(event) for event in expected(trace)]


@given(traces())
@settings(deadline=None)
def test_events_come_by_lane_then_start_then_the_longer_first(trace: FakeTrace) -> None:
    events = read(encode(trace))
    keys = [(event.cta, event.thread, event.lane, event.start, -event.end) for event in events]
    assert keys == sorted(keys)


def test_arrows_follow_their_events_through_a_reordering() -> None:
    trace = make_trace([span("late", 50, 60), span("early", 0, 9)], flows=[(1, 0)])
    wire = encode(trace)
    column, names = columns(wire), [event.name for event in read(wire)]
    assert (names[column["flow_src"][0]], names[column["flow_dst"][0]]) == ("early", "late")


def test_arrows_out_of_a_selection_are_left_out() -> None:
    trace = pipeline(ctas=2)
    one = FakeTrace(trace.events[trace.events["cta"] == 1], trace.ctas, trace.flows, trace.losses, trace.meta)
    assert len(columns(encode(one))["flow_src"]) == 6


def test_equal_values_take_no_bytes() -> None:
    wire = encode(make_trace([span("a", 10 * i, 10 * i + 5, payload=3) for i in range(1000)]))
    width = {spec["name"]: spec["width"] for spec in json.loads(wire.header)["columns"] if spec["length"] == 1000}
    assert {name for name, bytes_ in width.items() if bytes_} == {"gap"}  # 0 for the first event, 10 for the others


@pytest.mark.parametrize("name", ["gemm", "attention", "softmax", "specialised_gemm"])
def test_a_recorded_trace_takes_at_most_twelve_bytes_an_event_in_a_page(name: str) -> None:
    trace = load(str(RECORDED.joinpath(f"{name}.tltrace")))
    wire = encode(trace)
    assert len(base64.b64encode(gzip.compress(wire.columns, 9))) <= 12 * len(trace)


@pytest.mark.parametrize("name", ["gemm", "attention"])
def test_nanoseconds_come_back_from_cycles(name: str) -> None:
    trace = load(str(RECORDED.joinpath(f"{name}.tltrace")))
    wire = encode(trace)
    column, origin = columns(wire), int(json.loads(wire.header)["origin"])
    lanes = list(zip(column["lane_cta"], column["lane_thread"], strict=True))
    offset, rate = (dict(zip(lanes, column[f"lane_ns_{key}"], strict=True)) for key in ("offset", "rate"))
    for row in trace.events.itertuples():
        lane = (row.cta, row.thread)
        assert offset[lane] + rate[lane] * (row.start - origin) == pytest.approx(row.start_ns, abs=1e-6)
        assert rate[lane] * row.duration == pytest.approx(row.duration_ns, abs=1e-6)


def test_a_cta_with_one_event_has_the_rate_of_that_event() -> None:
    trace = make_trace([span("a", 0, 10), span("a", 100, 110), span("b", 5, 25, cta=1)])
    slow = trace.events.assign(duration_ns=[5.0, 5.0, 40.0])
    column = columns(encode(FakeTrace(slow, trace.ctas, trace.flows, trace.losses, trace.meta)))
    assert column["lane_ns_rate"] == [0.5, 2.0]


def test_times_off_their_ctas_line_are_not_called_aligned() -> None:
    trace = make_trace([span("a", 0, 1), span("b", 10, 11), span("c", 20, 21)])
    bent = trace.events.assign(start_ns=[0.0, 9.0, 10.0])
    assert not encode(FakeTrace(bent, trace.ctas, trace.flows, trace.losses, trace.meta)).aligned
    assert encode(trace).aligned


def test_the_share_of_the_cta_is_of_its_whole_duration() -> None:
    trace = load(str(RECORDED.joinpath("attention.tltrace")))
    column = columns(encode(trace))
    known = trace.ctas.set_index("cta")["duration"]
    assert column["lane_cta_cycles"] == known.loc[column["lane_cta"]].tolist()


def test_events_further_apart_than_a_browser_counts_are_refused() -> None:
    with pytest.raises(ValueError, match=r"more than 2\*\*53 cycles apart"):
        encode(make_trace([instant("a", 0), instant("b", 2**53)]))


def test_no_events_are_a_wire_too() -> None:
    assert read(encode(make_trace([]))) == []


def test_a_lone_surrogate_and_a_long_name_do_no_harm() -> None:
    trace = make_trace([span("a", 0, 1), span("b", 2, 3)])
    words = pd.Index(["\ud800", "x" * 10_000], dtype=object)  # pandas' own strings may refuse the first
    events = trace.events.assign(name=pd.Categorical.from_codes([0, 1], words))
    header = json.loads(encode(FakeTrace(events, trace.ctas, trace.flows, trace.losses, trace.meta)).header)
    assert sorted(len(name) for name in header["names"]) == [1, 2000]


def test_a_plain_frame_is_enough() -> None:
    plain = pd.DataFrame({"name": ["a"], "lane": ["l"], "cta": [3], "thread": [7], "start": [5], "end": [9]})
    (event,) = read(encode(frames(plain)))
    assert (event.name, event.lane, event.cta, event.thread, event.start, event.end) == ("a", "l", 3, 7, 5, 9)
    assert (event.kind, event.payload) == ("range", None)


def test_a_shuffled_frame_gives_the_same_picture() -> None:
    trace = pipeline()
    mixed = trace.events.sample(frac=1, random_state=np.random.RandomState(3))
    other = FakeTrace(mixed, trace.ctas, trace.flows, trace.losses, trace.meta)
    seen = [[(e.cta, e.thread, e.lane, e.name, e.start) for e in read(encode(each))] for each in (trace, other)]
    assert seen[0] == seen[1]
    assert [mixed["start"].iloc[e.id] for e in read(encode(other))] == [e.start for e in read(encode(other))]


def test_a_name_has_the_colour_that_it_has_in_the_figure_also_in_a_part_of_the_trace() -> None:
    trace = pipeline()
    silent = trace.events["name"].cat.add_categories(["never recorded"])
    whole = FakeTrace(trace.events.assign(name=silent), trace.ctas, trace.flows, trace.losses, trace.meta)
    part = FakeTrace(whole.events.query("name == 'mma'"), trace.ctas, trace.flows, trace.losses, trace.meta)
    names = whole.events["name"].unique()
    for each in (encode(whole), encode(part, names=Names.of(whole))):
        header = json.loads(each.header)
        colors = dict(zip(header["names"], (header["palette"][n] for n in header["name_color"]), strict=True))
        assert {name: colors[name] for name in names} == name_colors(names)


def ranked(ranks: int) -> Frames:
    """Several ranks with CTAs of the same numbers."""
    parts = [pipeline(ctas=2) for _ in range(ranks)]
    events = pd.concat([part.events.assign(rank=rank) for rank, part in enumerate(parts)], ignore_index=True)
    ctas = pd.concat([part.ctas.assign(rank=rank) for rank, part in enumerate(parts)], ignore_index=True)
    return Frames(events, ctas, parts[0].flows, parts[0].losses, parts[0].meta)


def test_ctas_of_several_ranks_are_lanes_of_their_own_in_order_of_the_ranks() -> None:
    column = columns(encode(ranked(3)))
    lanes = list(zip(column["lane_rank"], column["lane_cta"], strict=True))
    assert lanes == sorted(lanes)
    assert set(lanes) == {(rank, cta) for rank in range(3) for cta in range(2)}
    assert len(lanes) == 3 * len(columns(encode(pipeline(ctas=2)))["lane_cta"])


def test_without_ranks_nothing_is_sent_of_them() -> None:
    assert "lane_rank" not in columns(encode(pipeline(ctas=2)))


@pytest.mark.parametrize(
    ("device", "gpu", "said"), [("cuda", "NVIDIA H200", "NVIDIA H200"), ("virtual", "h200 model", "")]
)
def test_the_card_is_said_and_a_virtual_one_is_left_to_its_badge(device: str, gpu: str, said: str) -> None:
    assert json.loads(encode(pipeline(device=device, gpu=gpu)).header)["device"] == said
