"""What a trace says apart from times: its events, track by track. Two devices that run one kernel must agree on it."""

from __future__ import annotations

from typing import Any

from tltrace_nb.core.trace import Trace

Track = tuple[int, int, str]


def tracks(captured: Trace) -> dict[Track, list[tuple[Any, ...]]]:
    """Per CTA, thread and lane: kind, name, role and payloads of its events, in their order."""
    columns = ["kind", "name", "role", "payload", "payload_end"]
    found: dict[Track, list[tuple[Any, ...]]] = {}
    for key, rows in captured.events.groupby(["cta", "thread", "lane"], observed=True):
        values = rows[columns].astype(object).where(rows[columns].notna(), None)
        found[key] = [tuple(row) for row in values.to_numpy().tolist()]
    return found
