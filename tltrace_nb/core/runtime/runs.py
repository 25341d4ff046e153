"""Around a run: outputs and slots told apart, slots checked and decoded, timelines written.

In: a compiled kernel, what it returned. Out: the author's outputs, a launch or its :class:`Trace`, files.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.checks import wrong
from tltrace_nb.base.errors import NotTracedError, SlotsError, TraceError
from tltrace_nb.core.runtime.environment import describe
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.chosen import CtaRuns, Grid
from tltrace_nb.data.sites import table_rows
from tltrace_nb.data.slots import STATE_DONE, headers, slot_words

if TYPE_CHECKING:
    from tltrace_nb.core.runtime.launch import TracedLaunch
    from tltrace_nb.data.rows import Instant, Slice
    from tltrace_nb.data.sites import SiteTable


def run(
    compiled: Any, inputs: tuple[Any, ...], *, must_trace: bool, started: Callable[[TracedLaunch], None]
) -> tuple[Any, TracedLaunch | None]:
    """The kernel's own outputs (one tensor or a tuple) and its launch, if it was built to record.

    ``started`` gets a virtual launch before its trace fills, so that one that fails leaves what it recorded.
    """
    from tltrace_nb.core.runtime.jit import table_of
    from tltrace_nb.core.runtime.launch import TracedLaunch
    from tltrace_nb.core.runtime.traced import TracedKernel, VirtualTracedKernel

    if isinstance(compiled, VirtualTracedKernel):
        outputs, launch = compiled.launch(inputs, started)
        return _one_or_tuple(outputs), launch
    if isinstance(compiled, TracedKernel):
        outputs, launch = compiled.launch(inputs)
        return _one_or_tuple(outputs), launch
    try:
        table_of(compiled)
    except NotTracedError:
        if must_trace:
            raise
        return compiled(*inputs), None
    returned = compiled(*inputs)
    *outputs, slots = returned if isinstance(returned, (tuple, list)) else [returned]
    return _one_or_tuple(outputs), TracedLaunch.of(decode(compiled, slots))


def decode(compiled: Any, slots: Any) -> Trace:
    """The trace in slots that the kernel returned; raises ``SlotsError`` when they are another kernel's."""
    from tltrace_nb.core.runtime.jit import table_of

    table = table_of(compiled)
    _check_shape(slots, table)
    device = slots.device.index if getattr(slots, "is_cuda", False) else None
    slots = slots.cpu().numpy() if hasattr(slots, "cpu") else slots
    _check_tag(slots, table)
    grids = tuple(_least_grid(table, launch.grid) for launch in table.launches)
    return Trace(slots, table, describe(table, grids, device=device))


def _least_grid(table: SiteTable, grid: tuple[int | None, int | None, int | None]) -> Grid:
    """The grid, where the run alone knows it so large that it has the CTAs that the table names."""
    extents = [extent or 1 for extent in grid]
    if None in grid and isinstance(table.ctas, CtaRuns):
        extents[grid.index(None)] = table.ctas.runs[-1].last + 1
    x, y, z = extents
    return x, y, z


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


def _check_tag(slots: Any, table: SiteTable) -> None:
    head = headers(slots)
    tags = head["tag"][head["state"] == STATE_DONE]
    if len(tags) and (tags != table.tag).any():
        raise SlotsError(
            f"kernel {table.kernel}: these slots were filled by another kernel; pass the last tensor that it returned"
        )


def _check_shape(slots: Any, table: SiteTable) -> None:
    words = slot_words(table.capacity)
    rows = table_rows(table)
    if not hasattr(slots, "shape"):
        wrong("slots", slots, f"the last tensor that kernel {table.kernel} returned", SlotsError)
    shape = tuple(int(n) for n in getattr(slots, "shape", ()))
    wanted = ("num_cta" if rows is None else rows, len(table.writers), words)
    fits = len(shape) == 3 and shape[1:] == wanted[1:] and (rows is None or shape[0] == rows)
    dtype = str(getattr(slots, "dtype", type(slots).__name__)).removeprefix("torch.")
    if not fits or dtype != "int64":
        raise SlotsError(
            f"kernel {table.kernel}: expected slots of int64{list(wanted)}, got {dtype}{list(shape)}; "
            "pass the last tensor that this kernel returned"
        )


def _one_or_tuple(outputs: Any) -> Any:
    if not isinstance(outputs, (tuple, list)):
        return outputs
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
