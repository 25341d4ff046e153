"""Traces inside of the profile that ``torch.profiler`` recorded of their program.

In: a profile, and traces of launches that it saw. Out: :class:`Profile`: which kernel of the profile each launch is,
with what error it stands there, and one file of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from tltrace_nb.analysis.placing import place
from tltrace_nb.base.checks import checked, file, listed, optional, short, whole, wrong
from tltrace_nb.base.words import clean
from tltrace_nb.data.kineto import recording
from tltrace_nb.data.trace_data import a_trace
from tltrace_nb.export.perfetto_profile import write_profile

if TYPE_CHECKING:
    import os

    import plotly.graph_objects as go

    from tltrace_nb.analysis.placing import Placed
    from tltrace_nb.core.trace import Trace

_TRACES = "a trace, or a list of traces, such as trace.history"


def _traces(name: str, value: Any) -> tuple[Trace, ...]:
    """A trace or several, each once."""
    some = (value,) if hasattr(value, "table") else value
    return tuple({id(each): each for each in listed(a_trace, _TRACES)(name, some)}.values())


class Profile:
    """A program's profile with the inside of its traced kernels; ``tltrace_nb.profile`` makes one.

    ``notes``: which launches could not be found in it, and why.
    """

    def __init__(self, prof: Any, traces: tuple[Trace, ...]) -> None:
        self._recording = recording("prof", prof)
        of_trace: dict[int, list[Placed]] = {id(trace): [] for trace in traces}
        for each in place(traces, self._recording):
            of_trace[id(each.launch.trace)].append(each)
        self._placements = tuple(of_trace.values())
        lost = [each for each in self._placed if each.kernel is None]
        self.notes = tuple(f"not in the profile: {each.launch.name}: {each.reason}" for each in lost)

    @property
    def _placed(self) -> list[Placed]:
        return [each for launches in self._placements for each in launches]

    @property
    def launches(self) -> pd.DataFrame:
        """One row per traced launch: the number of its trace, its kernel, and where it stands in the profile.

        ``device``, ``stream`` and ``correlation`` are the profiler's. ``start_ns`` and ``duration_ns``: of the kernel,
        since the first event of the profile. ``play_ns``: by how much the kernel took longer than from the first CTA's
        entry to the last one's exit. ``error_ns``: how far the CTAs may stand from their place in it, to either side;
        at most half of the play and a step of the GPU's timer. Missing where the launch could not be found, and
        ``reason`` says why.
        """
        numbers = [number for number, launches in enumerate(self._placements) for _ in launches]
        rows = [_row(number, each, self._recording.start) for number, each in zip(numbers, self._placed, strict=True)]
        frame = pd.DataFrame(rows, columns=list(_COLUMNS))
        return frame.astype(_COLUMNS)

    @checked(path=file)
    def to_perfetto(self, path: str | os.PathLike[str]) -> Path:
        """Write one file of both for ui.perfetto.dev, gzipped where ``path`` ends in ``.gz``; returns the path.

        Raises ``OSError`` where the file cannot be written.

        >>> tltrace_nb.profile(prof, trace.history).to_perfetto("step.pftrace")
        """
        return write_profile(self._recording, self._placements, self.notes, path)

    @checked(launch=optional(whole(0)))
    def figure(self, *, launch: int | None = None) -> go.Figure:
        """Host threads and GPU streams over the SMs with their CTAs, in ns since the profile's first event.

        ``launch``: shows this row of ``launches`` at first (default: all of the profile). A drag zooms time, a click on
        the legend hides what it names. Raises ``ValueError`` for a launch that the profile does not have, and
        ``ModuleNotFoundError`` where Plotly is not installed.

        >>> profile.figure(launch=2)
        """
        from tltrace_nb.widget.profile import figure

        shown = None
        if launch is not None:
            shown = self._placed[launch] if launch < len(self._placed) else None
            if shown is None or shown.kernel is None:
                found = [number for number, each in enumerate(self._placed) if each.kernel is not None]
                wrong("launch", launch, f"a launch that is in the profile, one of {short(found)}")
        return figure(self._recording, [each for each in self._placed if each.kernel is not None], shown)

    def __repr__(self) -> str:
        found = [each for each in self._placed if each.kernel is not None]
        head = f"Profile in which {len(found)} of {len(self._placed)} traced launches were found"
        lines = [
            f"{clean(each.launch.function, 60)}: correlation {each.kernel.correlation}, ± {each.error:,} ns"
            for each in found
            if each.kernel is not None
        ]
        return "\n  ".join([head, *lines, *self.notes])


_COLUMNS = {
    "trace": "int64", "launch": "int64", "kernel": "object", "device": "object", "stream": "object",
    "correlation": "Int64", "start_ns": "Int64", "duration_ns": "Int64", "play_ns": "Int64", "error_ns": "Int64",
    "reason": "object",
}  # fmt: skip


def _row(number: int, placed: Placed, zero: int) -> tuple[Any, ...]:
    launch, kernel = placed.launch, placed.kernel
    if kernel is None:
        return number, launch.number, launch.function, *[None] * 7, placed.reason
    return (
        number, launch.number, launch.function, *kernel.line, kernel.correlation, kernel.start - zero,
        kernel.end - kernel.start, placed.play, placed.error, None,
    )  # fmt: skip


@checked(traces=_traces)
def profile(prof: Any, traces: Trace | Sequence[Trace]) -> Profile:
    """Find traced launches in the profile of their program.

    ``prof``: a ``torch.profiler.profile`` that has ended, or the name of a file that its ``export_chrome_trace`` wrote.
    ``traces``: a trace or several, such as ``trace.history``. A launch that cannot be found for certain is in no file,
    and ``notes`` says why.

    Raises ``TypeError`` for other arguments, ``ValueError`` for a profile that has not ended and for a file that is
    none or cannot be read.

    >>> with torch.profiler.profile() as prof, trace.tracing():
    ...     model(tokens)
    >>> tltrace_nb.profile(prof, trace.history).to_perfetto("step.pftrace")
    """
    return Profile(prof, traces)  # type: ignore[arg-type]
