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
def test_without_a_gpu_a_gemm_is_traced_on_the_virtual_one(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    assert demo.main(["--output", str(out)], recorded) == 0
    printed = capsys.readouterr()
    assert "on the virtual GPU (h200 model)." in printed.out
    assert printed.out.count("load ") > demo.ROWS // 2
    assert "more in trace.events" in printed.out
    assert f"Wrote the timeline to {out / 'gemm.html'}" in printed.out
    assert "With a CUDA device this command traces the same kernel there." in printed.out
    assert "for --trace NAME: a_newer, older." in printed.out
    assert "broken.tltrace" in printed.err
    assert "virtual GPU" in (out / "gemm.html").read_text()


def test_a_trace_is_chosen_by_name(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--output", str(tmp_path), "--trace", "older"], recorded) == 0
    assert (tmp_path / "older.html").stat().st_size > 100_000
    assert "... 8 more" in capsys.readouterr().out


def test_recorded_traces_have_the_names_that_datasets_gives_them(tmp_path: Path) -> None:
    assert demo.main(["--output", str(tmp_path), "--trace", "h200/attention"]) == 0
    assert (tmp_path / "attention.html").exists()


def test_an_unknown_name_lists_the_right_ones(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--trace", "none"], recorded) == 2
    assert "for --trace NAME: a_newer, older." in capsys.readouterr().err


def test_without_recorded_traces_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--trace", "any"], tmp_path / "missing") == 2
    assert "for --trace NAME: none." in capsys.readouterr().err
