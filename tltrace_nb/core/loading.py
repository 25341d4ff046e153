"""``load``: a trace out of a file, as a whole or part by part."""

from __future__ import annotations

import os
from typing import Literal, overload

from tltrace_nb.base.checks import checked, file, flag, optional, whole
from tltrace_nb.core.large import LargeTrace
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.tracefile import read_trace


@overload
def load(path: str | os.PathLike[str], limit: int | None = ..., *, lazily: Literal[False] = ...) -> Trace: ...
@overload
def load(path: str | os.PathLike[str], limit: int | None = ..., *, lazily: Literal[True]) -> LargeTrace: ...
@checked(path=file, limit=optional(whole(0, "the bytes of memory that the trace may take, or None")), lazily=flag)
def load(path: str | os.PathLike[str], limit: int | None = None, *, lazily: bool = False) -> Trace | LargeTrace:
    """Open a ``.tltrace`` file.

    ``limit``: bytes of memory that the trace may take, slots and frames; by default 64 MiB, or 128 times the file's
    size if that is more, which only a damaged or a hostile file exceeds. ``lazily``: read only what is asked for, of a
    trace too large for memory; see ``tltrace_nb.core.large.LargeTrace``. Raises ``TraceFileError`` (a ``ValueError``),
    which names the file, what is wrong and what to do, and ``OSError`` where there is no file.
    """
    return LargeTrace(path) if lazily else Trace(*read_trace(path, limit))
