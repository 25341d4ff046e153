"""``tltrace run --torch-profiler``: the profile of a program, with its traced kernels."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from kineto_form import Program, launched

from tltrace_nb import profiled
from tltrace_nb.cli import main
from tltrace_nb.data.kineto import recording

SCRIPT = """
import sys
import torch
from torch.profiler import record_function

with record_function("the author's own"):
    torch.ones(8, 8) @ torch.ones(8, 8)
if "fail" in sys.argv:
    raise ValueError("as asked")
"""


NO_KERNEL = "the profile has no kernel of that name: was it launched while the profile was recorded?"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_text(SCRIPT)
    return "step.py"


@pytest.mark.parametrize(("arguments", "code"), [((), 0), (("fail",), 1)])
def test_the_profile_of_a_program_is_written_also_when_it_fails(
    script: str, arguments: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--torch-profiler", "--output", "out", script, *arguments]) == code
    err = capsys.readouterr().err
    assert "tltrace: out/step-profile.pftrace.gz: the profile, with 0 of 0 traced launches in it" in err
    assert Path("out/step-profile.pftrace.gz").stat().st_size > 0


def test_without_the_option_there_is_no_profile(script: str, tmp_path: Path) -> None:
    assert main(["run", "--output", "out", script]) == 0
    assert not list(tmp_path.rglob("*.pftrace.gz"))


def test_what_record_function_and_nvtx_name_is_in_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = stand_in(monkeypatch)
    with profiled.profiling() as prof:
        with torch.cuda.nvtx.range("forward {}", 7):
            torch.ones(2)
        with torch.profiler.record_function("backward"):
            torch.cuda.nvtx.range_push("unclosed")
    spans = {span.name: span for span in recording("prof", prof).spans if span.category == "user_annotation"}
    assert {"forward 7", "backward"} <= spans.keys()
    assert pushed == ["forward 7", "unclosed"]


def test_nvtx_ranges_of_threads_are_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    with profiled.profiling():
        torch.cuda.nvtx.range_push("of the first")
        thread = threading.Thread(target=torch.cuda.nvtx.range_pop)  # pops nothing of ours
        thread.start()
        thread.join()
        torch.cuda.nvtx.range_pop()


def test_nvtx_is_as_it_was_behind_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    before = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
    with pytest.raises(ZeroDivisionError), profiled.profiling():
        _ = 1 / 0
    assert (torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop) == before


def test_the_lines_say_which_launches_are_not_in_it(tmp_path: Path) -> None:
    program = Program()
    program.around(launched("add", 300_000), 300_000)
    file = program.write(tmp_path / "p.json")
    traces: Any = [launched("add", 300_000), launched("gemm", 300_000)]
    assert list(profiled.write(file, traces, str(tmp_path), "step")) == [
        f"{tmp_path}/step-profile.pftrace.gz: the profile, with 1 of 2 traced launches in it",
        f"not in the profile: gemm_kernel with grid (8, 8, 1): {NO_KERNEL}",
    ]


def test_what_cannot_be_written_is_a_line(tmp_path: Path) -> None:
    (line,) = profiled.write(Program().write(tmp_path / "p.json"), [], "/dev/null", "step")
    assert line.startswith("the profile could not be written: ")


def stand_in(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """NVTX of torch without CUDA; what was pushed."""
    pushed: list[str] = []
    monkeypatch.setattr(torch.cuda.nvtx, "range_push", lambda msg: pushed.append(msg) or len(pushed))
    monkeypatch.setattr(torch.cuda.nvtx, "range_pop", lambda: 0)
    return pushed
