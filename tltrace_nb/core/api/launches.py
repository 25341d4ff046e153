"""What was captured: the latest trace, and those of the launches that stay."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.checks import checked, optional, whole
from tltrace_nb.base.errors import NotTracedError
from tltrace_nb.core.api.tracing import Tracing
from tltrace_nb.core.runtime.kept import Kept, Launch, Launched, launch_of
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.data.trace_data import a_trace

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace
    from tltrace_nb.distributed import Aligned, Gathered


class Launches(Tracing):
    """The traces of the launches so far, which traced kernels leave here."""

    def __init__(self) -> None:
        super().__init__()
        self._kept = Kept()
        self._block: Aligned | None = None

    @property
    def last(self) -> Trace | None:
        """The latest trace of ``history``, if any."""
        return next(reversed(self.history), None)

    @property
    def history(self) -> tuple[Trace, ...]:
        """The traces of the launches that stay, in the order of the launches.

        Per kernel and shape these are the first, the last and the slowest since ``enable`` or the beginning of a
        ``tracing`` block or cell, or what ``keep_launches`` says, for the latest ``kept.SECTIONS`` blocks and cells.
        All together they take at most the budget of one kernel on the device, and ``kept.HOST_BUDGET`` in all, with the
        frames of those that were looked at: the oldest are copied to the host, and let go in the end, when another
        launch comes in. Whoever holds a trace keeps it.
        """
        return tuple(self._kept.since())

    @property
    def launches(self) -> int:
        """Launches that were traced so far, whether their traces stay or not."""
        return self._kept.count

    @checked(launches=whole(0))
    def since(self, launches: int) -> list[Trace]:
        """The traces that stay of the launches after so many.

        >>> before = trace.launches
        >>> kernel(a, b)
        >>> trace.since(before)
        """
        return self._kept.since(launches)

    @checked(since=whole(0))
    def launched(self, since: int = 0) -> list[Launched]:
        """Per kernel and shape, of those launched after so many launches: how many, median time, what is kept, why."""
        return self._kept.launched(since)

    def clear(self) -> None:
        """Forget all traces, and free their memory."""
        self._kept.clear()

    def captured(self, launch: Launch | Trace, *, pinned: bool = False) -> None:
        """Take a launch, or the trace of one; traced kernels call it. It stays as ``keep_launches`` says, or
        if it is ``pinned``.

        This costs a few microseconds, waits for nothing, and copies nothing but what exceeds the budget.
        """
        state = self._state
        taken = launch if isinstance(launch, TracedLaunch) else launch_of(launch)
        self._kept.add(taken, state.section, state.options.budget, pinned=pinned)

    @checked(trace=optional(a_trace))
    def show(self, trace: Trace | None = None, **view: Any) -> None:
        """Show a trace, by default the last one, as a timeline under the cell; ``view`` as ``Trace.show``."""
        shown = self.last if trace is None else trace
        if shown is None:
            print("no trace yet: trace.enable(), build a kernel with @trace.jit, run it, then trace.show()")
            return
        shown.show(**view)

    @contextlib.contextmanager
    def aligned(self, **options: Any) -> Iterator[None]:
        """Compare the clocks of the ranks of each host where the block begins and where it ends, for ``gather``.

        All ranks of the process group enter it, and leave it; in between they launch what they like. As
        ``tltrace_nb.distributed.aligned``.

        >>> with trace.aligned():
        ...     kernel(a, b)
        >>> whole = trace.gather()
        """
        from tltrace_nb.distributed import aligned

        with aligned(**options) as self._block:
            yield

    @checked(trace=optional(a_trace))
    def gather(self, trace: Trace | None = None, **options: Any) -> Gathered | None:
        """The traces of all ranks of the process group, by default their last ones, on rank 0; ``None`` elsewhere.

        As ``tltrace_nb.distributed.gather``, with what the latest ``aligned`` block has found, and with the launches of
        the trace's kernel and shape that stay, for the table of skew. Raises ``NotTracedError`` where this rank has no
        trace yet.
        """
        from tltrace_nb.distributed import gather

        mine = self.last if trace is None else trace
        if mine is None:
            raise NotTracedError("this rank has no trace yet: build a kernel with tracing on, and run it, first")
        options = {"block": self._block, "launches": self._kept.alike(mine), **options}
        return gather(mine, **options)
