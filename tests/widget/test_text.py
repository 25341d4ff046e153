"""The words and numbers on a timeline."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fake_trace import instant, make_trace, pipeline, span

from tltrace_nb.base.numbers import count, duration, moment, number, payload_text, payload_value, percent
from tltrace_nb.base.words import clean, markup
from tltrace_nb.data.headline import by_name
from tltrace_nb.render.lanes import rows_of
from tltrace_nb.render.text import hover_lines, loss_text, numbers

VECTORS = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))
"""What the front end, whose own tests read the same, must write as well."""


@pytest.mark.parametrize(
    ("write", "cases"),
    [
        (lambda value, digits: number(float(value), digits), VECTORS["number"]),
        (count, VECTORS["count"]),
        (lambda share: percent(float(share)), VECTORS["percent"]),
        (lambda ns: duration(float(ns)), VECTORS["duration"]),
        (lambda ns: moment(float(ns)), VECTORS["moment"]),
        (lambda value, floating: payload_value((float if floating else int)(value)), VECTORS["payload"]),
        (payload_text, VECTORS["change"]),
        (clean, VECTORS["clean"]),
    ],
    ids=list(VECTORS),
)
def test_numbers_times_payloads_and_names_are_written_as_the_front_end_writes_them(
    write: Callable[..., str], cases: list[list[Any]]
) -> None:
    assert [(given, write(*given)) for *given, _ in cases] == [(given, text) for *given, text in cases]


@pytest.mark.parametrize("value", [None, pd.NA])
def test_there_is_no_text_where_there_is_no_payload(value: object) -> None:
    assert payload_value(value) == ""


def test_what_is_missing_in_a_table_is_a_dash() -> None:
    assert [number(pd.NA), number(None), percent(pd.NA)] == ["–"] * 3


def test_a_long_name_is_elided() -> None:
    assert clean("x" * 10_000, 40) == "x" * 39 + "…"


def test_a_long_name_of_blanks_is_elided_honestly() -> None:
    assert clean(" " * 500 + "x") == "…"


def test_control_characters_and_surrogates_are_replaced() -> None:
    assert clean("a\x00b\u202ec\ud800\nd") == "a\ufffdb\ufffdc\ufffd d"


def test_emoji_stay() -> None:
    assert clean("🚀 👩\u200d🚀") == "🚀 👩\u200d🚀"


def test_an_empty_name_is_said() -> None:
    assert clean("") == "(unnamed)"


def test_markup_disarms_html_and_tex() -> None:
    assert markup('<b>"$x$"</b> & c') == '&lt;b&gt;"&#36;x&#36;"&lt;/b&gt; &amp; c'


def test_runs_of_numbers_are_folded() -> None:
    assert numbers([0, 1, 2, 5, 7, 8]) == "0\u20132, 5, 7\u20138"


def test_many_runs_are_cut() -> None:
    assert numbers(range(0, 100, 2)) == "0, 2, 4, 6, 8, 10, …"


def test_hover_says_all_that_is_known() -> None:
    where = {"thread": 128, "cta": 3, "sm": 17, "group": "math", "role": "consumer", "lane": "tc"}
    trace = make_trace([span("mma", 1000, 3000, payload=2, payload_end=5, source="k.py:12", truncated=True, **where)])
    assert hover_lines(rows_of(trace.events)[0]) == [
        "mma",
        "payload 2 → 5",
        "start 1,000 cycles · 800.0 ns",
        "duration 2,000 cycles · 1.00 µs",
        "begun, never ended",
        "CTA 3 (3, 0, 0) · SM 17",
        "thread 128 · lane tc · group math · role consumer",
        "k.py:12",
    ]


def test_hover_leaves_out_what_is_not_known() -> None:
    trace = make_trace([instant("dot", 1, source=None)], aligned=False)
    assert hover_lines(rows_of(trace.events)[0]) == [
        "dot",
        "start 1 cycle",
        "instant",
        "CTA 0 (0, 0, 0) · SM 0",
        "thread 0 · lane main · group default",
    ]


def test_no_losses_say_nothing() -> None:
    assert loss_text(pipeline().losses) == ""
    assert loss_text(pipeline(losses=[{}]).losses) == ""


def test_every_kind_of_loss_is_said() -> None:
    rows = [
        {"lost": 12, "max_events": 76}, {"unmatched_ends": 1, "unfinished": True}, {"corrupt": 2}, {"executed": 0},
        {"entered": False, "executed": 0},
    ]  # fmt: skip
    assert loss_text(pipeline(losses=rows).losses) == (
        "incomplete: lost 12 records of 1 writer: max_events=76 would have held them · 2 corrupt records"
        " · 1 end without a begin · 1 writer never left the kernel · 1 writer never entered it"
        " · 1 writer recorded nothing"
    )


def test_the_table_of_names_counts_instants_but_does_not_time_them() -> None:
    trace = make_trace([span("a", 0, 10, payload=3), span("a", 10, 40, payload=7), instant("b", 5)])
    table = by_name(trace.events)
    assert list(table.loc["a"]) == [2, 40, 20, 20, pytest.approx(29.8), 3, 7]
    assert table.loc["b", ["payload_min", "payload_max"]].isna().all()
    assert table.loc["b", "count"] == 1
    assert table.loc["b", ["total", "mean", "p50", "p99"]].isna().all()
