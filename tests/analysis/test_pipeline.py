"""Iterations of a pipelined loop, against pipelines whose stages are known, recorded and simulated ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels.gemm import pipelined
from planned import Span, planned
from recordings import RECORDED
from tiers import examples

from tltrace_nb import load
from tltrace_nb.analysis import columns
from tltrace_nb.core.runtime.virtual import simulate
from tltrace_nb.core.trace import Trace


@dataclass(frozen=True)
class Loop:
    """A producer that issues copies into ``stages`` buffers, a consumer that uses them when they have come."""

    stages: int
    issues: tuple[int, ...]
    uses: tuple[int, ...]
    flight: int

    def table(self) -> pd.DataFrame:
        rows: list[dict[str, int]] = []
        for i, (issue, use) in enumerate(zip(self.issues, self.uses, strict=False)):
            free = rows[i - self.stages]["done"] if i >= self.stages else 0
            start = max(rows[-1]["issued"] if rows else 0, free)
            ready = start + issue + self.flight
            begin = max(rows[-1]["done"] if rows else 0, ready)
            rows.append({"issue": start, "issued": start + issue, "ready": ready, "use": begin, "done": begin + use})
        return pd.DataFrame(rows)

    def trace(self) -> Trace:
        spans = []
        for i, row in self.table().iterrows():
            spans.append(Span("load", row["issue"], row["issued"], payload=int(i)))
            spans.append(Span("mma", row["use"], row["done"], thread=128, payload=int(i)))
        return planned(spans, flows=[("load", "mma")])


LOOPS = st.integers(1, 8).flatmap(
    lambda n: st.builds(
        Loop,
        st.integers(1, 4),
        st.lists(st.integers(1, 40), min_size=n, max_size=n).map(tuple),
        st.lists(st.integers(1, 200), min_size=n, max_size=n).map(tuple),
        st.integers(0, 300),
    )
)


@settings(max_examples=examples(60), deadline=None)
@given(LOOPS)
def test_issue_readiness_use_and_bubbles_are_those_of_the_schedule(loop: Loop) -> None:
    frame, truth = loop.trace().pipeline(), loop.table()
    for column in ("issue", "issued", "use", "done"):
        assert frame[column].tolist() == truth[column].tolist()
    # The first copy is always waited for, so its flight is seen.
    assert frame["ready"].tolist() == truth["ready"].tolist()
    waited = (truth["ready"] - truth["done"].shift()).clip(lower=0)
    assert frame["bubble"].tolist()[1:] == waited.tolist()[1:]
    assert frame["gap"].tolist()[1:] == waited.tolist()[1:]
    assert frame["bubble"].isna().tolist() == [True] + [False] * (len(truth) - 1)


@settings(max_examples=examples(60), deadline=None)
@given(LOOPS)
def test_ahead_counts_what_is_issued_and_not_yet_used(loop: Loop) -> None:
    frame, truth = loop.trace().pipeline(), loop.table()
    for i, row in enumerate(truth.itertuples()):
        assert frame["ahead"].iloc[i] == (truth["issue"] <= row.use).sum() - i - 1


@settings(max_examples=examples(40), deadline=None)
@given(LOOPS)
def test_overlap_is_the_consumers_work_while_the_data_were_on_their_way(loop: Loop) -> None:
    frame, truth = loop.trace().pipeline(), loop.table()
    busy = np.zeros(int(truth["done"].max()), bool)
    for row in truth.itertuples():
        busy[row.use : row.done] = True
    assert frame["overlap"].tolist() == [busy[row.issue : row.ready].sum() for row in truth.itertuples()]


def test_a_wait_lets_go_when_the_data_are_ready() -> None:
    spans = []
    for i, (start, end) in enumerate([(0, 100), (150, 170), (220, 300)]):
        spans += [Span("load", 50 * i, 50 * i + 10, payload=i), Span("wait", start, end, thread=128),
                  Span("mma", end, end + 50, thread=128, payload=i)]  # fmt: skip
    frame = planned(spans, flows=[("load", "mma")]).pipeline(wait="wait", passing=20)
    assert frame["bubble"].tolist()[1:] == [0, 60]
    assert frame["ready"].tolist() == [80, 150, 280]
    assert frame["gap"].tolist()[1:] == [20, 80]


def test_what_a_passing_wait_takes_is_the_gpu_models() -> None:
    frame = load(RECORDED / "specialised_gemm.tltrace").pipeline("load", "mma", wait="wait full")
    assert any("79 cycles" in note for note in frame.notes)
    assert frame["bubble"].max() < 250


def test_names_given_take_the_place_of_arrows() -> None:
    spans = [Span("in", 0, 10), Span("out", 10, 20, thread=32), Span("in", 20, 30), Span("out", 30, 40, thread=32)]
    frame = planned(spans).pipeline("in", "out")
    assert frame[["producer", "consumer", "iteration"]].to_numpy().tolist() == [["in", "out", 0], ["in", "out", 1]]


def test_without_arrows_the_only_repeated_names_of_the_roles_are_paired_in_words() -> None:
    spans = [Span("load", 10 * i, 10 * i + 5) for i in range(3)] + [
        Span("mma", 10 * i + 5, 10 * i + 9, thread=32) for i in range(3)
    ]
    frame = planned(spans, roles={0: "producer", 32: "consumer"}).pipeline()
    assert len(frame) == 3
    assert any("'load' and 'mma'" in note for note in frame.notes)


def test_without_arrows_roles_and_names_it_says_what_to_do() -> None:
    frame = planned([Span("a", 0, 10), Span("b", 10, 20)]).pipeline()
    assert frame.empty
    assert any("producer=" in note for note in frame.notes)
    assert "producer=" in frame.figure().layout.annotations[0].text


def test_one_name_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="both"):
        planned([Span("a", 0, 10)]).pipeline("a")


def test_iterations_without_a_partner_are_left_out_in_words() -> None:
    spans = [Span("load", 0, 10), Span("load", 10, 20), Span("mma", 30, 40, thread=32)]
    frame = planned(spans).pipeline("load", "mma")
    assert len(frame) == 1
    assert any("1 ranges" in note and "no partner" in note for note in frame.notes)


def test_pairs_of_different_payloads_are_said() -> None:
    spans = [Span("load", 0, 10, payload=1), Span("mma", 30, 40, thread=32, payload=0)]
    assert any("different payloads" in note for note in planned(spans).pipeline("load", "mma").notes)


def test_the_columns_are_the_documented_ones() -> None:
    assert list(load(RECORDED / "gemm.tltrace").pipeline()) == list(columns.PIPELINE)


@cache
def simulated(gpu: str, stages: int) -> pd.DataFrame:
    a, b = np.zeros((256, 512), np.float16), np.zeros((512, 256), np.float16)
    return simulate(pipelined(stages), [a, b], gpu=gpu, functional=False)[1].pipeline()


@pytest.mark.parametrize("gpu", ["h200", pytest.param("a100", marks=pytest.mark.wide)])
def test_more_stages_leave_fewer_bubbles_until_they_vanish(gpu: str) -> None:
    bubbles = [simulated(gpu, stages)["bubble"].mean() for stages in (1, 2, 3, 4)]
    assert bubbles[0] > 300
    assert bubbles[0] > 2 * bubbles[1]
    assert bubbles[1] >= bubbles[2] >= bubbles[3]
    assert bubbles[2] == bubbles[3] == 0


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_the_producer_runs_ahead_by_less_than_the_stages(stages: int) -> None:
    assert simulated("h200", stages)["ahead"].max() == stages - 1


def test_a_recorded_gemm_of_three_stages_has_no_bubbles_and_one_of_two_has() -> None:
    assert load(RECORDED / "gemm.tltrace").pipeline()["bubble"].mean() < 1
    assert load(RECORDED / "dynamic_gemm.tltrace").pipeline()["bubble"].mean() > 50


def test_on_the_card_too_the_bubbles_get_fewer_with_the_stages_until_they_vanish() -> None:
    one, two, three, four = (load(RECORDED / f"pipeline_{n}.tltrace").pipeline()["bubble"].mean() for n in (1, 2, 3, 4))
    assert one > 8 * two
    assert two > 20 * three
    assert four == 0


def test_the_figure_tells_the_mean_bubble() -> None:
    drawing = load(RECORDED / "gemm.tltrace").pipeline().figure()
    assert "cycles an iteration" in drawing.layout.title.text
    assert len(drawing.data) == 2
