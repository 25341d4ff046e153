"""Several launches as one trace: what the views read of them, and what a reader chooses a launch by.

In: traces, in the order of their launches. Out: :class:`Launches`, with ``launch`` in front of every row. Each launch
counts its time from its own beginning; where it stands on the axis is the view's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tltrace_nb.base.checks import short, wrong
from tltrace_nb.base.words import clean
from tltrace_nb.data.headline import headline
from tltrace_nb.data.slots import STATE_DONE, headers
from tltrace_nb.data.stacked import stacked
from tltrace_nb.data.trace_data import TraceData

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.data.tracefile import TraceMeta

MOST_EVENTS = 400_000
"""Events of all launches that are shown together; of more only the last of each kernel and shape, or the last of all,
are."""


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """What a launch is chosen by: ``group`` is its kernel and shape, launched ``of`` times; ``why`` it was kept.

    ``begin_ns`` counts from the first launch; it is ``None`` where no clock is common to them.
    """

    launch: int
    kernel: str
    group: int
    why: str
    of: int
    begin_ns: float | None


@dataclass(frozen=True, eq=False)
class Launches:
    """The launches of a cell; what a view reads of a trace, it has, too. ``traces`` has each by its number."""

    events: pd.DataFrame
    ctas: pd.DataFrame
    flows: pd.DataFrame
    losses: pd.DataFrame
    meta: TraceMeta
    facts: tuple[LaunchFacts, ...]
    traces: Mapping[int, TraceData]

    def __repr__(self) -> str:
        lines = (f"{number}: {headline(trace)}" for number, trace in self.traces.items())
        return "\n  ".join([f"{len(self.facts):,} launches of {clean(self.meta.kernel, 80)}", *lines])


@dataclass(frozen=True, slots=True)
class Kept:
    """A trace, which launch of its kernel and shape it is in words, and how often that was launched."""

    trace: TraceData
    why: str
    of: int
    group: int


def of_traces(traces: Sequence[TraceData]) -> list[Kept]:
    """Traces in the order of their launches; those of one kernel and grid are numbered."""
    groups: dict[object, list[TraceData]] = {}
    for trace in traces:
        if not isinstance(trace, TraceData):
            wrong("source", trace, "a trace, or a list of traces, such as trace.history", TypeError)
        groups.setdefault((trace.table, trace.meta.grids), []).append(trace)
    numbers = {id(each): (n, place) for n, group in enumerate(groups.values()) for place, each in enumerate(group)}
    sizes = [len(group) for group in groups.values()]
    return [
        Kept(each, str(numbers[id(each)][1] + 1), sizes[numbers[id(each)][0]], numbers[id(each)][0]) for each in traces
    ]


def together(kept: Sequence[Kept]) -> Launches:
    """The launches on their way to a view. Raises ``ValueError`` where there are none."""
    if not kept:
        raise ValueError(f"source={short(kept)}: a timeline of launches needs one at least")
    kept = _fitting(kept)
    traces = {number: each.trace for number, each in enumerate(kept, 1)}
    begins = [_begin(each.trace) for each in kept]
    known = [begin for begin in begins if begin is not None]
    first = min(known) if len(known) == len(kept) else None
    facts = tuple(
        LaunchFacts(
            number,
            each.trace.meta.kernel,
            each.group,
            each.why,
            each.of,
            None if first is None or begin is None else float(begin - first),
        )
        for number, (each, begin) in enumerate(zip(kept, begins, strict=True), 1)
    )
    kernels = dict.fromkeys(each.trace.meta.kernel for each in kept)
    meta = replace(kept[-1].trace.meta, kernel=", ".join(filter(None, kernels)))
    return Launches(**stacked(traces, "launch"), meta=meta, facts=facts, traces=traces)


def facts_of(trace: object) -> tuple[LaunchFacts, ...]:
    """What is known of each launch where ``trace`` is several; else nothing."""
    return trace.facts if isinstance(trace, Launches) else ()


def _fitting(kept: Sequence[Kept]) -> Sequence[Kept]:
    """Those of which a view can have all events: all, or the last of each kernel and shape, or the last."""
    last = list({each.group: each for each in kept}.values())
    for some in (kept, last):
        if sum(len(each.trace) for each in some) <= MOST_EVENTS:
            return some
    return kept[-1:]


def _begin(trace: TraceData) -> int | None:
    """When its first CTA entered, on the GPU's own clock; a model's begins anew with every launch."""
    if trace.meta.device == "virtual":
        return None
    head = headers(trace.slots)
    entered = head["entry_ns"][head["state"] == STATE_DONE]
    return int(entered.min()) if len(entered) else None
