"""The instructor's kit: slides, nbgrader's cells, times and the rubric are made from the notebooks, and are right."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from kit import FEW_LINES, MOST_LINES, equipped, minutes, points_of, slides
from lessons import FOLDER, LABS, LESSONS, read, tagged, tags

from tltrace_nb.course import Mark, marked, partly, right

ROOT = FOLDER.parent
PAGE = ROOT / "docs" / "how-to" / "grade.md"
NBGRADER = {
    "type": "object",
    "required": ["grade", "grade_id", "locked", "schema_version", "solution", "task", "cell_type"],
    "additionalProperties": False,
    "properties": {
        "grade": {"type": "boolean"},
        "grade_id": {"type": "string", "pattern": r"^[a-zA-Z0-9_\-]+$"},
        "locked": {"type": "boolean"},
        "points": {"type": "number", "minimum": 0},
        "schema_version": {"const": 3},
        "solution": {"type": "boolean"},
        "task": {"const": False},
        "cell_type": {"enum": ["code", "markdown"]},
    },
    "if": {"properties": {"grade": {"const": True}}},
    "then": {"required": ["points"], "properties": {"locked": {"const": True}, "solution": {"const": False}}},
    "else": {"not": {"required": ["points"]}},
}
"""What nbgrader 0.9 accepts in a code cell that is either an answer or an autograded test."""
each_notebook = pytest.mark.parametrize("path", LESSONS + LABS, ids=lambda path: path.stem)


def graded(notebook: Any) -> list[dict[str, Any]]:
    return [cell.metadata["nbgrader"] for cell in notebook.cells if "nbgrader" in cell.metadata]


@each_notebook
def test_a_notebook_has_the_metadata_that_its_cells_ask_for(path: Path) -> None:
    notebook = read(path)
    assert equipped(notebook, path.stem) == notebook, "python notebooks/execute.py makes it"


@each_notebook
def test_nbgrader_finds_answers_to_fill_in_and_locked_checks_with_points(path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    notebook = read(FOLDER / path.name)
    for metadata in graded(notebook):
        jsonschema.validate(metadata, NBGRADER)
    assert [m["grade"] for m in graded(notebook)] == [False, True] * len(tagged(notebook, "check"))
    for cell in tagged(notebook, "check"):
        assert cell.metadata["nbgrader"]["cell_type"] == cell.cell_type == "code"


def test_the_id_of_a_graded_cell_is_there_once_in_the_course() -> None:
    ids = [metadata["grade_id"] for path in LESSONS + LABS for metadata in graded(read(path))]
    assert len(set(ids)) == len(ids)


def test_under_nbgrader_the_result_of_a_check_is_the_number_of_its_points(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = [right("yes"), partly("half"), marked((Mark("a", 7, 7), Mark("b", 3, 0, "no")))]
    assert not any(repr(verdict).replace(".", "").isdigit() for verdict in verdicts)
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert [float(repr(verdict)) for verdict in verdicts] == [1, 0.5, 7]


@each_notebook
def test_slides_begin_with_a_heading_and_show_no_solution(path: Path) -> None:
    notebook = read(path)
    kinds = [cell.metadata["slideshow"]["slide_type"] for cell in notebook.cells]
    assert kinds[0] == "slide"
    for cell, kind in zip(notebook.cells, kinds, strict=True):
        assert kind in {"slide", "subslide", "-", "skip"}
        assert (kind == "slide") == (cell.cell_type == "markdown" and cell.source.startswith(("# ", "## ")))
        if {"solution", "check"} & set(tags(cell)):
            assert kind == "skip"


def test_what_does_not_fit_on_a_slide_gets_the_next() -> None:
    long, short = "\n".join(f"x{n} = {n}" for n in range(MOST_LINES)), "\n".join(["y = 1"] * FEW_LINES)
    setup = "from tltrace_nb.course import lab_gemm as checks"
    cells = [
        nbformat.v4.new_markdown_cell("# A title"),
        *(nbformat.v4.new_code_cell(source) for source in (setup, short, long, short, long)),
    ]
    found = equipped(nbformat.v4.new_notebook(cells=cells), "a").cells
    kinds = [cell.metadata["slideshow"]["slide_type"] for cell in found]
    assert kinds == ["slide", "skip", "-", "subslide", "-", "subslide"]


def test_slides_are_a_page_with_the_pictures_of_the_lesson() -> None:
    pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    page = slides(read(LESSONS[0]))
    assert page.count("<section") > 10
    assert "data:image/svg+xml" in page
    assert "Solution" not in page


@each_notebook
def test_a_lesson_says_how_long_it_takes(path: Path) -> None:
    said = re.search(r"[Aa]bout\s+(\d+) minutes", read(path).cells[0].source)
    if path in LESSONS:
        assert said is not None
        assert int(said[1]) == minutes(read(path))


def test_the_page_on_teaching_has_these_times() -> None:
    text = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    for path in LESSONS:
        assert f"| `{path.stem}` | {minutes(read(path))} |" in text


def rubric() -> str:
    """The points of all exercises and labs as a part of the page."""
    parts = []
    for path in LESSONS:
        rows = [f"| {title} | {asks} | {half} |" for title, asks, half in exercises(read(path))]
        title = read(path).cells[0].source.splitlines()[0].lstrip("# ").replace(" · ", ": ")
        head = ["| Exercise | One point | Half a point |", "|---|---|---|"]
        parts.append("\n".join([f"### Lesson {title}", "", *head, *rows]))
    for path in LABS:
        lab = importlib.import_module(f"tltrace_nb.course.{re.sub('_[0-9]', '', path.stem)}").LAB
        title = read(path).cells[0].source.splitlines()[0].lstrip("# ").replace(" · ", ": ")
        rows = [f"| {each.points} | {each.asks} |" for each in lab.all]
        parts.append("\n".join([f"### {title}", "", "| Points | For |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def exercises(notebook: Any) -> list[tuple[str, str, str]]:
    """Of each exercise: its title, what its check asks, and whether a part of the answer is worth half a point."""
    found, title = [], ""
    name = next(hit[1] for cell in notebook.cells if (hit := re.search(r"course import (\w+) as checks", cell.source)))
    module = importlib.import_module(f"tltrace_nb.course.{name}")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            title = next((line.lstrip("# ") for line in cell.source.splitlines() if "Exercise" in line), title)
        if "check" in tags(cell):
            called = re.findall(r"checks\.(\w+)\(", cell.source)[0]
            check = getattr(module, called)
            asks = check.__doc__.strip().split("\n\n")[0].replace("\n    ", " ").replace("``", "`").rstrip(".")
            found.append((title, asks, half(Path(module.__file__), called)))
    return found


def half(file: Path, name: str) -> str:
    """What is worth half a point: a right kernel, or a part of an answer, as its check's code has it."""
    functions = {n.name: n for n in ast.parse(file.read_text()).body if isinstance(n, ast.FunctionDef)}
    calls = {n.func.id for n in ast.walk(functions[name]) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    if "partly" not in calls:
        return ""
    return "the result is right" if "tried" in calls else "a part is right"


def test_the_page_has_the_rubric_of_the_checks() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition("## Rubric\n\n")[2].partition("\n\n")[2] == rubric()


def test_points_are_the_labs_or_one() -> None:
    assert {points_of(read(path)) for path in LESSONS} == {1}
    assert {points_of(read(path)) for path in LABS} == {10}
