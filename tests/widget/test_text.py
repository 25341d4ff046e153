"""The words and numbers on a timeline."""

import numpy as np
import pandas as pd
import pytest
from fake_trace import instant, make_trace, pipeline, span

from tltrace_nb.base.words import clean, markup
from tltrace_nb.data.headline import by_name
from tltrace_nb.render.lanes import rows_of
from tltrace_nb.render.text import hover_lines, loss_text, numbers, payload_text


@pytest.mark.parametrize(
    ("begin", "end", "text"),
    [
        (None, None, ""),
        (0, 0, "0"),
        (-1, -1, "-1"),
        (3, None, "3"),
        (None, 4, "4"),
        (0, 6, "0 → 6"),
        (pd.NA, pd.NA, ""),
        (1.5, float("inf"), "1.5 → inf"),
        (float("nan"), float("nan"), "nan"),
        (2.0, 2.0, "2"),
        (4294967295.0, None, "4294967295"),
        (float(np.float32(0.1)), None, "0.1"),
        (float(np.float32(1.2345678)), None, "1.2345678"),
        (1e30, None, "1e+30"),
        (2.0**33, None, "8589935000.0"),
        (float(np.float32(1e20)), None, "1e+20"),
        (float(np.float32(1e-7)), None, "1e-07"),
        (float(np.float32(1e-45)), None, "1e-45"),
        (True, True, "True"),
    ],
)
def test_payload_is_shown_once_or_as_a_change_and_never_when_missing(begin: object, end: object, text: str) -> None:
    assert payload_text(begin, end) == text


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
        "duration 2,000 cycles · 1,000.0 ns",
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
