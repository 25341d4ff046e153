"""The words and numbers of a timeline: labels, hover text, losses.

In: frames and single rows of a trace. Out: plain text (not escaped), except ``markup``, which escapes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.base.words import clean, in_cells
from tltrace_nb.data.headline import count, losses
from tltrace_nb.data.tracefile import believable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tltrace_nb.data.sites import SiteTable
    from tltrace_nb.render.readable import MetaLike

HOVER_CHARS = 200
"""Longest name or source line in a hover text."""
_INTEGERS = 2**33
"""Floats below it that are whole are written as integers."""

NO_EVENTS, NONE_SELECTED = "no events in this trace", "no events in this selection"
SIMULATED = "simulated times, not measured"


@dataclass(frozen=True, slots=True)
class Badge:
    """How far a trace's times go, in a word and in a sentence; ``warns``: they are not to be taken as the kernel's."""

    text: str
    why: str
    warns: bool

    def __str__(self) -> str:
        """Both, for where nothing can be pointed at."""
        return f"{self.text}: {self.why}"


def badge(meta: MetaLike) -> Badge | None:
    """``virtual GPU (h200 model)``, or what tracing costs where that was measured (``trace.overhead``), or nothing."""
    if meta.device == "virtual":
        return Badge(f"virtual GPU ({clean(meta.gpu, 40)})" if meta.gpu else "virtual GPU", SIMULATED, True)
    if meta.slowdown is None:
        return None
    ratio, noise = meta.slowdown
    believed = believable(ratio, noise)
    advice = "so its times are the kernel's" if believed else "so read its times as an upper bound, or mark less"
    why = f"with its records the kernel takes {ratio:.3f} times as long (noise {noise:.3f}), {advice}"
    return Badge(f"tracing ×{ratio:.3f}", why, not believed)


def missing(value: object) -> bool:
    """Whether a cell holds no value. A payload that is not a number (NaN) is a value."""
    return value is None or value is pd.NA


def word(value: object) -> str:
    """A text cell as ``str``, empty where it holds no value."""
    return value if isinstance(value, str) else ""


def payload_value(value: object) -> str:
    """One payload as text, exactly, empty where none was given.

    A float is one of 32 bits in a wider column, or an integer that shares the column with such.
    """
    if missing(value):
        return ""
    if isinstance(value, float):
        if value.is_integer() and abs(value) < _INTEGERS:
            return str(int(value))
        with np.errstate(over="ignore"):
            short = np.float32(value)
        return _shortest(short) if float(short) == value and math.isfinite(value) else str(value)
    return str(value)


def _shortest(value: np.float32) -> str:
    """A float of 32 bits in its fewest digits, with an exponent where Python writes one (NumPy's own rule changed)."""
    if 1e-4 <= abs(float(value)) < 1e16:
        return np.format_float_positional(value, trim="0")
    return np.format_float_scientific(value, trim="-", exp_digits=2)


def payload_text(begin: object, end: object) -> str:
    """The payload of an event: the value at its begin, and the one at its end where that differs."""
    first, last = payload_value(begin), payload_value(end)
    if not first or not last or first == last:
        return first or last
    return f"{first} → {last}"


def light_names(trace: object) -> tuple[str, ...]:
    """The names of a trace, or of several in one, that are moments where ``--on all`` would record durations."""
    return tuple(dict.fromkeys(name for table in _tables(trace) for name in table.light))


def code_of(trace: object) -> dict[str, str]:
    """What stands on the lines of the kernel of a trace, or of several in one, by source."""
    return {in_cells(source): text for table in _tables(trace) for source, text in table.code}


def _tables(trace: object) -> list[SiteTable]:
    traces = getattr(trace, "traces", None) or {0: trace}
    return [each.table for each in traces.values() if hasattr(each, "table")]


def nanoseconds(value: float) -> str:
    """A time in nanoseconds as text, empty where it is not known (NaN)."""
    return "" if pd.isna(value) else f"{value:,.1f} ns"


def numbers(values: Iterable[int]) -> str:
    """Ascending integers with runs folded: ``[0, 1, 2, 5]`` as 0-2, 5 (with an en dash).

    Only the first six runs are spelled out.
    """
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    words = [f"{a}" if a == b else f"{a}\u2013{b}" for a, b in runs[:6]]
    return ", ".join(words) + (", …" if len(runs) > 6 else "")


def hover_lines(event: dict[str, Any]) -> list[str]:
    """All that is known of one event (a row of ``Trace.events``), a line each; the first line is the name."""
    payload = payload_text(event["payload"], event["payload_end"])
    start = filter(None, (count(event["start"], "cycle"), nanoseconds(event["start_ns"])))
    duration = filter(None, (count(event["duration"], "cycle"), nanoseconds(event["duration_ns"])))
    block = f"({event['block_x']}, {event['block_y']}, {event['block_z']})"
    track = [f"thread {event['thread']}", f"lane {clean(word(event['lane']))}"]
    track += [f"{key} {clean(word(event[key]))}" for key in ("group", "role") if word(event[key])]
    lines = [
        clean(event["name"], HOVER_CHARS),
        f"payload {payload}" if payload else "",
        "start " + " · ".join(start),
        "duration " + " · ".join(duration) if event["kind"] == "range" else "instant",
        "begun, never ended" if event["truncated"] else "",
        f"CTA {event['cta']} {block} · SM {event['sm']}",
        " · ".join(track),
        clean(event["source"], HOVER_CHARS) if word(event["source"]) else "",
    ]
    return [line for line in lines if line]


def loss_text(frame: pd.DataFrame) -> str:
    """What rows of ``Trace.losses`` say, in one sentence; empty when nothing was lost."""
    phrases = losses(frame)
    return "incomplete: " + " · ".join(phrases) if phrases else ""
