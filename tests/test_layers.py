"""The plan of the house: every module is in one layer, and no imports run in a circle, wherever they stand."""

from __future__ import annotations

import graphlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parent.parent
ABOVE_ALL = {"tltrace_nb", "tltrace_nb.core"}
"""Packages that import nothing but for types, and whose modules are in several layers."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("tltrace_nb", cache_dir=None)


def layers() -> list[str]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows = configuration["tool"]["importlinter"]["contracts"][0]["layers"]
    return [name.strip() for row in rows for name in row.replace("|", ":").split(":")]


def test_every_module_is_in_one_layer(graph: grimp.ImportGraph) -> None:
    outside = {
        module
        for module in graph.modules - ABOVE_ALL
        if sum(module == layer or module.startswith(f"{layer}.") for layer in layers()) != 1
    }
    assert outside == set()


def test_imports_run_from_the_upper_layers_to_the_lower_ones() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_no_imports_run_in_a_circle(graph: grimp.ImportGraph) -> None:
    modules = graph.modules - ABOVE_ALL
    imports = {module: graph.find_modules_directly_imported_by(module) & modules for module in modules}
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle


def test_an_import_upwards_in_a_function_is_found(tmp_path: Path) -> None:
    package = tmp_path / "tltrace_nb"
    for name, text in {
        "__init__.py": "",
        "base/__init__.py": "",
        "base/words.py": "def clean():\n    from tltrace_nb.data import sites\n    return sites\n",
        "data/__init__.py": "",
        "data/sites.py": "",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    contract = '[tool.importlinter]\nroot_package = "tltrace_nb"\n[[tool.importlinter.contracts]]\n'
    contract += 'name = "layers"\ntype = "layers"\nlayers = ["tltrace_nb.data", "tltrace_nb.base"]\n'
    (tmp_path / "pyproject.toml").write_text(contract, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    run = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "tltrace_nb.base.words -> tltrace_nb.data.sites" in run.stdout


def test_no_two_modules_of_tests_have_the_same_name() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py") if "scripts" not in path.parts]
    assert sorted(set(names)) == sorted(names)  # pytest would collect one of the two and fail at the other


def test_no_imports_of_the_front_end_run_in_a_circle() -> None:
    sources = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "frontend" / "src").glob("*.ts")}
    imports = {name: set(re.findall(r'from "\./(\w+)"', text)) for name, text in sources.items()}
    assert sum(map(len, imports.values())) > len(imports)
    graphlib.TopologicalSorter(imports).prepare()
