"""What an explorer says of a run beside its timeline, and of how it differs from the run before.

In: traces, and what went wrong. Out: :class:`Facts`, and HTML and plain words.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from tltrace_nb.analysis.launch import gpu_of, launches
from tltrace_nb.base.errors import TraceError
from tltrace_nb.base.numbers import NONE, count, duration, number, percent
from tltrace_nb.base.words import clean
from tltrace_nb.data.headline import notes, troubles

if TYPE_CHECKING:
    import pandas as pd

    from tltrace_nb.core.trace import Trace

MOST_NAMES = 8
"""Names in the table beside the timeline."""
_REASON_CHARS = 1500
"""Longest reason of a failure; TileLang's own errors may bring a stack of C++."""
_NO_COMPILER = (
    "{package} is not installed here, and kernels are built with it. What still works: recorded traces, "
    "tltrace_nb.load(path) and explore of a function that returns them. To run kernels, on the virtual GPU too: "
    "pip install tilelang"
)
_COMPILER = ("tilelang", "tvm", "tvm_ffi", "torch")


@dataclass(frozen=True, slots=True)
class Facts:
    """A run in numbers; NaN, or 0 places and waves, where the trace does not tell. Shares are of 1.

    ``duration_ns``: first entry to last exit; ``cycles``: the longest CTA. ``places``: CTAs that the GPU holds at once.
    ``occupancy``: warps resident on average, of those that an SM can hold; ``most``: what this kernel allows.
    ``notes``: what is missing in the trace, and what it notes of the run, a line each.
    """

    duration_ns: float
    cycles: int
    ctas: int
    sms: int
    places: int
    waves: int
    tail: float
    occupancy: float
    most: float
    limited_by: str
    names: pd.DataFrame
    notes: tuple[str, ...]


def facts_of(trace: Trace) -> Facts:
    """The facts of a trace, from its own analyses."""
    ctas = trace.ctas
    by_launch, resident, names = trace.waves("launch"), trace.occupancy(), trace.summary()
    limits = [each.limit for each in launches(trace, gpu_of(trace.meta))[0] if each.limit is not None and each.exact]
    time = float(resident["duration_ns"].sum())
    held = resident["achieved"].astype("float64") * resident["duration_ns"]
    clocked = ctas["clock_ghz"].notna().any()  # else the timer of the GPU was too coarse for this run
    most = max(limits, key=lambda each: each.fraction, default=None)
    longest = by_launch.sort_values("duration_ns").tail(1)  # none where no CTA's time is known
    return Facts(
        duration_ns=float(ctas["end_ns"].max() - ctas["start_ns"].min()) if clocked else math.nan,
        cycles=int(ctas["duration"].max()) if len(ctas) else 0,
        ctas=len(ctas),
        sms=int(longest["sms"].sum()) or int(ctas["sm"].nunique()),
        places=int(longest["places"].sum()),
        waves=int(by_launch["waves"].sum()),
        tail=float(longest["tail"].iloc[0]) if len(longest) else math.nan,
        occupancy=float(held.sum()) / time if time > 0 and trace.whole else math.nan,
        most=most.fraction if most else math.nan,
        limited_by=most.limited_by if most else "",
        names=names.head(MOST_NAMES),
        notes=(*troubles(trace), *notes(trace)),
    )


SHOWN = ("duration", "CTAs", "CTA slots", "waves", "tail", "occupancy", "at most")
"""The facts, as the table has them."""


def headline(now: Facts, before: Facts | None, shown: Collection[str] = SHOWN) -> str:
    """What happened, in one line of plain words: each number of those shown as it was, as it is, and the change."""
    parts = [_duration(now, before)]
    for what, value, old in (
        ("occupancy", _whole(now.occupancy), _whole(before.occupancy) if before else ""),
        ("waves", _known(now.waves), _known(before.waves) if before else ""),
        ("CTAs", f"{now.ctas:,}", f"{before.ctas:,}" if before else ""),
    ):
        if what in shown:
            parts.append(f"{what} {value}" if old in ("", value) else f"{what} {old} → {value}")
    return " · ".join(parts)


def _duration(now: Facts, before: Facts | None) -> str:
    timed = not math.isnan(now.duration_ns)
    value, text = (now.duration_ns, duration(now.duration_ns)) if timed else (now.cycles, count(now.cycles, "cycle"))
    old = math.nan if before is None else before.duration_ns if timed else before.cycles
    if math.isnan(old) or old <= 0:
        return f"duration {text}"
    change = value / old - 1
    sign = "unchanged" if abs(change) < 0.0005 else f"{'+' if change > 0 else '−'}{percent(abs(change), 1)}"
    was = duration(old) if timed else f"{old:,.0f}"
    return f"duration {text}, {sign}" if sign == "unchanged" else f"duration {was} → {text} ({sign})"


def table_html(facts: Facts, shown: Collection[str] = SHOWN) -> str:
    """The facts that are shown, and the table of names, as HTML. Everything that comes from a kernel is escaped."""
    rows = [
        ("duration", duration(facts.duration_ns)),
        ("CTAs", f"{facts.ctas:,} on {count(facts.sms, 'SM')}"),
        ("CTA slots", f"{_known(facts.places)} at once"),
        ("waves", _known(facts.waves)),
        ("tail", f"{_whole(facts.tail)} of the launch"),
        ("occupancy", f"{_whole(facts.occupancy)} on average"),
        ("at most", f"{_whole(facts.most)}" + (f", by {facts.limited_by}" if facts.limited_by else "")),
    ]
    fill = 0 if math.isnan(facts.occupancy) else round(100 * facts.occupancy)
    limit = 0 if math.isnan(facts.most) else round(100 * facts.most)
    meter = (
        f'<div class="tlt-x-meter" role="img" aria-label="occupancy {fill} %, at most {limit} %">'
        f'<i style="width:{limit}%"></i><b style="width:{fill}%"></b></div>'
    )
    listed = "".join(f"<dt>{key}</dt><dd>{escape(value)}</dd>" for key, value in rows if key in shown)
    meter = meter if "occupancy" in shown else ""
    heads = "".join(f"<th>{each}</th>" for each in ("name", "count", "mean, cycles", "share", "overlap"))
    body = "".join(
        f"<tr><td>{escape(clean(str(row.name)))}</td><td>{row.count:,}</td><td>{number(row.mean, 1)}</td>"
        f"<td>{_whole(row.share)}</td><td>{_whole(row.overlap)}</td></tr>"
        for row in _rows(facts.names)
    )
    noted = "".join(f"<p>{escape(each)}</p>" for each in facts.notes)
    names = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>" if body else ""
    return f'<div class="tlt-x-facts"><div><dl>{listed}</dl>{meter}</div><div>{names}{noted}</div></div>'


@dataclass(frozen=True, slots=True)
class _Row:
    name: Any
    count: int
    mean: float
    share: float
    overlap: float


def _rows(names: pd.DataFrame) -> list[_Row]:
    kept = names[["name", "count", "mean", "share", "overlap"]]
    return [_Row(*values) for values in kept.itertuples(index=False, name=None)]


def in_words(values: Mapping[str, Any], gpu: object) -> str:
    """A combination of parameters: ``block_M=64, stages=3, h200``."""
    parts = [f"{name}={clean(str(value), 24)}" for name, value in values.items()]
    if gpu is not None:
        parts.append(str(getattr(gpu, "name", gpu)))
    return ", ".join(parts)


def reason(error: BaseException) -> str:
    """Why a combination does not run, in words; errors that are not this package's own come with their type."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _COMPILER:
        return _NO_COMPILER.format(package=(error.name or "").partition(".")[0])
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    text = "\n".join(lines)
    if len(text) > _REASON_CHARS:
        text = text[: _REASON_CHARS // 3] + "\n…\n" + text[-2 * _REASON_CHARS // 3 :]
    own = isinstance(error, TraceError | ValueError)
    said = text if own and text else f"{type(error).__name__}: {text}" if text else type(error).__name__
    whole = "\n".join([said, *getattr(error, "__notes__", ())])
    return whole.encode("utf-8", "replace").decode()  # a file's name may hold lone surrogates, which cannot be sent


def _known(value: int) -> str:
    return f"{value:,}" if value else NONE


def _whole(share: float) -> str:
    return percent(share, 0)
