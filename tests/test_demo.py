"""``python -m tltrace_nb.demo`` where there is no GPU."""

from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import Rec, build, span, table

from tltrace_nb import Trace, demo

TABLE = table(*span(0, "copy"), capacity=64)


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "cuda_device", lambda: None)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A folder with an older and a newer trace, and a file that is none."""
    folder = tmp_path / "datasets"
    folder.mkdir()
    records = [Rec(0, 0, 1100 + 100 * n, n % 2, n // 2) for n in range(40)]
    for name, year in (("a_newer", 2026), ("older", 2025)):
        made = Trace(build(TABLE, records), TABLE)
        made.meta = replace(made.meta, captured=f"{year}-01-01T00:00:00+00:00")
        made.save(folder / f"{name}.tltrace")
    (folder / "broken.tltrace").write_text("not a zip")
    return folder


@pytest.mark.smoke
def test_the_newest_trace_is_printed_and_drawn(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    assert demo.main(["--output", str(out)], recorded) == 0
    printed = capsys.readouterr()
    assert "No CUDA device here" in printed.out
    assert "With one, this command traces a GEMM on it, live." in printed.out
    assert printed.out.count("copy") > demo.ROWS
    assert "... 8 more" in printed.out
    assert f"Wrote the timeline to {out / 'a_newer.html'}" in printed.out
    assert "Other recorded traces, for --trace NAME: older" in printed.out
    assert "broken.tltrace" in printed.err
    assert (out / "a_newer.html").stat().st_size > 1_000_000


def test_a_trace_is_chosen_by_name(recorded: Path, tmp_path: Path) -> None:
    assert demo.main(["--output", str(tmp_path), "--trace", "older"], recorded) == 0
    assert (tmp_path / "older.html").exists()


def test_an_unknown_name_lists_the_right_ones(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--trace", "none"], recorded) == 2
    assert "there are: a_newer, older" in capsys.readouterr().err


def test_without_recorded_traces_it_says_so_and_succeeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--output", str(tmp_path)], tmp_path / "missing") == 0
    assert "No recorded traces" in capsys.readouterr().out
