"""Every analysis on traces that lack something: it gives the rest, says what it cannot tell, and draws it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import Span, Stay, planned
from recordings import RECORDED
from tiers import examples

from tltrace_nb import compare, load
from tltrace_nb.analysis.table import Table
from tltrace_nb.core.trace import Trace, TraceMeta

ANALYSES: dict[str, Callable[[Trace], Table]] = {
    "summary": Trace.summary,
    "nesting": Trace.nesting,
    "occupancy": Trace.occupancy,
    "waves": Trace.waves,
    "waves by SM": lambda trace: trace.waves("sm"),
    "waves by launch": lambda trace: trace.waves("launch"),
    "waits": Trace.waits,
    "single waits": lambda trace: trace.waits(each=True),
    "critical_path": Trace.critical_path,
    "pipeline": Trace.pipeline,
    "roofline": lambda trace: trace.roofline(gpu="h200"),
    "roofline by name": lambda trace: trace.roofline(gpu="h200", flop=dict.fromkeys(trace.summary()["name"], 1e6)),
    "overhead": lambda trace: trace.overhead(24),
    "corrected": lambda trace: trace.corrected(24).critical_path(),
    "compare": lambda trace: compare(trace, trace),
}
analysis = pytest.mark.parametrize("analyse", ANALYSES.values(), ids=ANALYSES)


def loop(**options) -> Trace:
    """Two CTAs in which a producer loads and a consumer multiplies, with arrows."""
    spans = []
    for cta in range(2):
        for i in range(4):
            spans.append(Span("load", 100 * i, 100 * i + 40, cta, payload=i))
            spans.append(Span("mma", 100 * i + 60, 100 * i + 150, cta, thread=128, payload=i))
    return planned(spans, flows=[("load", "mma")], **options)


def said(table: Table, words: str) -> bool:
    """Whether the notes have these words, and the figure shows them."""
    below = table.figure().layout.annotations[0].text.replace("<br>", " ") if table.notes else ""
    return any(words in note for note in table.notes) and words in below


@analysis
def test_lost_records_are_said(analyse) -> None:
    assert said(analyse(loop(capacity=3)), "max_events=8 would have held them")


@analysis
def test_a_range_that_never_ended_is_said(analyse) -> None:
    spans = [Span("load", 0, 40), Span("load", 50, None), Span("mma", 60, 90, thread=128)]
    assert said(analyse(planned(spans, flows=[("load", "mma")])), "1 range never ended")


@analysis
def test_ctas_that_were_not_traced_are_said(analyse) -> None:
    assert said(analyse(loop(ctas=(3, 9))), "only 2 CTAs of the launch recorded")


@analysis
def test_a_trace_without_payloads_is_analysed(analyse) -> None:
    spans = [
        Span("load", 0, 40),
        Span("mma", 50, 90, thread=128),
        Span("load", 60, 95),
        Span("mma", 100, 120, thread=128),
    ]
    table = analyse(planned(spans, flows=[("load", "mma")]))
    assert len(table)
    assert table.figure().data


@analysis
def test_a_trace_of_one_cta_is_analysed(analyse) -> None:
    table = analyse(planned([Span("load", 0, 40), Span("mma", 50, 90, thread=128)], flows=[("load", "mma")]))
    assert len(table)
    assert table.figure().data


@analysis
def test_a_trace_without_sm_ids_is_analysed_as_far_as_it_goes(analyse) -> None:
    trace = loop()
    trace.ctas["sm"] = -1
    trace.events["sm"] = -1
    table = analyse(trace)
    assert table.figure()
    if analyse in (Trace.occupancy, Trace.waves):
        assert said(table, "no SM id")


@analysis
def test_a_trace_without_clocks_is_analysed_as_far_as_it_goes(analyse) -> None:
    assert analyse(load(RECORDED / "every_thread.tltrace")).figure()


@analysis
def test_a_trace_without_events_gives_an_empty_frame_and_a_figure(analyse) -> None:
    table = analyse(planned([Span("a", 0, 10)], [Stay(0, 0, 1000)], capacity=0))
    assert table.notes
    assert table.figure()


@analysis
def test_a_trace_in_which_no_cta_ran_gives_an_empty_frame_and_a_figure(analyse) -> None:
    recorded = loop()
    empty = Trace(np.zeros_like(recorded.slots), recorded.table, recorded.meta)
    table = analyse(empty)
    assert table.notes
    assert table.figure()


@analysis
def test_a_trace_of_an_unnamed_gpu_is_analysed(analyse) -> None:
    assert analyse(loop(meta=TraceMeta("kernel"))).figure()


@cache
def recorded(name: str) -> Trace:
    return load(RECORDED / f"{name}.tltrace")


@pytest.mark.some(5)
@analysis
@settings(max_examples=examples(15), deadline=None)
@given(st.sampled_from(["gemm_3", "attention", "softmax"]), st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_damaged_slots_give_a_frame_or_say_that_they_are_damaged(analyse, name: str, seed: int, words: int) -> None:
    noise = np.random.default_rng(seed)
    slots = recorded(name).slots.copy()
    flat = slots.reshape(-1)
    flat[noise.integers(0, len(flat), words)] = noise.integers(-(2**63), 2**63 - 1, words)
    try:
        table = analyse(Trace(slots, recorded(name).table, recorded(name).meta))
    except ValueError as error:
        if "damaged" not in str(error):
            raise
    else:
        assert table.figure()


@analysis
@pytest.mark.parametrize("name", ["<b>$x$", "", "a" * 500, "*"])
def test_any_name_is_analysed_and_drawn(analyse, name: str) -> None:
    spans = [Span(name, 0, 40), Span("mma", 50, 90, thread=128)]
    assert "<b>$x$" not in str(analyse(planned(spans, flows=[(name, "mma")])).figure().to_plotly_json())
