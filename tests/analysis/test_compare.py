"""What changed between traces, against changes that were planted in noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from planned import Span, planned
from recordings import RECORDED

from tltrace_nb import compare, load
from tltrace_nb.analysis import columns
from tltrace_nb.core.trace import Trace
from tltrace_nb.data import slots as layout

NAMES, CTAS, TURNS, RUNS = 20, 8, 8, 5
NAMED = [f"range {i}" for i in range(NAMES)]


@cache
def plain() -> Trace:
    """Twenty ranges one after the other, eight times over, in eight CTAs."""
    spans = []
    for cta in range(CTAS):
        for i in range(NAMES * TURNS):
            spans.append(Span(NAMED[i % NAMES], 1000 * i, 1000 * i + 500, cta, payload=i // NAMES))
    return planned(spans)


def run(seed: np.random.SeedSequence, factors: np.ndarray) -> Trace:
    """One run: every range 3 % apart from the next of its name, a name 0.5 % from run to run, the whole 0.3 %."""
    noise = np.random.default_rng(seed)
    base = np.linspace(150, 2000, NAMES) * factors
    of_run = base * (1 + 0.005 * noise.standard_normal(NAMES)) * (1 + 0.003 * noise.standard_normal())
    durations = np.tile(of_run, (CTAS, TURNS)) * (1 + 0.03 * noise.standard_normal((CTAS, TURNS * NAMES)))
    slots = plain().slots.copy()
    steps = np.stack([np.full_like(durations, 40), durations.clip(1)], axis=-1).reshape(CTAS, -1)
    layout.records(slots)["clock"][:, 0] = 10_000 + steps.round().astype(np.int64).cumsum(axis=1)
    return Trace(slots, plain().table, plain().meta)


def runs(seed: np.random.SeedSequence, factors: np.ndarray | None = None) -> list[Trace]:
    return [run(each, np.ones(NAMES) if factors is None else factors) for each in seed.spawn(RUNS)]


def changed(a: list[Trace], b: list[Trace]) -> list[str]:
    frame = compare(a, b)
    return frame[frame["changed"]]["name"].tolist()


TRIALS = pytest.mark.parametrize("trials", [25, pytest.param(100, marks=pytest.mark.wide)])


@TRIALS
def test_in_each_trial_a_planted_5_percent_in_one_of_20_ranges_is_found_and_nothing_else(trials: int) -> None:
    for seed in np.random.SeedSequence(5).spawn(trials):
        first, second, third = seed.spawn(3)
        slow = int(first.generate_state(1)[0] % NAMES)
        factors = np.where(np.arange(NAMES) == slow, 1.05, 1.0)
        assert changed(runs(second), runs(third, factors)) == [NAMED[slow]]


@TRIALS
def test_in_no_trial_do_runs_of_one_kernel_differ(trials: int) -> None:
    for seed in np.random.SeedSequence(7).spawn(trials):
        first, second = seed.spawn(2)
        assert changed(runs(first), runs(second)) == []


def pair(*durations: int, names: tuple[str, ...] = ("a", "b")) -> Trace:
    """CTAs of two ranges each, 100 cycles and one of these."""
    spans = []
    for cta, duration in enumerate(durations):
        spans += [Span(names[0], 0, 100, cta, payload=0), Span(names[1], 200, 200 + duration, cta, payload=1)]
    return planned(spans)


def test_the_means_their_difference_and_ratio_are_told() -> None:
    row = compare(pair(100, 102, 98), pair(200, 204, 196)).set_index("name").loc["b"]
    assert (row["mean_a"], row["mean_b"], row["difference"], row["ratio"], row["matched"]) == (100, 200, 100, 2, 3)
    assert row["changed"]


def test_the_verdict_is_one_line_with_the_names_that_changed() -> None:
    verdict = compare(pair(100, 102, 98), pair(200, 204, 196)).attrs["verdict"]
    assert verdict.startswith("b is slower in 'b' (+100.0%, 100 → 200 cycles); 1 rows unchanged. The launch:")
    assert "\n" not in verdict


def test_faster_is_said_too() -> None:
    assert compare(pair(200, 202), pair(100, 102)).attrs["verdict"].startswith("b is faster in 'b'")


def test_a_trace_equals_itself() -> None:
    frame = compare(pair(100, 102), pair(100, 102))
    assert not frame["changed"].any()
    assert frame.attrs["verdict"].startswith("no range changed beyond the noise, in 2 rows")


def test_one_run_each_says_what_its_noise_lacks() -> None:
    assert any("repeated runs" in note for note in compare(pair(100, 102), pair(100, 102)).notes)
    assert not any("repeated runs" in note for note in compare([pair(100)] * 2, [pair(100)] * 2).notes)


def test_a_change_within_the_spread_over_ctas_is_noise() -> None:
    frame = compare(pair(100, 200, 150, 90), pair(210, 95, 160, 100))
    assert not frame["changed"].any()


def test_a_change_below_the_least_that_counts_does_not_count() -> None:
    a, b = [pair(100, 100)] * 3, [pair(103, 103)] * 3
    assert compare(a, b)["changed"].any()
    assert not compare(a, b, least=0.05)["changed"].any()


def test_one_range_on_each_side_is_never_changed_and_it_says_so() -> None:
    frame = compare(pair(100), pair(200))
    assert not frame["changed"].any()
    assert any("no noise to compare with" in note for note in frame.notes)


def test_by_payload_and_by_track_tell_rows_apart() -> None:
    spans = [
        Span("a", 100 * i, 100 * i + 10 + 5 * i, cta, thread=32 * (i % 2), payload=i)
        for cta in (0, 1)
        for i in range(4)
    ]
    trace = planned(spans)
    assert compare(trace, trace, by="payload")["payload"].tolist() == [0, 1, 2, 3]
    assert compare(trace, trace, by="track")["thread"].tolist() == [0, 32]


def test_ranges_of_one_side_alone_are_counted_not_compared() -> None:
    frame = compare(pair(100, 100), pair(100, 100, names=("a", "c"))).set_index("name")
    assert frame.loc[["b", "c"], ["only_a", "only_b"]].to_numpy().tolist() == [[2, 0], [0, 2]]
    assert np.isnan(frame.loc["b", "ratio"])


def test_other_grids_are_compared_by_name_and_it_says_so() -> None:
    frame = compare(pair(100, 101), pair(*[200] * 9))
    assert frame.set_index("name").loc["b", "ratio"] == pytest.approx(200 / 100.5)
    assert any("compared as a whole" in note for note in frame.notes)


def test_different_kernels_and_devices_are_said() -> None:
    other = Trace(pair(100).slots, replace(pair(100).table, kernel="other"), replace(pair(100).meta, device="virtual"))
    notes = compare(pair(100), other).notes
    assert any("different kernels, kernel and other" in note for note in notes)
    assert any("different devices" in note for note in notes)


def test_traces_without_a_name_in_common_have_nothing_to_compare() -> None:
    verdict = compare(pair(100), pair(100, names=("c", "d"))).attrs["verdict"]
    assert verdict.startswith("nothing to compare")


@pytest.mark.parametrize(
    ("wrong", "message"), [({"by": "cta"}, "'name', 'payload', 'track'"), ({"least": -1}, "not negative")]
)
def test_a_wrong_option_is_refused_with_what_is_right(wrong, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(pair(100), pair(100), **wrong)


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one trace"):
        compare([], pair(100))


@pytest.mark.parametrize("by", ["name", "payload", "track"])
def test_the_columns_are_the_documented_ones_and_a_figure_is_drawn(by) -> None:
    trace = load(RECORDED / "gemm_3.tltrace")
    frame = compare(trace, load(RECORDED / "dynamic_gemm.tltrace"), by=by)
    assert list(frame) == list(columns.COMPARE)
    assert frame.attrs["verdict"].split(" (")[0] in frame.figure().layout.annotations[0].text.replace("<br>", " ")


def test_the_timelines_of_both_lie_over_each_other_on_one_axis() -> None:
    trace = load(RECORDED / "gemm_3.tltrace")
    drawing = trace.beside(load(RECORDED / "dynamic_gemm.tltrace"), ctas=1).figure()
    assert {bar["yaxis"] for bar in drawing.data} == {"y", "y2"}
    assert drawing.layout.xaxis2.matches == "x"
    assert drawing.layout.yaxis.domain[0] > drawing.layout.yaxis2.domain[1]
    entries = [bar["name"] for bar in drawing.data if bar["showlegend"] is not False]
    assert len(entries) == len(set(entries))


def test_a_name_has_one_colour_in_both_timelines() -> None:
    trace = load(RECORDED / "gemm_3.tltrace")
    drawing = trace.beside(load(RECORDED / "dynamic_gemm.tltrace"), ctas=1).figure()
    for name in ("load", "mma", "store"):
        assert len({bar.marker.color for bar in drawing.data if bar.name == name}) == 1


def test_like_ranges_of_a_track_are_matched_in_order() -> None:
    spans = [Span("a", 100 * i, 100 * i + 10 + i, cta, payload=7) for cta in range(2) for i in range(4)]
    frame = compare(planned(spans), planned(spans))
    assert frame["matched"].tolist() == [8]
    assert not any("compared as a whole" in note for note in frame.notes)


def test_a_launch_that_changed_between_its_ranges_is_not_called_unchanged() -> None:
    def waiting(cycles: int) -> Trace:
        return planned(
            [Span("a", 0, 100, cta) for cta in range(4)]
            + [Span("b", 100 + cycles, 200 + cycles, cta) for cta in range(4)]
        )

    verdict = compare(waiting(0), waiting(1000)).attrs["verdict"]
    assert verdict.startswith("no range changed")
    assert "not in the ranges, but between them" in verdict
    assert "between them" not in compare(waiting(0), waiting(2)).attrs["verdict"]


def test_files_and_folders_of_them_are_compared_as_the_traces_in_them(tmp_path: Path) -> None:
    trace = load(RECORDED / "gemm_3.tltrace")
    for number in range(2):
        trace.save(tmp_path / f"{number}.tltrace")
    one, several = tmp_path / "0.tltrace", [tmp_path / "0.tltrace", trace]
    for a, b in ((one, str(one)), (tmp_path, several), (trace, one)):
        assert compare(a, b).attrs["verdict"] == compare(trace, trace).attrs["verdict"]
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tltrace"):
        compare(trace, tmp_path / "nowhere.tltrace")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty: there is no \.tltrace file in this folder"):
        compare(trace, tmp_path / "empty")
