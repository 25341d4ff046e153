"""What a traced build may be told: how many events, which CTAs, how much memory, which automatic markers.

In: the author's wishes, as Python values. Out: :class:`TraceOptions`, hashable, part of every cache key.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from tltrace_nb.base.checks import checked, one_of, optional, whole, wrong
from tltrace_nb.core.compile.auto.options import Auto, AutoOptions
from tltrace_nb.data.chosen import IDS, CtaRuns
from tltrace_nb.data.left_out import MEBIBYTE
from tltrace_nb.data.sites import Keep

DEFAULT_BUDGET = 256 * MEBIBYTE
DEFAULT_MAX_EVENTS = 4096
"""Capacity in records of a writer whose loops have no constant bound, when the author gives none."""

Ctas = int | range | slice | Iterable[int]
SAMPLE: Final = "sample"
"""``ctas=`` for some of each launch, of every SM and every wave."""
Recorded = Ctas | Literal["sample"]
"""What ``ctas=`` of a traced build may be."""
CTAS = "a number of CTAs, at least 1, a range, a slice with an end, or ids, which count from 0"

_max_events = optional(whole(1, "a number of records per writer, at least 1, or None for what the loops need"))


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """Options of a traced build.

    ``max_events``: records per writer, ``None`` for what the loops need; ``keep``: which ones survive when there are
    more; ``ctas``: linear ids of the traced CTAs of each launch, ``None`` for all that have room; ``budget``: bytes
    that the slots may take; ``auto``: which operators get automatic markers, ``None`` for none.
    """

    max_events: int | None = None
    keep: Keep = Keep.FIRST
    ctas: CtaRuns | Literal["sample"] | None = None
    budget: int = DEFAULT_BUDGET
    auto: AutoOptions | None = None

    @classmethod
    @checked(
        max_events=_max_events, keep=one_of(Keep), budget=whole(1, "the bytes that the slots may take, at least 1")
    )
    def of(
        cls,
        max_events: int | None = None,
        keep: Literal["first", "last"] = "first",
        ctas: Recorded | None = None,
        budget: int = DEFAULT_BUDGET,
        auto: Auto = None,
    ) -> TraceOptions:
        """Options from plain values. ``ctas`` is a count (at most the first n), a range, a slice with an end, ids, or
        ``"sample"``, see ``capacity.sampled``; ``auto`` is what ``AutoOptions.of`` takes.

        Raises ``ValueError`` or ``TypeError`` for values that make no sense, naming the right ones.
        """
        return cls(max_events, Keep(keep), _recording("ctas", ctas), budget, AutoOptions.of(auto))

    @checked(max_events=_max_events)
    def with_max_events(self, max_events: int | None) -> TraceOptions:
        """The same options but for the records per writer. Raises as ``of``."""
        return replace(self, max_events=max_events)

    def with_auto(self, auto: Auto) -> TraceOptions:
        """The same options with other automatic markers; ``None`` changes nothing. Raises as ``AutoOptions.of``."""
        return self if auto is None else replace(self, auto=AutoOptions.of(auto))


def _recording(name: str, value: Any) -> CtaRuns | Literal["sample"] | None:
    """The CTAs that an author's ``ctas=`` lets record."""
    if value is None:
        return None
    if isinstance(value, str):
        return SAMPLE if value == SAMPLE else wrong(name, value, f"{CTAS}, or {SAMPLE!r}", TypeError)
    return cta_runs(name, value)


def is_count(ctas: Any) -> bool:
    """Whether an author's ``ctas=`` is a number of them."""
    return hasattr(ctas, "__index__") and not getattr(ctas, "ndim", 0)  # arrays have an index, too


def cta_runs(name: str, value: Any) -> CtaRuns:
    """The CTAs that an author's ``ctas=`` means; a range stays a range, however long."""
    if isinstance(value, bool | str | bytes):
        wrong(name, value, CTAS, TypeError)
    ids = value
    if is_count(value):
        ids = range(whole(1, CTAS)(name, value))
    elif isinstance(value, slice):
        try:
            ids = range(IDS)[value] if value.stop is not None else range(0)
        except (TypeError, ValueError):
            wrong(name, value, CTAS, TypeError)
        if (value.stop is not None and value.stop < 0) or (value.start or 0) < 0:
            wrong(name, value, CTAS)
    elif not isinstance(value, range | CtaRuns):
        try:
            ids = [whole(0, CTAS)(name, each) for each in value]
        except TypeError:
            wrong(name, value, CTAS, TypeError)
    chosen = CtaRuns.of(ids)
    if not chosen.runs or chosen.runs[0].start < 0 or chosen.runs[0].start >= IDS:
        wrong(name, value, CTAS)
    return chosen.below(IDS)
