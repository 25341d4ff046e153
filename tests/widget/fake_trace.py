"""Small traces made by hand, with the frames that ``tltrace_nb.core.trace.Trace`` documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from tltrace_nb.data.cells import category

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NS_PER_CYCLE = 0.5


@dataclass(frozen=True)
class FakeMeta:
    kernel: str = "gemm"
    device: str = "cuda"
    gpu: str | None = "NVIDIA H200"
    slowdown: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class FakeTrace:
    events: pd.DataFrame
    ctas: pd.DataFrame
    flows: pd.DataFrame
    losses: pd.DataFrame
    meta: FakeMeta

    def __repr__(self) -> str:
        return f"Trace({self.meta.kernel!r}, {len(self.events)} events)"


def span(name: str, start: int, end: int, **columns: Any) -> dict[str, Any]:
    """One range, in cycles; ``columns`` overrides what a plain one has."""
    row = {
        "kind": "range", "name": name, "group": "default", "role": None, "lane": "main", "source": "kernel.py:7",
        "cta": 0, "thread": 0, "sm": 0, "start": start, "end": end, "payload": None, "payload_end": None,
        "parent": None, "depth": 0, "truncated": False,
    }  # fmt: skip
    return row | columns


def instant(name: str, at: int, **columns: Any) -> dict[str, Any]:
    """One instant, in cycles."""
    return span(name, at, at, kind="instant", **columns)


def words(values: Iterable[str | None]) -> Any:
    """A categorical of text, as a trace has it; ``None`` is missing."""
    known = list(values)
    categories = sorted({value for value in known if value is not None})
    numbers = {value: number for number, value in enumerate(categories)}
    return category(categories, [-1 if value is None else numbers[value] for value in known])


def make_trace(
    rows: Sequence[dict[str, Any]],
    *,
    flows: Iterable[tuple[int, int]] = (),
    losses: Sequence[dict[str, Any]] = (),
    aligned: bool = True,
    **meta: Any,
) -> FakeTrace:
    """A trace of these events; ``flows`` are pairs of positions in ``rows``. CTA n enters 100 ns after CTA n - 1."""
    full = pd.DataFrame({key: pd.Series([row[key] for row in rows], dtype=object) for key in span("", 0, 0)})
    whole = all(isinstance(v, int) for row in rows for v in (row["payload"], row["payload_end"]) if v is not None)
    number: Any = "Int64" if whole else "Float64"
    entry = full["cta"].astype("int64") * 100.0
    known = entry if aligned else entry * float("nan")
    start, end = full["start"].astype("int64"), full["end"].astype("int64")
    events = full.assign(
        **{key: words(full[key]) for key in ("kind", "name", "group", "role", "lane", "source")},
        **{key: full[key].astype("int32") for key in ("cta", "thread", "sm")},
        block_x=full["cta"].astype("int32"), block_y=0, block_z=0, warp=full["thread"].astype("int32") // 32,
        start=start, end=end, duration=end - start,
        start_ns=known + start * NS_PER_CYCLE, duration_ns=(end - start) * NS_PER_CYCLE + known * 0,
        payload=full["payload"].astype(number), payload_end=full["payload_end"].astype(number),
        parent=full["parent"].astype("Int32"), truncated=full["truncated"].astype(bool),
    )  # fmt: skip
    ctas = events.groupby("cta")["sm"].first().reset_index()
    names = events["name"].tolist()
    pairs = list(flows)
    arrows = {
        "src": [a for a, _ in pairs], "dst": [b for _, b in pairs], "src_name": [names[a] for a, _ in pairs],
        "dst_name": [names[b] for _, b in pairs], "cta": [int(events["cta"].iloc[a]) for a, _ in pairs],
    }  # fmt: skip
    clean = {
        "cta": 0, "group": "default", "role": None, "thread": 0, "entered": True, "executed": 9, "recorded": 9,
        "lost": 0, "unmatched_ends": 0, "unfinished": False, "corrupt": 0, "max_events": 64,
        "timer_back": False,
    }  # fmt: skip
    loss_frame = pd.DataFrame([clean | row for row in losses], columns=list(clean))
    return FakeTrace(events, ctas, pd.DataFrame(arrows), loss_frame, FakeMeta(**meta))


def pipeline(ctas: int = 2, steps: int = 6, **options: Any) -> FakeTrace:
    """A warp-specialised loop: a producer loads, the consumer waits and multiplies, arrows between them."""
    rows: list[dict[str, Any]] = []
    flows: list[tuple[int, int]] = []
    for cta in range(ctas):
        make = {"cta": cta, "sm": 2 * cta}
        load = make | {"thread": 0, "lane": "tma", "group": "load", "role": "producer"}
        math = make | {"thread": 128, "lane": "main", "group": "math", "role": "consumer"}
        loads = {}
        for k in range(steps):
            loads[k] = len(rows)
            rows.append(span("copy A", 40 + 180 * k, 200 + 180 * k, payload=k, **load))
        outer = len(rows)
        rows.append(span("main loop", 30, 260 + 180 * steps, payload=0, payload_end=steps, **math))
        for k in range(steps):
            rows.append(span("wait", 60 + 180 * k, 205 + 180 * k, parent=outer, depth=1, **math))
            flows.append((loads[k], len(rows)))
            rows.append(span("mma", 208 + 180 * k, 238 + 180 * k, payload=k, parent=outer, depth=1, **math))
        rows.append(instant("accumulated", 240 + 180 * steps, payload=-1, parent=outer, depth=1, **math))
        rows.append(span("epilogue", 270 + 180 * steps, 420 + 180 * steps, truncated=cta == ctas - 1, **math))
    return make_trace(rows, flows=flows, **options)
