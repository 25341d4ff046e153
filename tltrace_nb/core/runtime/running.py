"""Around a run: outputs and slots told apart, slots checked and decoded.

In: a compiled kernel, what it returned. Out: the author's outputs, and a launch or its :class:`Trace`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.checks import wrong
from tltrace_nb.base.errors import NotTracedError, SlotsError
from tltrace_nb.core.runtime.environment import describe
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.chosen import CtaRuns, Grid
from tltrace_nb.data.sites import table_rows
from tltrace_nb.data.slots import STATE_DONE, headers, slot_words

if TYPE_CHECKING:
    from tltrace_nb.core.runtime.launch import TracedLaunch
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
