"""Grades for handed-in notebooks: the lesson with a student's answers in it, run, and what its checks say.

In: a lesson (a teacher's copy or the students') and a handed-in notebook. Out: one :class:`Grade` an exercise. Of what
is handed in only the cells of answers count, found by their ids: all others, the checks too, are the lesson's.
The answers are code, and are run as such, with all that code may do. Needs nbformat and nbclient.
"""

from __future__ import annotations

import copy
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tltrace_nb.base.errors import TraceError
from tltrace_nb.base.files import writing

PATIENCE_S = 300
"""For one cell."""
_CHECKS = re.compile(r"from (tltrace_nb\.course) import (\w+) as checks")
_AFRESH = """import sys

for name in [name for name in sys.modules if name.startswith("tltrace_nb.course")]:
    del sys.modules[name]
import {module} as checks

"""
"""What a check's cell begins with."""
_CREDIT = re.compile(r'data-credit="([\d.]+)"')


class HandedInError(TraceError):
    """What was handed in is no notebook, or no copy of the lesson."""


@dataclass(frozen=True)
class Grade:
    """The points that an answer is worth, out of so many ``points``, and what its check says."""

    exercise: str
    credit: float
    why: str
    points: int = 1


def read(path: Path) -> Any:
    """A notebook. Raises ``HandedInError`` where the file is none, ``OSError`` where it cannot be read."""
    import nbformat

    try:
        return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (ValueError, nbformat.ValidationError, KeyError, AttributeError) as error:
        raise HandedInError(f"{path}: this is no notebook: {error}") from error


def graded(lesson: Any, handed_in: Any, folder: Path) -> list[Grade]:
    """The grades of a handed-in copy of a lesson, which runs in ``folder``.

    Raises ``HandedInError`` for a notebook that has none of the lesson's cells for answers.
    """
    from nbclient import NotebookClient

    notebook = answered(lesson, handed_in)
    client = NotebookClient(
        notebook, timeout=PATIENCE_S, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": folder}}
    )
    client.execute()
    grades, title, failed = [], "", ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            title = next((line.lstrip("# ") for line in cell.source.splitlines() if "Exercise" in line), title)
        elif "answer" in _tags(cell):
            failed = _error(cell)
        elif "check" in _tags(cell):
            grades.append(_grade(title, cell, failed))
    return grades


def answered(lesson: Any, handed_in: Any) -> Any:
    """The lesson without its solutions, with the handed-in answers in place of its own."""
    theirs = {cell.get("id"): cell.source for cell in handed_in.cells if cell.cell_type == "code"}
    notebook = copy.deepcopy(lesson)
    notebook.cells = [cell for cell in notebook.cells if "solution" not in _tags(cell)]
    answers = [cell for cell in notebook.cells if "answer" in _tags(cell)]
    if not any(cell.id in theirs for cell in answers):
        raise HandedInError("this is no copy of the lesson: it has none of its cells for answers")
    for cell in answers:
        cell.source = theirs.get(cell.id, cell.source)
    module = next(f"{found[1]}.{found[2]}" for cell in notebook.cells if (found := _CHECKS.search(cell.source)))
    for cell in notebook.cells:
        if "check" in _tags(cell):  # an answer may have changed the checks
            cell.source = _AFRESH.format(module=module) + cell.source
    return notebook


def table(grades: dict[str, list[Grade]]) -> str:
    """A line for each notebook, with its credits and their sum, and under it what is not fully right."""
    lines = []
    for name, each in grades.items():
        credits = "  ".join(f"{grade.credit:.1f}" for grade in each)
        points = sum(grade.points for grade in each)
        lines.append(f"{sum(grade.credit for grade in each):.1f} of {points}  {name}  ({credits})")
        lines += [f"    {grade.exercise}: {grade.why}" for grade in each if grade.credit < grade.points]
    return "\n".join(lines)


def write_csv(grades: dict[str, list[Grade]], path: Path) -> None:
    """One row for each exercise of each notebook. Raises ``OSError`` where the file cannot be written."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(["notebook", "exercise", "credit", "points", "why"])
    rows.writerows(
        [name, grade.exercise, grade.credit, grade.points, grade.why] for name, each in grades.items() for grade in each
    )
    with writing(path) as file:
        file.write(text.getvalue().encode())


def _grade(title: str, cell: Any, failed: str) -> Grade:
    """What a check's cell shows; an answer that fails is none, whatever an earlier cell has left under its name."""
    points = cell.metadata.get("nbgrader", {}).get("points", 1)
    if failed:
        return Grade(title, 0.0, f"the answer fails: {failed}", points)
    for output in cell.outputs:
        found = _CREDIT.search("".join(output.get("data", {}).get("text/html", "")))
        if found is not None:
            return Grade(title, float(found[1]), "".join(output.data["text/plain"]), points)
    return Grade(title, 0.0, f"the check fails: {_error(cell) or 'it says nothing'}", points)


def _error(cell: Any) -> str:
    """The error of a cell in one line."""
    return next((f"{o.ename}: {o.evalue.splitlines()[0]}" for o in cell.outputs if o.output_type == "error"), "")


def _tags(cell: Any) -> Sequence[str]:
    found: Sequence[str] = cell.metadata.get("tags", [])
    return found
