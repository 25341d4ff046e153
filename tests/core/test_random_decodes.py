"""Slots may hold anything: what is wrong with them is counted in ``losses``, and what is told can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic import Rec, build, instant, span, table
from tiers import examples

from tltrace_nb.core.trace import Trace
from tltrace_nb.data import slots as layout
from tltrace_nb.data.decode import Decoded, decode
from tltrace_nb.data.sites import Keep, Site, SiteTable, Writer

INPUTS = 4000
SITES: tuple[Site, ...] = tuple(
    replace(site, id=number)
    for number, site in enumerate((*span(0, "a"), *span(2, "b", lane="l"), instant(4, "i"), *span(5, "c", group="g")))
)
STATES = (layout.STATE_DONE, layout.STATE_DONE, layout.STATE_DONE, layout.STATE_OPEN, 0, 7)


def noise(seed: int) -> tuple[SiteTable, np.ndarray]:
    """Slots of one or two writers, of one thread or two, whose headers and records are nearly, or not at all, right."""
    at = np.random.default_rng(seed)
    writers = [Writer(0, "default", None, 0), Writer(1, "g", None, 32 * (seed % 2))][: 1 + seed % 3]
    rows, capacity = int(at.integers(1, 4)), int(at.integers(0, 9))
    of = table(*SITES, writers=writers, capacity=capacity, grid=(rows, 1, 1), keep=list(Keep)[seed // 2 % 2])
    slots = np.zeros((rows, len(writers), layout.slot_words(capacity)), np.int64)
    head = slots[..., : 2 * layout.HEADER_RECORDS].view(layout.HEADER)[..., 0]
    shape = head.shape
    head["state"] = at.choice(STATES, shape)
    head["executed"], head["sm"] = at.integers(0, 2 * capacity + 2, shape), at.integers(0, 3, shape)
    head["entry_clock"] = at.integers(1000, 1100, shape)
    head["exit_clock"] = head["entry_clock"] + at.integers(-5, 200, shape)
    head["entry_ns"] = at.integers(0, 2**62, shape) if seed % 10 == 0 else at.integers(500, 600, shape)
    head["exit_ns"] = head["entry_ns"] + at.integers(-5 if seed % 2 else 0, 100, shape) * (32 if seed % 3 else 1)
    body = slots.view(layout.RECORD)[..., layout.HEADER_RECORDS :]
    clocks = at.integers(1000, 1200, body.shape)
    body["clock"] = np.sort(clocks, axis=-1) if seed % 5 else clocks
    body["site"] = at.integers(0, len(SITES) + (seed % 7 == 0), body.shape)
    body["payload"] = at.integers(0, 3, body.shape)
    return of, slots


def contradictions(frames: Decoded) -> list[str]:
    """What cannot be of what the frames say, or is not said in ``losses``."""
    events, ctas, losses = frames.events, frames.ctas, frames.losses
    duration = ctas.set_index("cta")["duration"].reindex(events["cta"]).to_numpy()
    back = set(losses.loc[losses["timer_back"], "cta"])
    wrong = {
        "an event ends before it starts": (events["duration"] < 0).any() or (events["duration_ns"] < 0).any(),
        "an event is not end less start": (events["end"] - events["start"] != events["duration"]).any(),
        "an event is not in its CTA": (events["start"] < 0).any() or (events["end"].to_numpy() > duration).any(),
        "a CTA ends before it starts": (ctas["end_ns"] < ctas["start_ns"]).any() or (ctas["duration"] < 0).any(),
        "a clock goes backwards": (ctas["clock_ghz"] <= 0).any(),
        "a CTA has no time, and nothing says why": not set(ctas.loc[ctas["start_ns"].isna(), "cta"]) <= back,
        "a record is neither told nor lost": (losses["executed"] < losses[["recorded", "lost"]].sum(axis=1)).any(),
    }
    return [what for what, is_so in wrong.items() if is_so]


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.full) for part in (1, 2, 3))])
def test_random_slots_give_frames_that_do_not_contradict_themselves(part: int) -> None:
    for seed in range(part, examples(INPUTS), 4):
        of, slots = noise(seed)
        assert not contradictions(decode(slots, of)), seed


def test_a_range_that_another_writer_of_its_thread_ends_has_the_time_between_the_two() -> None:
    of = table(*span(0, "a"), writers=(Writer(0, "default", None, 0), Writer(1, "g", None, 0)))
    slots = build(of, [Rec(0, 0, 1050, 0), Rec(0, 1, 1090, 1)])
    slots.reshape(2, -1)[1, 2] = 1080  # the second writer entered 80 cycles after the first
    (event,) = decode(slots, of).events.to_dict("records")
    assert (event["start"], event["end"], event["duration"]) == (50, 90, 40)


def test_a_cta_whose_timer_runs_backwards_has_no_nanoseconds_and_says_so() -> None:
    of = table(instant(0, "i"), grid=(2, 1, 1))
    slots = build(of, [Rec(0, 0, 1500, 0), Rec(1, 0, 1500, 0)], rows=2)
    slots[1, 0, 5] = slots[1, 0, 3] - 64
    trace = Trace(slots, of)
    assert trace.ctas["start_ns"].isna().tolist() == [False, True]
    assert trace.losses[["cta", "timer_back"]].to_numpy().tolist() == [[1, True]]
    assert "1 CTA in which the GPU's timer ran backwards, without a time in ns" in repr(trace)


LONE = "a \ud800 b"


def test_what_cannot_be_encoded_is_in_no_frame() -> None:
    writer = Writer(0, LONE, LONE, 0)
    of = table(*span(0, LONE, lane=LONE, group=LONE), writers=(writer,), flows=((LONE, LONE),))
    of = replace(
        of, launches=(replace(of.launches[0], name=LONE),), sites=tuple(replace(s, source=LONE) for s in of.sites)
    )
    trace = Trace(build(of, [Rec(0, 0, 1500, 0), Rec(0, 0, 1600, 1)]), of)
    assert len(trace.flows) == 1
    frames = (trace.events, trace.ctas, trace.flows, trace.sites, trace.losses, trace.summary(), trace.critical_path())
    for frame in frames:
        (frame.to_html() + frame.to_string() + repr(frame)).encode()
    trace.summary()._repr_html_().encode()
