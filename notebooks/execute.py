"""Execute the teacher's copies of the lessons in place, and write the students' beside them, as they are committed:

    python notebooks/execute.py notebooks/teacher/01_first_trace.ipynb ...

In: teacher's notebooks, and nbclient. Out: the same with the outputs of a fresh run, without views of widgets, which
show an error where no kernel runs; the still picture of each timeline stays. One folder up goes the students' copy:
without outputs, so that a prediction comes before its answer, and without solutions. Both have the metadata of slides
and of graded cells (``kit.py``). The exit code is 1 where a cell failed.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from kit import equipped
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

WIDGET = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
PATIENCE_S = 180
INTERACTIVE = re.compile(
    r"<script>.*?</script>|<style>\.jp-OutputArea-child.*?</style>|</?tltrace-timeline-[^>]*>", re.DOTALL
)
"""What a saved timeline has beside its still picture. Attributes hold no ``>``."""


def execute(notebook: Any, folder: Path) -> None:
    """Run all cells of ``notebook`` in ``folder``. Raises ``CellExecutionError`` for the first that fails."""
    client = NotebookClient(
        notebook, timeout=PATIENCE_S, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    client.execute()


def settled(notebook: Any) -> Any:
    """``notebook`` without what only its run knows: views of widgets and their states, times, versions.

    Timelines keep their still picture alone: with the front end in them all lessons would change with it.
    """
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _joined(output for output in cell.outputs if WIDGET not in output.get("data", {}))
            for output in cell.outputs:
                data = output.get("data", {})
                if "text/html" in data:
                    data["text/html"] = INTERACTIVE.sub("", data["text/html"])
    return notebook


def _joined(outputs: Iterable[Any]) -> list[Any]:
    """Outputs with what was printed in one piece: it comes in as many as the kernel happened to send."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == "stream" and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def students(notebook: Any) -> Any:
    """The students' copy of a teacher's notebook: no outputs, no solutions, all else as it is."""
    copied = copy.deepcopy(notebook)
    copied.cells = [cell for cell in copied.cells if "solution" not in cell.metadata.get("tags", [])]
    for cell in copied.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return copied


def main() -> int:
    """Execute the notebooks that are named."""
    failed = 0
    for path in map(Path, sys.argv[1:]):
        notebook = nbformat.read(path, as_version=4)
        try:
            execute(notebook, path.parent)
        except CellExecutionError as error:
            failed = 1
            print(f"{path}: {error}", file=sys.stderr)
            continue
        notebook = equipped(settled(notebook), path.stem)
        nbformat.write(notebook, path)
        nbformat.write(students(notebook), path.parent.parent / path.name)
        print(f"{path}: {path.stat().st_size:,} bytes")
    return failed


if __name__ == "__main__":
    sys.exit(main())
