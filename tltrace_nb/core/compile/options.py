"""What a traced build may be told: how many events, which CTAs, how much memory, which automatic markers.

In: the author's wishes, as Python values. Out: :class:`TraceOptions`, hashable, part of every cache key.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from tltrace_nb.core.compile.auto.options import Auto, AutoOptions
from tltrace_nb.data.chosen import CtaRuns
from tltrace_nb.data.left_out import MEBIBYTE
from tltrace_nb.data.sites import Keep

DEFAULT_BUDGET = 256 * MEBIBYTE
DEFAULT_MAX_EVENTS = 4096
"""Capacity in records of a writer whose loops have no constant bound, when the author gives none."""

Ctas = int | range | slice | Iterable[int]


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """Options of a traced build.

    ``max_events``: records per writer, ``None`` for what the loops need; ``keep``: which ones survive when there are
    more; ``ctas``: linear ids of the traced CTAs of each launch, ``None`` for all that have room; ``budget``: bytes
    that the slots may take; ``auto``: which operators get automatic markers, ``None`` for none.
    """

    max_events: int | None = None
    keep: Keep = Keep.FIRST
    ctas: CtaRuns | None = None
    budget: int = DEFAULT_BUDGET
    auto: AutoOptions | None = None

    @classmethod
    def of(
        cls,
        max_events: int | None = None,
        keep: Literal["first", "last"] = "first",
        ctas: Ctas | None = None,
        budget: int = DEFAULT_BUDGET,
        auto: Auto = None,
    ) -> TraceOptions:
        """Options from plain values. ``ctas`` is a count (at most the first n), a range, a slice with an end, or ids;
        ``auto`` is what ``AutoOptions.of`` takes.

        Raises ``ValueError`` or ``TypeError`` for values that make no sense, naming the right ones.
        """
        _check_max_events(max_events)
        if keep not in tuple(Keep):
            raise ValueError(f"keep={keep!r}: give 'first' or 'last'")
        if budget < 1:
            raise ValueError(f"budget={budget!r}: give the bytes that the slots may take, at least 1")
        ids = None if ctas is None else _cta_ids(ctas)
        return cls(max_events, Keep(keep), ids, budget, AutoOptions.of(auto))

    def with_max_events(self, max_events: int) -> TraceOptions:
        """The same options but for the records per writer. Raises ``ValueError`` as ``of``."""
        _check_max_events(max_events)
        return replace(self, max_events=max_events)

    def with_auto(self, auto: Auto) -> TraceOptions:
        """The same options with other automatic markers; ``None`` changes nothing. Raises as ``AutoOptions.of``."""
        return self if auto is None else replace(self, auto=AutoOptions.of(auto))


def _check_max_events(max_events: Any) -> None:
    if max_events is None:
        return
    if isinstance(max_events, bool) or not isinstance(max_events, int) or max_events < 1:
        raise ValueError(f"max_events={max_events!r}: give a number of records per writer, at least 1")


def _cta_ids(ctas: Ctas) -> CtaRuns:
    if isinstance(ctas, bool):
        raise TypeError("ctas=True/False: give a number of CTAs, a range or ids")
    if isinstance(ctas, int):
        ctas = range(ctas)
    if isinstance(ctas, slice):
        if ctas.stop is None:
            raise ValueError(f"ctas={ctas}: a slice needs an end")
        ctas = range(*ctas.indices(ctas.stop))
    try:
        chosen = CtaRuns.of(ctas if isinstance(ctas, range | CtaRuns) else [operator.index(each) for each in ctas])
    except TypeError as error:
        raise TypeError(f"ctas={ctas!r}: give a number of CTAs, a range, a slice with an end, or ids") from error
    if not chosen.runs or chosen.runs[0].start < 0:
        raise ValueError(f"ctas={ctas!r}: give at least one CTA, ids count from 0")
    return chosen
