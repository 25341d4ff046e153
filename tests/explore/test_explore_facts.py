"""What is told beside the timeline, of traces that know everything and of those that do not."""

import dataclasses
import math
from pathlib import Path

import pytest

from tltrace_nb import datasets, load
from tltrace_nb.explorer.facts import Facts, facts_of, headline, in_words, reason, table_html

RECORDED = sorted((Path(__file__).parents[1] / "recorded").glob("*.tltrace"))


def of_gemm() -> Facts:
    return facts_of(datasets.load("h200/gemm"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_recorded_kernel_has_facts(path: Path) -> None:
    trace = load(path)
    facts = facts_of(trace)
    assert facts.ctas == len(trace.ctas)
    assert facts.sms >= trace.ctas["sm"].nunique()
    assert math.isnan(facts.occupancy) or 0 < facts.occupancy <= 1
    assert "CTAs" in headline(facts, None)
    assert "<table>" in table_html(facts) or not facts.names.size


def test_a_trace_without_a_clock_says_what_it_knows() -> None:
    facts = facts_of(load(next(path for path in RECORDED if path.stem == "vectorised")))
    assert math.isnan(facts.duration_ns)
    assert headline(facts, None).startswith(f"duration {facts.cycles:,} cycles · occupancy – · waves – · CTAs ")
    shorter = dataclasses.replace(facts, cycles=facts.cycles // 2)
    assert headline(shorter, facts).startswith(f"duration {facts.cycles:,} → {facts.cycles // 2:,} cycles (−")


def test_an_unknown_card_has_no_limit() -> None:
    trace = datasets.load("h200/gemm")
    trace.meta = dataclasses.replace(trace.meta, gpu="Unknown card")
    facts = facts_of(trace)
    assert math.isnan(facts.most)
    assert "at most" in table_html(facts)


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (1000.0, 815.0, "duration 1.00 µs → 815.0 ns (−18.5 %)"),
        (200.0, 300.0, "duration 200.0 ns → 300.0 ns (+50.0 %)"),
        (2000.0, 2000.4, "duration 2.00 µs, unchanged"),
    ],
)
def test_the_change_of_the_duration_is_in_per_cent(before: float, now: float, said: str) -> None:
    facts = of_gemm()
    line = headline(dataclasses.replace(facts, duration_ns=now), dataclasses.replace(facts, duration_ns=before))
    assert line.startswith(said + " · ")


def test_what_changed_is_told_with_both_numbers_and_what_did_not_with_one() -> None:
    facts = of_gemm()
    before = dataclasses.replace(facts, waves=3, occupancy=0.25)
    line = headline(dataclasses.replace(facts, waves=2, occupancy=0.5), before)
    assert line.endswith(f"occupancy 25 % → 50 % · waves 3 → 2 · CTAs {facts.ctas}")


def test_names_of_a_kernel_are_escaped() -> None:
    facts = of_gemm()
    names = facts.names.assign(name=["<script>alert(1)</script>"] * len(facts.names))
    assert "<script" not in table_html(dataclasses.replace(facts, names=names))


def test_a_combination_is_named_in_words() -> None:
    assert in_words({"block": 64, "dtype": "float16"}, "h200") == "block=64, dtype=float16, h200"
    assert in_words({"step": 1}, None) == "step=1"


def test_a_reason_has_notes_and_is_bounded() -> None:
    error = RuntimeError("\n".join(f"frame {n}" for n in range(1000)))
    error.add_note("kernel gemm: TileLang does not schedule it")
    said = reason(error)
    assert said.startswith("RuntimeError: frame 0\n")
    assert said.endswith("frame 999\nkernel gemm: TileLang does not schedule it")
    assert len(said) < 2000


def test_an_error_without_words_has_its_type() -> None:
    assert reason(AssertionError()) == "AssertionError"


def test_a_reason_can_be_sent_to_a_browser_whatever_it_says() -> None:
    assert reason(ValueError("no file \udcff.npy")) == "no file ?.npy"


def test_facts_that_a_reader_does_not_know_yet_are_left_out() -> None:
    facts = facts_of(datasets.load("h200/gemm"))
    few = ("duration", "CTAs")
    assert "occupancy" not in table_html(facts, few)
    assert "tail" not in table_html(facts, few)
    assert "waves" not in headline(facts, None, few)
    assert "CTAs" in headline(facts, None, few)
