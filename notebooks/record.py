"""Run notebooks on a card and keep the traces of their cells tagged ``records=NAME``, from the repository's root.

    python notebooks/record.py notebooks/01_first_trace.ipynb ... --folder tltrace_nb/datasets/h200

In: a CUDA device and IPython; every code cell runs, in order. Out: one ``.tltrace`` file per tag, the last trace that
was captured when its cell had run; each says on which card, with which versions and from which notebook it was made.
A tagged cell runs twice, since the first run of a kernel also fetches its program. A cell that fails is reported and
the next one runs; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TAG = "records="


@dataclass(frozen=True)
class Cell:
    """A code cell: its number in the notebook, its text, and the names under which its trace is kept."""

    number: int
    source: str
    records: tuple[str, ...]


def cells(notebook: Path) -> Iterator[Cell]:
    """The code cells of a notebook file."""
    for number, cell in enumerate(json.loads(notebook.read_text())["cells"]):
        if cell["cell_type"] == "code":
            tags = cell["metadata"].get("tags", [])
            records = tuple(tag.removeprefix(TAG) for tag in tags if tag.startswith(TAG))
            yield Cell(number, "".join(cell["source"]), records)


def record(notebook: Path, folder: Path) -> int:
    """Run one notebook where it lies, save what it records, and return how many of its cells failed."""
    from IPython.core.interactiveshell import InteractiveShell

    from tltrace_nb import trace

    home = folder.resolve()
    command = f"python notebooks/record.py notebooks/{notebook.name}"
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    failed = 0
    before = Path.cwd()
    os.chdir(notebook.parent)
    try:
        for cell in cells(notebook):
            runs = [shell.run_cell(cell.source).success for _ in range(2 if cell.records else 1)]
            if not all(runs):
                failed += 1
                print(f"{notebook.name}: cell {cell.number} failed", file=sys.stderr)
                continue
            for name in cell.records:
                captured = trace.last
                assert captured is not None, f"{notebook.name}: cell {cell.number} captured no trace"
                captured.meta = dataclasses.replace(captured.meta, command=command)
                captured.save(home / f"{name}.tltrace")
                print(f"{notebook.name}: {name}, {len(captured):,} events on {captured.meta.gpu}")
    finally:
        os.chdir(before)
    return failed


def main() -> int:
    """Record the notebooks that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--folder", type=Path, default=ROOT / "tltrace_nb" / "datasets" / "h200")
    args = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "notebooks")]
    args.folder.mkdir(parents=True, exist_ok=True)
    return min(1, sum([record(notebook.resolve(), args.folder) for notebook in args.notebooks]))


if __name__ == "__main__":
    sys.exit(main())
