"""What an instructor's tools read in a lesson: which cells begin a slide, and which nbgrader grades.

In: a lesson's notebook. Out: the same with ``slideshow`` and ``nbgrader`` in the metadata of its cells, made from the
cells themselves. ``execute.py`` writes it with both copies; by itself, this makes slides of executed lessons:

    python notebooks/kit.py SLIDES notebooks/teacher/01_first_trace.ipynb ...
"""

from __future__ import annotations

import copy
import importlib
import re
import sys
from pathlib import Path
from typing import Any

import nbformat

MOST_LINES = 16
"""Of prose and code on one slide; a picture counts as so many as it hides."""
FEW_LINES = 2
"""Of a cell that stays with what is in front of it."""
PICTURE_LINES = 12
WIDE_LINE = 110
"""Letters of prose that fill a line of a slide."""
WORDS_A_MINUTE = 120
MINUTES_A_CELL = 0.75
"""To run a cell and to look at what it shows."""
MINUTES_AN_EXERCISE = 3
MINUTES_A_KERNEL = 10
"""For an exercise in which a kernel is changed."""
_CHECKS = re.compile(r"from (tltrace_nb\.course) import (\w+) as checks")


def tags(cell: Any) -> list[str]:
    """What a cell is for."""
    found: list[str] = cell.metadata.get("tags", [])
    return found


def equipped(notebook: Any, name: str) -> Any:
    """The notebook with both kinds of metadata; ``name`` of its file, which makes the ids of graded cells unique."""
    notebook = copy.deepcopy(notebook)
    points, filled = points_of(notebook), 0
    for cell in notebook.cells:
        kind, filled = _slide(cell, filled)
        cell.metadata["slideshow"] = {"slide_type": kind}
        cell.metadata.pop("nbgrader", None)
        if {"answer", "check"} & set(tags(cell)):
            cell.metadata["nbgrader"] = graded(cell, f"{name}-{cell.id}", points)
    return notebook


def graded(cell: Any, grade_id: str, points: int) -> dict[str, Any]:
    """nbgrader's metadata of an answer, which students change, or of a check, which is locked and has points."""
    check = "check" in tags(cell)
    metadata = {
        "cell_type": cell.cell_type,
        "grade": check,
        "grade_id": grade_id,
        "locked": check,
        "schema_version": 3,
        "solution": not check,
        "task": False,
    }
    return metadata | ({"points": points} if check else {})


def points_of(notebook: Any) -> int:
    """The points of one exercise: those of the lab, or one."""
    module = next(f"{found[1]}.{found[2]}" for cell in notebook.cells if (found := _CHECKS.search(cell.source)))
    lab = getattr(importlib.import_module(module), "LAB", None)
    return 1 if lab is None else int(lab.points)


def minutes(notebook: Any) -> int:
    """An estimate of what a lesson takes, to the next five minutes: reading, running and looking, its exercises."""
    cells = [cell for cell in notebook.cells if "solution" not in tags(cell)]
    words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
    answers = [cell for cell in cells if "answer" in tags(cell)]
    kernels = sum("def " in cell.source for cell in answers)
    shown = sum(cell.cell_type == "code" for cell in cells) - 2 * len(answers)
    took = words / WORDS_A_MINUTE + shown * MINUTES_A_CELL
    took += kernels * MINUTES_A_KERNEL + (len(answers) - kernels) * MINUTES_AN_EXERCISE
    return -(-int(took) // 5) * 5


def slides(notebook: Any) -> str:
    """The HTML of a presentation of an executed lesson, which needs reveal.js from the network when it is shown."""
    from nbconvert import SlidesExporter

    exporter = SlidesExporter(
        reveal_scroll=True, reveal_theme="simple", reveal_transition="none", reveal_width="1280", reveal_height="720"
    )
    page, _ = exporter.from_notebook_node(notebook)
    return str(page)


def _slide(cell: Any, filled: int) -> tuple[str, int]:
    """The kind of a cell on slides, and how many lines its slide has with it."""
    if {"solution", "check"} & set(tags(cell)) or _CHECKS.search(cell.source):
        return "skip", filled
    lines = _lines(cell)
    if cell.cell_type == "markdown" and cell.source.startswith(("# ", "## ")):
        return "slide", lines
    if cell.source.startswith("### ") or (lines > FEW_LINES and filled + lines > MOST_LINES):
        return "subslide", lines
    return "-", filled + lines


def _lines(cell: Any) -> int:
    """How many lines of a slide a cell takes, with its outputs."""
    lines = sum(1 + len(line) // WIDE_LINE for line in cell.source.splitlines())
    for output in cell.get("outputs", []):
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        picture = output.output_type == "display_data"
        lines += PICTURE_LINES if picture else len(text.splitlines())
    return lines


def main() -> int:
    """Write the slides of the named lessons into a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in map(Path, sys.argv[2:]):
        out = folder / f"{path.stem}.slides.html"
        out.write_text(slides(nbformat.read(path, as_version=4)), encoding="utf-8")
        print(f"{out}: {out.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
