"""A disk of a few kilobytes, mounted where that is allowed: what fits is there and whole, and nothing fails."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from caching import Build, Compiler
from recordings import RECORDED
from test_file_operations import compiled, recorded

from tltrace_nb import cli, load, trace
from tltrace_nb.core.compile import cache

SIZES = [4 * pages for pages in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 64, 128, 256, 512)]
"""Kilobytes; a kernel of the stand-in takes 36, a trace 8, its page some 400."""


@pytest.fixture(params=SIZES, ids=lambda size: f"{size} kB")
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={request.param}k,mode=700", "tltrace", str(place)]
    try:
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("no disk can be mounted here")
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_kernel_runs_and_is_kept_where_it_fits(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLTRACE_CACHE_DIR", str(disk))
    monkeypatch.delenv("TILELANG_DISABLE_CACHE", raising=False)
    compiler = Compiler()
    for _ in range(3):
        assert cache.cached(Build(), compiler).kernel is not None  # type: ignore[arg-type]
    assert compiler.built in {1, 3}
    assert not [path for path in disk.rglob("*") if path.name.startswith(".")]


@pytest.mark.some(6)
def test_a_run_has_its_outputs_and_files_that_are_whole(disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with trace.tracing(output=str(disk)):
        for _ in range(3):
            assert trace.run(compiled(), (), stem="add") == "output"
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[tltrace] ")]
    assert len(lines) == 3
    assert_whole(disk)


def test_a_program_keeps_its_exit_code(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.py"
    path = str(RECORDED / "add.tltrace")
    script.write_text(f"from tltrace_nb import load, trace\ntrace.captured(load({path!r}))\nraise SystemExit(7)")
    monkeypatch.setenv("TMPDIR", str(disk))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert cli.main(["run", "--device", "virtual", "--output", str(disk / "debug"), str(script)]) == 7
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert "add" in err
    assert_whole(disk)


def assert_whole(disk: Path) -> None:
    for path in disk.rglob("*"):
        assert not path.name.startswith(".")
        if path.suffix == ".tltrace":
            assert len(load(path).events) == len(recorded().events)
        if path.suffix == ".html":
            assert path.read_text().rstrip().endswith("</html>")
