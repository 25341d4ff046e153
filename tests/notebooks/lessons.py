"""The notebooks as the tests see them: their cells, what the cells are for, and a run of all of them."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import nbformat

FOLDER = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted((FOLDER / "teacher").glob("[0-9][0-9]_*.ipynb"))
"""The teacher's copies, executed and with solutions: what the students' are made of."""
LABS = sorted((FOLDER / "teacher").glob("lab_[0-9]_*.ipynb"))
_FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def read(lesson: Path) -> Any:
    """The notebook of a lesson."""
    return nbformat.read(lesson, as_version=4)


def tags(cell: Any) -> list[str]:
    """What a cell is for: ``answer``, ``check``, ``solution``, ``records=NAME``, or nothing said."""
    found: list[str] = cell.metadata.get("tags", [])
    return found


def tagged(notebook: Any, tag: str) -> list[Any]:
    """The cells with a tag, in order."""
    return [cell for cell in notebook.cells if tag in tags(cell)]


def solution(cell: Any) -> str:
    """The code of a solution's cell, which can stand in the answer's place."""
    (code,) = _FENCE.findall(cell.source)
    return str(code)


def solved(notebook: Any) -> Any:
    """The notebook with each exercise's solution and its check once more behind the solution, tagged ``checked``."""
    out = copy.deepcopy(notebook)
    out.cells = []
    checks: list[Any] = []
    for cell in notebook.cells:
        out.cells.append(cell)
        if "check" in tags(cell):
            checks.append(cell)
        if "solution" in tags(cell):
            out.cells.append(nbformat.v4.new_code_cell(solution(cell)))
            again = nbformat.v4.new_code_cell(checks[-1].source, metadata={"tags": ["checked"]})
            out.cells.append(again)
    return out


def printed(cell: Any) -> str:
    """All text of a code cell's outputs."""
    parts = []
    for output in cell.outputs:
        if output.output_type == "stream":
            parts.append(output.text)
        elif output.output_type == "error":
            parts.append("\n".join(output.traceback))
        else:
            parts.append(str(output.data.get("text/plain", "")))
    return "\n".join(parts)
