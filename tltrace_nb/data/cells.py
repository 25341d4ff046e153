"""Columns out of arrays: categoricals, nullable payloads and frames, without copies and without Python objects.

In: NumPy arrays of codes, bits and values. Out: what pandas puts in a frame as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tltrace_nb.base.words import utf8
from tltrace_nb.data.sites import PayloadType, SiteTable

Array = npt.NDArray[Any]

TEXT: Any = pd.StringDtype("python", na_value=np.nan)
"""What ``"str"`` means where pyarrow is not installed."""


def same_types(table: SiteTable) -> bool:
    """Whether a payload of the same bits has the same value wherever it was recorded."""
    return len({site.payload for site in table.sites if site.payload is not PayloadType.NONE}) <= 1


def payload(table: SiteTable, site: Array, raw: npt.NDArray[np.uint32], missing: npt.NDArray[np.bool_]) -> Any:
    """The payload bits as the sites' types read them, missing where ``missing`` (which is kept)."""
    types = {each.payload for each in table.sites} - {PayloadType.NONE}
    floats = PayloadType.FLOAT32 in types
    value = raw.view(np.int32).astype(np.float64 if floats else np.int64)
    if types - {PayloadType.INT32}:
        for type_, read in _READ.items():
            if type_ in types:
                here = np.array([each.payload is type_ for each in table.sites], np.bool_)[site]
                with np.errstate(invalid="ignore"):  # widening a signalling NaN is an IEEE exception, and a NaN
                    value[here] = read(raw[here])
    np.copyto(value, 0, where=missing)
    return masked(value, missing)


_READ: Mapping[PayloadType, Any] = {
    PayloadType.UINT32: lambda raw: raw,
    PayloadType.FLOAT32: lambda raw: raw.view(np.float32),
    PayloadType.BOOL: lambda raw: raw != 0,
}


def masked(values: Array, missing: npt.NDArray[np.bool_]) -> Any:
    """A nullable pandas array of ``values``, without copying either."""
    kind = pd.arrays.FloatingArray if values.dtype.kind == "f" else pd.arrays.IntegerArray
    return kind(values, missing)


def coded(values: Sequence[str]) -> tuple[list[str], list[int]]:
    """The distinct values in order of first appearance, in words that can be encoded, and each one's number there."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(utf8(value), len(numbers)) for value in values]
    return list(numbers), codes


def category(categories: Sequence[str], codes: Sequence[int], index: Array | None = None) -> Any:
    """A categorical of ``codes`` (gathered by ``index``), in the smallest code type."""
    type_ = next(kind for kind in (np.int8, np.int16, np.int32) if len(categories) <= np.iinfo(kind).max)
    values: Array = np.array(codes, type_)
    dtype: Any = pd.CategoricalDtype(pd.Index(list(categories), dtype=TEXT))
    gathered = values if index is None else spread(values, index)
    return pd.Categorical.from_codes(gathered, dtype=dtype, validate=False)


def spread(values: Array, index: Array) -> Array:
    """``values[index]``; where all values are the same, one of them seen as many times (no memory)."""
    if len(values) and (values == values[0]).all():
        return np.broadcast_to(values[0], len(index))
    return values[index]


def compact(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """``flags``, as one value seen many times where none is set."""
    return flags if flags.any() else np.broadcast_to(np.False_, len(flags))


def frame(schema: Mapping[str, str], cells: Mapping[str, Any], length: int) -> pd.DataFrame:
    """A frame of the columns of ``schema``, in its order. The arrays are kept as they are, one block each."""
    return pd.DataFrame({column: cells[column] for column in schema}, index=pd.RangeIndex(length), copy=False)
