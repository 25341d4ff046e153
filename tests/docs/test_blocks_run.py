"""Every fenced block of the documentation runs, and prints what the page says it prints."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from pages import ROOT, Block, Page, pages
from traitlets import Type
from traitlets.config import Config

from tltrace_nb import trace
from tltrace_nb.core.runtime.kept import Kept

LANGUAGES = {"python", "sh", "text"}
NOT_RUN = {
    "README.md": ["each sets up an environment of its own"],
    "docs/how-to/cuda-graphs.md": ["a CUDA graph needs a CUDA device"],
    "docs/how-to/explore.md": ["it installs a package and serves until it is stopped"],
    "docs/how-to/grade.md": [
        "it grades notebooks that were handed in",
        "a setting of nbgrader, which is not installed with this package",
        "it writes files beside the notebooks of a checkout",
    ],
    "docs/how-to/overhead.md": ["measures on a CUDA device"],
    "docs/how-to/plain-builder.md": ["a kernel of plain @tilelang.jit needs a CUDA device"],
    "docs/how-to/torch-profiler.md": [
        *2 * ["torch.profiler sees kernels on a CUDA device"],
        "a part of docs/transformer.py",
    ],
    "docs/tutorial.md": ["installs the package"],
}
"""The blocks that cannot run here, by page, with the reason that the page gives."""
SECONDS = 180
TOLERANCE = 0.1
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
TOKEN = re.compile(rf"\.\.\.|\s+|{NUMBER.pattern}|[^\s\d.]+|\.")


class Unnumbered(DisplayHook):
    """Shows a value without ``Out[1]:``."""

    def write_output_prompt(self) -> None:
        """Nothing."""


class Shell(InteractiveShell):
    """The shell of a notebook's kernel, as far as a page can tell."""

    displayhook_class = Type(Unnumbered)


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})
    yield Shell.instance(config=config)
    InteractiveShell.clear_instance()


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A reader without a GPU, in an empty folder, whose ``tltrace`` is this checkout's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(trace, "_kept", Kept())
    monkeypatch.setattr(trace, "_state", type(trace._state)(device="virtual"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("TLTRACE_CACHE_DIR", str(tmp_path / ".cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("BROWSER", "true")  # the command, which opens nothing
    own = Path(sys.executable).parent
    if not shutil.which("tltrace", path=str(own)):
        own_tool = tmp_path / ".bin" / "tltrace"
        own_tool.parent.mkdir()
        own_tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m tltrace_nb.cli "$@"\n')
        own_tool.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / ".bin"), str(own), os.environ["PATH"]]))


SLOW = {"docs/how-to/torchrun.md"}
"""Pages that start processes which meet."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.name, marks=[pytest.mark.wide] if page.name in SLOW else []) for page in pages()],
)
def test_a_page_runs_from_top_to_bottom(page: Page, shell: InteractiveShell) -> None:
    for block in page.blocks():
        where = f"{page.name}:{block.line}"
        assert block.language in LANGUAGES, f"{where}: a block of {block.language!r}; give it one of {LANGUAGES}"
        if block.reason is not None or block.language == "text":
            continue
        if block.title is not None:
            Path(block.title).write_text(block.source)
            continue
        printed = run_python(block, shell, where) if block.language == "python" else run_shell(block, where)
        if block.output is not None:
            check(block.output, printed, where)


def test_what_does_not_run_is_known() -> None:
    found = {page.name: [block.reason for block in page.blocks() if block.reason is not None] for page in pages()}
    assert {name: reasons for name, reasons in found.items() if reasons} == NOT_RUN


def run_python(block: Block, shell: InteractiveShell, where: str) -> str:
    with capture_output() as captured:
        result = shell.run_cell(block.source)
    if not result.success:
        raise AssertionError(f"{where} failed:\n{captured.stdout}{captured.stderr}") from (
            result.error_before_exec or result.error_in_exec
        )
    return str(captured.stdout)


def run_shell(block: Block, where: str) -> str:
    """What a terminal shows: both streams."""
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.source], **both, text=True, timeout=SECONDS, check=False
    )
    assert ran.returncode == 0, f"{where} failed with {ran.returncode}:\n{ran.stdout}"
    return ran.stdout


def check(expected: str, printed: str, where: str) -> None:
    """``...`` stands for anything; numbers, which follow from a cost model, may be off by ``TOLERANCE``."""
    pattern = TOKEN.sub(lambda token: as_pattern(token[0]), expected.strip())
    found = re.fullmatch(pattern, printed.strip(), re.DOTALL)
    wrong = f"{where} says:\n{expected}\nbut it printed:\n{printed}"
    assert found, wrong
    wanted = [number(each) for each in NUMBER.findall(expected)]
    assert [number(each) for each in found.groups()] == pytest.approx(wanted, rel=TOLERANCE), wrong


def as_pattern(token: str) -> str:
    if token == "...":
        return ".*?"
    if token.isspace():
        return r"\s+"
    return f"({NUMBER.pattern})" if NUMBER.fullmatch(token) else re.escape(token)


def number(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.parametrize("printed", ["mma 341 x", "mma 300 y", "mma 300", "mma 300 x 7"])
def test_another_output_is_noticed(printed: str) -> None:
    with pytest.raises(AssertionError, match="but it printed"):
        check("mma 300 x", printed, "a page")


def test_another_output_without_numbers_is_noticed() -> None:
    with pytest.raises(AssertionError, match="but it printed"):
        check("no GPU", "a GPU", "a page")


@pytest.mark.parametrize("printed", ["mma  310\nx", "mma 300 x"])
def test_numbers_and_spaces_may_differ_a_little(printed: str) -> None:
    check("mma 300 x", printed, "a page")
