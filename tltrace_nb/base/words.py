"""Text from a kernel, made fit for a line of a report or a label.

In: any string. Out: a short one without surprises.
"""

from __future__ import annotations

import html
import re

CELL = "cell"
"""What stands for the file of a notebook's cell."""
_IPYTHON_CELL = re.compile(r"^<ipython-input-\d+-\w+>")
NAME_CHARS = 40
"""Longest name on a bar or in a legend; a longer one is elided."""

_KEPT = {"\u200d"}  # joins emoji; not "printable", yet harmless


def in_cells(source: str) -> str:
    """``source``, a file or ``file:line``, with IPython's own name of a cell as ``CELL``."""
    return _IPYTHON_CELL.sub(CELL, source)


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
