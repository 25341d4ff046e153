"""What lesson 1 says to right answers and to typical wrong ones."""

import numpy as np
import pandas as pd
import pytest
import tilelang.language as T
from planned import GHZ, Span, planned

from tltrace_nb import datasets
from tltrace_nb.course import first_trace as checks

TWELVE = planned([Span("double", 0, 400, cta, payload=cta) for cta in range(12)])
ADD = datasets.load("h200/add")
CYCLES = float(ADD.events.set_index("cta").loc[5, "duration"])
CLOCK = float(ADD.ctas.set_index("cta").loc[5, "clock_ghz"])


@pytest.mark.parametrize("answer", [12, 12.0, np.int64(12), "12", pd.Series([12]), [12], T.ceildiv(3000, 256)])
def test_the_number_of_ctas_is_taken_in_any_form(answer) -> None:
    assert checks.number_of_ctas(answer, TWELVE).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [(11, "round"), (11.7, "in part"), (256, "threads"), (3000, "threads, or numbers"), (5, "chunks"), ("?", "chunks")],
)
def test_a_wrong_number_of_ctas_is_told_what_it_counts(answer, why) -> None:
    verdict = checks.number_of_ctas(answer, TWELVE)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [CYCLES / CLOCK, round(CYCLES / CLOCK), np.float32(CYCLES / CLOCK)])
def test_nanoseconds_are_cycles_over_the_clock_rate(answer) -> None:
    assert checks.nanoseconds_of_cta_5(answer, ADD).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (CYCLES, "those are cycles"),
        (CYCLES * CLOCK, "multiply or divide"),
        (CYCLES / CLOCK / 1000, "microseconds"),
        (7.0, "in which cta is 5"),
        ("long", "no number"),
    ],
)
def test_other_units_are_told_apart(answer, why) -> None:
    verdict = checks.nanoseconds_of_cta_5(answer, ADD)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_the_range_of_another_cta_is_recognised() -> None:
    trace = planned([Span("double", 0, 400 + 100 * cta, cta) for cta in range(8)])
    assert checks.nanoseconds_of_cta_5(900 / GHZ, trace).right
    assert "another CTA" in checks.nanoseconds_of_cta_5(600 / GHZ, trace).why


def test_another_cta_is_told_apart_where_they_differ_by_little() -> None:
    recorded = datasets.load("h200/first_trace")
    ns = recorded.events.set_index("cta")["duration_ns"]
    assert checks.nanoseconds_of_cta_5(ns[5], recorded).right
    assert checks.nanoseconds_of_cta_5(round(ns[5], 1), recorded).right
    assert "another CTA" in checks.nanoseconds_of_cta_5(ns[4], recorded).why


def test_nothing_is_no_answer() -> None:
    assert checks.number_of_ctas(None, TWELVE).state == "unanswered"
    assert checks.nanoseconds_of_cta_5(None, ADD).state == "unanswered"
    assert checks.load_and_store(None).state == "unanswered"
