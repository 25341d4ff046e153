"""The clocks of two GPUs, compared by the GPUs: with two of them, and on one, where the true offset is 0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from kernels import talking
from two_streams import StreamPair

ROOT = Path(__file__).parents[2]
two_gpus = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
one_gpu = pytest.mark.skipif(torch.cuda.device_count() != 1, reason="both ranks would have a GPU of their own")


@pytest.fixture(scope="module")
def pair() -> StreamPair:
    return StreamPair()


def ranks(folder: Path, launches: int) -> list[dict[str, Any]]:
    """What rank 0 of two finds; see ``talking_ranks.py``."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    paths = [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    run = subprocess.run(
        [*command, str(Path(__file__).with_name("talking_ranks.py")), str(folder), str(launches)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found: list[dict[str, Any]] = json.loads((folder / "found.json").read_text())
    return found


def test_the_offset_of_a_gpu_from_itself_is_0_within_the_stated_error(pair: StreamPair) -> None:
    for _ in range(20):
        offset = pair.compare()
        assert abs(offset.ns) <= offset.error_ns < 10_000


def test_a_gpu_that_nobody_answers_leaves_by_itself(pair: StreamPair) -> None:
    assert len(pair.alone().sent) == 0


def test_on_one_gpu_a_write_is_never_shown_after_the_read_of_it(pair: StreamPair) -> None:
    for _ in range(10):
        whole = pair.talk()
        found = talking.lags(whole)
        assert len(found) == 2 * talking.ITERATIONS
        assert (found > 0).all()
        assert pair.right()


@one_gpu
def test_two_processes_on_one_gpu_reach_each_other_s_memory(tmp_path: Path) -> None:
    for found in ranks(tmp_path, 2):
        assert (found["clock"], found["trouble"]) == ("GPU", "")
        assert abs(found["offset_ns"]) <= found["error_ns"]


@two_gpus
def test_two_gpus_are_aligned_to_a_microsecond_and_show_no_write_after_its_read_10_000_times(tmp_path: Path) -> None:
    launches = ranks(tmp_path, 50)
    assert sum(found["messages"] for found in launches) == 10_000
    assert [found["after"] for found in launches] == [0] * 50
    assert {found["clock"] for found in launches} == {"GPU"}
    assert max(found["error_ns"] for found in launches) <= 1000
