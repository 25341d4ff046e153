"""Text from a kernel, made fit for a line of a report or a label.

In: any string. Out: a short one without surprises.
"""

from __future__ import annotations

import html
import linecache
import re
import sys
from pathlib import Path

CELL = "cell"
"""What stands for the file of a notebook's cell whose number is not known."""
_IPYTHON_CELL = re.compile(r"^<ipython-input-(\d+)-\w+>")
CODE_CHARS = 120
"""Most characters that are kept of a line of a kernel."""
NAME_CHARS = 40
"""Longest name on a bar or in a legend; a longer one is elided."""

_KEPT = {"\u200d"}  # joins emoji; not "printable", yet harmless


def in_cells(source: str) -> str:
    """``source``, a file or ``file:line``, with IPython's own name of a cell as its number, ``In [3]``."""
    return _IPYTHON_CELL.sub(r"In [\1]", source)


def cell_of(file: str) -> str:
    """The cell that a kernel takes ``file`` for: ``In [3]``, ``CELL`` where its number is not known; empty for a file.

    IPython knows the numbers of the cells of its own session.
    """
    path = Path(file)
    if in_cells(path.name) != path.name:
        return in_cells(path.name)
    if not path.parent.name.startswith("ipykernel_"):
        return ""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    known = shell.compile.format_code_name(file) if shell else None
    return known[1].replace("[", " [") if known else CELL


def code_at(source: str) -> str:
    """What stands at ``file:line``, of a file that is there or of a cell of this session; empty where none does."""
    file, _, line = source.rpartition(":")
    if not line.isdecimal():
        return ""
    cells = (name for name in [*linecache.cache] if file.startswith("In [") and cell_of(name) == file)
    return linecache.getline(next(cells, file), int(line)).strip()[:CODE_CHARS]


def utf8(text: str) -> str:
    """``text`` with U+FFFD for what UTF-8 cannot encode: lone surrogates. Nothing else is changed."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean(text: str, chars: int = NAME_CHARS) -> str:
    """``text`` on one line, without control characters or lone surrogates, elided after ``chars`` characters."""
    head = " ".join(text[: 4 * chars].split())
    head = "".join(c if c.isprintable() or c in _KEPT else "\ufffd" for c in head)
    if len(head) > chars or len(text) > 4 * chars:
        head = head[: chars - 1] + "…"
    return head or "(unnamed)"


def markup(text: str) -> str:
    """``text`` escaped for Plotly, which reads a little HTML, and TeX between dollar signs."""
    return html.escape(text, quote=False).replace("$", "&#36;")
