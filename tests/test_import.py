"""What ``import tltrace_nb`` loads, and what it offers."""

import ast
import importlib
import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tltrace_nb

ROOT = Path(__file__).parents[1]
HEAVY = ("tilelang", "tvm", "torch", "plotly", "pandas", "anywidget", "ipywidgets", "IPython")


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh process has loaded after ``code``."""
    command = [sys.executable, "-c", f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.split())


@pytest.mark.smoke
def test_the_import_loads_nothing_heavy() -> None:
    assert not loaded_by("import tltrace_nb").intersection(HEAVY)


def test_the_switch_needs_nothing_heavy() -> None:
    code = "from tltrace_nb import trace\nwith trace.tracing(ctas=8): trace.out_idx(1)\nassert trace.last is None"
    assert not loaded_by(code).intersection(HEAVY)


def test_opening_a_trace_needs_no_compiler() -> None:
    assert not loaded_by("import tltrace_nb; tltrace_nb.load").intersection({"tilelang", "tvm", "torch"})


def test_the_extension_needs_no_compiler() -> None:
    loaded = loaded_by("import tltrace_nb.magic")
    assert "IPython" in loaded
    assert not loaded.intersection(set(HEAVY) - {"IPython"})


@pytest.mark.parametrize("name", tltrace_nb.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(tltrace_nb, name) is not None
    assert name in dir(tltrace_nb)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="tltrace_nb.*nothing_of_ours"):
        tltrace_nb.nothing_of_ours  # noqa: B018


def test_the_version_has_one_home() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    home = ROOT / project["tool"]["hatch"]["version"]["path"]
    (value,) = (node.value for node in ast.parse(home.read_text()).body if isinstance(node, ast.Assign))
    assert (
        ast.literal_eval(value) == tltrace_nb.__version__ == importlib.import_module("tltrace_nb._version").__version__
    )


def test_the_installed_version_is_this_one() -> None:
    try:
        installed = importlib.metadata.version("tltrace-nb")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("tltrace-nb is not installed")
    assert installed == tltrace_nb.__version__


def test_the_changelog_knows_the_version() -> None:
    assert f"## [{tltrace_nb.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
