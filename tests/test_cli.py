"""The command line: what is printed where, and the exit codes."""

from __future__ import annotations

import subprocess
import sys
import webbrowser
from importlib.resources import files
from pathlib import Path

import pytest

from tltrace_nb import __version__, cli, load
from tltrace_nb.cli import FORMATS, main

GEMM = Path(str(files("tltrace_nb"))) / "datasets" / "h200" / "gemm.tltrace"
ADD = GEMM.with_name("add.tltrace")


def test_summary_prints_the_trace_and_its_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", str(GEMM)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Trace of gemm on cuda (NVIDIA H200): 4,160 events, 64 CTAs")
    said, _, table = out.partition("\n\n")
    assert said.splitlines()[-1] == "  the demo's pipelined GEMM, specialised by TileLang"
    assert [line.split()[:2] for line in table.splitlines()] == [
        ["name", "count"],
        ["mma", "2,048"],
        ["load", "2,048"],
        ["store", "64"],
    ]
    assert err == ""


def test_summary_of_a_folder_is_that_of_each_trace_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.tltrace").write_bytes(ADD.read_bytes())
    (tmp_path / "notes.txt").write_text("no trace")
    assert main(["summary", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [f"{tmp_path / name}:" for name in ("a.tltrace", "b.tltrace")]
    assert [line for line in lines if line.endswith(":")] == heads
    assert sum(line.startswith("Trace of ") for line in lines) == 2


def test_summary_of_a_folder_without_traces_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert failure(["summary", str(tmp_path)], capsys) == f"{tmp_path}: there is no .tltrace file in this folder"


@pytest.mark.parametrize("name", ["t.html", "t.pftrace", "t.pftrace.gz", "t.json", "t.JSON.gz", "t.svg"])
def test_convert_goes_by_the_suffix_and_prints_the_path(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / name
    assert main(["convert", str(ADD), str(out)]) == 0
    assert capsys.readouterr() == (f"{out}\n", "")
    assert out.stat().st_size > 0
    assert (out.read_bytes()[:2] == b"\x1f\x8b") == name.endswith("gz")


@pytest.mark.parametrize(("name", "magic"), [("t.parquet", b"PAR1"), ("t.png", b"\x89PNG")])
def test_convert_writes_what_needs_a_package(name: str, magic: bytes, tmp_path: Path) -> None:
    pytest.importorskip({"t.parquet": "pyarrow", "t.png": "resvg_py"}[name])
    assert main(["convert", str(ADD), str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_convert_takes_a_format_by_name(tmp_path: Path) -> None:
    out = tmp_path / "picture"
    assert main(["convert", "--to", "svg", str(ADD), str(out)]) == 0
    assert out.read_text().startswith("<svg")


def test_every_format_of_a_trace_can_be_asked_for() -> None:
    assert [each.name for each in FORMATS] == ["html", "perfetto", "chrome", "parquet", "svg", "png"]


def test_open_writes_a_page_and_hands_it_to_the_browser(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    assert main(["open", str(ADD)]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert opened == [page.as_uri()]
    assert "<title>add</title>" in page.read_text(encoding="utf-8")


def test_open_without_a_browser_says_where_the_page_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert main(["open", str(ADD)]) == 1
    out, err = capsys.readouterr()
    assert err == f"tltrace: found no browser to start; open {out.strip()} in one\n"


def failure(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    """The one line on stderr of a command that fails, without the program's name."""
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("tltrace: ")
    return line.removeprefix("tltrace: ")


def test_a_missing_file_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.tltrace"
    assert failure(["summary", str(path)], capsys) == f"{path}: No such file or directory"


def test_a_file_that_is_no_trace_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.tltrace"
    path.write_text("no zip")
    for command in (["summary"], ["open"]):
        assert failure([*command, str(path)], capsys).startswith(f"{path}: not a sound .tltrace file")


def test_a_suffix_that_tells_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = failure(["convert", str(ADD), str(tmp_path / "t.tltrace")], capsys, code=2)
    assert "its suffix tells no kind of file; give one of .html .htm .pftrace" in message
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "nowhere" / "t.svg"
    assert failure(["convert", str(ADD), str(out)], capsys) == f"{out}: No such file or directory"


@pytest.mark.parametrize(("package", "name"), [("pyarrow", "t.parquet"), ("resvg_py", "t.png")])
def test_a_missing_package_is_said(
    package: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    message = failure(["convert", str(ADD), str(tmp_path / name)], capsys)
    assert f"need {package}, which is not installed: pip install 'tltrace-nb[" in message


@pytest.mark.parametrize("arguments", [[], ["show", "x"], ["convert", "x"], ["convert", "x", "y", "--to", "pdf"]])
def test_a_wrong_command_line_has_a_code_of_its_own(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "usage: tltrace" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_are_no_errors(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([option]) == 0
    assert capsys.readouterr().out.startswith(
        {"--help": "usage: tltrace", "--version": f"tltrace {__version__}"}[option]
    )


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_load", interrupted)
    assert main(["summary", str(ADD)]) == 130
    assert capsys.readouterr().err == ""


def test_a_fault_of_our_own_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_load", lambda path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["summary", str(ADD)])


def test_a_reader_that_stops_early_is_no_error() -> None:
    command = f"{sys.executable} -m tltrace_nb.cli summary {GEMM} | true; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_it_needs_neither_the_compiler_nor_a_gpu() -> None:
    code = (
        "import sys; from tltrace_nb.cli import main; main(sys.argv[1:])\n"
        "sys.exit('tilelang' in sys.modules or 'torch' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code, "summary", str(ADD)], capture_output=True, check=False)
    assert ran.returncode == 0


def test_the_converted_trace_is_the_file_s(tmp_path: Path) -> None:
    out = tmp_path / "t.svg"
    main(["convert", str(ADD), str(out)])
    assert out.read_text() == load(ADD).to_svg(tmp_path / "again.svg").read_text()
