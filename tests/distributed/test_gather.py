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

from tltrace_nb import datasets, load
from tltrace_nb.distributed import GatherError, _Rank, gather, merge

TESTS = Path(__file__).parents[1]
SCRIPT = TESTS / "distributed" / "ranks.py"


@dataclass(frozen=True)
class Outcome:
    """What rank 0 found, where, and how the processes ended."""

    events: list[dict[str, Any]]
    ranks: list[dict[str, Any]]
    first: list[float]
    arrows: list[list[str]]
    lanes: list[str]
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
    tables = {name: json.loads(found.pop(name)) for name in ("events", "ranks")}
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
        whole = merge({0: trace}, [_Rank(0, len(trace), 0.0, 0.0, 0)])
        assert {name: ["rank", *kept] for name, kept in columns.items()} == {
            name: list(getattr(whole, name)) for name in columns
        }
    assert {name: list(getattr(trace, name)) for name in columns} == columns


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


def test_without_a_process_group_it_says_what_to_do() -> None:
    with pytest.raises(GatherError, match="init_process_group"):
        gather(datasets.load("h200/gemm"))
