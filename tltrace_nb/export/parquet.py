"""A frame of a trace as a Parquet file, for DuckDB, Polars, Spark and later.

In: a trace. Out: one file per frame, with the columns of ``data.columns``. Each column's unit is in its field's
metadata (``unit``), what is known of the trace in the schema's (``tltrace``, JSON). Needs pyarrow.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from tltrace_nb.base.checks import checked, file, one_of
from tltrace_nb.base.files import replacing
from tltrace_nb.base.words import utf8
from tltrace_nb.data.cells import TEXT, coded
from tltrace_nb.export.provenance import provenance

if TYPE_CHECKING:
    import os

    from tltrace_nb.data.trace_data import TraceData

SUFFIX = ".parquet"

Frame = Literal["events", "ctas", "flows", "sites", "losses"]
FRAMES: tuple[Frame, ...] = get_args(Frame)

UNITS = {
    "start": "cycles",
    "end": "cycles",
    "duration": "cycles",
    "start_ns": "ns",
    "duration_ns": "ns",
    "end_ns": "ns",
    "clock_ghz": "GHz",
}


@checked(path=file, frame=one_of(FRAMES))
def write_parquet(trace: TraceData, path: str | os.PathLike[str], frame: Frame = "events") -> Path:
    """Write one frame of ``trace`` to ``path`` and return the path.

    A missing payload and an unknown time are null; a payload that is not a number stays NaN. Row numbers (``parent``,
    ``src``, ``dst``) count the rows of the events from 0. Raises ``ValueError`` for another ``frame``,
    ``ModuleNotFoundError`` where pyarrow is not installed, and ``OSError`` where the file cannot be written.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        raise ModuleNotFoundError(
            "Parquet files need pyarrow, which is not installed: pip install 'tltrace-nb[parquet]'", name="pyarrow"
        ) from error

    table = pa.Table.from_pandas(_encodable(getattr(trace, frame)), preserve_index=False)
    fields = [
        field.with_metadata({"unit": UNITS[field.name]}) if field.name in UNITS else field for field in table.schema
    ]
    told = {"frame": frame, **provenance(trace)}
    schema = pa.schema(fields, metadata={**table.schema.metadata, b"tltrace": json.dumps(told).encode()})
    with replacing(path) as partial:
        pq.write_table(table.cast(schema), partial, compression="zstd")
    return Path(path)


def _encodable(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame without the text that UTF-8 cannot encode."""
    changed: dict[str, Any] = {}
    for column in frame.columns:
        if frame[column].dtype == "category":
            old = list(frame[column].cat.categories)
            new, codes = coded([utf8(text) for text in old])
            if new != old:
                renumbered = np.array([*codes, -1])  # -1: missing
                changed[column] = pd.Categorical.from_codes(
                    renumbered[frame[column].cat.codes], pd.Index(new, dtype=TEXT)
                )
    return frame.assign(**changed)
