"""The labs: kernels solved, half solved and cheated get the points of the table, and the notebooks say for what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from execute import students
from lab_rows import TABLES, LabRow, Table
from lessons import LABS, printed, read, solution, tagged

from tltrace_nb.course import lab_attention, lab_gemm, lab_softmax
from tltrace_nb.course.grading import graded
from tltrace_nb.course.labs import Lab, judged

JUDGED_BY = (lab_softmax.LAB, lab_gemm.LAB, lab_attention.LAB)
each_lab = pytest.mark.parametrize(
    ("path", "lab"), list(zip(LABS, JUDGED_BY, strict=True)), ids=[path.stem for path in LABS]
)


def rows() -> Any:
    """A test for each row; by default those that are over soon."""
    found = [
        pytest.param(table, row, marks=[] if row.quick else [pytest.mark.wide], id=f"{title}: {row.kind}: {row.what}")
        for title, table in TABLES.items()
        for row in table.rows
    ]
    return pytest.mark.parametrize(("table", "row"), found)


@rows()
def test_a_kernel_gets_the_points_of_the_table(table: Table, row: LabRow) -> None:
    verdict = table.check(table.handed_in(row))
    assert (verdict.credit, verdict.points) == (row.earns, 10), verdict
    assert verdict.right == (row.kind == "solved")
    missing = [str(mark) for mark in verdict.marks if mark.earned < mark.points]
    assert row.kind == "solved" or any(row.says in mark for mark in missing), verdict


@each_lab
def test_nothing_handed_in_is_no_answer_yet(path: Path, lab: Lab) -> None:
    verdict = judged(None, lab)
    assert (verdict.state, verdict.credit, verdict.points) == ("unanswered", 0, 10)


@each_lab
def test_a_lab_says_what_there_are_points_for(path: Path, lab: Lab) -> None:
    asked = [f"| {each.points} | {each.asks} |" for each in lab.all]
    said = [line for cell in read(path).cells for line in cell.source.splitlines() if line.startswith("| ")]
    assert said == ["| Points | For |", *asked]
    assert lab.points == 10


@each_lab
def test_inputs_are_others_each_time(path: Path, lab: Lab) -> None:
    first, second = (lab.results[0].cases()[0].inputs[0] for _ in range(2))
    assert not torch.equal(first, second)


@pytest.mark.wide
@each_lab
def test_a_lab_is_graded_like_a_lesson(path: Path, lab: Lab, tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    notebook = read(path)
    mine = students(notebook)
    (answer,) = tagged(mine, "answer")
    answer.source = solution(tagged(notebook, "solution")[0])
    (grade,) = graded(notebook, mine, tmp_path)
    assert (grade.credit, grade.points) == (10, 10), grade.why


@pytest.mark.wide
def test_an_answer_that_rewrites_the_judge_gains_nothing(tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    notebook = read(LABS[0])
    mine = students(notebook)
    (answer,) = tagged(mine, "answer")
    answer.source = (
        "from tltrace_nb.course import labs, right\n"
        "labs.judged = checks.judged = checks.softmax = lambda *_: right('certainly')\n"
        "softmax = lambda rows, columns: None"
    )
    (grade,) = graded(notebook, mine, tmp_path)
    assert grade.credit == 0
    assert "under @trace.jit" in grade.why


def test_the_verdict_of_a_lab_is_read_in_a_notebook() -> None:
    check = next(cell for cell in tagged(read(LABS[0]), "check"))
    assert "Your turn" in printed(check)
