"""What a reader asks of a view of a trace: which part of it, and how it is drawn.

In: the arguments of ``Trace.figure`` and its kin. Out: :class:`ViewOptions`, checked, as all views take them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Literal

from tltrace_nb.base.checks import one_of, optional, pixels, text, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from tltrace_nb.base.checks import Check
    from tltrace_nb.core.compile.options import Ctas

Time = Literal["auto", "cycles", "ns"]
View = Literal["thread", "cta", "name", "sm"]
Color = Literal["name", "payload", "duration", "wave"]

TIMES: tuple[Time, ...] = ("auto", "cycles", "ns")
VIEWS: tuple[View, ...] = ("thread", "cta", "name", "sm")
COLORS: tuple[Color, ...] = ("name", "payload", "duration", "wave")

LIMIT = 2000
"""Most events that a figure draws one by one: about 5 s to the first paint."""
PAGE_EVENTS = 500_000
"""Most events in a page: it is some 1 MB, and shows its first picture within half a second."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ViewOptions:
    """How a view is asked for.

    ``ctas`` and ``events`` choose what is drawn, as ``lanes.selected`` has it. ``limit`` is the most events drawn one
    by one; above it the first CTAs that fit are taken whole, and the others merged into at most a quarter as many bars,
    a row per name, as the picture says. ``time`` is ``"cycles"`` since each CTA's entry, ``"ns"`` since the first CTA's
    entry, or ``"auto"``: cycles for one CTA, ns for several where they are known. ``height`` is in pixels (``None``: by
    the number of rows). ``title`` stands over it (``None``: the kernel's name). ``view`` says what a lane is
    (``"thread"``, ``"cta"``, ``"name"``, or ``"sm"``, which draws CTAs), ``color`` what a colour is: the ``"name"``, or
    on a scale the ``"payload"``, the ``"duration"`` or the CTA's ``"wave"``.

    Raises ``ValueError`` and ``TypeError`` for what an option may not be.
    """

    ctas: Ctas | None = None
    events: pd.DataFrame | None = None
    limit: int = LIMIT
    time: Time = "auto"
    height: int | None = None
    title: str | None = None
    view: View = "thread"
    color: Color = "name"

    CHECKS: ClassVar[Mapping[str, Check]] = {
        "limit": whole(1, "a number of events, at least 1"),
        "time": one_of(TIMES),
        "height": optional(pixels),
        "title": optional(text),
        "view": one_of(VIEWS),
        "color": one_of(COLORS),
    }
    """What may be known without a trace."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in self.CHECKS and value is not field.default:
                object.__setattr__(self, field.name, self.CHECKS[field.name](field.name, value))


DEFAULTS = ViewOptions()
"""What a reader gets who asks for nothing in particular."""
