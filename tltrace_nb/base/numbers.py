"""Numbers, times and payloads as text, for all views. ``frontend/src/format.ts`` writes the same.

In: numbers as frames hold them. Out: short texts; ``tests/widget/texts.json`` lists what both languages must give.
"""

from __future__ import annotations

import decimal
import math
from typing import Any

import numpy as np
import pandas as pd

NONE = "–"
"""Stands where there is no number."""
_HALF_UP = decimal.Context(prec=400, rounding=decimal.ROUND_HALF_UP)
"""As browsers round; Python's own rule takes the even neighbour of a tie."""
_UNITS = ((1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_NEARLY = 0.99995
"""Of a unit, from which on it is used: less would be written as 1,000.0 of the next."""
_INTEGERS = 2**33
"""Floats below it that are whole are written as integers."""


def missing(value: object) -> bool:
    """Whether a cell holds no value. A payload that is not a number (NaN) is a value."""
    return value is None or value is pd.NA


def number(value: Any, digits: int = 0) -> str:
    """With thousands separated and so many digits behind the point; a dash where it is missing or infinite."""
    if pd.isna(value) or math.isinf(value):
        return NONE
    exact = decimal.Decimal(value.item() if isinstance(value, np.generic) else value)
    return f"{exact.quantize(decimal.Decimal(1).scaleb(-digits), context=_HALF_UP):z,}"


def count(how_many: int, noun: str) -> str:
    """``1 cycle``, ``2,000 cycles``."""
    return f"{how_many:,} {noun}{'' if abs(how_many) == 1 else 's'}"


def percent(share: Any, digits: int | None = None) -> str:
    """A share of 1 in percent; by default with one digit behind the point, or two where it is small."""
    if pd.isna(share) or math.isinf(share):
        return NONE
    return f"{number(100 * float(share), (2 if share < 0.1 else 1) if digits is None else digits)} %"


def duration(ns: Any) -> str:
    """A length of time (ns) in the unit that suits its size."""
    return _time(ns, {"ns": 1, "µs": 2, "ms": 3})


def moment(ns: Any) -> str:
    """A point in time (ns) in the unit that suits its size, to the nanosecond."""
    return _time(ns, {"ns": 1, "µs": 3, "ms": 6})


def _time(ns: Any, digits: dict[str, int]) -> str:
    size, unit = next((each for each in _UNITS if abs(ns) >= _NEARLY * each[0]), _UNITS[-1])
    text = number(ns / size, digits[unit])
    return NONE if text == NONE else f"{text} {unit}"


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
