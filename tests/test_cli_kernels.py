"""The command line where kernels run: ``tltrace run``, and ``tltrace compare`` of what it dumped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tltrace_nb import load, trace
from tltrace_nb.cli import main

SCRIPT = """
import sys
import tilelang
import tilelang.language as T
import torch

@tilelang.jit(out_idx=[-1])
def scale(n: int = 512):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // 128, threads=128) as bx:
            part = T.alloc_fragment((128,), "float32")
            T.copy(A[bx * 128], part)
            for i in T.Parallel(128):
                part[i] = part[i] * 2.0
            T.copy(part, B[bx * 128])
    return kernel

a = torch.arange(512.0)
assert torch.equal(scale()(a), 2 * a)
print("arguments", sys.argv[1:])
if "fail" in sys.argv:
    raise ValueError("as asked")
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "double.py"
    path.write_text(SCRIPT)
    return path


def test_run_marks_the_kernels_of_a_script_and_tells_of_them(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--auto", "--device", "virtual:classroom", str(script), "8", "--fast"]) == 0
    out, err = capsys.readouterr()
    assert out == "arguments ['8', '--fast']\n"
    head, row = err.splitlines()
    assert head.split() == ["tltrace:", "kernel", "grid", "launches", "median", "events", "lost", "kept", "file"]
    assert re.fullmatch(
        r"tltrace: kernel +4 +1 +[\d.]+ (µs|ns) +\d+ +0 +first, last, slowest +debug/double\.tltrace and \.html", row
    )
    dumped = load("debug/double.tltrace")
    assert {"copy A → part", "copy part → B"} <= set(dumped.events["name"])
    assert dumped.meta.gpu == "classroom model"
    assert not trace.enabled


def test_run_dumps_what_a_failing_script_traced(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--on", "all", "--device", "virtual", "--output", "out", str(script), "fail"]) == 1
    out, err = capsys.readouterr()
    assert out == "arguments ['fail']\n"
    assert err.index("ValueError: as asked") < err.index("out/double.tltrace and .html")
    assert len(load("out/double.tltrace")) > 0


def test_our_own_lines_are_on_stderr(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is no card and none is named, it says so."""
    script.write_text(
        SCRIPT.replace("import sys", "import sys\nfrom tltrace_nb import trace\ntrace._said_virtual = False")
    )
    assert main(["run", "--auto", str(script)]) == 0
    out, err = capsys.readouterr()
    assert out == "arguments []\n"
    assert all(line.startswith("tltrace: ") for line in err.splitlines())
    if "cuda" not in load("debug/double.tltrace").meta.device:
        assert err.startswith("tltrace: no CUDA device here")


def test_run_says_how_a_kernel_without_markers_gets_some(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--device", "virtual", str(script)]) == 0
    assert "\ntltrace: kernel: no markers in this kernel: write trace.range" in capsys.readouterr().err


LOOP = SCRIPT.replace("print(", "for n in (512, 1024, 512, 512, 1024, 512): scale(n)(torch.ones(n))\nprint(")


@pytest.mark.parametrize(
    ("options", "files", "pages"),
    [
        ([], 2, 2),
        (["--html", "none"], 2, 0),
        (["--keep-launches", "all"], 7, 7),
        (["--keep-launches", "first", "--html", "all"], 2, 2),
    ],
)
def test_run_writes_the_launches_that_are_asked_for(
    options: list[str], files: int, pages: int, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(LOOP)
    assert main(["run", "--auto", "--device", "virtual", *options, str(script)]) == 0
    _, err = capsys.readouterr()
    assert len(list(Path("debug").glob("*.tltrace"))) == files
    assert len(list(Path("debug").glob("*.html"))) == pages
    assert len([line for line in err.splitlines() if "debug/double" in line]) == files


def test_run_refuses_launches_that_cannot_be_meant(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--keep-launches", "best", str(script)]) == 1
    assert capsys.readouterr().err.startswith("tltrace: keep_launches='best': give 'first', 'last', 'slowest'")


def test_what_cannot_be_written_is_said_and_the_exit_code_is_the_script_s(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("debug").write_text("no folder")
    script.write_text(SCRIPT + "\nsys.exit(4)")
    assert main(["run", "--auto", "--device", "virtual", str(script)]) == 4
    assert "tltrace: could not write debug: " in capsys.readouterr().err


def test_run_traces_a_test_suite(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = SCRIPT.partition("a = torch.arange")[0]
    Path("test_double.py").write_text(
        f"{body}\n\ndef test_one():\n    assert scale()(torch.ones(512)).sum() == 1024\n"
        "\ndef test_two():\n    assert scale()(torch.ones(512)).sum() == 0\n"
    )
    options = ["--device", "virtual", "--auto", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_double.py"]
    assert main(["run", *options]) == 1
    out, err = capsys.readouterr()
    assert "1 failed, 1 passed" in out
    assert "debug/pytest.tltrace" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nowhere.py"], "nowhere.py: there is no such script"),
        (["run", "--device", "fpga", "double.py"], "device='fpga': give 'auto', 'cuda', 'virtual' or 'virtual:MODEL'"),
    ],
)
def test_run_says_what_is_wrong_with_its_arguments(
    arguments: list[str], said: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    assert capsys.readouterr().err == f"tltrace: {said}\n"


def test_compare_gives_a_verdict_and_takes_folders_of_runs(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("before", "after"):
        for _ in range(2):
            main(["run", "--on", "all", "--device", "virtual", "--output", folder, str(script)])
    capsys.readouterr()
    assert main(["compare", "before", "after"]) == 0
    assert "copy A → part" in capsys.readouterr().out
    assert main(["compare", "before", "nowhere"]) == 1
    assert capsys.readouterr().err == "tltrace: nowhere: No such file or directory\n"
    Path("empty").mkdir()
    assert main(["compare", "before", "empty"]) == 1
    assert capsys.readouterr().err == "tltrace: empty: there is no .tltrace file in this folder\n"


CHILDREN = """
import multiprocessing
import os
import subprocess
import sys

import torch

from double import scale


def work(n):
    return float(scale(n)(torch.ones(n)).sum())


if __name__ == "__main__":
    for how in sys.argv[1:]:
        if how == "command":
            code = "from children import work; work(256)"
            subprocess.run([sys.executable, "-c", code], env={**os.environ, "RANK": "3"}, check=True)
        else:
            with multiprocessing.get_context(how).Pool(1) as pool:
                print(pool.map(work, [256]))
"""


@pytest.fixture
def children(tmp_path: Path, script: Path) -> Path:
    path = tmp_path / "children.py"
    path.write_text(CHILDREN)
    script.write_text(SCRIPT.partition("\na = torch")[0])
    return path


@pytest.mark.some(1)
@pytest.mark.parametrize("how", ["fork", "command", pytest.param("spawn", marks=pytest.mark.wide)])
def test_run_reaches_the_processes_that_a_script_starts(
    children: Path, how: str, capfd: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "tltrace_nb.cli", "run", "--auto", "--device", "virtual:classroom"]
    ran = subprocess.run([*command, "--output", "out", str(children), how], check=False, timeout=500)
    assert ran.returncode == 0
    (file,) = Path("out").glob("*.tltrace")
    assert file.stem == "children-rank3" if how == "command" else file.stem.startswith("children-process")
    assert len(load(file)) > 0
    assert f"out/{file.stem}.html and .tltrace" in capfd.readouterr().err


def test_run_leaves_nothing_in_the_environment(script: Path) -> None:
    before = dict(os.environ)
    main(["run", "--auto", "--device", "virtual:classroom", str(script)])
    assert dict(os.environ) == before


def test_run_takes_a_module(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--auto", "--device", "virtual:classroom", "-m", "double", "-m", "x"]) == 0
    out, err = capsys.readouterr()
    assert out == "arguments ['-m', 'x']\n"
    assert err.rstrip().endswith("debug/double.tltrace and .html")


@pytest.mark.wide
def test_run_hands_over_to_the_sitecustomize_of_the_process(children: Path, tmp_path: Path) -> None:
    own = tmp_path / "site"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('of the program', flush=True)")
    command = [sys.executable, "-m", "tltrace_nb.cli", "run", "--auto", "--device", "virtual:classroom"]
    path = os.pathsep.join([str(own), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(
        [*command, str(children), "command"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=500,
    )
    assert ran.stdout.count("of the program") == 2
