"""``tltrace run`` runs a program as ``python`` does: what both print, raise and return is compared."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import tilelang  # noqa: F401  (it adds to sys.path)

from tltrace_nb import trace
from tltrace_nb.cli import main

NOTHING = "ran, but nothing was traced; --auto marks kernels of @tilelang.jit too\n"

PROGRAMS = {
    "arguments": "import sys; print(sys.argv)",
    "path": "import sys; print(sys.path[0])",
    "names": "print(__name__, __file__, __package__, __spec__, __doc__)",
    "main module": "import sys; x = 1; print(sys.modules['__main__'].x, vars(sys.modules['__main__']) is globals())",
    "neighbour": "import beside; print(beside.VALUE)",
    "source": "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "stdin": "print(input(), sum(map(int, __import__('sys').stdin)))",
    "future annotations": "from __future__ import annotations\ndef f(x: nonsense): pass\nprint('fine')",
    "no future": "def f(x: nonsense): pass",
    "error": "def f():\n    raise ValueError('as asked')\nf()",
    "error with a cause": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
    "syntax error": "print('never')\nx = = 1",
    "error at import": "import broken",
    "no such module": "import nothing_of_the_kind",
    "own hook": "import sys\nsys.excepthook = lambda *a: print('hooked', a[0].__name__)\n1 / 0",
    "exit": "import sys; sys.exit()",
    "exit 3": "import sys; print('out'); sys.exit(3)",
    "exit -1": "import sys; sys.exit(-1)",
    "exit 256": "import sys; sys.exit(256)",
    "exit text": "import sys; sys.exit('text')",
    "exit object": "import sys; sys.exit([1])",
    "exit True": "raise SystemExit(True)",
    "interrupt": "raise KeyboardInterrupt",
    "thread": "import threading\nthreading.Timer(0.1, lambda: print('late')).start()",
    "stderr": "import sys; print('err', file=sys.stderr)",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.py").write_text("VALUE = 'beside'")
    (tmp_path / "broken.py").write_text("def f():\n    return 1 / 0\nf()")
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "other.py").write_text("from . import __name__ as name")
    (package / "tool.py").write_text(
        "import sys\nfrom .other import name\nprint(name, __name__, sys.argv, sys.path[0])"
    )
    (package / "__main__.py").write_text("from package.other import name\nprint('main of', name, __package__)")
    (package / "failing.py").write_text("from . import missing")
    monkeypatch.setattr(sys, "stdin", io.StringIO("first\n1\n2\n"))
    yield tmp_path
    for name in ("beside", "broken", "package", "package.other", "package.tool"):
        sys.modules.pop(name, None)


def plainly(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of ``python`` with these arguments; a shell's code for a signal."""
    command = [sys.executable, *arguments]
    ran = subprocess.run(command, input="first\n1\n2\n", capture_output=True, text=True, check=False)
    return 128 - ran.returncode if ran.returncode < 0 else ran.returncode, ran.stdout, ran.stderr


def traced(arguments: Sequence[str], capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The same under ``tltrace run``, without our lines on stderr."""
    capfd.readouterr()
    code = main(["run", *arguments])
    out, err = capfd.readouterr()
    return code, out, "".join(line for line in err.splitlines(keepends=True) if not line.startswith("tltrace: "))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_prints_raises_and_returns_what_it_does_alone(
    name: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "program.py").write_text(PROGRAMS[name])
    before = sys.argv, list(sys.path), sys.modules["__main__"], sys.excepthook
    try:
        assert traced(["program.py", "a", "--on", "-m"], capfd) == plainly(["program.py", "a", "--on", "-m"])
    finally:
        sys.excepthook = before[3]
    assert (sys.argv, sys.path, sys.modules["__main__"]) == before[:3]
    assert not trace.enabled


@pytest.mark.parametrize(
    "arguments", [["package.tool", "x", "-y"], ["package"], ["beside"], ["package.failing"], ["broken"]], ids=str
)
def test_a_module_is_run_as_python_runs_one(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = traced(["-m", *arguments], capfd)
    expected_code, expected_out, expected_err = plainly(["-m", *arguments])
    assert (code, out) == (expected_code, expected_out)
    assert err.splitlines()[-1:] == expected_err.splitlines()[-1:]
    assert "tltrace_nb" not in err


def test_a_folder_with_a_main_is_run(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "app").mkdir()
    (folder / "app" / "part.py").write_text("print('part')")
    (folder / "app" / "__main__.py").write_text(
        "import os, part, sys; print(__name__, os.path.abspath(sys.path[0]), sys.argv)"
    )
    assert traced(["app", "1"], capfd) == plainly(["app", "1"])
    sys.modules.pop("part", None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.py"], "nowhere.py: there is no such script"),
        (["-m", "nowhere"], "no module named nowhere"),
        (["-m", "package.nowhere"], "no module named package.nowhere"),
        (["-m", "nowhere.inside"], "no module named nowhere.inside"),
    ],
)
def test_what_is_not_there_is_said_in_a_line(
    arguments: list[str], says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 1
    assert capfd.readouterr() == ("", f"tltrace: {says}\n")


def test_a_script_that_traced_nothing_has_done_well(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "program.py").write_text("print(1)")
    assert main(["run", "program.py"]) == 0
    assert capfd.readouterr() == ("1\n", f"tltrace: program.py {NOTHING}")


def test_what_is_registered_for_the_end_runs(folder: Path) -> None:
    (folder / "program.py").write_text(
        "import atexit, sys\nword = 'bye'\natexit.register(lambda: print(word))\nprint('hi')\nsys.exit(5)"
    )
    command = [sys.executable, "-m", "tltrace_nb.cli", "run", "--device", "cuda", "program.py"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (5, "hi\nbye\n", f"tltrace: program.py {NOTHING}")
