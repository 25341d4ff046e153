"""Timelines written beside a run, never over another file and never at the cost of the program.

In: a trace or rows of one, a folder, a stem. Out: files, and lines that say where they are or why not.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.errors import TraceError
from tltrace_nb.core.trace import Trace

if TYPE_CHECKING:
    from tltrace_nb.data.rows import Instant, Slice


@contextlib.contextmanager
def free_base(folder: Path, stem: str, suffix: str) -> Iterator[Path]:
    """``folder/stem`` without extension, or the first of ``stem_1``, ``stem_2`` ... that has no timeline yet.

    It is taken at once, by an empty file of that ``suffix``, so that of several processes each gets a name of its own;
    it is free again where the block fails before the file is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number in itertools.count():
        base = folder / (f"{stem}_{number}" if number else stem)
        taken = Path(f"{base}{suffix}")
        if not any(Path(f"{base}{each}").exists() for each in (".html", ".tltrace")) and _created(taken):
            break
    try:
        yield base
    except BaseException:
        with contextlib.suppress(OSError):
            if taken.stat().st_size == 0:
                taken.unlink()
        raise


def written(dump: Callable[[], str], what: str = "{base}.html and .tltrace") -> str:
    """What to say of a dump: where it is, or, where it failed, why. The program goes on in either case."""
    try:
        return f"wrote {what.format(base=dump())}"
    except Exception as error:  # whatever it is, the kernel has run
        return f"could not write the timeline: {in_words(error)}"


def in_words(error: Exception) -> str:
    """An error on one line, with its kind where it is not one that we raise, or the system."""
    text = " ".join(str(error).split())
    return text if text and isinstance(error, (OSError, TraceError)) else f"{type(error).__name__}: {text}".rstrip(": ")


def _created(path: Path) -> bool:
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def export_html(
    events: Trace | Iterable[Slice | Instant], path: Path, compiled: Any, title: str, sm_clock_ghz: float | None
) -> None:
    """Write a trace, or a selection of its rows, as one offline HTML file."""
    if isinstance(events, Trace):
        events.to_html(path, title=title)
        return
    from tltrace_nb.core.runtime.jit import table_of
    from tltrace_nb.data.selection import select
    from tltrace_nb.render.options import ViewOptions
    from tltrace_nb.widget.html import write_html

    write_html(select(list(events), table_of(compiled), sm_clock_ghz), path, ViewOptions(title=title))
