"""From what a statement does to what it costs: operations counted while code is made, priced when it runs.

In: a :class:`Tally` per lane of a statement. Out: :class:`Cost`, what the engine takes: how long which unit of the SM
is busy, the bytes that pass the device's memory, and the latency after which the strand goes on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tltrace_nb.simulator.costs import Unit, Work, cycles, fragment_bytes, latency
from tltrace_nb.simulator.machine import Gpu

UNITS: tuple[Unit, ...] = tuple(Unit)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one piece of work asks of the SM and the device. ``parts``: (index of the unit, cycles that it is busy).

    ``flop``: what it does on tensor cores, and on CUDA cores in floating point, an operation there counting 1.
    """

    parts: tuple[tuple[int, float], ...]
    bytes: float
    latency: float
    flop: float = 0.0


@dataclass(slots=True)
class Tally:
    """What one lane does in a statement: (unit, kind) to amount."""

    work: Counter[tuple[Unit, str]] = field(default_factory=Counter)

    def add(self, unit: Unit, amount: float, dtype: str = "") -> None:
        """Count an operation."""
        self.work[unit, dtype] += amount  # type: ignore[assignment]

    def take(self) -> dict[tuple[Unit, str], float]:
        """What was counted, and start again."""
        taken: dict[tuple[Unit, str], float] = dict(self.work)
        self.work.clear()
        return taken


def _floats(work: Work) -> bool:
    return work.unit is Unit.CUDA and (not work.dtype or "float" in work.dtype)


class Pricing:
    """Costs on one GPU."""

    def __init__(self, gpu: Gpu):
        self.gpu = gpu
        self._known: dict[object, Cost] = {}

    def counted(self, work: tuple[tuple[tuple[Unit, str], float], ...], count: int) -> Cost:
        """A statement that so many lanes execute."""
        key = (work, count)
        if key not in self._known:
            self._known[key] = self.of(tuple(Work(unit, amount * count, dtype) for (unit, dtype), amount in work))
        return self._known[key]

    def of(self, works: tuple[Work, ...], waits: bool = True) -> Cost:
        """Works that go on side by side in different units, whose latencies follow each other."""
        key = (works, waits)
        if key not in self._known:
            busy: Counter[int] = Counter()
            after: dict[Unit, float] = {}
            for work in works:
                if not work.amount:
                    continue
                busy[UNITS.index(work.unit)] += cycles(self.gpu, work)  # type: ignore[assignment]
                stores = work.unit is Unit.GLOBAL and work.dtype in ("store", "scatter")
                if not stores:
                    after[work.unit] = max(after.get(work.unit, 0.0), latency(self.gpu, work))
            moved = sum(w.amount for w in works if w.unit is Unit.GLOBAL)
            flop = sum(w.amount for w in works if w.unit is Unit.TENSOR or _floats(w))
            self._known[key] = Cost(tuple(sorted(busy.items())), moved, sum(after.values()) if waits else 0.0, flop)
        return self._known[key]

    def product(self, m: int, n: int, k: int, dtype: str) -> Cost:
        """A matrix product of tiles. Types that no tensor core takes are counted on the CUDA cores."""
        key = ("product", m, n, k, dtype)
        if key not in self._known:
            try:
                self._known[key] = self.of((Work(Unit.TENSOR, 2.0 * m * n * k, dtype),))
            except ValueError:
                self._known[key] = self.of((Work(Unit.CUDA, 1.0 * m * n * k, dtype),))
        return self._known[key]

    def copied(self, count: int, source: str, target: str, read: int, written: int, way: str = "") -> Cost:
        """A tile of ``count`` elements moved between scopes, of ``read`` and ``written`` bytes each."""
        key = ("copied", count, source, target, read, written, way)
        if key not in self._known:
            works = []
            if source == "global":
                works.append(Work(Unit.GLOBAL, float(count * read), way))
            elif source.startswith("shared"):
                works.append(Work(Unit.SHARED, float(count * read)))
            if target == "global":
                scattered = source == "local.fragment"
                moved = fragment_bytes(count, written) if scattered else count * written
                works.append(Work(Unit.GLOBAL, float(moved), "scatter" if scattered else "store"))
            elif target.startswith("shared") and not way:
                works.append(Work(Unit.SHARED, float(count * written)))
            if not works or read != written:
                works.append(Work(Unit.CUDA, float(count)))
            self._known[key] = self.of(tuple(works))
        return self._known[key]
