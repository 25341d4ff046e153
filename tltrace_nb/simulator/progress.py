"""A progress bar for virtual runs that take long.

In: a kernel's name. Out: what ``VirtualKernel.run`` calls as CTAs are done. In a notebook the bar is a widget, in a
terminal a line on stderr; elsewhere (a log, a pipe) there is none. It comes late, so that short runs leave no trace of
it, and goes when the run ends; that of an interrupted run stays in a notebook, in red.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from time import monotonic
from typing import Any

from tltrace_nb.simulator.engine import Progress

SHOWN_AFTER = 1.0
"""Seconds of a run before its progress is shown."""


@contextlib.contextmanager
def progress_bar(kernel: str) -> Iterator[Progress]:
    """A bar that advances as CTAs are done.

    >>> with progress_bar(kernel.name) as progress:
    ...     kernel.run(inputs, progress=progress)
    """
    from tqdm.auto import tqdm

    bars: list[Any] = []
    started = monotonic()

    def progress(done: int, total: int) -> None:
        if monotonic() - started < SHOWN_AFTER:
            return  # a bar of a notebook is ten widgets, shown or not
        with _unless_it_is_gone():
            if not bars or bars[-1].total != total:
                bars.append(tqdm(desc=kernel, total=total, unit="CTA", miniters=0, leave=False, disable=None))
            bars[-1].update(done - bars[-1].n)

    try:
        yield progress
    finally:
        for bar in reversed(bars):
            with _unless_it_is_gone():
                bar.close()
                if bar.n == bar.total:
                    _close_widgets(getattr(bar, "container", None))


def _close_widgets(widget: Any) -> None:
    """End what a bar of a notebook is made of: tqdm ends its outermost widget alone."""
    if widget is not None:
        for part in (*getattr(widget, "children", ()), getattr(widget, "layout", None), getattr(widget, "style", None)):
            _close_widgets(part)
        if hasattr(widget, "close"):
            widget.close()


def _unless_it_is_gone() -> contextlib.AbstractContextManager[None]:
    """Within, a terminal that takes nothing any more (it was closed, its log is on a full disk) is no error."""
    return contextlib.suppress(OSError, ValueError)
