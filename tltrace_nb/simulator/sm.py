"""One SM of the virtual GPU."""

from __future__ import annotations

from dataclasses import dataclass, field

from tltrace_nb.simulator.costing import UNITS


@dataclass(slots=True)
class Sm:
    """One SM: when its units are free, and the CTAs that it holds."""

    number: int
    free: list[float] = field(default_factory=lambda: [0.0] * len(UNITS))
    resident: int = 0
