"""Where a trace comes from, and what it lost, as every file format can hold it.

In: strings and traces. Out: text without lone surrogates, and what a file says of its trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from tltrace_nb._version import __version__
from tltrace_nb.base.words import utf8
from tltrace_nb.data.headline import headline, troubles
from tltrace_nb.render.text import badge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tltrace_nb.data.trace_data import TraceData


def loss_rows(trace: TraceData) -> Iterator[dict[str, Any]]:
    """The rows of ``losses`` as plain values by column, without those that are missing."""
    for row in trace.losses.astype(object).to_dict("records"):
        yield {
            str(name): utf8(value) if isinstance(value, str) else value
            for name, value in row.items()
            if not pd.isna(value)
        }


def provenance(trace: TraceData) -> dict[str, str]:
    """Where the trace comes from and how far to trust it, by name; what is not known is left out."""
    meta = trace.meta
    told = {
        "trace": headline(trace),
        "kernel": meta.kernel or trace.table.kernel,
        "device": meta.device,
        "gpu": meta.gpu,
        "trust": str(badge(meta) or ""),
        "incomplete": " · ".join(troubles(trace)),
        "driver": meta.driver,
        "cuda": meta.cuda,
        "versions": ", ".join(f"{package} {version}" for package, version in sorted(meta.versions.items())),
        "source": meta.source,
        "source_hash": meta.source_hash,
        "command": meta.command,
        "captured": meta.captured,
        "note": meta.note,
        "written_by": f"tltrace_nb {__version__}",
    }
    return {name: utf8(text) for name, text in told.items() if text}
