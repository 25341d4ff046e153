"""The lessons run top to bottom, their exercises can be solved, and what is committed has been run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed")
from execute import WIDGET, execute, settled, students
from lessons import FOLDER, LABS, LESSONS, printed, read, solved, tagged, tags

from tltrace_nb import datasets

MOST_BYTES = 150_000
VARYING = re.compile(r" KiB$| at 0x")
"""Sizes of files, which have a date in them, and addresses."""
each_lesson = pytest.mark.parametrize(
    "lesson",
    [pytest.param(lesson, marks=[] if lesson.name[:2] == "01" else [pytest.mark.wide]) for lesson in LESSONS + LABS],
    ids=lambda lesson: lesson.stem,
)
"""The first lesson by default, and with the wide tests all and the labs."""
EXERCISES = {True: (1, 1), False: (2, 4)}
"""How many a lab has, and a lesson: at least, at most."""


def complaints(notebook: Any) -> list[str]:
    """What a notebook's outputs say that a reader should not see: errors, warnings, anything on stderr."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error" or output.get("name") == "stderr" or "Warning" in printed(cell):
                found.append(printed(cell))
    return found


def test_the_lessons_are_numbered_without_a_gap() -> None:
    assert [lesson.stem[:2] for lesson in LESSONS] == [f"{n:02}" for n in range(1, 17)]


@each_lesson
def test_a_lesson_runs_without_complaint_and_its_solutions_are_right(lesson: Path) -> None:
    notebook = solved(read(lesson))
    execute(notebook, FOLDER)
    assert complaints(notebook) == []
    for cell in tagged(notebook, "check"):
        assert "Your turn" in printed(cell) or "Not yet" in printed(cell), cell.source
    for cell in tagged(notebook, "checked"):
        assert "✓ Right" in printed(cell), (cell.source, printed(cell))


def said(cell: Any) -> list[str]:
    """What a cell prints and shows as text, without lines that differ from run to run."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return [line for text in texts for line in text.splitlines() if not VARYING.search(line)]


@pytest.mark.wide
@each_lesson
def test_a_lesson_says_what_it_is_committed_with(lesson: Path) -> None:
    committed, fresh = read(lesson), read(lesson)
    execute(fresh, FOLDER)
    for before, now in zip(committed.cells, settled(fresh).cells, strict=True):
        if before.cell_type == "code":
            assert said(now) == said(before), before.source


@each_lesson
def test_a_lesson_is_committed_executed_and_small(lesson: Path) -> None:
    notebook = read(lesson)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert complaints(notebook) == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert not any(WIDGET in output.get("data", {}) for cell in code for output in cell.outputs)
    assert lesson.stat().st_size <= MOST_BYTES
    assert str(Path.home()) not in lesson.read_text()


@each_lesson
def test_the_students_copy_is_the_teachers_without_outputs_and_solutions(lesson: Path) -> None:
    copy = FOLDER / lesson.name
    assert read(copy) == students(read(lesson)), f"python notebooks/execute.py notebooks/teacher/{lesson.name}"
    for cell in read(copy).cells:
        assert not cell.get("outputs")
        assert "solution" not in tags(cell)


def test_there_is_a_students_copy_of_each_lesson_and_no_other() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.ipynb")) == [lesson.name for lesson in LESSONS + LABS]


@each_lesson
def test_each_exercise_has_a_place_for_the_answer_a_check_and_a_solution(lesson: Path) -> None:
    notebook = read(lesson)
    roles = [tag for cell in notebook.cells for tag in tags(cell) if tag in ("answer", "check", "solution")]
    assert roles == ["answer", "check", "solution"] * (len(roles) // 3)
    least, most = EXERCISES[lesson in LABS]
    assert least <= len(roles) // 3 <= most


@each_lesson
def test_what_a_lesson_records_is_shipped_and_shown_beside(lesson: Path) -> None:
    notebook = read(lesson)
    names = [tag.removeprefix("records=") for cell in notebook.cells for tag in tags(cell) if "records=" in tag]
    assert names or lesson in LABS or int(lesson.stem[:2]) > 10, "these have their figures from benchmarks/lessons.py"
    for name in names:
        assert datasets.load(f"h200/{name}").meta.gpu == "NVIDIA H200"
        assert any(f'datasets.load("h200/{name}")' in cell.source for cell in notebook.cells)


@each_lesson
def test_every_code_cell_without_a_magic_is_python(lesson: Path) -> None:
    for cell in read(lesson).cells:
        if cell.cell_type == "code" and not any(line.startswith(("%", "!")) for line in cell.source.splitlines()):
            ast.parse(cell.source)


def test_a_notebook_in_which_a_cell_fails_is_reported(tmp_path: Path) -> None:
    import nbformat

    cells = [nbformat.v4.new_code_cell("1/0"), nbformat.v4.new_code_cell("print('went on')")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "a.ipynb")
    command = [sys.executable, str(FOLDER / "record.py"), str(tmp_path / "a.ipynb"), "--folder", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "cell 0 failed" in run.stderr
    assert "went on" in run.stdout
