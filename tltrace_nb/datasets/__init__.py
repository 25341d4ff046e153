"""Traces that come with the package, for a look without a GPU and without TileLang.

``names()`` lists them as ``gpu/kernel``, ``load("h200/gemm")`` opens one. Each says in its ``meta`` on which GPU,
with which driver and versions and by which command it was recorded.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from tltrace_nb.base.checks import wrong
from tltrace_nb.core.loading import load as _load
from tltrace_nb.core.trace import Trace, TraceFileError

__all__ = ["load", "names"]

FOLDER = Path(str(files(__name__)))
"""One folder a GPU, one file a kernel."""


def names() -> list[str]:
    """The names that ``load`` takes, sorted."""
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.glob("*/*.tltrace"))


def load(name: str) -> Trace:
    """The recorded trace of that name, such as ``"h200/gemm"``.

    Raises ``TraceFileError`` where there is none; the message lists those there are.
    """
    if not (isinstance(name, str) and name in names()):
        wrong("name", name, f"the name of a recorded trace, one of {', '.join(names())}", TraceFileError)
    return _load(FOLDER / f"{name}.tltrace")
