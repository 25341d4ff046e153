"""`tltrace grade`: handed-in notebooks, solved, half solved and cheated, and what they are worth."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from execute import students
from handed_in import lesson
from lessons import solution, tagged

from tltrace_nb.cli import main
from tltrace_nb.course.grading import HandedInError, answered, graded

pytest.importorskip("nbclient", reason="nbclient is not installed")
LESSON = lesson(1)
SOLUTIONS = [solution(cell) for cell in tagged(LESSON, "solution")]


def copy_with(*answers: str | None) -> Any:
    """A student's copy of lesson 1 with these answers; ``None``: the cell as it was given."""
    notebook = students(copy.deepcopy(LESSON))
    for cell, answer in zip(tagged(notebook, "answer"), answers, strict=True):
        cell.source = cell.source if answer is None else answer
    return notebook


def credits(notebook: Any, folder: Path) -> list[float]:
    return [grade.credit for grade in graded(LESSON, notebook, folder)]


@pytest.mark.wide
def test_a_solved_notebook_is_worth_all_of_it(tmp_path: Path) -> None:
    assert credits(copy_with(*SOLUTIONS), tmp_path) == [1, 1, 1]


@pytest.mark.wide
def test_a_half_solved_notebook_is_worth_a_part(tmp_path: Path) -> None:
    one_range = SOLUTIONS[2].replace('trace.range("store", payload=bx)', 'trace.range("write", payload=bx)')
    assert credits(copy_with(SOLUTIONS[0], None, one_range), tmp_path) == [1, 0, 0.5]


@pytest.mark.wide
def test_a_notebook_that_cheats_is_worth_nothing(tmp_path: Path) -> None:
    changed_check = "answer = 3\nchecks.number_of_ctas = lambda *_: checks.right('trust me')"
    deleted = SOLUTIONS[2].replace("x[i] = x[i] * 2.0", "x[i] = x[i]")
    notebook = copy_with(changed_check, "answer = 1 / 0", deleted)
    for cell in tagged(notebook, "check"):
        cell.source = "checks.right('certainly')"
    grades = graded(LESSON, notebook, tmp_path)
    assert [grade.credit for grade in grades] == [0, 0, 0]
    assert "ZeroDivisionError" in grades[1].why
    assert "the multiplication is gone" in grades[2].why


def test_only_answers_are_taken_from_what_is_handed_in() -> None:
    notebook = copy_with("answer = 12", None, None)
    notebook.cells[1].source = "raise SystemExit"
    taken = answered(LESSON, notebook)
    assert "raise SystemExit" not in [cell.source for cell in taken.cells]
    assert tagged(taken, "answer")[0].source == "answer = 12"
    assert not tagged(taken, "solution")


def test_a_notebook_of_something_else_is_refused() -> None:
    with pytest.raises(HandedInError, match="no copy of the lesson"):
        answered(LESSON, nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]))


@pytest.mark.wide
def test_the_command_prints_the_grades_and_writes_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"lesson.ipynb": LESSON, "ada.ipynb": copy_with(SOLUTIONS[0], None, None)}
    for name, notebook in names.items():
        nbformat.write(notebook, tmp_path / name)
    (tmp_path / "broken.ipynb").write_text("not json")
    handed_in = [str(tmp_path / name) for name in ("ada.ipynb", "broken.ipynb")]
    assert main(["grade", str(tmp_path / "lesson.ipynb"), *handed_in, "--csv", str(tmp_path / "grades.csv")]) == 1
    out, err = capsys.readouterr()
    assert "1.0 of 3  ada.ipynb  (1.0  0.0  0.0)" in out
    assert "broken.ipynb" in err
    assert (tmp_path / "grades.csv").read_text().splitlines()[1].startswith("ada.ipynb,Exercise 1: how many CTAs?,1.0,")
