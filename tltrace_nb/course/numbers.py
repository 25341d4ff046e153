"""Numbers that students write, in whatever form."""

from __future__ import annotations

import math
from typing import Any


def number(answer: Any) -> float | None:
    """The answer as a number; ``None`` if it is none.

    3, 3.0, "3", ``[3]``, a NumPy scalar, an array or a series of one, and ``T.ceildiv(…)`` of two numbers are numbers.
    """
    if isinstance(answer, (list, tuple)) and len(answer) == 1:
        (answer,) = answer
    answer = getattr(answer, "value", answer)  # TileLang's constants
    try:
        return float(getattr(answer, "item", lambda: answer)())
    except (TypeError, ValueError, RuntimeError, OverflowError):  # RuntimeError: a tensor of several
        return None


def near(a: float, b: float, tolerance: float = 0.02) -> bool:
    """Whether two numbers agree but for rounding."""
    return math.isclose(a, b, rel_tol=tolerance)


def rounded(given: float, truth: float, digits: int = 2) -> bool:
    """Whether ``given`` is ``truth`` rounded to so many digits, the first that is not 0 counted as one."""
    return math.isfinite(given) and math.isclose(given, float(f"{truth:.{digits - 1}e}"))
