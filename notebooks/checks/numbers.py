"""Numbers that students write, in whatever form."""

from __future__ import annotations

import math
from typing import Any


def number(answer: Any) -> float | None:
    """The answer as a number (3, 3.0, "3", a NumPy scalar, an array or a series of one); ``None`` if it is none."""
    try:
        return float(getattr(answer, "item", lambda: answer)())
    except (TypeError, ValueError, RuntimeError, OverflowError):  # RuntimeError: a tensor of several
        return None


def near(a: float, b: float, tolerance: float = 0.02) -> bool:
    """Whether two numbers agree but for rounding."""
    return math.isclose(a, b, rel_tol=tolerance)
