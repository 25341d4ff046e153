"""What a timeline is made of: a trace, or any frame of events with the documented columns.

In: a ``Trace`` or a ``DataFrame``. Out: the frames of a trace, every column of ``columns.EVENTS`` that the views read
being there, or an error that names the column and what it must be. Nothing is copied that is right already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tltrace_nb.base.checks import wrong
from tltrace_nb.data import columns
from tltrace_nb.data.frames import Frames
from tltrace_nb.data.tracefile import TraceMeta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tltrace_nb.data.frames import TraceLike

TEXT = ("name", "lane", "kind", "group", "role", "source")
WHOLE = ("cta", "thread", "start", "end", "block_x", "block_y", "block_z", "sm")
NUMBERS = ("payload", "payload_end", "start_ns", "duration_ns", "truncated")
NEEDED = ("name", "lane", "cta", "thread", "start", "end")
"""Columns that a frame must have; for the others there are the values in ``_ASSUMED``."""
_ASSUMED: Mapping[str, Any] = {
    "kind": "range",
    "group": "",
    "role": None,
    "source": "",
    "block_x": 0,
    "block_y": 0,
    "block_z": 0,
    "sm": -1,
    "warp": -1,
    "start_ns": np.nan,
    "duration_ns": np.nan,
    "depth": 0,
    "payload_raw": 0,
    "truncated": False,
}
_KINDS = {"range", "instant"}


def frames(source: TraceLike | pd.DataFrame, name: str = "source") -> TraceLike:
    """``source`` if it is a trace; else the frames of a trace that has these events and nothing more.

    A frame needs the columns name, lane (strings or categories), cta, thread (integers), start and end (integers,
    cycles). The other columns of ``columns.EVENTS`` are used where they are there. Raises ``ValueError`` for columns
    that are missing or of another type, for missing values in them, and for an ``end`` before its ``start``;
    ``TypeError`` for anything that is neither a trace nor a frame.
    """
    if isinstance(source, pd.DataFrame):
        ctas, flows, losses = (_empty(kind) for kind in (columns.CTAS, columns.FLOWS, columns.LOSSES))
        return Frames(_events(source), ctas, flows, losses, TraceMeta())
    if not all(hasattr(source, part) for part in ("events", "ctas", "flows", "losses", "meta")):
        wrong(name, source, "a Trace, or a DataFrame of events", TypeError)
    return source


def _empty(schema: Mapping[str, str]) -> pd.DataFrame:
    return pd.DataFrame({name: [] for name in schema})


def _events(frame: pd.DataFrame) -> pd.DataFrame:
    lacking = [column for column in NEEDED if column not in frame]
    if lacking:
        raise ValueError(
            f"the frame lacks the column{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}: a timeline needs "
            f"{', '.join(NEEDED)}, as trace.events has them"
        )
    if not frame.index.is_unique:
        raise ValueError(
            "the frame has a row label more than once, and a selection must tell rows apart: reset_index()"
        )
    for column in (*WHOLE, *TEXT, *NUMBERS):
        if column in frame:
            _check(frame[column], column)
    late = (frame["end"] < frame["start"]).to_numpy(dtype=bool)
    if late.any():
        raise ValueError(f"the event in row {int(late.argmax())} ends before it starts: end must be at least start")
    wrong = set(frame["kind"].unique()) - _KINDS if "kind" in frame else set()
    if wrong:
        raise ValueError(f"column kind holds {min(map(str, wrong))!r}: a kind is 'range' or 'instant'")
    more = {column: value for column, value in _ASSUMED.items() if column not in frame}
    none = [pd.NA] * len(frame)
    more |= {column: pd.array(none, dtype="Int64") for column in ("payload", "parent") if column not in frame}
    whole = frame.assign(duration=frame["end"] - frame["start"], **more)
    return whole if "payload_end" in whole else whole.assign(payload_end=whole["payload"])


def _check(values: pd.Series[Any], column: str) -> None:
    """Raise ``ValueError`` where the column has another type than the views can read."""
    if column in WHOLE:
        if not pd.api.types.is_integer_dtype(values.dtype):
            unit = ", cycles" if column in {"start", "end"} else ""
            raise ValueError(
                f"column {column} is {values.dtype}, and must be integers{unit}: frame[{column!r}].astype('int64')"
            )
    elif column in NUMBERS:
        if not pd.api.types.is_numeric_dtype(values.dtype) and not values.isna().all():
            raise ValueError(
                f"column {column} is {values.dtype}, and must be numbers: pd.to_numeric(frame[{column!r}])"
            )
    elif not _is_text(values):
        raise ValueError(f"column {column} is {values.dtype}, and must be text: frame[{column!r}].astype('str')")
    if column in NEEDED and values.isna().any():
        raise ValueError(f"column {column} has no value in row {int(values.isna().to_numpy().argmax())}")


def _is_text(values: pd.Series[Any]) -> bool:
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.api.types.is_string_dtype(dtype.categories) or len(dtype.categories) == 0
    return pd.api.types.is_string_dtype(values) or bool(values.isna().all())
