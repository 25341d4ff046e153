"""Traces of two cards, gathered under torchrun over NCCL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
NEAR_NS = 50e6
"""Kernels that begin after one barrier, with the host's own delays between them."""


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_two_ranks_over_nccl_are_on_one_axis(tmp_path: Path) -> None:
    script = Path(__file__).with_name("nccl_ranks.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    run = subprocess.run(
        [*command, str(script), str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["backend"], found["world"]) == ("nccl", 2)
    assert found["counts"] == [found["mine"]] * 2
    assert all("NVIDIA" in gpu for gpu in found["gpus"])
    assert [rank["trouble"] for rank in found["ranks"]] == ["", ""]
    assert 0 < found["ranks"][1]["error_ns"] < 1e6
    assert min(found["first"]) == 0
    assert max(found["first"]) < NEAR_NS
