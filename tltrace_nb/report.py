"""What ``tltrace run`` leaves of a program's launches: files, and a table on stderr.

In: the switch, and how many launches it had seen before. Out: one ``.tltrace`` per kernel and shape, pages of those
that took longest, and the lines that say so. What cannot be written is a line, too: the program has done its work.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tltrace_nb.base import notices
from tltrace_nb.base.numbers import NONE, count, duration
from tltrace_nb.base.words import clean
from tltrace_nb.core.runtime.dumps import free_base, in_words
from tltrace_nb.data.headline import UNMARKED, troubles
from tltrace_nb.render.options import PAGE_EVENTS

if TYPE_CHECKING:
    from tltrace_nb.core.api import TraceSwitch
    from tltrace_nb.core.runtime.kept import Launched
    from tltrace_nb.core.trace import Trace

Pages = Literal["auto", "all", "none"]
PAGES = 8
"""Pages that ``auto`` writes: those of the kernels and shapes that took longest in all."""
_HEADS = ("kernel", "grid", "launches", "median", "events", "lost", "kept", "file")


@dataclass(frozen=True, slots=True)
class Written:
    """A trace in a file: of which launch, where (``None``: it could not be written), and what its table row says."""

    launched: Launched
    why: str
    trace: Trace
    base: Path | None
    page: bool


def report(switch: TraceSwitch, since: int, stem: str, *, pages: Pages = "auto", every: bool = False) -> bool:
    """Write what stays of the launches since so many, and say what; whether there was any.

    ``every``: a file of each trace that stays, not only of the last of its kernel and shape.
    """
    launched = [each for each in switch.launched(since) if each.kept]
    if not launched:
        return False
    chosen = [(each, why, trace) for each in launched for why, trace in (each.kept if every else each.kept[-1:])]
    longest = sorted(chosen, key=lambda one: -(one[0].median_ns or 0) * one[0].launches)[:PAGES]
    with_page = {id(trace) for _, _, trace in (longest if pages == "auto" else chosen if pages == "all" else [])}
    written = []
    for number, (each, why, trace) in enumerate(chosen):
        _progress(f"writing {number + 1} of {len(chosen)}")
        base, page = _write(
            switch, trace, stem, page=id(trace) in with_page, most=None if pages == "all" else PAGE_EVENTS
        )
        written.append(Written(each, why, trace, base, page))
    _progress("")
    for line in table_lines(written, every):
        say(line)
    return True


def say(line: str) -> None:
    """One line on stderr, as all of ours: stdout is the program's."""
    notices.say(f"tltrace: {line}", sys.stderr)


def table_lines(written: Iterable[Written], every: bool) -> Iterator[str]:
    """A table, a row per file, and what is to be said of the traces and the files."""
    written = list(written)
    rows = [_HEADS, *(_row(one) for one in written)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, grid, *cells, kept, file in rows:
        numbers = (cell.rjust(width) for cell, width in zip(cells, widths[2:], strict=False))
        yield "  ".join((name.ljust(widths[0]), grid.ljust(widths[1]), *numbers, kept.ljust(widths[-2]), file)).rstrip()
    yield from dict.fromkeys(text for one in written for text in _remarks(one.trace))
    stay = sum(len(each.kept) for each in {id(one.launched): one.launched for one in written}.values())
    if stay > len(written) and not every:
        yield f"{count(stay, 'trace')} stayed, of which the last of each kernel and shape are written: --keep-launches"
    without = [one for one in written if one.base is not None and not one.page]
    if without and len(without) < len(written):
        yield f"{count(len(without), 'file')} without a page: tltrace open shows one, --html all writes all"


def _row(one: Written) -> tuple[str, ...]:
    launched, trace = one.launched, one.trace
    grids = trace.meta.grids or ()
    extents = [" x ".join(map(str, _without_ones(grid))) for grid in grids]
    suffix = ".tltrace and .html" if one.page else ".tltrace"
    return (
        clean(launched.kernel),
        ", ".join(extents),
        f"{launched.launches:,}",
        NONE if launched.median_ns is None else duration(launched.median_ns),
        f"{len(trace):,}",
        f"{int(trace.losses['lost'].sum()):,}",
        one.why,
        "not written" if one.base is None else f"{one.base}{suffix}",
    )


def _without_ones(grid: tuple[int, int, int]) -> tuple[int, ...]:
    x, y, z = grid
    return grid if z > 1 else (x, y) if y > 1 else (x,)


def _remarks(trace: Trace) -> Iterator[str]:
    """What is to be known of a trace."""
    name = clean(trace.table.kernel)
    if trace.meta.note:
        yield f"{name}: {trace.meta.note}"
    elif not trace.table.sites:
        yield f"{name}: {UNMARKED}"
    for trouble in troubles(trace):
        if not trouble.startswith("CTAs left out"):  # the note has it
            yield f"{name}: {trouble}"


def _write(switch: TraceSwitch, trace: Trace, stem: str, *, page: bool, most: int | None) -> tuple[Path | None, bool]:
    """The path without extension, ``None`` where the trace could not be written, and whether there is a page."""
    base: Path | None = None
    saved = False
    try:
        with free_base(Path(switch.output), stem, ".tltrace") as base:
            trace.save(f"{base}.tltrace")
        saved = True
        if page:
            trace.to_html(f"{base}.html", title=stem, most=most)
    except Exception as error:  # whatever it is, there are others to write
        say(f"could not write {base or switch.output}: {in_words(error)}")
        page = False
    return base if saved else None, page


def _progress(text: str) -> None:
    """What is being done, on a terminal alone, where the next such line takes its place."""
    if sys.stderr.isatty():
        notices.say(f"\r\033[K{f'tltrace: {text}' if text else ''}", sys.stderr, end="")
