"""The command line where kernels run: ``tltrace run``, and ``tltrace compare`` of what it dumped."""

from __future__ import annotations

import os
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


def test_run_marks_the_kernels_of_a_script_and_dumps_them(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--auto", "--device", "virtual:classroom", str(script), "8", "--fast"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == ["arguments ['8', '--fast']", "wrote debug/double.html and .tltrace"]
    assert err == ""
    dumped = load("debug/double.tltrace")
    assert {"copy A → part", "copy part → B"} <= set(dumped.events["name"])
    assert dumped.meta.gpu == "classroom model"
    assert not trace.enabled


def test_run_dumps_what_a_failing_script_traced(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--on", "all", "--device", "virtual", "--output", "out", str(script), "fail"]) == 1
    out, err = capsys.readouterr()
    assert "wrote out/double.html and .tltrace" in out
    assert "ValueError: as asked" in err
    assert err.endswith(f"tltrace: {script} failed\n")
    assert len(load("out/double.tltrace")) > 0


def test_run_says_how_a_kernel_without_markers_gets_some(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--device", "virtual", str(script)]) == 0
    assert "\nno markers in this kernel: write trace.range" in capsys.readouterr().out


def test_run_says_when_nothing_was_traced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.py"
    path.write_text("print(1)")
    assert main(["run", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"tltrace: {path} ran, but nothing was traced; --auto marks kernels of @tilelang.jit too\n"
    )


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


@pytest.mark.parametrize("how", ["fork", "spawn", "command"])
def test_run_reaches_the_processes_that_a_script_starts(
    children: Path, how: str, capfd: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "tltrace_nb.cli", "run", "--auto", "--device", "virtual:classroom"]
    ran = subprocess.run([*command, "--output", "out", str(children), how], check=False, timeout=500)
    assert ran.returncode == 0
    (file,) = Path("out").glob("*.tltrace")
    assert file.stem == "children-rank3" if how == "command" else file.stem.startswith("children-process")
    assert len(load(file)) > 0
    assert f"out/{file.stem}.html and .tltrace" in capfd.readouterr().out


def test_run_leaves_nothing_in_the_environment(script: Path) -> None:
    before = dict(os.environ)
    main(["run", "--auto", "--device", "virtual:classroom", str(script)])
    assert dict(os.environ) == before


def test_run_takes_a_module(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--auto", "--device", "virtual:classroom", "-m", "double", "-m", "x"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out == ["arguments ['-m', 'x']", "wrote debug/double.html and .tltrace"]


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
