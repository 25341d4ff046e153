"""Kernels as students hand them in: the solution of an exercise with some lines changed.

In: a lesson, the name of the kernel's builder, and changes of text. Out: the builder, as a cell would have made it.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lessons import LABS, LESSONS, read, solution, tagged

PRELUDE = "import numpy as np\nimport tilelang.language as T\nimport torch\nfrom tltrace_nb import trace\n"
Change = tuple[str, str]


@dataclass(frozen=True)
class Row:
    """A kernel that is handed in, and what the check says of it.

    ``kind``: the right answer in another form, a near miss, a cheat, or the kernel as it was given.
    """

    kind: Literal["right", "near miss", "cheat", "untouched"]
    what: str
    changes: tuple[Change, ...]
    says: str

    @property
    def state(self) -> str:
        return {"right": "right", "untouched": "unanswered"}.get(self.kind, "wrong")


def lesson(number: int) -> Any:
    """The notebook of a lesson."""
    return read(next(path for path in LESSONS if path.name.startswith(f"{number:02}")))


def lab(number: int) -> Any:
    """The notebook of a lab."""
    return read(LABS[number - 1])


def handed_in(number: int, name: str, changes: Sequence[Change] = (), given: bool = False) -> Any:
    """The builder ``name`` of a lesson's solution, or of its answer's cell as ``given``, with these changes."""
    return changed(lesson(number), name, changes, given)


def changed(notebook: Any, name: str, changes: Sequence[Change] = (), given: bool = False) -> Any:
    """As ``handed_in``, of this notebook."""
    if given:
        texts = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    else:
        texts = [solution(cell) for cell in tagged(notebook, "solution")]
    source = next(found for text in texts if (found := _definition(text, name)))
    for old, new in changes:
        source = _changed(source, old, new)
    return made(_constants(notebook) + source, name)


def _changed(source: str, old: str, new: str) -> str:
    """``source`` with ``new`` for ``old``, whose lines are indented as the first is where it is found."""
    for indent in range(0, 48, 4):
        inner = "\n" + " " * indent
        found = source.find(old.replace("\n", inner))
        line = source[source.rfind("\n", 0, found) + 1 :]
        if found >= 0 and len(line) - len(line.lstrip(" ")) == indent:
            return source.replace(old.replace("\n", inner), new.replace("\n", inner))
    raise AssertionError(f"there is no {old!r} in {source}")


def _definition(text: str, name: str) -> str:
    """The function of that name in a cell, with its decorators; empty if it is not there."""
    if f"def {name}(" not in text or text.startswith("%"):
        return ""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + "\n"
    return ""


def _constants(notebook: Any) -> str:
    """The constants that the lesson's kernels use."""
    lines = [line for cell in notebook.cells if cell.cell_type == "code" for line in cell.source.splitlines()]
    return "\n".join(line for line in lines if line.split(" ")[0].rstrip(",").isupper() and " = " in line) + "\n"


def made(source: str, name: str) -> Any:
    """What a file with that text defines under that name; TileLang reads the text again."""
    text = PRELUDE + source
    file = f"<handed in {name} {hash(text):x}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {}
    exec(compile(text, file, "exec", dont_inherit=True), namespace)
    return namespace[name]
