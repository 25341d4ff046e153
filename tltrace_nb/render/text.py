"""The words and numbers of a timeline: labels, hover text, losses.

In: frames and single rows of a trace. Out: plain text (not escaped), except ``markup``, which escapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from tltrace_nb.base.numbers import count, duration, moment, payload_text
from tltrace_nb.base.words import clean, in_cells
from tltrace_nb.data.headline import losses
from tltrace_nb.data.tracefile import believable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tltrace_nb.data.sites import SiteTable
    from tltrace_nb.data.tracefile import TraceMeta

HOVER_CHARS = 200
"""Longest name or source line in a hover text."""

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


def badge(meta: TraceMeta) -> Badge | None:
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


def word(value: object) -> str:
    """A text cell as ``str``, empty where it holds no value."""
    return value if isinstance(value, str) else ""


def light_names(trace: object) -> tuple[str, ...]:
    """The names of a trace, or of several in one, that are moments where ``--on all`` would record durations."""
    return tuple(dict.fromkeys(name for table in _tables(trace) for name in table.light))


def full_names(trace: object) -> tuple[str, ...]:
    """The names of a trace, or of several in one, that traces of ``--on light`` do not have."""
    return tuple(dict.fromkeys(name for table in _tables(trace) for name in table.full))


def code_of(trace: object) -> dict[str, str]:
    """What stands on the lines of the kernel of a trace, or of several in one, by source."""
    return {in_cells(source): text for table in _tables(trace) for source, text in table.code}


def _tables(trace: object) -> list[SiteTable]:
    traces = getattr(trace, "traces", None) or {0: trace}
    return [each.table for each in traces.values() if hasattr(each, "table")]


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
    start, length = count(event["start"], "cycle"), count(event["duration"], "cycle")
    if not pd.isna(event["start_ns"]):
        start += f" · {moment(event['start_ns'])}"
    if not pd.isna(event["duration_ns"]):
        length += f" · {duration(event['duration_ns'])}"
    block = f"({event['block_x']}, {event['block_y']}, {event['block_z']})"
    track = [f"thread {event['thread']}", f"lane {clean(word(event['lane']))}"]
    track += [f"{key} {clean(word(event[key]))}" for key in ("group", "role") if word(event[key])]
    lines = [
        clean(event["name"], HOVER_CHARS),
        f"payload {payload}" if payload else "",
        f"start {start}",
        f"duration {length}" if event["kind"] == "range" else "instant",
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
