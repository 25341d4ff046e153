"""Traces of several processes, gathered over gloo: clocks with planted skews, ranks that die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tiers
from planned import Span, planned

from tltrace_nb import datasets, load
from tltrace_nb.core.trace import Trace
from tltrace_nb.distributed import GatherError, gather
from tltrace_nb.distributed.gathered import Rank, merge

TESTS = Path(__file__).parents[1]
SCRIPT = TESTS / "distributed" / "ranks.py"


@dataclass(frozen=True)
class Outcome:
    """What rank 0 found, where, and how the processes ended."""

    events: list[dict[str, Any]]
    ranks: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    skew: list[dict[str, Any]]
    first: list[float]
    arrows: list[list[str]]
    ways: list[list[int]]
    lanes: list[str]
    title: str
    folder: Path
    codes: list[int]


def processes(folder: Path, world: int, case: str) -> Outcome:
    paths = [str(TESTS.parent), str(TESTS), str(TESTS / "analysis")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    rest = [str(world), str(folder), case, str(time.monotonic_ns())]
    started = [
        subprocess.Popen([sys.executable, str(SCRIPT), str(rank), *rest], stderr=subprocess.PIPE, env=environment)
        for rank in range(world)
    ]
    said = [process.communicate(timeout=180)[1].decode() for process in started]
    path = folder / "found.json"
    assert path.exists(), "\n".join(said)
    found = json.loads(path.read_text())
    assert found.pop("page") > 1000
    tables = {name: json.loads(found.pop(name)) for name in ("events", "ranks", "pairs", "skew")}
    return Outcome(**tables, **found, folder=folder, codes=[process.returncode for process in started])


SKEWS, DELAYS = (0, 7_000_000, -3_000_000, 123_456_789), (0, 500_000, 250_000, 1_000_000)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return processes(tmp_path_factory.mktemp("four"), 4, "skewed")


def test_all_events_are_there_ordered_by_rank(four: Outcome) -> None:
    assert four.codes == [0, 0, 0, 0]
    assert [row["rank"] for row in four.events] == [0] * 2 + [1] * 3 + [2] * 4 + [3] * 5
    assert [row["name"] for row in four.events] == [f"work {row['rank']}" for row in four.events]


def test_planted_skews_are_recovered_within_the_stated_error(four: Outcome) -> None:
    for row, skew in zip(four.ranks, SKEWS, strict=True):
        assert abs(row["offset_ns"] - skew) <= row["error_ns"]
        assert row["error_ns"] < 50_000_000
        assert row["trouble"] == ""


def test_times_are_on_one_axis_within_the_stated_error(four: Outcome) -> None:
    for start, delay, row in zip(four.first, DELAYS, four.ranks, strict=True):
        assert start == pytest.approx(delay, abs=row["error_ns"] + 1)


def test_the_rank_is_the_outermost_lane(four: Outcome) -> None:
    assert [lane.split(" · ")[0] for lane in four.lanes] == ["rank 0", "rank 1", "rank 2", "rank 3"]


def test_arrows_lead_to_the_same_ranges_as_before(four: Outcome) -> None:
    assert four.arrows == [["work 0", "work 0"]] * 2


def test_each_rank_keeps_its_own_trace_and_rank_0_saves_all(four: Outcome) -> None:
    for folder in ("kept", "saved"):
        assert [len(load(four.folder / folder / f"rank{rank}.tltrace")) for rank in range(4)] == [2, 3, 4, 5]
    assert (four.folder / "saved" / "ranks.csv").read_text().count("\n") == 5


def test_a_trace_that_was_gathered_is_as_it_was_and_can_be_gathered_again() -> None:
    trace = datasets.load("h200/add")
    columns = {name: list(getattr(trace, name)) for name in ("events", "ctas", "flows", "losses")}
    for _ in range(2):
        whole = merge({0: trace}, [Rank(0, len(trace), 0, 0.0)])
        assert {name: ["rank", *kept] for name, kept in columns.items()} == {
            name: list(getattr(whole, name)) for name in columns
        }
    assert {name: list(getattr(trace, name)) for name in columns} == columns


@pytest.mark.wide
def test_when_a_rank_dies_the_others_traces_are_gathered_and_saved(tmp_path: Path) -> None:
    found = processes(tmp_path, 3, "dies")
    assert {row["rank"] for row in found.events} == {0, 2}
    assert found.ranks[1]["trouble"].startswith("rank 1 did not answer")
    assert [path.name for path in sorted((tmp_path / "kept").iterdir())] == ["rank0.tltrace", "rank2.tltrace"]


@pytest.mark.wide
def test_when_a_rank_dies_halfway_the_others_traces_are_gathered(tmp_path: Path) -> None:
    found = processes(tmp_path, 3, "dies while sending")
    assert {row["rank"] for row in found.events} == {0, 2}
    assert found.ranks[1]["trouble"]


@pytest.mark.wide
def test_virtual_gpus_are_gathered_from_a_common_zero(tmp_path: Path) -> None:
    found = processes(tmp_path, 2, "simulated")
    assert found.first == [0, 0]
    assert {row["rank"] for row in found.events} == {0, 1}
    assert [row["error_ns"] for row in found.ranks] == [0, 0]


def talking(rank: int, other: int, times: int = 2) -> Trace:
    """Ranges that write to the other rank and read from it, and one that says nothing of a rank."""
    spans = [
        Span(name, 100 * i + shift, 100 * i + shift + 10, payload=other)
        for i in range(times)
        for shift, name in ((0, "write"), (50, "read"))
    ]
    return planned([*spans, Span("write", 900, 910)])


def test_the_i_th_write_leads_to_the_i_th_read_of_the_other_rank() -> None:
    whole = merge({0: talking(0, 1), 1: talking(1, 0)}, [Rank(0, 5, 0, 0.0), Rank(1, 5, 0, 1.0)], {"write": "read"})
    shown = whole.events.loc[whole.flows["dst"], ["rank", "start"]].to_numpy().tolist()
    assert shown == [[1, 50], [1, 150], [0, 50], [0, 150]]
    assert whole.flows["rank"].tolist() == [0, 0, 1, 1]
    assert whole.flows.dtypes.astype(str).tolist() == ["int32"] * 3 + ["category"] * 2 + ["int32"]


def test_a_write_that_nobody_has_read_has_no_arrow() -> None:
    traces = {0: talking(0, 1, times=3), 1: talking(1, 0, times=1)}
    whole = merge(traces, [Rank(0, 7, 0, 0.0), Rank(1, 3, 0, 1.0)], {"write": "read"})
    assert whole.flows["rank"].tolist() == [0, 1]


def test_arrows_of_ranges_that_are_not_there_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    whole = merge({0: talking(0, 1), 1: talking(1, 0)}, [Rank(0, 5, 0, 0.0), Rank(1, 5, 0, 1.0)], {"wrote": "read"})
    assert whole.flows.empty
    assert "there is no range 'wrote' whose payload is the rank at its other end" in capsys.readouterr().err


def test_ranks_of_one_cta_each_are_drawn_on_their_common_axis() -> None:
    whole = merge({0: talking(0, 1), 1: talking(1, 0)}, [Rank(0, 5, 0, 0.0), Rank(1, 5, 0, 1.0)])
    assert whole.figure().layout.xaxis.title.text == "ns since the first CTA's entry"
    assert whole.timeline().view["unit"] == "ns"


def test_times_since_1970_lose_nothing_when_ranks_are_aligned() -> None:
    now = 1_764_000_000_000_000_001
    rows = [Rank(0, 5, 0, 0.0, now), Rank(1, 5, 7_000, 1.0, now + 7_013)]
    whole = merge({0: talking(0, 1), 1: talking(1, 0)}, rows)
    assert whole.ctas.groupby("rank")["start_ns"].min().tolist() == [0, 13]


def test_a_rank_whose_clock_nobody_knows_begins_with_the_first_and_the_views_say_so() -> None:
    whole = merge({0: talking(0, 1), 1: talking(1, 0)}, [Rank(0, 5, 0, 0.0, 10**18), Rank(1, 5)])
    assert whole.ctas.groupby("rank")["start_ns"].min().tolist() == [0, 0]
    assert whole.title.endswith("2 ranks, clocks not compared")
    assert whole.title in whole.meta.note
    assert whole.ranks["error_ns"].isna().tolist() == [False, True]


# ---- GPUs that compare their clocks themselves


AHEAD, PPM, LATE = 100_000, 5e-6, 1_000


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return processes(tmp_path_factory.mktemp("several"), 8 if tiers.wide else 3, "one host")


@pytest.mark.wide
def test_the_gpus_of_a_host_are_aligned_within_a_microsecond(several: Outcome) -> None:
    assert [row["clock"] for row in several.ranks] == ["", *["GPU"] * (len(several.ranks) - 1)]
    for rank, row in enumerate(several.ranks):
        assert abs(row["offset_ns"] - rank * AHEAD) <= row["error_ns"] + 1
        assert row["error_ns"] < 1_000


def test_launches_are_late_by_what_they_are_within_the_stated_error(several: Outcome) -> None:
    world = len(several.ranks)
    assert [(row["launch"], row["rank"]) for row in several.skew] == [
        (n, rank) for n in range(2) for rank in range(world)
    ]
    for row in several.skew:
        assert row["skew_ns"] == pytest.approx(LATE * row["rank"], abs=row["error_ns"] + 1)
        assert row["error_ns"] < 1_000 if row["launch"] == 0 else row["error_ns"] < 2_000


def test_two_ranks_are_as_far_off_as_each_is_from_the_first_of_their_host(several: Outcome) -> None:
    error = [row["error_ns"] for row in several.ranks]
    assert len(several.pairs) == len(error) * (len(error) - 1) / 2
    for pair in several.pairs:
        assert pair["error_ns"] == pytest.approx(error[pair["rank"]] + error[pair["other"]])


def test_arrows_lead_from_the_rank_that_writes_to_the_rank_that_reads(several: Outcome) -> None:
    world = len(several.ranks)
    assert several.arrows == [["write", "read"]] * world
    assert sorted(several.ways) == [[rank, (rank + 1) % world] for rank in range(world)]


def test_views_say_how_far_times_may_be_off(several: Outcome) -> None:
    worst = max(pair["error_ns"] for pair in several.pairs)
    assert f"{len(several.ranks)} ranks, clocks within ± " in several.title
    assert f"{worst / 1000:.1f}"[:2] in several.title


@pytest.mark.wide
def test_ranks_of_another_host_are_as_far_off_as_its_first_and_near_to_each_other(tmp_path: Path) -> None:
    found = processes(tmp_path, 4, "two hosts")
    assert [(row["host"], row["clock"]) for row in found.ranks[1:]] == [
        ("host 0", "GPU"),
        ("host 1", "host"),
        ("host 1", "GPU"),
    ]
    error = {(pair["rank"], pair["other"]): pair["error_ns"] for pair in found.pairs}
    assert error[2, 3] < 1_000 < error[1, 2] < error[1, 3]
    for rank, row in enumerate(found.ranks):
        assert abs(row["offset_ns"] - rank * AHEAD) <= row["error_ns"] + 1


@pytest.mark.wide
def test_gpus_that_cannot_reach_each_other_are_compared_through_the_host(tmp_path: Path) -> None:
    found = processes(tmp_path, 2, "unreachable")
    row = found.ranks[1]
    assert row["clock"] == "host"
    assert abs(row["offset_ns"] - AHEAD) <= row["error_ns"] < 50_000_000


@pytest.mark.wide
def test_a_rank_that_leaves_a_block_with_an_error_is_not_waited_for_and_can_gather(tmp_path: Path) -> None:
    found = processes(tmp_path, 3, "leaves")
    assert found.codes == [0, 0, 0]
    assert [row["trouble"] for row in found.ranks] == ["", "", ""]
    for row, skew in zip(found.ranks, SKEWS[:3], strict=True):
        assert abs(row["offset_ns"] - skew) <= row["error_ns"]


def test_without_a_process_group_it_says_what_to_do() -> None:
    with pytest.raises(GatherError, match="init_process_group"):
        gather(datasets.load("h200/gemm"))
