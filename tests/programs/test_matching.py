"""What counts as a difference between a traced run and what was expected of it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from programs import __main__ as command
from programs.header import HeaderError, Program, read
from programs.matching import differences
from programs.running import CUDA, PLAIN, VIRTUAL, Outcome, Run, ways_on

GEMM = Path(str(files("tltrace_nb"))) / "datasets" / "h200" / "gemm.tltrace"
"""64 CTAs, each with 32 loads, 32 products and a store."""

HELD = "marked gemm: launches=1 ctas=64 load=2048 mma=2048 store=64"


def program(tmp_path: Path, *header: str) -> Program:
    path = tmp_path / "script.py"
    lines = [f"# {line}\n" for line in ("device: card", *header)]
    path.write_text("".join(lines) + "print(1)\n", encoding="utf-8")
    return read(path)


def ended(tmp_path: Path, way: str = PLAIN, traces: int = 0, **fields: object) -> Run:
    folder = tmp_path / "traces"
    for number in range(traces):
        folder.mkdir(exist_ok=True)
        shutil.copy(GEMM, folder / f"gemm_{number}.tltrace")
    return replace(Run(way, 0, "ok\n", "", 1.0, False, folder), **fields)


def test_a_run_that_is_as_predicted_differs_in_nothing(tmp_path: Path) -> None:
    assert differences(program(tmp_path, HELD), ended(tmp_path, "run", 1), ended(tmp_path)) == []


def test_an_exit_code_differs_from_the_header_s(tmp_path: Path) -> None:
    script = program(tmp_path, "exit: 3")
    assert differences(script, ended(tmp_path), ended(tmp_path)) == ["exit code 0, not 3"]
    assert differences(script, ended(tmp_path, code=3), ended(tmp_path, code=3)) == []


def test_a_line_on_stdout_too_many_or_too_few_differs(tmp_path: Path) -> None:
    found = differences(program(tmp_path), ended(tmp_path, stdout="ok\nwrote it\n"), ended(tmp_path))
    assert found == ["stdout: +wrote it"]
    assert differences(program(tmp_path), ended(tmp_path, stdout=""), ended(tmp_path)) == ["stdout: -ok"]


def test_what_varies_is_left_out_of_the_comparison(tmp_path: Path) -> None:
    script = program(tmp_path, r"varies: in \d+s", "varies: ^log .*")
    basis, run = ended(tmp_path, stdout="ok in 3s\n\nend\n"), ended(tmp_path, stdout="log 1\nok in 7s\n\nlog 2\nend\n")
    assert differences(script, run, basis) == []
    assert differences(script, replace(run, stdout="ok in 7s\nend\n"), basis) == ["stdout: -"]


def test_what_tilelang_says_that_it_compiles_is_not_the_program_s(tmp_path: Path) -> None:
    line = "2026-11-30 09:48:24  [TileLang:tilelang.jit.kernel:INFO] (kernel.py:137): TileLang begins to compile"
    assert differences(program(tmp_path), ended(tmp_path, stdout="ok\n"), ended(tmp_path, stdout=f"{line}\nok\n")) == []


def test_the_error_of_a_program_that_fails_is_its_own(tmp_path: Path) -> None:
    script = program(tmp_path, "exit: 1")
    own = 'Traceback (most recent call last):\n  File "script.py", line 1\nValueError: mine\n'
    basis = ended(tmp_path, code=1, stderr=f"a warning\n{own}")
    same = ended(tmp_path, "run", code=1, stderr=f"{own}tltrace: wrote it\n")
    assert differences(script, same, basis) == []
    ours = own.replace("  File", '  File "cli.py", line 9\n  File', 1)
    (found,) = differences(script, replace(same, stderr=ours), basis)
    assert found.startswith("stderr does not have the program's own 'Traceback")


def test_what_tltrace_run_says_is_not_the_programs(tmp_path: Path) -> None:
    script, own = program(tmp_path, "exit: 3"), "too slow\n"
    basis = ended(tmp_path, "run", code=3, stderr=f"{own}tltrace: half  2 events  a.tltrace\n")
    assert differences(script, ended(tmp_path, "auto", code=3, stderr=f"{own}tltrace: half  4 events\n"), basis) == []


def test_the_last_line_on_stderr_of_a_program_that_exits_is_its_own(tmp_path: Path) -> None:
    script = program(tmp_path, "exit: 3")
    basis = ended(tmp_path, code=3, stderr="too slow\n")
    assert differences(script, ended(tmp_path, "run", code=3, stderr="too slow\nwrote it\n"), basis) == []
    assert differences(script, ended(tmp_path, "run", code=3), basis) == [
        "stderr does not have the program's own 'too slow'"
    ]


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("marked gemm: ctas=63", "gemm_0.tltrace: gemm: ctas: 64, not 63"),
        ("marked gemm: load=1", "gemm_0.tltrace: gemm: 'load': 2048, not 1"),
        ("marked gemm: 'wait *'=1+", "gemm_0.tltrace: gemm: 'wait *': 0, not 1 or more"),
        ("marked other: ctas=1+", "gemm_0.tltrace: kernel gemm is not predicted"),
    ],
)
def test_a_trace_that_is_not_as_predicted_is_told(header: str, told: str, tmp_path: Path) -> None:
    assert differences(program(tmp_path, header), ended(tmp_path, "run", 1), ended(tmp_path))[0] == told


def test_a_kernel_without_a_trace_is_told(tmp_path: Path) -> None:
    found = differences(program(tmp_path, HELD), ended(tmp_path, "run"), ended(tmp_path))
    assert found == ["no trace of gemm with 64 CTAs has the marked events"]


def test_more_traces_than_launches_are_told(tmp_path: Path) -> None:
    found = differences(program(tmp_path, HELD), ended(tmp_path, "run", 2), ended(tmp_path))
    assert found == ["2 traces of gemm with 64 CTAs, which is launched 1 times"]


def test_a_trace_is_as_one_of_several_grids(tmp_path: Path) -> None:
    script = program(tmp_path, HELD, "marked gemm: ctas=8")
    found = differences(script, ended(tmp_path, "run", 1), ended(tmp_path))
    assert found == ["no trace of gemm with 8 CTAs has the marked events"]


def test_automatic_events_are_looked_for_only_where_markers_are_automatic(tmp_path: Path) -> None:
    script = program(tmp_path, HELD, "auto gemm: 'fill *'=64")
    assert differences(script, ended(tmp_path, "run", 1), ended(tmp_path)) == []
    found = differences(script, ended(tmp_path, "auto", 1), ended(tmp_path))
    assert found[0] == "gemm_0.tltrace: gemm: 'fill *': 0, not 64"


def test_a_program_that_was_stopped_says_so(tmp_path: Path) -> None:
    found = differences(program(tmp_path), ended(tmp_path, timed_out=True, seconds=300.0), ended(tmp_path))
    assert found == ["still running after 300 s"]


@pytest.mark.parametrize(
    ("line", "told"), [("auto gemm: ctas", "'ctas' is not NAME=COUNT"), ("kernel: gemm", "'kernel' is none of")]
)
def test_a_header_that_cannot_be_read_names_its_line(line: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(HeaderError, match=rf"script\.py:2: {told}"):
        program(tmp_path, line)


def test_untraced_code_needs_a_card() -> None:
    assert ways_on(CUDA) == ("plain", "run", "auto", "all")
    assert ways_on(VIRTUAL) == ("run", "auto", "all")
    assert ways_on(CUDA, ("auto", "plain")) == ("plain", "auto")


def test_the_command_prints_a_table_keeps_the_figures_and_fails_where_anything_differed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fabricated(script: Program, ways: tuple[str, ...], device: str) -> list[Outcome]:
        wrong = ("exit code 1, not 0",) if script.name == "raises" else ()
        return [Outcome(script.name, way, device, 2.0, 1.0, wrong, "its stderr\n") for way in ways]

    monkeypatch.setattr(command, "outcomes", fabricated)
    kept = tmp_path / "figures.json"
    common = ["--device", "virtual", "--ways", "run", "--json", str(kept)]
    assert command.main([*common, "gemm_plain"]) == 0
    assert command.main([*common, "gemm_plain", "raises"]) == 1
    out = capsys.readouterr().out
    assert "gemm_plain  ok 2.0 s ×1.00" in out
    assert "raises, run:\n  exit code 1, not 0\n  | its stderr" in out
    assert [(row["program"], row["ok"]) for row in json.loads(kept.read_text())] == [
        ("gemm_plain", True),
        ("raises", False),
    ]


def test_the_command_knows_its_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["unheard_of"]) == 2
    assert "there is no program 'unheard_of'" in capsys.readouterr().err
